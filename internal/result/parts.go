package result

import (
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// Together is what only the parts of a merged run show: their sum does not.
type Together struct {
	verdict.Parts
	OfferedPerSecond      float64 // over the overlap, as all rates
	AcknowledgedPerSecond float64
	ReadPerSecond         float64
	Waiting               float64 // records offered in the overlap, and without an outcome at its end
	Stall                 stats.Gap
	Cores                 float64 // used by processes, each by its own samples
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
