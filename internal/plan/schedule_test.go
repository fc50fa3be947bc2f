package plan

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// change is a change of the rate.
type change struct {
	at        time.Duration
	perSecond int64
}

// drawChanges returns random changes at tenths of a second, in order.
func drawChanges(rng *rand.Rand, length time.Duration) []change {
	var list []change
	for at := time.Duration(0); ; {
		at += time.Duration(rng.IntN(8)) * 100 * time.Millisecond // 0: two at one time
		if at >= length {
			return list
		}
		if at > 0 {
			list = append(list, change{at, 1 + rng.Int64N(3000)})
		}
	}
}

// play takes the records of a pacer as a sender does, which learns of each change at some
// time before it or, when it is late, after it. It returns all due times in order, the last
// record that Next gave too if it is part of the load.
func play(t *testing.T, p Pacer, changes []change, rng *rand.Rand) []time.Duration {
	t.Helper()
	var dues []time.Duration
	due, ok := p.Next()
	for ok {
		if len(changes) > 0 && (due >= changes[0].at || rng.IntN(50) == 0) {
			if due, ok = p.Change(changes[0].at, float64(changes[0].perSecond)); !ok {
				break
			}
			changes = changes[1:]
			continue
		}
		if n := len(dues); n > 0 && due < dues[n-1] {
			t.Fatalf("record %d is due at %v, the one before at %v", n, due, dues[n-1])
		}
		dues = append(dues, due)
		due, ok = p.Next()
	}
	return dues
}

// wantPosition is the exact position in the load at a moment.
func wantPosition(perSecond int64, changes []change, at time.Duration) *big.Rat {
	sum, from := new(big.Rat), time.Duration(0)
	add := func(to time.Duration) {
		sum.Add(sum, new(big.Rat).Mul(big.NewRat(perSecond, 1e9), big.NewRat(int64(to-from), 1)))
	}
	for _, c := range changes {
		if c.at >= at {
			break
		}
		add(c.at)
		from, perSecond = c.at, c.perSecond
	}
	add(at)
	return sum
}

func ceil(r *big.Rat) int64 {
	q, rest := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		return q.Int64() + 1
	}
	return q.Int64()
}

func TestAChangedUniformLoadIsExactInAnySpanAndOverItsShards(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		length := time.Duration(1+rng.IntN(60)) * 100 * time.Millisecond
		rate, shards := 1+rng.Int64N(3000), 1+rng.IntN(7)
		changes := drawChanges(rng, length)
		l := Load{Rate: Rate{PerSecond: float64(rate)}, Duration: Duration(length), Arrivals: Uniform}
		s := NewSchedule(float64(rate))
		for i, c := range changes {
			if !s.Going(&l, c.at, shards) { // near the end a change is refused
				changes = changes[:i]
				break
			}
			s = s.Change(c.at, float64(c.perSecond))
		}
		var all []time.Duration
		for i := range shards {
			for n, due := range play(t, l.Pacer(i, shards, 100, 1), changes, rng) {
				if want := time.Duration(s.due(float64(i+n*shards)) + 0.5); due != want {
					t.Fatalf("seed %d: record %d of shard %d is due at %v, want %v", seed, n, i, due, want)
				}
				all = append(all, due)
			}
		}
		slices.Sort(all)
		for range 20 {
			at := time.Duration(rng.Int64N(int64(length)))
			got, _ := slices.BinarySearch(all, at)
			exact, _ := wantPosition(rate, changes, at).Float64()
			if d := float64(got) - exact; d < -1e-6*float64(1+rate) || d > 1+1e-3 {
				t.Fatalf("seed %d: %d records are due before %v, want %.3f rounded up", seed, got, at, exact)
			}
		}
		must.Match(t, ceil(wantPosition(rate, changes, length)), int64(len(all)), "seed %d: %d records in %d shards: %d/s for %v, %v", seed, len(all), shards, rate, length, changes)
	}
}

