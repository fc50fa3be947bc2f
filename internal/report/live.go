package report

import (
	"fmt"
	"io"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// Live writes lines about a run as it goes on: those of the output, or progress for a log.
type Live struct {
	o       LiveOptions
	plan    plan.Plan
	rows    *consumerPerf // of the output perf-test, where nothing is written
	pending run.Second    // of the interval that is not over
	points  int64         // written so far, of the output jsonl
	err     error         // the first of writing to Stdout
}

var _ run.Observer = (*Live)(nil)

// LiveOptions are how lines are written.
type LiveOptions struct {
	Output   string // as in config.Outputs
	Quiet    bool   // no progress
	Interval time.Duration
	Rows     ConsumerRows // of the output perf-test

	Stdout, Stderr io.Writer // for the output, and for progress
	Now            func() time.Time
	Draining       func(buffered int64) // called for an interval that only waited for acknowledgements
}

// NewLive begins with the run of a header.
func NewLive(h result.Header, o LiveOptions) (*Live, error) {
	l := &Live{o: o, plan: h.Plan}
	if o.Output != "perf-test" || h.Plan.Writes() {
		return l, nil
	}
	o.Rows.Interval = o.Interval
	l.rows = newConsumerPerf(o.Stdout, h, o.Rows)
	return l, l.rows.writeHeader()
}

// intervalSlack lets an interval end with the second that all but fills it.
const intervalSlack = 100 * time.Millisecond

// Observe writes the points of a second, and merges seconds to intervals. The last interval may
// be shorter.
func (l *Live) Observe(s run.Second) {
	if l.o.Output == "jsonl" {
		l.writePoints(&s.Snapshot)
	}
	if l.o.Quiet && l.o.Output != "perf-test" {
		return
	}
	l.pending = s.Merge(l.pending)
	length, over := l.pending.Length(), s.Snapshot.Stage == result.Finished
	if length < l.o.Interval-intervalSlack && !over {
		return
	}
	s, l.pending = l.pending, run.Second{}
	// A short interval at the end would look like a collapse of the rate.
	if !over || length >= time.Second/2 {
		l.writeInterval(&s)
	}
}

func (l *Live) writePoints(s *result.Snapshot) {
	points := s.Recent[max(0, len(s.Recent)-int(s.Placed-l.points)):]
	l.points = s.Placed
	for _, p := range points {
		l.note(jsonInterval(l.o.Stdout, p, doingOf(&l.plan, nil)))
	}
}

// writeInterval writes a line. An error of progress does not end the run.
func (l *Live) writeInterval(s *run.Second) {
	w, p := stats.Merge(s.Windows...), &l.plan
	switch perf := l.o.Output == "perf-test"; {
	case w.Empty() && !perf && s.Snapshot.Stage == result.Draining:
		l.o.Draining(s.Snapshot.Buffered)
	case w.Empty():
	case l.rows != nil:
		l.note(l.rows.writeInterval(&w))
	case perf && p.Reads(): // Kafka's round trip prints no intervals
	case perf:
		l.note(writePerfInterval(l.o.Stdout, &w))
	default:
		_, _ = fmt.Fprintln(l.o.Stderr, progress(l.o.Now(), &w, s.Sample, p, &s.Snapshot.ConsumerLag))
	}
}

func (l *Live) note(err error) {
	if l.err == nil {
		l.err = err
	}
}

// Finish writes the end of an output that is lines, and reports whether it is one. The error may
// be of a line before.
func (l *Live) Finish(res result.Result) (lines bool, err error) {
	switch {
	case l.o.Output == "jsonl":
		l.note(jsonSummary(l.o.Stdout, res))
	case l.rows != nil:
		l.note(l.rows.finish(res))
	default:
		return false, l.err
	}
	return true, l.err
}
