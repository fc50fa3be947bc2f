package cmd

import (
	"time"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// This file has the observers of a run that write lines as it goes on.

// observerFunc is a function that observes.
type observerFunc func(run.Second)

func (f observerFunc) Observe(s run.Second) { f(s) }

// intervalSlack lets an interval end with the second that all but fills it.
const intervalSlack = 100 * time.Millisecond

// every merges seconds to intervals. The last interval may be shorter.
type every struct {
	interval time.Duration
	pending  run.Second
	to       run.Observer
}

func (e *every) Observe(s run.Second) {
	e.pending = s.Merge(e.pending)
	length := e.pending.Length()
	if length < e.interval-intervalSlack && s.Snapshot.Stage != result.Finished {
		return
	}
	s, e.pending = e.pending, run.Second{}
	// The moment after the last second would read as a collapse.
	if s.Snapshot.Stage != result.Finished || length >= time.Second/2 {
		e.to.Observe(s)
	}
}

// lineObservers returns the observers of a run without a screen.
func (o *output) lineObservers() []run.Observer {
	var list []run.Observer
	var interval func(run.Second)
	switch {
	case o.rows != nil:
		interval = o.row
	case o.format == "perf-test" && o.load.Plan.Reads(): // Kafka's round trip prints no intervals
	case o.format == "perf-test":
		interval = o.perfInterval
	case !o.load.Quiet:
		interval = o.progress
	}
	if o.format == "jsonl" {
		list = append(list, &jsonLines{out: o})
	}
	if interval != nil {
		list = append(list, &every{interval: o.load.Interval, to: observerFunc(interval)})
	}
	return list
}

// row writes a row of Kafka's consumer test.
func (o *output) row(s run.Second) {
	if w := stats.Whole(s.Windows); !w.Empty() {
		o.note(o.rows.Interval(&w))
	}
}

// perfInterval writes a line of Kafka's producer test.
func (o *output) perfInterval(s run.Second) {
	if w := stats.Whole(s.Windows); !w.Empty() {
		o.note(report.PerfInterval(o.env.Stdout, &w))
	}
}

// progress writes a line on stderr. The run goes on when nobody reads it.
func (o *output) progress(s run.Second) {
	w, p := stats.Whole(s.Windows), &o.load.Plan
	switch {
	case w.Empty() && s.Snapshot.Stage == result.Draining:
		o.env.say("waiting for the acknowledgements of %s; %s at most",
			theme.Bytes(s.Snapshot.Buffered), theme.Duration(o.load.system.Producer.DeliveryTimeout()))
	case w.Empty():
	case p.Reads():
		_ = report.ReadProgress(o.env.Stderr, o.env.Now(), &w, s.Sample, p, s.Snapshot.ConsumerLag.Records)
	default:
		_ = report.Progress(o.env.Stderr, o.env.Now(), &w, s.Sample, p.Load.Duration.Std())
	}
}

// jsonLines writes each point of a run on stdout, as a line of JSON.
type jsonLines struct {
	out     *output
	written int64
}

func (j *jsonLines) Observe(s run.Second) {
	points := s.Snapshot.Recent
	points = points[max(0, len(points)-int(s.Snapshot.Placed-j.written)):]
	j.written = s.Snapshot.Placed
	for _, p := range points {
		j.out.note(report.JSONInterval(j.out.env.Stdout, p, &j.out.load.Plan))
	}
}
