package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// progress returns a line about an interval of a run, for a log or a pipe. now is when it ended, and lag the consumer lag then.
func progress(now time.Time, w *stats.Window, h host.Sample, p *plan.Plan, lag *result.LagNow) string {
	clock, failed := theme.Clock(w.End), w.Failed
	if of := p.Load.Duration.Std(); of > 0 {
		clock += "/" + theme.Clock(of)
	}
	parts := []string{now.UTC().Format(time.RFC3339), clock}
	if w.Warmup {
		parts = append(parts, "warm-up")
	}
	if p.Reads() {
		if p.Writes() {
			parts = append(parts, "sent "+theme.Rate(w.RecordsPerSecond())+"/s", theme.MiB(w.BytesPerSecond())+" MiB/s")
		}
		waits := pick(lag.Known, theme.Rate(float64(lag.Records)), "not known")
		parts = append(parts, "read "+theme.Rate(w.ConsumedPerSecond())+"/s", theme.MiB(per(float64(w.ConsumedBytes), w.End-w.Start))+" MiB/s", "consumer lag "+waits)
		if p.Writes() && p.Command != plan.Produce || w.EndToEnd.Count() > 0 { // loads of a workload have no latency together
			parts = append(parts, "end to end p50 "+quantile(&w.EndToEnd, 0.5), "p99 "+quantile(&w.EndToEnd, 0.99))
		}
		failed += w.Refused()
	} else {
		parts = append(parts, theme.Rate(w.RecordsPerSecond())+" records/s", theme.MiB(w.BytesPerSecond())+" MiB/s",
			"p50 "+quantile(&w.Response, 0.5), "p99 "+quantile(&w.Response, 0.99), "p99.9 "+quantile(&w.Response, 0.999))
	}
	const shows = 100 * time.Millisecond // a record that waits for less is no news; quantiles cannot show one
	if w.Oldest >= shows && w.Oldest > w.Response.Served().Max() {
		parts = append(parts, "oldest unanswered "+theme.Duration(w.Oldest))
	}
	return strings.Join(append(parts, "err "+theme.Count(failed), fmt.Sprintf("cpu %.2f/%.4g cores", h.ProcessCPU, h.Cores)), "  ")
}

// quantile returns a dash where there is nothing: a latency of 0 would be the best there is.
func quantile(h *stats.Histogram, q float64) string {
	return pick(h.Ranked() == 0, "-", theme.Duration(h.ValueAtQuantile(q)))
}

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
		all := s.Snapshot.Recent
		for _, p := range all[max(0, len(all)-int(s.Snapshot.Placed-l.points)):] {
			l.note(jsonInterval(l.o.Stdout, "", p, doingOf(&l.plan, nil)))
		}
		l.points = s.Snapshot.Placed
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
	w, p := stats.Merge(s.Windows...), &l.plan
	switch perf := l.o.Output == "perf-test"; {
	case over && length < time.Second/2: // it would look like a collapse of the rate
	case w.Empty() && !perf && s.Snapshot.Stage == result.Draining:
		l.o.Draining(s.Snapshot.Buffered)
	case w.Empty():
	case l.rows != nil:
		l.note(l.rows.writeInterval(&w))
	case perf && p.Reads(): // Kafka's round trip prints no intervals
	case perf:
		l.note(writePerfInterval(l.o.Stdout, &w))
	default:
		_, _ = fmt.Fprintln(l.o.Stderr, progress( // an error of progress does not end the run
			l.o.Now(), &w, s.Sample, p, &s.Snapshot.ConsumerLag))
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

// StudyProgress returns a line about a study that goes on.
func StudyProgress(p study.Progress) string {
	switch p.What {
	case study.Preparing:
		return "preparing " + p.Name
	case study.Skipped:
		return fmt.Sprintf("%s is left out: %s", p.Turn.Cell, p.Reason)
	case study.Begun:
		return turnText(p.Turn, p.Turns, "", ", to warm up: it does not count")
	}
	var parts []string
	for i := range p.Results {
		r := &p.Results[i]
		p99 := r.Measures[metric.P99]
		parts = append(parts, strings.TrimSpace(r.Load+" "+theme.PerSecond(r.Measures[metric.Rate]))+" records/s"+
			pick(p99 > 0, ", p99 "+theme.Duration(micros(int64(p99))), "")+pick(r.Valid, "", ", not valid")+pick(p.Outcome != "" && r.Limit == verdict.None, "", ", limit "+r.Limit.String()))
	}
	return "  " + pick(p.Outcome == "", "", string(p.Outcome)+": ") + strings.Join(parts, "; ")
}

// turnText says which run goes on: "run 3 of 9, 10s left: acks=1", or "run 8, screening 7 of 22: acks=1". turns is 0 if it is not known.
func turnText(t study.Turn, turns int, left, warmsUp string) string {
	at := t.Cell.String()
	if t.Phase != "" {
		left = ", " + string(t.Phase) + pick(t.Step > 0, fmt.Sprintf(" %d", t.Step), "") + pick(t.Step > 0 && t.Steps > 0, fmt.Sprintf(" of %d", t.Steps), "") + left
	}
	return fmt.Sprintf("run %d", t.Number) + pick(turns > 0, fmt.Sprintf(" of %d", turns), "") + left + pick(at != "", ": "+at, "") + pick(t.Repeat == 0, warmsUp, "")
}

// StudyListDoc returns the studies that kt has, and those that were made.
func StudyListDoc(shipped []*study.Study, made []*study.Folder) *doc.Document {
	questions := doc.NewTable("studies", "Studies that kt has", "study|whole", "question|sentence")
	for _, s := range shipped {
		questions.Add(s.Name, s.About)
	}
	done := doc.NewTable("made", "Studies that were made here", "made here|whole", "runs|sentence")
	for _, f := range made {
		s, err := f.Status()
		text := fmt.Sprintf("%d of %d", s.Done, s.Wanted)
		if err != nil {
			text = err.Error()
		}
		done.Add(f.ID, text)
	}
	return &doc.Document{Command: "kt study", Subject: plural(len(shipped), "question"), Sections: []doc.Section{{ID: "studies", Blocks: []doc.Block{questions, done}}}}
}
