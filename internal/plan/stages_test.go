package plan

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func target(t *testing.T, s string) Rate {
	t.Helper()
	return must.Have(ParseTarget(s))(t)
}

func TestStagesAreReadWithTheirMean(t *testing.T) {
	minute := Duration(time.Minute)
	for in, want := range map[string]Rate{
		"10k@1m,40k@2m":            {PerSecond: 30_000, Stages: []Stage{{10_000, 10_000, minute}, {40_000, 40_000, 2 * minute}}},
		"10k..100k@1m":             {PerSecond: 55_000, Stages: []Stage{{10_000, 100_000, minute}}},
		" 0..100 @ 60s , 100@1m":   {PerSecond: 75, Stages: []Stage{{0, 100, minute}, {100, 100, minute}}},
		"100..0@1m":                {PerSecond: 50, Stages: []Stage{{100, 0, minute}}},
		"0@1m,100@1m,0@2m":         {PerSecond: 25, Stages: []Stage{{0, 0, minute}, {100, 100, minute}, {0, 0, 2 * minute}}},
		"0@1m,1MiB/s@1m":           {PerSecond: 1 << 19, Bytes: true, Stages: []Stage{{0, 0, minute}, {1 << 20, 1 << 20, minute}}},
		"1MiB/s@1m,0B/s@1m":        {PerSecond: 1 << 19, Bytes: true, Stages: []Stage{{1 << 20, 1 << 20, minute}, {0, 0, minute}}},
		"0@1d,1@1d":                {PerSecond: 0.5, Stages: []Stage{{0, 0, 1440 * minute}, {1, 1, 1440 * minute}}},
		"1MiB/s@1m,1MiB/s..0@1m":   {PerSecond: 3 << 18, Bytes: true, Stages: []Stage{{1 << 20, 1 << 20, minute}, {1 << 20, 0, minute}}},
		"0..2KiB/s@1m":             {PerSecond: 1024, Bytes: true, Stages: []Stage{{0, 2048, minute}}},
		"50k":                      {PerSecond: 50_000},
		"-1":                       Unlimited,
		"1 records/s@1m,3/s..3@1m": {PerSecond: 2, Stages: []Stage{{1, 1, minute}, {3, 3, minute}}},
	} {
		got := target(t, in)
		must.True(t, reflect.DeepEqual(got, want), "%q is %+v, want %+v", in, got, want)
		if again := target(t, got.String()); !reflect.DeepEqual(again, got) {
			t.Errorf("%q is written as %q, which is %+v", in, got, again)
		}
	}
}

func TestStagesThatAreNoneAreRefusedByName(t *testing.T) {
	for in, names := range map[string]string{
		"10k@1m,50k":          "50k",
		"10k..50k":            "10k..50k",
		"10k@":                "10k@",
		"10k@500ms":           "500ms",
		"10k@1500ms":          "1500ms",
		"10k@-1m":             "-1m",
		"10k@9000h":           "9000h",
		"0@10s":               "0@10s",
		"0@10s,0..0@10s":      "0@10s,0..0@10s",
		"1@1s,0@1s,1MiB/s@1s": "1@1s,0@1s,1MiB/s@1s",
		"-1@10s":              "-1",
		"5..unlimited@10s":    "unlimited",
		"fast@10s":            "fast",
		"1..2..3@10s":         "2..3",
		"10k..1MiB/s@10s":     "10k..1MiB/s@10s",
		"10k@10s,1MiB/s@10s":  "10k@10s,1MiB/s@10s",
		"2e9@10s":             "2e9",
		"1@1s" + strings.Repeat(",1@1s", MaxStages): "101",
	} {
		if r, err := ParseTarget(in); err == nil || !strings.Contains(err.Error(), names) || !r.IsUnlimited() {
			t.Errorf("%q is %+v, error %v; want an error that names %q", in, r, err, names)
		}
	}
}

// drawStages returns random stages, the whole numbers that they are of, and how long they last.
func drawStages(rng *rand.Rand) (r Rate, total time.Duration) {
	sum := 0.0
	for range 1 + rng.IntN(5) {
		g := Stage{float64(rng.Int64N(3000)), 1 + float64(rng.Int64N(3000)), Duration(1+rng.IntN(3)) * Duration(time.Second)}
		switch rng.IntN(4) {
		case 0:
			g.From = g.To
		case 3: // a pause, but never alone
			if sum > 0 {
				g.From, g.To = 0, 0
			}
		case 1:
			g.From, g.To = g.To, g.From
		}
		r.Stages = append(r.Stages, g)
		total += g.Length.Std()
		sum += (g.From + g.To) / 2 * g.Length.Std().Seconds()
	}
	r.PerSecond = sum / total.Seconds()
	return r, total
}

