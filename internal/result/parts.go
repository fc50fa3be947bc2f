package result

import (
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Together is what only the parts of a merged run show: their sum does not.
type Together struct {
	verdict.Parts
	Overlap *stats.Window // the counts that rates are of; nil: all that was measured
	Stall   stats.Gap
	Cores   float64 // used by processes, each by its own samples
}

// rate sets the rates of a merged run whose parts did not run together all the time: they
// are over the overlap.
func (t *Throughput) rate(overlap *stats.Window) {
	t.FirstDueSeconds, t.Seconds = overlap.Start.Seconds(), overlap.Seconds()
	t.RecordsPerSecond, t.MiBPerSecond = overlap.RecordsPerSecond(), overlap.BytesPerSecond()/mib
	t.OfferedRecordsPerSecond = float64(overlap.Offered) / t.Seconds
}

// rate is as that of Throughput.
func (f *Fetch) rate(overlap *stats.Window) {
	f.FirstReadSeconds, f.Seconds = overlap.Start.Seconds(), overlap.Seconds()
	f.RecordsPerSecond, f.MiBPerSecond = overlap.ConsumedPerSecond(), float64(overlap.ConsumedBytes)/mib/f.Seconds
}

// throughput returns the rates of the measured part.
func (f *Fold) throughput() Throughput {
	t := throughputOf(&f.total[stats.Measured], f.header.Plan.RecordsPerSecond())
	if f.told != nil && f.told.Overlap != nil {
		t.rate(f.told.Overlap)
	}
	return t
}

// fetch returns what was read in the measured part.
func (f *Fold) fetch() *Fetch {
	r := fetchOf(&f.total[stats.Measured])
	if f.told != nil && f.told.Overlap != nil {
		r.rate(f.told.Overlap)
	}
	return r
}

// JoinParts makes the fold that of a merged run.
func (f *Fold) JoinParts(t Together) { f.told = &t }

// NewPartFold returns the fold of one part of many. It has no series, partitions or
// brokers, so that hundreds of them fit into memory.
func NewPartFold(h Header) *Fold {
	f := NewFold(h)
	f.lean = true
	return f
}

// Total returns all windows of a phase so far, added up. The caller must not change it.
func (f *Fold) Total(phase int) *stats.Window { return &f.total[phase] }
