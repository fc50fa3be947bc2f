package inference_test

import (
	"errors"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

// The first example of the tests of R's package usl, which finds a = b = 0.02.
func TestUSLAgreesWithR(t *testing.T) {
	s := must.Have(inference.USL([]float64{1, 2, 4, 6, 8, 10}, []float64{1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557}, alpha))(t)
	near(t, "g", s.Gamma, 1, 1e-4)
	near(t, "a", s.Alpha, 0.02, 1e-4)
	near(t, "b", s.Beta, 0.02, 1e-4)
	near(t, "peak", s.Peak.Value, 7, 1e-3)
	near(t, "X(7)", s.At(7), 3.5714, 1e-3)
}

// SPEC SDM91 of Gunther's book. R's usl, which weights absolute errors, finds a peak at 96.5.
func TestUSLIntervalHoldsTheBooksPeak(t *testing.T) {
	s := must.Have(inference.USL([]float64{1, 18, 36, 72, 108, 144, 216}, []float64{64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2}, alpha))(t)
	near(t, "peak", s.Peak.Value, 96.5, 5)
	if s.Peak.Low > 96.5 || s.Peak.High < 96.5 || s.Noise < 0.03 || s.Noise > 0.15 {
		t.Errorf("%+v", s)
	}
}

func TestUSLIntervalHoldsThePeak(t *testing.T) {
	r := seeded(20)
	n := []float64{1, 5, 10, 20, 40, 60, 80}
	for _, peak := range []float64{20, 40} {
		truth := inference.Scaling{Gamma: 50000, Alpha: 0.02, Beta: 0.98 / peak / peak}
		const trials = 2000
		held := share(trials, func() bool {
			x := make([]float64, len(n))
			for i := range n {
				x[i] = truth.At(n[i]) * (1 + 0.03*r.NormFloat64())
			}
			s, err := inference.USL(n, x, alpha)
			return err == nil && s.Peak.Low <= peak && peak <= s.Peak.High
		})
		near(t, "share held", held, 0.95, 0.01+tolerance(0.05, trials))
	}
}

func TestUSLRefusesToExtrapolate(t *testing.T) {
	n := []float64{1, 2, 4, 8, 16, 32}
	curve := func(s inference.Scaling) []float64 {
		x := make([]float64, len(n))
		for i := range n {
			x[i] = s.At(n[i])
		}
		return x
	}
	for _, r := range []struct {
		what string
		n, x []float64
		want error
	}{
		{"linear", n, []float64{10, 20, 40, 80, 160, 320}, inference.ErrNoPeak},
		{"saturates", n, curve(inference.Scaling{Gamma: 10, Alpha: 0.1}), inference.ErrNoPeak},
		{"peak at 100, beyond the last point", n, curve(inference.Scaling{Gamma: 10, Alpha: 0.01, Beta: 0.99e-4}), inference.ErrNoPeak},
		{"falls from the first point on", n, curve(inference.Scaling{Gamma: 10, Alpha: 1.2, Beta: 0.01}), inference.ErrNoPeak},
		{"a fall within noise", n, []float64{10, 19, 41, 62, 60, 70}, inference.ErrNoPeak},
		{"five points", n[:5], []float64{1, 2, 3, 3, 2}, inference.ErrFewPoints},
		{"six runs at three points", []float64{1, 1, 2, 2, 4, 4}, []float64{1, 1, 2, 2, 3, 3}, inference.ErrFewPoints},
		{"no throughput", n, []float64{1, 2, 3, 4, 0, 1}, inference.ErrNotPositive},
	} {
		s, err := inference.USL(r.n, r.x, alpha)
		if !errors.Is(err, r.want) || s.Peak != (inference.Estimate{}) {
			t.Errorf("%s: %+v, %v, want %v", r.what, s, err, r.want)
		}
	}
	s, _ := inference.USL(n, curve(inference.Scaling{Gamma: 10, Alpha: 0.1}), alpha)
	near(t, "curve without a peak", s.At(20), 10*20/2.9, 1e-6)
	if _, err := inference.USL(n, n[:3], alpha); err == nil {
		t.Error("three throughputs for six numbers of workers are accepted")
	}
}
