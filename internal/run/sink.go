package run

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// sink passes the windows of a run on: to the fold that makes the result, to the run file,
// and to the observers.
type sink struct {
	fold      *result.Fold
	file      *result.RunFile // nil: no run file
	failed    bool            // writing the run file has
	sampler   *host.Sampler
	status    *engine.Status
	notify    func(Notice)
	abort     func(why string) // nil: a condition came true
	observers Delivery
}

var _ engine.Sink = (*sink)(nil)

func (m *maker) newSink(observers []Observer) (*sink, error) {
	s := &sink{fold: result.NewFold(m.header), status: m.Status, notify: m.Notify, abort: m.abort}
	s.fold.AbortOn(m.AbortOn)
	if m.File != nil {
		file, err := result.NewRunFile(m.File.file, m.header)
		if err != nil {
			return nil, err
		}
		s.file = file
	}
	s.observers = NewDelivery(observers)
	return s, nil
}

// begin starts to sample this host when the load begins: connecting is no part of the
// measurement.
func (s *sink) begin(now time.Time, start result.Start) {
	s.sampler = host.NewSampler(now)
	s.fold.Begin(start)
	if s.file != nil {
		s.file.Begin(start)
	}
}

// Observe takes the windows of one second, and a sample of this host.
func (s *sink) Observe(windows []stats.Window) {
	sample := s.sampler.Sample(windows[0].End)
	for _, w := range windows {
		s.fold.AddWindow(w)
	}
	s.fold.AddSample(sample)
	s.write(windows, sample)
	if why := s.fold.Broken(); why != "" && s.abort != nil {
		s.abort(why)
		s.abort = nil
	}
	if len(s.observers) == 0 {
		return
	}
	second := Second{Windows: windows, Sample: sample, Snapshot: s.fold.Snapshot()}
	second.Snapshot.Live = result.Live{
		Stage:    stages[engine.Stage(s.status.Stage.Load())],
		Buffered: s.status.Buffered.Load(), InFlight: int(s.status.Requests.Load()),
	}
	s.observers.Send(second)
}

// stages are the engine's stages as a snapshot has them.
var stages = map[engine.Stage]result.Stage{
	engine.Opening: result.WarmingUp, engine.WarmingUp: result.WarmingUp, engine.Running: result.Running,
	engine.Draining: result.Draining, engine.Finished: result.Finished,
}

// write writes a second to the run file.
func (s *sink) write(windows []stats.Window, sample host.Sample) {
	if s.file == nil {
		return
	}
	for _, w := range windows {
		s.file.AddWindow(w)
	}
	s.file.AddSample(sample)
	if err := s.file.Err(); err != nil && !s.failed {
		s.failed = true
		s.notify(Notice{Kind: FileFailed, Text: fmt.Sprintf("%v; the run goes on", err)})
	}
}

// finish closes the run file and makes the result.
func (s *sink) finish(t result.Trailer) (result.Result, error) {
	s.fold.Finish(t)
	var err error
	if s.file != nil {
		err = s.file.Close(t)
	}
	return s.fold.Result(), err
}
