package capture

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

// near reports whether a number is within a share of another one.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

func TestSizesAreDrawnAsTheyWereSeen(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) int{
		"one size": func(*rand.Rand) int { return 12345 },
		"two sizes": func(r *rand.Rand) int {
			if r.Float64() < 0.3 {
				return 100
			}
			return 10_000
		},
		"even":        func(r *rand.Rand) int { return 100 + r.IntN(1901) },
		"small":       func(r *rand.Rand) int { return 1 + r.IntN(9) },
		"long tail":   func(r *rand.Rand) int { return int(300 * math.Exp(1.5*r.NormFloat64())) },
		"normal":      func(r *rand.Rand) int { return max(1, int(1024+200*r.NormFloat64())) },
		"tombstones":  func(r *rand.Rand) int { return r.IntN(4) * 250 },
		"a few large": func(r *rand.Rand) int { return 500 + r.IntN(20) + 500_000*(r.IntN(200)/199) },
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		var s sizes
		var seen []int
		for range 100_000 {
			seen = append(seen, draw(rng))
			s.add(seen[len(seen)-1])
		}
		text := s.String()
		size, err := plan.ParseSize(text)
		must.Do(t, err)
		var drawn []int
		for range seen {
			drawn = append(drawn, size.Draw(rng))
		}
		slices.Sort(seen)
		slices.Sort(drawn)
		for _, q := range []float64{0.5, 0.99} {
			at := int(q * float64(len(seen)))
			must.True(t, near(float64(drawn[at]), float64(seen[at]), 0.05), "%s: quantile %g is %d, want %d: %s", name, q, drawn[at], seen[at], text)
		}
		must.True(t, near(size.Mean(), s.mean(), 0.05), "%s: the mean is %g, want %g: %s", name, size.Mean(), s.mean(), text)
		must.True(t, len(s.counts) < 1800, "%s: %d buckets", name, len(s.counts))
		if name == "one size" {
			must.Match(t, "12345", text, "the size")
		}
	}
}

func TestKeysAreFoundByTheirLaw(t *testing.T) {
	for _, c := range []struct {
		zipf    float64 // 0: even
		keys    int64
		records int
		known   bool
	}{
		{1.1, 1000, 100_000, true},
		{1.1, 50_000, 1_000_000, true},
		{0.7, 5000, 200_000, true},
		{2, 1000, 200_000, false},
		{2, 20, 200_000, true},
		{0, 1000, 20_000, true},
		{0, 50_000, 600_000, true},
		{0, 1, 1000, true},
		{0, 1_000_000, 100_000, false},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		law, k := plan.NewZipf(max(c.zipf, 0.5), c.keys), new(keys)
		for range c.records {
			key := rng.Int64N(c.keys)
			if c.zipf > 0 {
				key = law.Draw(rng)
			}
			k.add(strconv.AppendInt(nil, key, 10))
		}
		number, zipf, known := k.popularity()
		what := fmt.Sprintf("%+v: found %d keys, zipf %.3f, known %t", c, number, zipf, known)
		must.Match(t, c.known, known, what)
		must.True(t, math.Abs(zipf-c.zipf) < 0.1, "%s", what)
		if c.known {
			must.True(t, near(float64(number), float64(c.keys), 0.05), "%s", what)
		} else {
			must.True(t, number <= c.keys, "%s", what)
		}
		must.True(t, len(k.seen) <= maxHashes, "%s: %d hashes", what, len(k.seen))
	}
}
