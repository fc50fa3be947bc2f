package plan

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// schedule is all that the pacer gives, and fails when it ever steps back.
func schedule(t testing.TB, p Pacer) []time.Duration {
	t.Helper()
	var dues []time.Duration
	last := time.Duration(0)
	for due, ok := p.Next(); ok; due, ok = p.Next() {
		must.Hold(t, due >= last, "record %d is due at %d ns, the one before at %d", len(dues), due, last)
		last = due
		dues = append(dues, due)
	}
	if due, ok := p.Next(); ok {
		t.Fatalf("the load was over after %d records and went on at %v", len(dues), due)
	}
	return dues
}

// wantCount is how many records k = 0, 1, … are due before d: ⌈rate × d⌉.
func wantCount(rate *big.Rat, d time.Duration) int64 {
	n := new(big.Rat).Mul(rate, big.NewRat(int64(d), 1e9))
	q, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

func TestUniformSendsRecordKAtKOverRate(t *testing.T) {
	for _, rate := range []int64{1, 3, 7, 49, 1000, 1337, 50_000, 1_500_000, 9_999_991} {
		l := Load{Rate: Rate{PerSecond: float64(rate)}, Records: 20_000, Arrivals: Uniform}
		dues := schedule(t, l.Pacer(0, 1, 100, 1))
		must.Hold(t, len(dues) == 20_000, "at %d/s: %d records, want 20000", rate, len(dues))
		for k, due := range dues {
			want := time.Duration(int64(k) * 1e9 / rate) // rounded down; the pacer may be a nanosecond off
			if d := due - want; d < -1 || d > 1 {
				t.Fatalf("at %d/s record %d is due at %d ns, want %d", rate, k, due, want)
			}
		}
	}
}

func TestManyRecordsTakenAtOnceAreThoseTakenOneByOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, l := range []Load{
		{Rate: Rate{PerSecond: 1000}, Duration: Duration(3 * time.Second), Arrivals: Uniform},
		{Rate: Rate{PerSecond: 1_500_000}, Records: 40_000, Arrivals: Uniform},
		{Rate: Rate{PerSecond: 9_999_991}, Records: 40_000, Arrivals: Uniform},
		{Rate: Rate{PerSecond: 0.3}, Records: 3, Arrivals: Uniform},
		{Rate: Rate{PerSecond: 1000}, Duration: Duration(3 * time.Second), Arrivals: Poisson},
		{Rate: Rate{PerSecond: 50_000}, Records: 10_000, Arrivals: Poisson},
		{Records: 5000},
		{Rate: target(t, "700@1s,0..3k@2s,3k..0@1s,100@2s"), Duration: Duration(6 * time.Second), Arrivals: Uniform},
		{Rate: target(t, "700@1s,0..3k@2s,3k..0@1s,100@2s"), Duration: Duration(6 * time.Second), Arrivals: Poisson},
	} {
		for shard := range 3 {
			one, many := schedule(t, l.Pacer(shard, 3, 100, 1)), l.Pacer(shard, 3, 100, 1)
			at := 0
			for at < len(one) {
				if rng.IntN(3) == 0 {
					if due, ok := many.Next(); !ok || due != one[at] {
						t.Fatalf("%v: record %d is due at %v, want %v", l, at, due, one[at])
					}
					at++
					continue
				}
				most := rng.IntN(100)
				until := one[min(at+rng.IntN(100), len(one)-1)] + time.Duration(rng.IntN(3)-1)
				want := 0
				for at+want < len(one) && want < most && one[at+want] <= max(until, 0) {
					want++
				}
				n, last := many.Take(max(until, 0), most)
				if n != want || n > 0 && last != one[at+n-1] {
					t.Fatalf("%v: %d records until %v at record %d, most %d, the last at %v; want %d", l, n, until, at, most, last, want)
				}
				at += n
			}
			if n, _ := many.Take(math.MaxInt64, 10); n != 0 {
				t.Errorf("%v: %d records after the end", l, n)
			}
		}
	}
}

