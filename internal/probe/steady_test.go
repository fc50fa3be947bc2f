package probe

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// at makes seconds of what the calls and the device wrote.
func at(pairs ...[2]float64) []Second {
	out := make([]Second, len(pairs))
	for i, p := range pairs {
		device := p[1]
		out[i] = Second{At: float64(i + 1), Rate: p[0], Device: &device}
	}
	return out
}

func TestSteady(t *testing.T) {
	for _, r := range []struct {
		sentence string
		seconds  []Second
		n        int
		want     bool
	}{
		{"an even rate at which calls and device agree", at([2]float64{100, 100}, [2]float64{101, 100}, [2]float64{99, 100}), 3, true},
		{"fewer seconds than asked for", at([2]float64{100, 100}, [2]float64{100, 100}), 3, false},
		{"the device is even, but memory still takes what the calls write", at([2]float64{900, 100}, [2]float64{900, 100}, [2]float64{900, 100}), 3, false},
		{"the device goes up and down", at([2]float64{100, 60}, [2]float64{100, 140}, [2]float64{100, 100}), 3, false},
		{"the device writes nothing", at([2]float64{0, 0}, [2]float64{0, 0}, [2]float64{0, 0}), 3, false},
		{"a burst before does not matter", at([2]float64{900, 80}, [2]float64{100, 100}, [2]float64{101, 100}, [2]float64{99, 100}), 3, true},
		{"calls come in bursts, the device is even", at([2]float64{160, 100}, [2]float64{40, 100}, [2]float64{110, 101}), 3, true},
		{"no seconds are asked for: it never ends by itself", at([2]float64{100, 100}, [2]float64{100, 100}), 0, false},
		{"a device that does not count: the calls are looked at", []Second{{Rate: 100}, {Rate: 102}, {Rate: 101}}, 3, true},
	} {
		must.Match(t, r.want, steady(r.seconds, r.n), "%s: steady(…, %d)", r.sentence, r.n)
	}
}

func TestSustained(t *testing.T) {
	for _, r := range []struct {
		sentence     string
		seconds      []Second
		n            int
		from         int // throttled
		rate, others float64
	}{
		{"nothing measured", nil, 3, 0, 0, 0},
		{
			"two seconds into memory, then the device's rate",
			at([2]float64{900, 60}, [2]float64{900, 100}, [2]float64{100, 100}, [2]float64{98, 100}, [2]float64{102, 100}), 3, 2, 100, 0,
		},
		{
			"never held back: what the device did in the last third",
			at([2]float64{900, 50}, [2]float64{900, 100}, [2]float64{900, 120}), 3, 3, 120, 0,
		},
		{
			"held back but uneven: all seconds of it",
			at([2]float64{900, 50}, [2]float64{100, 80}, [2]float64{100, 120}, [2]float64{90, 100}), 3, 1, 100, 0,
		},
		{
			"two seconds in the end that happen to agree are not the device's limit",
			at([2]float64{900, 100}, [2]float64{900, 100}, [2]float64{100, 100}, [2]float64{100, 100}), 3, 4, 100, 0,
		},
		{
			"another program writes as much as kt",
			at([2]float64{100, 200}, [2]float64{100, 200}, [2]float64{100, 200}), 3, 0, 100, 0.5,
		},
		{
			"what was in memory before may reach the device now",
			at([2]float64{400, 100}, [2]float64{50, 100}, [2]float64{50, 100}, [2]float64{50, 100}), 3, 1, 100, 0,
		},
	} {
		must.Match(t, r.from, throttled(r.seconds), "%s: throttled(…)", r.sentence)
		rate, others := sustained(r.seconds, r.n)
		if math.Abs(rate-r.rate) > 0.5 || math.Abs(others-r.others) > 0.01 {
			t.Errorf("%s: sustained(…, %d) = %.1f, %.2f, want %.1f, %.2f", r.sentence, r.n, rate, others, r.rate, r.others)
		}
	}
}

func TestAppendFindsBurstAndTheMomentItEnds(t *testing.T) {
	o := outcome{device: 1, seconds: at([2]float64{900, 60}, [2]float64{700, 100}, [2]float64{100, 100}, [2]float64{98, 100}, [2]float64{102, 100})}
	got := *foundByAppend(o, trial{steady: 3})
	want := Append{BurstMiBPerSecond: 800, SustainedMiBPerSecond: 100, ThrottledAfterSeconds: 2, Limited: true, Steady: true, From: "device"}
	must.Match(t, want, got, "foundByAppend(…)")
}

// Where the kernel does not count, calls that return say nothing of the device
// until the size is full.
func TestWithoutACounterTheFirstRoundIsMemory(t *testing.T) {
	const size = 1000 * mib
	for _, r := range must.Rows[[]struct {
		Sentence string
		Rates    []int64 // of the calls, MiB in each second
		Want     Append
	}](t, "steady") {
		o := outcome{device: -1, readings: []reading{{device: -1}}}
		for i, rate := range r.Rates {
			last := o.readings[i]
			o.readings = append(o.readings, reading{last.at + time.Second, last.bytes + rate*mib, -1})
		}
		o.seconds = series(o.readings)
		r.Want.From = "writes"
		must.Match(t, r.Want, *foundByAppend(o, trial{steady: 3, fill: size}), "%s: foundByAppend(…)", r.Sentence)
	}
}

func TestSeries(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	readings := []reading{
		{ms(0), 0, 0},
		{ms(250), 10 * mib, mib},
		{ms(990), 90 * mib, 15 * mib}, // the clock of a tick may be a little early
		{ms(1250), 100 * mib, 18 * mib},
		{ms(1990), 190 * mib, 35 * mib},
		{ms(2590), 250 * mib, 47 * mib},
	}
	got := series(readings)
	want := at([2]float64{90 / 0.99, 15 / 0.99}, [2]float64{100, 20}, [2]float64{100, 20})
	if len(got) != len(want) {
		t.Fatalf("series(…) = %d seconds, want %d", len(got), len(want))
	}
	for i := range got {
		if math.Abs(got[i].Rate-want[i].Rate) > 0.01 || math.Abs(*got[i].Device-*want[i].Device) > 0.01 {
			t.Errorf("second %d: %.2f, device %.2f, want %.2f and %.2f", i, got[i].Rate, *got[i].Device, want[i].Rate, *want[i].Device)
		}
	}
	must.Match(t, 2, len(seconds(readings, longest)), "seconds: the last is a rest")
	must.Match(t, 1, len(series(readings[:5][:4])), "seconds: a rest of 260 ms says too little")
	if got := series([]reading{{0, 0, -1}, {ms(1000), mib, -1}}); got[0].Device != nil {
		t.Errorf("series(…) has a device rate of %v, want none: it is not known", *got[0].Device)
	}
}

func TestSpread(t *testing.T) {
	for _, r := range []struct {
		sentence string
		rates    []float64
		want     Spread
	}{
		{"nothing", nil, Spread{}},
		{"one second has no variation", []float64{5}, Spread{1, 0, 5, 5}},
		{"even", []float64{5, 5, 5}, Spread{3, 0, 5, 5}},
		{"it falls off in the end", []float64{10, 10, 10, 10, 5, 5}, Spread{6, 0.3098, 10, 5}},
		{"standing still divides by nothing", []float64{0, 0}, Spread{2, 0, 0, 0}},
	} {
		got := spread(r.rates)
		got.CV = math.Round(got.CV*1e4) / 1e4
		must.Match(t, r.want, got, "%s: spread(%v)", r.sentence, r.rates)
	}
}
