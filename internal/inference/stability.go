package inference

import (
	"slices"

	"github.com/aclements/go-moremath/stats"
)

// Label is how the throughput of one run went on.
type Label string

// The four labels of Barrett et al.
const (
	Flat     Label = "flat"     // steady from the first second on
	WarmUp   Label = "warm-up"  // steady later, and not lower than at first
	Slowdown Label = "slowdown" // lower later than at first, steady or still falling
	None     Label = "none"     // never steady
)

const (
	roughest    = 0.05 // largest coefficient of variation of 5-second means that is steady
	drifting    = 0.02 // smallest change over the whole series that is a drift
	trendPoints = 500  // most points of a trend, whose memory grows with their square
	changeShows = 0.05 // largest p of a change of level that counts
	driftShows  = 0.01 // alpha of the drift's interval, small because neighbours are alike
)

// Steadiness is the label of a run, and the numbers that it follows from.
type Steadiness struct {
	Label Label `json:"label"`
	// WarmUp is how many seconds to leave out so that the rest is steady. It is 0 if
	// nothing has to be left out, and if no rest is steady.
	WarmUp    int      `json:"warmup_seconds"`
	Roughness float64  `json:"roughness"` // of all, or of the rest that is steady
	Drift     Estimate `json:"drift"`     // share of the mean by which it rises over the same seconds
	Change    Change   `json:"change"`    // of all seconds
}

// Stability labels a run by its throughput in each second. Steady means that 5-second means
// vary by at most 5 %, and that no drift of more than 2 % over the whole time can be told from
// noise. The start that may be left out ends where MSER5 or ChangePoint says, and
// at least Shortest seconds must follow. It returns ErrShort or ErrNotPositive.
//
// A run that falls clearly until its end is a slowdown here, and would be none in the paper.
//
// Source: labels of Barrett et al., Virtual Machine Warmup Blows Hot and Cold, OOPSLA 2017.
func Stability(series []float64) (Steadiness, error) {
	all, steady, err := judge(series)
	if err != nil {
		return Steadiness{}, err
	}
	all.Label, all.Change = Flat, ChangePoint(series)
	if steady {
		return all, nil
	}
	first, _ := MSER5(series) // whatever it found is judged by the rest
	cuts := []int{first}
	if all.Change.P <= changeShows {
		cuts = append(cuts, all.Change.At)
	}
	slices.Sort(cuts)
	for _, cut := range cuts {
		rest, steady, err := judge(series[cut:])
		if err != nil || !steady {
			continue
		}
		rest.Label, rest.WarmUp, rest.Change = WarmUp, cut, all.Change
		if stats.Mean(series[:cut]) > (1+drifting)*stats.Mean(series[cut:]) {
			rest.Label = Slowdown
		}
		return rest, nil
	}
	all.Label = None
	if all.Drift.High < 0 && all.Drift.Value < -drifting {
		all.Label = Slowdown
	}
	return all, nil
}

// judge returns the numbers of a series, and reports whether it is steady.
func judge(series []float64) (s Steadiness, steady bool, _ error) {
	r, err := Roughness(series)
	if err != nil {
		return s, false, err
	}
	s.Roughness, s.Drift = r, drift(series)
	shown := s.Drift.Low > 0 || s.Drift.High < 0
	steady = r <= roughest && !(shown && max(s.Drift.Value, -s.Drift.Value) > drifting)
	return s, steady, nil
}

// drift returns the rise of a trend over the whole series as a share of its mean.
func drift(series []float64) Estimate {
	size := max(batch, (len(series)+trendPoints-1)/trendPoints)
	y := means(series, size)
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i * size)
	}
	e := TheilSen(x, y, driftShows)
	scale := float64(len(series)) / stats.Mean(series)
	e.Value, e.Low, e.High = e.Value*scale, e.Low*scale, e.High*scale
	return e
}
