package plan

import (
	"math"
	"math/rand/v2"
	"testing"
)

// chiSquared returns how far the frequencies of many draws of a law are from that of the exponent s, in standard deviations of the
// chi-squared distribution. Ranks beyond the cells are one more cell.
func chiSquared(z *Zipf, s float64, n int64) float64 {
	const draws, cells = 1_000_000, 200
	rng := rand.New(rand.NewPCG(36, 1))
	got := make([]float64, min(n, cells)+1)
	want := make([]float64, len(got))
	for range draws {
		got[min(z.Draw(rng), int64(len(got)-1))]++
	}
	all := 0.0
	for k := n; k > 0; k-- { // from the least, so that small ones count
		p := math.Pow(float64(k), -s)
		all += p
		want[min(k-1, int64(len(got)-1))] += p
	}
	x, free := 0.0, -1.0
	for i, p := range want {
		if e := p / all * draws; e > 0 {
			x += (got[i] - e) * (got[i] - e) / e
			free++
		} else if got[i] > 0 {
			return math.Inf(1)
		}
	}
	if free == 0 {
		return 0
	}
	return (x - free) / math.Sqrt(2*free)
}

func TestZipfDrawsRanksAsOftenAsItsLawSays(t *testing.T) {
	for _, s := range []float64{0.5, 1, 1.1, 2, 3} {
		for _, n := range []int64{1, 2, 10, 1000, 1_000_000} {
			if x := chiSquared(NewZipf(s, n), s, n); x > 4 {
				t.Errorf("zipf:%g of %d: %.1f deviations from its law", s, n, x)
			}
			if n < 10 {
				continue
			}
			if x := chiSquared(NewZipf(s+0.1, n), s, n); x < 10 { // the test can tell laws apart
				t.Errorf("zipf:%g of %d is taken for zipf:%g: %.1f deviations", s+0.1, n, s, x)
			}
		}
	}
}

func TestZipfHasRanksUpToTheLargestNumbers(t *testing.T) {
	const n = 1 << 53
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range []float64{minZipf, 1 - 1e-12, 1, 1 + 1e-12, maxZipf} {
		z, most := NewZipf(s, n), int64(0)
		for range 10_000 {
			k := z.Draw(rng)
			if k < 0 || k >= n {
				t.Fatalf("zipf:%v of 2^53: rank %d", s, k)
			}
			most = max(most, k)
		}
		if s < 2 && most < n>>20 {
			t.Errorf("zipf:%v of 2^53: no rank of %d draws is above %d", s, 10_000, most)
		}
	}
	z := NewZipf(1.1, n)
	if a := testing.AllocsPerRun(100, func() { z.Draw(rng) }); a > 0 {
		t.Errorf("a draw allocates %g times", a)
	}
}

func TestParseZipf(t *testing.T) {
	for text, want := range map[string]float64{"zipf:0.5": 0.5, "zipf:1": 1, "zipf:3": 3, "zipf": 0, "zipf:": 0, "1.1": 0, "zipf:0.4": 0, "zipf:3.1": 0, "zipf:NaN": 0, "zipf:-1": 0, "zipf:1,1": 0} {
		s, err := ParseZipf(text)
		if s != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
}

func BenchmarkZipf(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	z := NewZipf(1.1, 1_000_000)
	for b.Loop() {
		z.Draw(rng)
	}
}

// What is expected is compared with what is drawn.
func TestDistinctKeysAreExpectedAsTheyAreDrawn(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 1))
	for keys, want := range map[KeyDistribution]func(records int64) float64{
		NoKeys:     func(int64) float64 { return 0 },
		RangeKeys:  func(records int64) float64 { return float64(min(records, 20_000)) },
		RandomKeys: func(records int64) float64 { return drawn(records, func() int64 { return rng.Int64N(20_000) }) },
		"zipf:1.1": func(records int64) float64 {
			z := NewZipf(1.1, 20_000)
			return drawn(records, func() int64 { return z.Draw(rng) })
		},
	} {
		p := Payload{Keys: keys, KeyRange: 20_000}
		for _, records := range []int64{1, 1000, 30_000, 1_000_000} {
			if got, w := p.DistinctKeys(records), want(records); math.Abs(got-w) > 4*math.Sqrt(w)*0.5+0.01*w {
				t.Errorf("%s: %d records have %.1f keys, want %.1f", keys, records, got, w)
			}
		}
	}
}

func drawn(records int64, draw func() int64) float64 {
	seen := make(map[int64]bool)
	for range records {
		seen[draw()] = true
	}
	return float64(len(seen))
}
