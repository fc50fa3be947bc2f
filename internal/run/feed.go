package run

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// feed passes the windows of a run on: to the fold that makes the result, to the run file,
// and to the observers.
type feed struct {
	fold      *result.Fold
	file      *result.RunFile // nil: no run file
	failed    bool            // writing the run file has
	sampler   *host.Sampler
	status    *engine.Status
	notify    func(Notice)
	observers Delivery
}

var _ engine.Sink = (*feed)(nil)

func (m *maker) newFeed(observers []Observer) (*feed, error) {
	f := &feed{fold: result.NewFold(m.header), status: m.Status, notify: m.Notify}
	if m.File != nil {
		file, err := result.NewRunFile(m.File.file, m.header)
		if err != nil {
			return nil, err
		}
		f.file = file
	}
	f.observers = NewDelivery(observers)
	return f, nil
}

// begin starts to sample this host when the load begins: connecting is no part of the
// measurement.
func (f *feed) begin(now time.Time, start result.Start) {
	f.sampler = host.NewSampler(now)
	f.fold.Begin(start)
	if f.file != nil {
		f.file.Begin(start)
	}
}

// Observe takes the windows of one second, and a sample of this host.
func (f *feed) Observe(windows []stats.Window) {
	sample := f.sampler.Sample(windows[0].End)
	for _, w := range windows {
		f.fold.AddWindow(w)
	}
	f.fold.AddSample(sample)
	f.write(windows, sample)
	if len(f.observers) == 0 {
		return
	}
	s := Second{Windows: windows, Sample: sample, Snapshot: f.fold.Snapshot()}
	s.Snapshot.Live = result.Live{
		Stage:    stages[engine.Stage(f.status.Stage.Load())],
		Buffered: f.status.Buffered.Load(), InFlight: int(f.status.Requests.Load()),
	}
	f.observers.Send(s)
}

// stages are the engine's stages as a snapshot has them.
var stages = map[engine.Stage]result.Stage{
	engine.Opening: result.WarmingUp, engine.WarmingUp: result.WarmingUp, engine.Running: result.Running,
	engine.Draining: result.Draining, engine.Finished: result.Finished,
}

// write writes a second to the run file.
func (f *feed) write(windows []stats.Window, sample host.Sample) {
	if f.file == nil {
		return
	}
	for _, w := range windows {
		f.file.AddWindow(w)
	}
	f.file.AddSample(sample)
	if err := f.file.Err(); err != nil && !f.failed {
		f.failed = true
		f.notify(Notice{Kind: FileFailed, Text: fmt.Sprintf("%v; the run goes on", err)})
	}
}

// finish closes the run file and makes the result.
func (f *feed) finish(t result.Trailer) (result.Result, error) {
	f.fold.Finish(t)
	var err error
	if f.file != nil {
		err = f.file.Close(t)
	}
	return f.fold.Result(), err
}