// integral is the exact position in stages at a moment. It adds whole numbers: the lengths of drawStages divide 6 s,
// so that the part of each stage, from·span + (to-from)·span²/(2·length), is a number of 12e18ths.
func integral(r Rate, at time.Duration) *big.Rat {
	sum := new(big.Int)
	for _, g := range r.Stages {
		length := g.Length.Std()
		span := min(at, length)
		if span <= 0 {
			break
		}
		from, rise := int64(g.From), (int64(g.To)-int64(g.From))*int64(6*time.Second/length)
		part := big.NewInt(from*12e9 + rise*int64(span))
		sum.Add(sum, part.Mul(part, big.NewInt(int64(span))))
		at -= length
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).SetUint64(12e18))
}

func TestRecordsOfStagesAreDueWhereTheIntegralOfTheRateIsTheirNumber(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 9))
		r, length := drawStages(rng)
		if rng.IntN(3) == 0 { // the load ends before its stages
			length -= time.Duration(rng.Int64N(int64(length)))
		}
		shards := 1 + rng.IntN(5)
		l := Load{Rate: r, Duration: Duration(length), Arrivals: Uniform}
		var all []time.Duration
		for i := range shards {
			all = append(all, play(t, l.Pacer(i, shards, 100, 1), nil, rng)...)
		}
		slices.Sort(all)
		if want := ceil(integral(r, length)); int64(len(all)) != want {
			t.Fatalf("seed %d: %d records in %d shards, want %d: %v for %v", seed, len(all), shards, want, r, length)
		}
		for k, due := range all {
			early, _ := integral(r, due-time.Microsecond).Float64()
			late, _ := integral(r, due+time.Microsecond).Float64()
			if due < 0 || due > length || early > float64(k) || late < float64(k) {
				t.Fatalf("seed %d: record %d is due at %v, where the integral is from %.6f to %.6f: %v", seed, k, due, early, late, r)
			}
		}
	}
}

func TestPositionAndDueOfStagesAreInverse(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 10))
		r, length := drawStages(rng)
		s := r.Schedule(r.PerSecond)
		last := 0.0
		for range 50 {
			at := time.Duration(rng.Int64N(int64(length)))
			exact, _ := integral(r, at).Float64()
			if got := s.Position(at); math.Abs(got-exact) > 1e-9*(1+exact) {
				t.Fatalf("seed %d: position %.9f at %v, want %.9f", seed, got, at, exact)
			}
			if again := s.Position(s.Due(exact)); math.Abs(again-exact) > 1e-4 {
				t.Fatalf("seed %d: position %.9f is due where the position is %.9f: %v", seed, exact, again, r)
			}
		}
		for k := 0.0; k < s.Position(length); k += 0.37 {
			due := s.due(k)
			must.Hold(t, due >= last && !math.IsNaN(due), "seed %d: position %v is due at %v, an earlier one at %v", seed, k, due, last)
			last = due
		}
	}
}

func TestAChangeKeepsTheProportionsOfLaterStages(t *testing.T) {
	r := target(t, "100@10s,100..300@10s,50@10s")
	s := r.Schedule(100).Change(15*time.Second, 400)
	before := r.Schedule(100)
	factor := 400 / before.Rate(15*time.Second)
	for _, at := range []time.Duration{0, 5, 14} {
		must.Match(t, before.Rate(at*time.Second), s.Rate(at*time.Second), "/s at %v s", at)
	}
	for _, at := range []time.Duration{15, 19, 20, 25, 35} {
		if got, want := s.Rate(at*time.Second), factor*before.Rate(at*time.Second); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v/s at %v s, want %v", got, at, want)
		}
	}
	want := before.Position(15*time.Second) + factor*(before.Position(30*time.Second)-before.Position(15*time.Second))
	if got := s.Position(30 * time.Second); math.Abs(got-want) > 1e-6 {
		t.Errorf("position %v at the end, want %v", got, want)
	}
	if got := target(t, "0..10@10s").Schedule(5); !reflect.DeepEqual(got.Change(0, 7), got) {
		t.Error("a rate of 0 has been changed")
	}
}

func TestRandomArrivalsFollowTheStages(t *testing.T) {
	r := target(t, "2k@10s,2k..8k@10s,500@10s")
	l := Load{Rate: r, Duration: Duration(30 * time.Second), Arrivals: Poisson}
	var all []time.Duration
	for shard := range 3 {
		all = append(all, schedule(t, l.Pacer(shard, 3, 100, 7))...)
	}
	var counts [3]float64
	for _, due := range all {
		counts[r.StageAt(due)]++
	}
	for i, mean := range []float64{20_000, 50_000, 5000} {
		if d := (counts[i] - mean) / math.Sqrt(mean); math.Abs(d) > 5 {
			t.Errorf("stage %d has %v records, %.1f deviations from %v", i+1, counts[i], d, mean)
		}
	}
}

