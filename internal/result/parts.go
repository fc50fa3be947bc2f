package result

import (
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Together has the findings on a merged run that the sum of its parts does not show.
type Together struct {
	verdict.Parts
	Overlap *stats.Window // counts in the overlap, if rates are over it; nil: rates are over the whole run
	Stall   stats.Gap
	Cores   float64 // used by all processes
}

// rate sets the rates of a merged run to those of its overlap.
func (t *Throughput) rate(overlap *stats.Window) {
	t.FirstDueSeconds, t.Seconds = overlap.Start.Seconds(), overlap.Seconds()
	t.RecordsPerSecond, t.MiBPerSecond = overlap.RecordsPerSecond(), overlap.BytesPerSecond()/mib
	t.OfferedRecordsPerSecond = float64(overlap.Offered) / t.Seconds
}

// rate sets the rates of a merged run to those of its overlap.
func (f *Fetch) rate(overlap *stats.Window) {
	f.FirstReadSeconds, f.Seconds = overlap.Start.Seconds(), overlap.Seconds()
	f.RecordsPerSecond, f.MiBPerSecond = overlap.ConsumedPerSecond(), float64(overlap.ConsumedBytes)/mib/f.Seconds
}

// throughput returns the throughput of the measured part.
func (f *Fold) throughput() Throughput {
	w := &f.total[stats.Measured]
	t := throughputOf(w)
	from, to := w.FirstDue, max(w.LastAck, w.LastDue)
	if f.header.Plan.ReadsOnly() {
		from, to = w.FirstRead, w.LastRead
	}
	if f.together != nil && f.together.Overlap != nil {
		t.rate(f.together.Overlap)
		from, to = f.together.Overlap.Start, f.together.Overlap.End
	}
	t.TargetRecordsPerSecond = f.schedule.Mean(from, to)
	return t
}

// fetch returns the figures of reading of the measured part.
func (f *Fold) fetch() *Fetch {
	m := &f.total[stats.Measured]
	r := fetchOf(m)
	if span := readSpan(m).Seconds(); r.Seconds > 0 && f.together == nil {
		r.RecordsPerSecond, r.MiBPerSecond = float64(m.Consumed)/span, float64(m.ConsumedBytes)/mib/span
	}
	if f.together != nil && f.together.Overlap != nil {
		r.rate(f.together.Overlap)
	}
	return r
}

// JoinParts makes f the fold of a merged run.
func (f *Fold) JoinParts(t Together) { f.together = &t }

// NewPartFold returns the fold of one part of many. It has no series, partitions or brokers, so that
// hundreds of folds fit into memory.
func NewPartFold(h Header) *Fold {
	f := NewFold(h)
	f.lean = true
	return f
}

// Total returns the sum of all windows of a phase so far. The caller must not change it.
func (f *Fold) Total(phase int) *stats.Window { return &f.total[phase] }
