package inference_test

import (
	"errors"
	"math"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

func level(int) float64 { return 1 }

func TestTheilSenAgreesWithTheBooks(t *testing.T) {
	for _, r := range must.Rows[[]struct {
		X, Y             []float64
		Alpha            float64
		Slope, Low, High float64
	}](t, "series") {
		e := inference.TheilSen(r.X, r.Y, r.Alpha)
		near(t, "slope", e.Value, r.Slope, 1e-7)
		near(t, "low", e.Low, r.Low, 1e-7)
		near(t, "high", e.High, r.High, 1e-7)
	}
	must.Match(t, (inference.Estimate{}), inference.TheilSen([]float64{1, 1}, []float64{1, 2}, 0.05), "slope at one x")
}

// Flow of the Nile at Aswan, 1871 to 1970: the level falls after 1898.
func TestChangePointFindsTheNilesChange(t *testing.T) {
	nile := []float64{
		1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
		1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
		831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
		781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
		744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
	}
	c := inference.ChangePoint(nile)
	must.True(t, 1871+c.At == 1899 && c.P <= 1e-4 && c.Before > c.After, "%+v, want a fall in 1899", c)
}

func TestChangePointIsRareWithoutAChange(t *testing.T) {
	s := seeded(30)
	const trials = 1000
	for _, correlation := range []float64{0, 0.3, 0.6} {
		wrong := share(trials, func() bool {
			return inference.ChangePoint(s.series(120, 0.05, correlation, level)).P <= alpha
		})
		must.True(t, wrong <= alpha+tolerance(alpha, trials), "correlation %v: a change in %v", correlation, wrong)
	}
	for _, series := range [][]float64{nil, {1, 2, 3}, {1, 1, 1, 1, 1}} {
		c := inference.ChangePoint(series)
		must.True(t, c.P == 1, "ChangePoint(%v) = %+v", series, c)
	}
}

func TestLag1(t *testing.T) {
	s := seeded(31)
	near(t, "correlated", inference.Lag1(s.series(20000, 0.1, 0.7, level)), 0.7, 0.02)
	near(t, "independent", inference.Lag1(s.series(20000, 0.1, 0, level)), 0, 0.025)
	near(t, "alternating", inference.Lag1([]float64{1, 2, 1, 2, 1, 2, 1, 2}), -0.875, 1e-12)
	must.Match(t, []float64{0, 0}, []float64{inference.Lag1([]float64{3, 3, 3}), inference.Lag1(nil)}, "Lag1 of a constant is not 0")
}

func TestMSER5FindsAKnownWarmUp(t *testing.T) {
	s := seeded(32)
	const trials = 300
	step := func(second int) float64 {
		if second < 30 {
			return 0.7
		}
		return 1
	}
	right := share(trials, func() bool {
		cut, found := inference.MSER5(s.series(300, 0.03, 0.3, step))
		return found && cut >= 30 && cut <= 60
	})
	must.True(t, right >= 0.85, "a step after 30 s is cut between 30 and 60 s in %v", right)
	curve := func(second int) float64 { return 1 - 0.5*math.Exp(-float64(second)/10) }
	// What is left of the warm-up must not bias the mean: 1 % is left after 39 s, 5 % after 23 s.
	right = share(trials, func() bool {
		cut, _ := inference.MSER5(s.series(300, 0.03, 0.3, curve))
		return cut >= 20
	})
	must.True(t, right >= 0.95, "an exponential warm-up of 10 s is cut after 20 s or later in %v", right)
	ramp := func(second int) float64 { return 0.1 + float64(second)/300 }
	wrong := share(trials, func() bool { _, found := inference.MSER5(s.series(300, 0.01, 0, ramp)); return found })
	must.True(t, wrong <= 0.05, "a ramp to the end has a warm-up in %v", wrong)
	cut, found := inference.MSER5(make([]float64, 29))
	must.True(t, cut == 0 && !found, "29 s: %d, %v", cut, found)
	cut, found = inference.MSER5(make([]float64, 300))
	must.True(t, cut == 0 && found, "a constant: %d, %v", cut, found)
}

func TestStabilityLabels(t *testing.T) {
	s := seeded(33)
	from := func(second int, before, after float64) func(int) float64 {
		return func(i int) float64 {
			if i < second {
				return before
			}
			return after
		}
	}
	const trials = 60
	for _, r := range []struct {
		what      string
		seconds   int
		spread    float64
		level     func(int) float64
		want      inference.Label
		low, high int // of the warm-up
	}{
		{"one level for 30 s", 30, 0.03, level, inference.Flat, 0, 0},
		{"one level for a minute", 60, 0.05, level, inference.Flat, 0, 0},
		{"one level for ten minutes", 600, 0.05, level, inference.Flat, 0, 0},
		{"lower for the first 10 s of a minute", 60, 0.03, from(10, 0.6, 1), inference.WarmUp, 10, 30},
		{"lower for the first 20 s of two minutes", 120, 0.03, from(20, 0.7, 1), inference.WarmUp, 20, 60},
		{"a tenth lower from half time on", 600, 0.03, from(300, 1, 0.9), inference.Slowdown, 290, 320},
		{"a tenth lower for the last third", 600, 0.03, from(400, 1, 0.9), inference.Slowdown, 380, 420},
		{"higher for the first 30 s", 300, 0.03, from(30, 1.2, 1), inference.Slowdown, 25, 150},
		{"falls to half until the end", 600, 0.03, func(i int) float64 { return 1 - float64(i)/1200 }, inference.Slowdown, 0, 0},
		{"rises until the end", 600, 0.03, func(i int) float64 { return 0.5 + float64(i)/1200 }, inference.None, 0, 0},
		{"swings every half minute", 300, 0.02, func(i int) float64 { return 1 - 0.4*float64(i/30%2) }, inference.None, 0, 0},
		{"rough throughout", 300, 0.25, level, inference.None, 0, 0},
	} {
		right := share(trials, func() bool {
			got, err := inference.Stability(s.series(r.seconds, r.spread, 0.3, r.level))
			return err == nil && got.Label == r.want && got.WarmUp >= r.low && got.WarmUp <= r.high
		})
		must.True(t, right >= 0.9, "%s: %s with a warm-up of %d to %d s in %v", r.what, r.want, r.low, r.high, right)
	}
}

func TestStabilityGivesTheNumbersOfTheSteadyPart(t *testing.T) {
	s := seeded(34)
	got, err := inference.Stability(s.series(300, 0.02, 0, func(i int) float64 { return 1 - 0.5*math.Exp(-float64(i)/10) }))
	must.Hold(t, err == nil && got.Label == inference.WarmUp, "%+v, %v", got, err)
	near(t, "roughness", got.Roughness, 0.02/math.Sqrt(5), 0.004)
	near(t, "drift", got.Drift.Value, 0, 0.02)
	got, err = inference.Stability(s.series(86400, 0.05, 0.3, level))
	must.True(t, err == nil && got.Label == inference.Flat, "a day: %+v, %v", got, err)
	_, err = inference.Stability(make([]float64, 29))
	must.True(t, errors.Is(err, inference.ErrShort), "29 s give %v", err)
	_, err = inference.Stability(make([]float64, 60))
	must.True(t, errors.Is(err, inference.ErrNotPositive), "no throughput at all gives %v", err)
}