func TestSharesOfStagesAddUpToThemAndPutTogetherAreThem(t *testing.T) {
	p := Plan{Command: Produce, Engine: Client, Topic: Topic{Name: "t"}, Producers: 5, Payload: Payload{Kind: Letters, Size: FixedSize(100)}}
	p.Load = Load{Rate: target(t, "100@2s,100..900@3s"), Duration: Duration(5 * time.Second), Arrivals: Uniform}
	parts := must.Have(p.Divide(2))(t)
	for _, at := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
		a, b, all := parts[0].Schedule(), parts[1].Schedule(), p.Schedule()
		if sum := a.Rate(at) + b.Rate(at); math.Abs(sum-all.Rate(at)) > 1e-9 {
			t.Errorf("%v/s at %v, want %v", sum, at, all.Rate(at))
		}
	}
	if peak := parts[0].Peak(); math.Abs(peak-540) > 1e-9 {
		t.Errorf("the first part's peak is %v, want 540", peak)
	}
	whole, differ, _ := Together(parts)
	must.True(t, reflect.DeepEqual(whole.Load, p.Load) && len(differ) == 0, "together they are %v, differing in %q", whole.Load, differ)
	if whole, _, _ = Together(parts[:1]); whole.Load.Rate.String() != "60@2s,60..540@3s" {
		t.Errorf("the first part is %v", whole.Load)
	}
	other := p
	other.Load.Rate = target(t, "50@2s,1@3s")
	if whole, differ, _ = Together([]Plan{p, other}); whole.Load.Rate.String() != "150@2s,101..901@3s" || len(differ) > 0 {
		t.Errorf("together they are %v, differing in %q", whole.Load, differ)
	}
	other.Load.Rate = target(t, "50@3s,1@2s")
	whole, differ, _ = Together([]Plan{p, other})
	for _, at := range []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond, 3 * time.Second, 4999 * time.Millisecond} {
		want := p.Schedule().Rate(at) + other.Schedule().Rate(at)
		if got := whole.Schedule().Rate(at); math.Abs(got-want) > 1e-9 || len(whole.Load.Rate.Stages) != 3 || len(differ) > 0 {
			t.Errorf("together they are %v/s at %v, want %v; %d stages, differing in %q", got, at, want, len(whole.Load.Rate.Stages), differ)
		}
	}
	other.Load.Rate = target(t, "50")
	if whole, differ, _ = Together([]Plan{p, other}); len(whole.Load.Rate.Stages) > 0 || !slices.Equal(differ, []string{"load.rate"}) {
		t.Errorf("together they are %v, differing in %q", whole.Load, differ)
	}
}

func TestTheTargetOfADelayedLoadIsThatOfTheLoadLater(t *testing.T) {
	r := target(t, "100@2s,100..900@3s")
	for _, by := range []time.Duration{0, 2 * time.Second, 5 * time.Second} {
		late := r.Delayed(by)
		sum := r.plus(late)
		for _, at := range []time.Duration{time.Second, 2500 * time.Millisecond, 4100 * time.Millisecond, 4900 * time.Millisecond, 6 * time.Second} {
			own, others := 0.0, 0.0
			if at < 5*time.Second {
				own = r.Schedule(r.PerSecond).Rate(at)
			}
			if from := at - by; from >= 0 && from < 5*time.Second {
				others = r.Schedule(r.PerSecond).Rate(from)
			}
			if at >= 5*time.Second+by {
				continue
			}
			if got := sum.Schedule(sum.PerSecond).Rate(at); math.Abs(got-own-others) > 1e-9 {
				t.Errorf("delayed by %v: %v/s at %v, want %v: %v", by, got, at, own+others, sum)
			}
		}
	}
	if unlimited := Unlimited.Delayed(time.Second); !unlimited.IsUnlimited() {
		t.Errorf("no target is %v later", unlimited)
	}
	long := Rate{PerSecond: 1}
	for range MaxStages {
		long.Stages = append(long.Stages, Stage{1, 1, Duration(2 * time.Second)})
	}
	if sum := long.plus(long.Delayed(time.Second)); len(sum.Stages) > 0 || math.Abs(sum.PerSecond-400./201) > 1e-9 {
		t.Errorf("%d stages, %v/s; want none of them, and the mean", len(sum.Stages), sum.PerSecond)
	}
}

func TestALoadEndsWithItsStagesOrBefore(t *testing.T) {
	l := Load{Rate: target(t, "100@2s,100..900@3s"), Arrivals: Uniform}
	for seconds, ok := range map[int]bool{0: false, 1: true, 5: true, 6: false} {
		l.Duration = Duration(seconds) * Duration(time.Second)
		var errs problems
		l.check(&errs)
		must.Match(t, ok, len(errs) == 0, "%d s: %v", seconds, errs)
		if !ok && (!strings.Contains(errs[0].Error(), "5s") || !strings.Contains(errs[0].Error(), strconv.Itoa(seconds)+"s")) {
			t.Errorf("%d s: %v names not both", seconds, errs)
		}
	}
	for at, want := range map[time.Duration]int{0: 0, 2*time.Second - 1: 0, 2 * time.Second: 1, 5 * time.Second: 1, time.Hour: 1} {
		must.Match(t, want, l.Rate.StageAt(at), "stage … at %v", at)
	}
}
