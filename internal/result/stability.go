package result

import (
	"math"
	"time"

	"github.com/kt-bench/kt/internal/inference"
)

// Stability is how the throughput of the measured part went on. Its values are the points of the
// series: seconds, or longer ones of a run of more than an hour.
type Stability struct {
	Label inference.Label `json:"label"`

	// WarmupSeconds is the warm-up after which the rest is steady, from the start of the run; 0: none
	// has to be left out, or no rest is steady.
	WarmupSeconds float64 `json:"warmup_seconds"`

	Variation    float64 `json:"variation_share"` // coefficient of variation of means of MeansSeconds; of the rest that is steady, or of all
	MeansSeconds float64 `json:"means_seconds"`   // 5, or five points of a long run
	Trend        Trend   `json:"trend"`
	Change       Change  `json:"change"`
}

// Trend is the rise of the throughput over the same time as the variation, as a share of its mean.
type Trend struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low_share"` // of the interval, of 99 % confidence
	High  float64 `json:"high_share"`
}

// Change is the most likely moment of a change of level.
type Change struct {
	AtSeconds float64 `json:"at_seconds"`
	P         float64 `json:"chance_share"` // of so much difference without a change
	Before    float64 `json:"before_per_second"`
	After     float64 `json:"after_per_second"` // medians
}

// meansOf is the number of points of each mean.
const meansOf = 5

// stability returns the stability of the load; nil: fewer than inference.Shortest points were measured.
func (f *Fold) stability(r *Result) *Stability {
	begin, end := r.Throughput.FirstDueSeconds, r.Throughput.Seconds
	if f.header.Plan.ReadsOnly() && r.Fetch != nil {
		begin, end = r.Fetch.FirstReadSeconds, r.Fetch.Seconds
	}
	end += begin + 0.1 // windows are cut a little late
	var at, rates []float64
	length := 0.0 // of all points
	for _, p := range r.Series {
		n := p.Acknowledged
		if f.header.Plan.ReadsOnly() {
			n = p.Consumed
		}
		from, to := secondsOf(p.StartSeconds), secondsOf(p.End())
		if p.Warmup || p.Seconds < ShortRow || p.End() > end || len(at) == 0 && p.End() <= begin || f.paused(from, to) {
			continue
		}
		at = append(at, p.StartSeconds)
		rates = append(rates, f.evened(float64(n)/p.Seconds, from, to))
		length += p.Seconds
	}
	s, err := inference.Stability(rates)
	if err != nil {
		return nil
	}
	out := &Stability{
		Label: s.Label, Variation: s.Roughness, MeansSeconds: meansOf * math.Round(length/float64(len(at))),
		Trend:  Trend{s.Drift.Value, s.Drift.Low, s.Drift.High},
		Change: Change{at[s.Change.At], s.Change.P, s.Change.Before, s.Change.After},
	}
	if s.WarmUp > 0 {
		out.WarmupSeconds = math.Ceil(at[s.WarmUp])
	}
	return out
}

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// evened returns a rate over a time as if the target had not been changed.
func (f *Fold) evened(rate float64, start, end time.Duration) float64 {
	if mean := f.schedule.Mean(start, end); f.varies() && mean > 0 {
		rate *= f.header.Plan.RecordsPerSecond() / mean
	}
	return rate
}
