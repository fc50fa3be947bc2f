package cmd

import (
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// feed takes the windows of a run from the engine and passes them on: to the fold
// that makes the result, to the run file, and to who is watching.
type feed struct {
	header  result.Header
	part    *part // nil: nobody has to be told
	fold    *result.Fold
	file    *result.RunFile // nil: no run file
	sampler *host.Sampler
	out     *output
	status  *engine.Status
	warned  bool // that the run file is written no more
}

var _ engine.Sink = (*feed)(nil)

// begin starts to sample this host, when the load begins: what it took to connect
// is no part of the measurement.
func (f *feed) begin(now time.Time) {
	f.sampler = host.NewSampler(now)
	start := result.Start{At: now.UTC()}
	if f.part != nil {
		start = f.part.began(now)
	}
	f.fold.Begin(start)
	if f.file != nil {
		f.file.Begin(start)
	}
}

// Observe takes the windows of one second, and a sample of this host.
func (f *feed) Observe(windows []stats.Window) {
	at := windows[0].End
	sample := f.sampler.Sample(at)
	for _, w := range windows {
		f.fold.AddWindow(w)
		if f.file != nil {
			f.file.AddWindow(w)
		}
	}
	f.fold.AddSample(sample)
	if f.file != nil {
		f.file.AddSample(sample)
	}
	if f.file != nil && f.file.Err() != nil && !f.warned {
		f.warned = true
		f.out.warn(f.file.Err())
	}
	f.out.observe(second{
		windows: windows, sample: sample, verdict: f.fold.Verdict(),
		stage: engine.Stage(f.status.Stage.Load()), buffered: f.status.Buffered.Load(),
		inFlight: int(f.status.Requests.Load()), consumerLag: f.fold.ConsumerLag(),
	})
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

// second is what happened in one second of a run.
type second struct {
	windows     []stats.Window
	sample      host.Sample
	verdict     result.Verdict
	stage       engine.Stage
	buffered    int64
	inFlight    int
	consumerLag int64
}