func TestShardsOfAUniformLoadAddUpToItExactly(t *testing.T) {
	for _, tc := range []struct {
		name string
		load Load
	}{
		{"by duration", Load{Rate: Rate{PerSecond: 1000}, Duration: Duration(3 * time.Second)}},
		{"by records", Load{Rate: Rate{PerSecond: 700}, Records: 2003}},
		{"by records, before the duration is over", Load{Rate: Rate{PerSecond: 700}, Records: 1009, Duration: Duration(time.Minute)}},
		{"by duration, before the records are sent", Load{Rate: Rate{PerSecond: 333.3}, Records: 1e9, Duration: Duration(7 * time.Second)}},
		{"by bytes", Load{Rate: Rate{PerSecond: 1 << 20, Bytes: true}, Duration: Duration(time.Second)}},
		{"fewer records than shards", Load{Rate: Rate{PerSecond: 10}, Records: 3}},
		{"no longer than a record", Load{Rate: Rate{PerSecond: 10}, Duration: Duration(time.Millisecond)}},
	} {
		tc.load.Arrivals = Uniform
		whole := schedule(t, tc.load.Pacer(0, 1, 1000, 1))
		for _, shards := range []int{1, 2, 3, 7, 16, 61} {
			t.Run(fmt.Sprintf("%s/%d shards", tc.name, shards), func(t *testing.T) {
				var union []time.Duration
				for i := range shards {
					for n, due := range schedule(t, tc.load.Pacer(i, shards, 1000, 1)) {
						if k := i + n*shards; k >= len(whole) || due != whole[k] {
							t.Fatalf("shard %d has record %d at %v", i, k, due)
						}
						union = append(union, due)
					}
				}
				slices.Sort(union)
				must.Match(t, whole, union, "%d records in all shards, %d in the whole load", len(union), len(whole))
			})
		}
	}
}

func TestUniformCountIsExactForAnyRateAndDuration(t *testing.T) {
	check := func(rate *big.Rat, d time.Duration, shards int) {
		t.Helper()
		perSecond, _ := rate.Float64()
		l := Load{Rate: Rate{PerSecond: perSecond}, Duration: Duration(d), Arrivals: Uniform}
		var got int64
		for i := range shards {
			p := l.Pacer(i, shards, 1, 1)
			for due, ok := p.Next(); ok; due, ok = p.Next() {
				if got++; due > d { // equal only when rounded to the nanosecond
					t.Fatalf("%v/s for %v: a record is due at %v", rate, d, due)
				}
			}
		}
		must.Match(t, wantCount(rate, d), got, "%s/s for %v in %d shards: records", rate.FloatString(3), d, shards)
	}
	for rate := int64(1); rate <= 1500; rate++ { // 49 × (1/49) is below 1 in float64
		check(big.NewRat(rate, 1), time.Second, 1)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		rate := big.NewRat(1+rng.Int64N(1e7), []int64{1, 1, 10, 1000}[rng.IntN(4)])
		perSecond, _ := rate.Float64()
		longest := 20_000 / perSecond * 1e9
		check(rate, time.Duration(1+rng.Float64()*longest), 1+rng.IntN(5))
	}
	for range 100 { // whole seconds, where every rounding error shows
		check(big.NewRat(1+rng.Int64N(5000), 1), time.Duration(1+rng.IntN(4))*time.Second, 1+rng.IntN(5))
	}
}

func TestUniformCountIsExactForHoursAtTenMillionASecond(t *testing.T) {
	for _, tc := range []struct {
		rate   int64
		d      time.Duration
		shards int
	}{
		{1e7, time.Hour, 1},
		{1e7, 24 * time.Hour, 7},
		{9_999_991, time.Hour, 3},
		{1_500_000, 90*time.Minute + time.Nanosecond, 16},
	} {
		l := Load{Rate: Rate{PerSecond: float64(tc.rate)}, Duration: Duration(tc.d), Arrivals: Uniform}
		var got int64
		for i := range tc.shards {
			u := l.Pacer(i, tc.shards, 1, 1).(*uniform)
			got += u.left
			u.take(int(u.left - 1)) // skip to the shard's last record
			if due, ok := u.Next(); !ok || due >= tc.d || due < tc.d-time.Duration(tc.shards+1)*time.Microsecond {
				t.Errorf("%d/s for %v: shard %d's last record is due at %v, %v", tc.rate, tc.d, i, due, ok)
			}
		}
		must.Match(t, wantCount(big.NewRat(tc.rate, 1), tc.d), got, "%d/s for %v: records", tc.rate, tc.d)
	}
}

func TestUniformDoesNotDriftWithinAnHour(t *testing.T) {
	const rate = 1_500_000
	l := Load{Rate: Rate{PerSecond: rate}, Duration: Duration(2 * time.Hour), Arrivals: Uniform}
	u := l.Pacer(0, 1, 1, 1).(*uniform)
	for _, after := range []time.Duration{time.Second, time.Minute, time.Hour} {
		u.k = rate * after.Seconds()
		due, ok := u.Next()
		if d := due - after; !ok || d < -1 || d > 1 {
			t.Errorf("record %v is due at %d ns, want %d", u.k, due, after)
		}
	}
}