func TestAChangedLoadOfSoManyRecordsHasAllOfThem(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		changes := drawChanges(rng, 3*time.Second)
		for _, arrivals := range []Arrivals{Uniform, Poisson} {
			l := Load{Rate: Rate{PerSecond: 800}, Records: 1003, Arrivals: arrivals}
			n := 0
			for i := range 4 {
				n += len(play(t, l.Pacer(i, 4, 100, 1), changes, rng))
			}
			must.Match(t, 1003, n, "seed %d, %s: records", seed, arrivals)
		}
	}
}

func TestManyRecordsOfAChangedLoadTakenAtOnceAreThoseTakenOneByOne(t *testing.T) {
	for _, arrivals := range []Arrivals{Uniform, Poisson} {
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, 3))
			l := Load{Rate: Rate{PerSecond: 900}, Duration: Duration(2 * time.Second), Arrivals: arrivals}
			one, many := l.Pacer(1, 3, 100, int64(seed)), l.Pacer(1, 3, 100, int64(seed))
			for _, c := range []change{{500 * time.Millisecond, 40}, {700 * time.Millisecond, 7000}} {
				one.Change(c.at, float64(c.perSecond)) // before the first record: the sender has them all to come
				many.Change(c.at, float64(c.perSecond))
			}
			dues := schedule(t, one)
			for at := 0; at < len(dues); {
				until, most := dues[min(at+rng.IntN(40), len(dues)-1)], 1+rng.IntN(30)
				n, last := many.Take(until, most)
				want := 0
				for at+want < len(dues) && want < most && dues[at+want] <= until {
					want++
				}
				must.Hold(t, n == want && last == dues[at+n-1], "%s: %d records at record %d, the last at %v; want %d", arrivals, n, at, last, want)
				at += n
			}
		}
	}
}

func TestAChangedPoissonLoadHasTheRateOfEachTime(t *testing.T) {
	l := Load{Rate: Rate{PerSecond: 20_000}, Duration: Duration(6 * time.Second), Arrivals: Poisson}
	changes := []change{{2 * time.Second, 80_000}, {4 * time.Second, 5000}}
	var counts [3]float64
	for i := range 3 {
		for _, due := range play(t, l.Pacer(i, 3, 1, 42), changes, rand.New(rand.NewPCG(1, 2))) {
			counts[due/(2*time.Second)]++
		}
	}
	for i, want := range []float64{40_000, 160_000, 10_000} {
		if math.Abs(counts[i]-want) > 5*math.Sqrt(want) {
			t.Errorf("%.0f records in third %d, want %.0f within five standard deviations", counts[i], i, want)
		}
	}
}

func TestTheMeanRateIsTheIntegralOverTheTime(t *testing.T) {
	s := NewSchedule(100).Change(10*time.Second, 200).Change(20*time.Second, 50)
	for _, tc := range []struct {
		from, to time.Duration
		want     float64
	}{
		{0, 10 * time.Second, 100},
		{0, 20 * time.Second, 150},
		{5 * time.Second, 15 * time.Second, 150},
		{10 * time.Second, 40 * time.Second, 100},
		{30 * time.Second, 30 * time.Second, 50},
	} {
		if got := s.Mean(tc.from, tc.to); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("from %v to %v: %v, want %v", tc.from, tc.to, got, tc.want)
		}
	}
}

func TestAStepIsATenthInTwoDigits(t *testing.T) {
	for _, tc := range []struct{ from, up, down float64 }{
		{20_000, 22_000, 18_000},
		{22_000, 24_000, 20_000},
		{95, 100, 86},
		{10, 11, 9},
		{1, 1.1, 0.9},
		{33_333, 37_000, 30_000},
		{1e9, 1e9, 9e8},
		{0.01, 0.011, 0.01},
		{0.001, 0.0011, 0.001},
	} {
		if up, down := Step(tc.from, true), Step(tc.from, false); up != tc.up || down != tc.down {
			t.Errorf("from %v to %v and %v, want %v and %v", tc.from, up, down, tc.up, tc.down)
		}
	}
}
