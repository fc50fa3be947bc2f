package result

import (
	"math"
	"slices"
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

// fewest is the number of records that each mean must hold: of fewer, one more or less is unsteady. Points are joined
// until they do.
const fewest = 50

// stability returns the stability of the load; nil: fewer than inference.Shortest points were measured.
func (f *Fold) stability(r *Result) *Stability {
	points := slices.DeleteFunc(r.measured(), func(p Point) bool { return f.paused(secondsOf(p.StartSeconds), secondsOf(p.End())) })
	if len(points) == 0 {
		return nil
	}
	each := int(math.Ceil(fewest / meansOf * float64(len(points)) / max(1, r.counted(points))))
	var at, rates []float64
	length := 0.0 // of all points
	for some := range slices.Chunk(points, each) {
		if len(some) < each {
			break
		}
		from, last := some[0].StartSeconds, &some[each-1]
		at = append(at, from)
		for i := range some {
			length += some[i].Seconds
		}
		rates = append(rates, f.evened(r.counted(some)/(last.End()-from), secondsOf(from), secondsOf(last.End())))
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

// measured returns the points of the load after the warm-up.
func (r *Result) measured() (points []Point) {
	begin, end := r.Throughput.FirstDueSeconds, r.Throughput.Seconds
	if r.Plan.ReadsOnly() && r.Fetch != nil {
		begin, end = r.Fetch.FirstReadSeconds, r.Fetch.Seconds
	}
	end += begin + 0.1 // windows are cut a little late
	for _, p := range r.Series {
		if !p.Warmup && p.Seconds >= ShortRow && p.End() <= end && (len(points) > 0 || p.End() > begin) {
			points = append(points, p)
		}
	}
	return points
}

// counted returns the records of points that the rate of the run is of.
func (r *Result) counted(points []Point) (n float64) {
	for i := range points {
		if r.Plan.ReadsOnly() {
			n += float64(points[i].Consumed)
		} else {
			n += float64(points[i].Acknowledged)
		}
	}
	return n
}

// Rising returns an unlimited rate in the first third of the measured part, and in the last. warmup is the least one in seconds
// that leaves the rise out. still is false if the rate rose by a tenth or less from one third to the next.
func (r *Result) Rising() (first, last, warmup float64, still bool) {
	const rises = 1.1
	points := r.measured()
	third := len(points) / 3
	if third == 0 || !r.Plan.Load.Rate.IsUnlimited() || r.Plan.Load.OneAtATime {
		return 0, 0, 0, false
	}
	rate := func(some []Point) float64 { return r.counted(some) / (some[len(some)-1].End() - some[0].StartSeconds) }
	first, middle, last := rate(points[:third]), rate(points[third:len(points)-third]), rate(points[len(points)-third:])
	return first, last, math.Ceil(points[len(points)-1].End() - 0.5), middle > rises*first && last > rises*middle
}

func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// evened returns a rate over a time as if the target had not been changed.
func (f *Fold) evened(rate float64, start, end time.Duration) float64 {
	if mean := f.schedule.Mean(start, end); f.varies() && mean > 0 {
		rate *= f.header.Plan.RecordsPerSecond() / mean
	}
	return rate
}