func TestAnAbsurdlyLowRateSendsOneRecordAndWaits(t *testing.T) {
	for _, perSecond := range []float64{1e-9, 1e-11, 1e-300, 5e-324} {
		for _, arrivals := range []Arrivals{Uniform, Poisson} {
			l := Load{Rate: Rate{PerSecond: perSecond}, Arrivals: arrivals}
			p := l.Pacer(0, 1, 1, 1)
			p.Next() // due at once, or never
			if due, ok := p.Next(); ok && due < 24*time.Hour {
				t.Errorf("%s at %v/s: the second record is due at %v", arrivals, perSecond, due)
			}
		}
	}
}

func TestPoissonKeepsItsMeanRateAndEndsAtTheDuration(t *testing.T) {
	const rate, seconds = 100_000, 5
	for _, shards := range []int{1, 4} {
		l := Load{Rate: Rate{PerSecond: rate}, Duration: Duration(seconds * time.Second), Arrivals: Poisson}
		n := 0
		for i := range shards {
			dues := schedule(t, l.Pacer(i, shards, 1, 42))
			if last := dues[len(dues)-1]; last >= seconds*time.Second || last < seconds*time.Second-10*time.Millisecond {
				t.Errorf("shard %d of %d ends at %v, want just before %d s", i, shards, last, seconds)
			}
			n += len(dues)
		}
		const want = rate * seconds
		if off := math.Abs(float64(n) - want); off > 5*math.Sqrt(want) {
			t.Errorf("%d shards: %d records, want %d within five standard deviations", shards, n, want)
		}
	}
}

func TestPoissonSendsExactlyTheRecordsAskedFor(t *testing.T) {
	l := Load{Rate: Rate{PerSecond: 1000}, Records: 10_007, Arrivals: Poisson}
	for _, shards := range []int{1, 3, 16} {
		n := 0
		for i := range shards {
			n += len(schedule(t, l.Pacer(i, shards, 1, 42)))
		}
		must.Match(t, 10_007, n, "%d shards: records", shards)
	}
}

func TestPoissonIsDeterminedBySeedAndShard(t *testing.T) {
	l := Load{Rate: Rate{PerSecond: 1000}, Records: 1000, Arrivals: Poisson}
	first := schedule(t, l.Pacer(0, 2, 1, 42))
	must.Match(t, schedule(t, l.Pacer(0, 2, 1, 42)), first, "one seed gave two schedules")
	must.True(t, !slices.Equal(first, schedule(t, l.Pacer(0, 2, 1, 43))), "two seeds gave one schedule")
	must.True(t, !slices.Equal(first, schedule(t, l.Pacer(1, 2, 1, 42))), "two shards have one schedule")
}

func TestPoissonGapsAreExponential(t *testing.T) {
	l := Load{Rate: Rate{PerSecond: 1000}, Records: 200_000, Arrivals: Poisson}
	mean := time.Millisecond.Seconds()
	var last time.Duration
	beyond := [4]float64{} // gaps longer than 1, 2, 3, 4 means
	var n float64
	for _, due := range schedule(t, l.Pacer(0, 1, 1, 42)) {
		gap := (due - last).Seconds()
		last = due
		n++
		for i := range beyond {
			if gap > float64(i+1)*mean {
				beyond[i]++
			}
		}
	}
	for i, got := range beyond {
		want := math.Exp(-float64(i + 1))
		if off := math.Abs(got/n - want); off > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("%.4f of the gaps are longer than %d means, want %.4f", got/n, i+1, want)
		}
	}
}

func TestAClosedLoopIsAlwaysDueAndEndsWithItsRecords(t *testing.T) {
	l := Load{Records: 1003, Arrivals: Uniform}
	n := 0
	for i := range 4 {
		dues := schedule(t, l.Pacer(i, 4, 1, 1))
		if len(dues) > 0 && slices.Max(dues) != 0 {
			t.Errorf("shard %d: a record is due at %v, want 0", i, slices.Max(dues))
		}
		n += len(dues)
	}
	must.Match(t, 1003, n, "records")
	endless := Load{Duration: Duration(time.Second), Arrivals: Uniform}.Pacer(0, 1, 1, 1)
	for k := range 1_000_000 {
		if _, ok := endless.Next(); !ok {
			t.Fatalf("without a number of records it ended after %d", k)
		}
	}
}

func BenchmarkPacer(b *testing.B) {
	for _, bc := range []struct {
		name string
		load Load
	}{
		{"uniform", Load{Rate: Rate{PerSecond: 1_500_000}, Arrivals: Uniform}},
		{"poisson", Load{Rate: Rate{PerSecond: 1_500_000}, Arrivals: Poisson}},
		{"closed", Load{Arrivals: Uniform}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			p := bc.load.Pacer(0, 1, 100, 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := p.Next(); !ok {
					b.Fatal("the load is over")
				}
			}
		})
	}
}
