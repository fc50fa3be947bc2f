package result

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
)

// even returns a second of a load of 1,000 records, each with a latency. change may change it; it may be nil.
func even(second int, latency time.Duration, change func(w *stats.Window)) stats.Window {
	at := time.Duration(second) * time.Second
	w := stats.Window{
		Start: at, End: at + time.Second, Offered: 1000, Acknowledged: 1000, Bytes: 100_000,
		FirstDue: at, LastDue: at + 999*time.Millisecond, LastSent: at + 999*time.Millisecond, LastAck: at + time.Second, ShardTime: time.Second,
	}
	w.Response.RecordN(latency, 1000)
	if change != nil {
		change(&w)
	}
	return w
}

// limited returns the limits of a run of such seconds.
func limited(limits []string, windows ...stats.Window) []Limit {
	h := header(1000)
	h.Limits = limits
	f := NewFold(h)
	for _, w := range windows {
		f.AddWindow(w)
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result().Limits
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestALimitIsJudgedByTheFiguresOfTheResult(t *testing.T) {
	h := readHeader(plan.Roundtrip, 100)
	for _, m := range metric.Metrics {
		one := map[metric.Unit]string{metric.Time: "1us", metric.BytesRate: "1B/s"}[m.Unit]
		if one == "" {
			one = "1"
		}
		h.Limits = append(h.Limits, m.Name+"<"+one)
	}
	f := NewFold(h)
	for _, e := range canned.Read(3, 12) {
		e.To(f)
	}
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: &ledger.Verdict{Lost: 1, Duplicated: 2, Reordered: 3, Corrupted: 4}})
	r := f.Result()
	us := func(n Micros) float64 { return float64(n) }
	e, w := r.Latency.EndToEnd, &r.Records
	want := map[string]float64{
		"p50": us(e.P50), "p90": us(e.P90), "p95": us(e.P95), "p99": us(e.P99), "p99.9": us(e.P999), "p99.99": us(e.P9999), "max": us(e.Max), "mean": us(e.Mean),
		"end-to-end.p99": us(e.P99), "response.p99": us(r.Latency.Response.P99), "response.mean": us(r.Latency.Response.Mean),
		"service.p99.9": us(r.Latency.Service.P999), "send-delay.max": us(r.Latency.SendDelay.Max),
		"rate": r.Throughput.RecordsPerSecond, "read-rate": r.Fetch.RecordsPerSecond, "throughput": r.Throughput.MiBPerSecond * mib,
		"errors": float64(w.Errors()), "failed": float64(w.Failed), "unknown": float64(w.Unknown),
		"lost": 1, "duplicated": 2, "reordered": 3, "corrupted": 4, "consumer-lag": float64(r.ConsumerLag.Max), "cpu": r.Client.CPUCores,
	}
	for i, m := range metric.Metrics {
		l := r.Limits[i]
		v, known := want[m.Name]
		if failed := l.Value == nil && l.Note != "" && strings.HasPrefix(m.Name, "response."); failed && (!known || v == float64(Failed)) && !l.Held {
			delete(want, m.Name) // records of the canned run failed, so it has no such percentile
			continue
		}
		if m.Kind == metric.Share { // the run is too short for its roughness, and its batches have no size to fill
			continue
		}
		if l.Value == nil || known && math.Abs(*l.Value-v) > 1e-9*v {
			t.Errorf("%s is %+v, and in the result %g", m.Name, l, v)
		}
		delete(want, m.Name)
		if m.Name == "outage" && math.Floor(*l.Value/1000) != float64(*r.Outage.LongestGapMS) {
			t.Errorf("outage is %g µs, and in the result %d ms", *l.Value, *r.Outage.LongestGapMS)
		}
	}
	if len(want) > 0 {
		t.Errorf("there are no metrics %v", want)
	}
}

func TestStretchesAreJudgedOneByOne(t *testing.T) {
	var run []stats.Window
	for i, latency := range []time.Duration{millis(10), millis(10), millis(80), millis(10), millis(30), millis(10), millis(10)} {
		run = append(run, even(i, latency, nil))
	}
	worst := 80.0
	for text, want := range map[string]struct {
		held      bool
		of, whole int64
	}{
		"max<50ms over 1s":         {false, 6, 7},
		"max<50ms over 1s for 80%": {true, 6, 7},
		"max<50ms over 1s for 90%": {false, 6, 7},
		"max<50ms over 2s":         {false, 2, 3}, // the seventh second makes no stretch
		"max<50ms over 7s":         {false, 0, 1},
		"max<81ms over 3s":         {true, 2, 2},
	} {
		got := limited([]string{text}, run...)[0]
		if got.Held != want.held || got.Stretches != want.whole || got.StretchesHeld != want.of || got.Value == nil || math.Abs(*got.Value/1000-worst) > 0.1 {
			t.Errorf("%s: %+v (%s), want %+v and %g ms", text, got, got.Shown(), want, worst)
		}
	}
}

func TestAStretchHasNoHole(t *testing.T) {
	// The clients do nothing in the third second, so it is none to judge by.
	idle := func(w *stats.Window) { w.Offered, w.Acknowledged, w.ShardTime, w.Response = 0, 0, 0, stats.Histogram{} }
	run := []stats.Window{even(0, millis(10), nil), even(1, millis(90), nil), even(2, 0, idle), even(3, millis(90), nil), even(4, millis(10), nil), even(5, millis(10), nil)}
	got := limited([]string{"mean<60ms over 3s", "mean<60ms over 2s"}, run...)
	if got[0].Stretches != 1 || !got[0].Held || got[1].Stretches != 2 || got[1].StretchesHeld != 2 {
		t.Errorf("%+v", got)
	}
	if at, text := aborted("mean>60ms over 3s", run...); at >= 0 {
		t.Errorf("a condition over the hole came true in second %d: %s", at, text)
	}
}

func TestWithoutAValueALimitIsNotHeld(t *testing.T) {
	for text, note := range map[string]string{
		"p99<1s":           "nothing to measure",
		"rate>0":           "less than 1s",
		"p99<1s over 10s":  "no stretch of 10s",
		"p99<1s of a moon": "cannot read it",
	} {
		got := limited([]string{text}, stats.Window{End: time.Second})[0]
		if got.Held || got.Value != nil || got.Unit != "" || !strings.Contains(got.Note, note) {
			t.Errorf("%s: %+v, want %q", text, got, note)
		}
	}
}

// aborted returns the first second, and the text, at which a condition ends a run; -1: it does not.
func aborted(condition string, windows ...stats.Window) (int, string) {
	f := NewFold(header(1000))
	f.AbortOn([]string{condition})
	for i, w := range windows {
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second})
		if why := f.Broken(); why != "" {
			return i, why
		}
	}
	return -1, ""
}

func TestAConditionEndsARunInTheSecondInWhichItComesTrue(t *testing.T) {
	warmup := func(w *stats.Window) { w.Warmup = true }
	failing := func(n int64) func(w *stats.Window) {
		return func(w *stats.Window) { w.Acknowledged, w.Failed = w.Acknowledged-n, n }
	}
	slow := slices.Concat([]stats.Window{even(0, millis(900), warmup)}, []stats.Window{even(1, millis(10), nil), even(2, millis(900), nil), even(3, millis(10), nil), even(4, millis(10), nil)})
	bad := []stats.Window{even(0, millis(10), failing(4)), even(1, millis(10), failing(4)), even(2, millis(10), failing(4)), even(3, millis(10), nil)}
	for _, tc := range []struct {
		name, condition string
		of              []stats.Window
		at              int
		text            string
	}{
		{"the percentile of a second", "p50>500ms", slow, 2, "p50>500ms: 900ms at 3.00s"},
		{"of the last two", "p90>500ms over 2s", slow, 2, "p90>500ms over 2s: 900ms"},
		{"of the last three", "p50>500ms over 3s", slow, -1, ""},
		{"which slide", "mean>300ms over 3s", slow, 3, "307ms at 4.00s"},
		{"counts of the run so far", "failed>8", bad, 2, "failed>8: 12 records at 3.00s"},
		{"counts of the last second only with over", "failed>8 over 1s", bad, -1, ""},
		{"the rate", "rate<998", bad, 0, "996 records/s at 1.00s"},
		{"not of the drain", "rate<900", append(bad[:1:1], even(1, millis(10), func(w *stats.Window) { w.Offered, w.Acknowledged, w.ShardTime = 0, 3, 0 })), -1, ""},
		{"not of a gap of the warm-up", "outage>500ms over 1s", []stats.Window{even(1, millis(10), func(w *stats.Window) { w.Outage = stats.Gap{From: 0, Length: 1200 * time.Millisecond} })}, -1, ""},
		{"of the measured part of a gap", "outage>150ms over 1s", []stats.Window{even(1, millis(10), func(w *stats.Window) { w.Outage = stats.Gap{From: 0, Length: 1200 * time.Millisecond} })}, 0, "200ms"},
		{"no latency without an acknowledgement", "p99>1us", []stats.Window{{End: time.Second, Offered: 5, ShardTime: time.Second}}, -1, ""},
	} {
		at, text := aborted(tc.condition, tc.of...)
		if at != tc.at || !strings.Contains(text, tc.text) {
			t.Errorf("%s: second %d, %q, want %d, %q", tc.name, at, text, tc.at, tc.text)
		}
	}
}

func TestOnlyWholeSecondsOfTheLoadMakeStretches(t *testing.T) {
	warmup := func(w *stats.Window) { w.Warmup = true }
	half := func(w *stats.Window) {
		w.Offered, w.LastDue, w.LastSent, w.ShardTime = 500, w.Start+time.Second/2, w.Start+time.Second/2, 0
	}
	ended := func(w *stats.Window) { w.ShardTime = 0 }
	second := func(w *stats.Window) { w.Offered, w.FirstDue = 500, w.Start+time.Second/2 }
	drain := func(w *stats.Window) { w.Offered, w.Acknowledged, w.ShardTime = 0, 1, 0 }
	for name, tc := range map[string]struct {
		of   []stats.Window
		want int64
	}{
		"a load":                           {[]stats.Window{even(0, millis(1), nil), even(1, millis(1), nil)}, 2},
		"the second of the warm-up's end":  {[]stats.Window{even(0, millis(1), warmup), even(1, millis(1), func(w *stats.Window) { warmup(w); drain(w) }), even(1, millis(1), second), even(2, millis(1), nil)}, 1},
		"outcomes of the warm-up":          {[]stats.Window{even(0, millis(1), warmup), even(1, millis(1), func(w *stats.Window) { warmup(w); drain(w); w.Offered = 3 }), even(1, millis(1), nil)}, 1},
		"the second of the load's end":     {[]stats.Window{even(0, millis(1), nil), even(1, millis(1), half), even(2, millis(1), drain)}, 1},
		"a load that ends with its second": {[]stats.Window{even(0, millis(1), nil), even(1, millis(1), ended), even(2, millis(1), drain)}, 2},
		"the last second is cut early": {[]stats.Window{even(0, millis(1), nil), even(1, millis(1), func(w *stats.Window) {
			w.End -= millis(50)
			w.ShardTime -= millis(50)
		})}, 2},
	} {
		if got := limited([]string{"rate>=1000 over 1s"}, tc.of...)[0]; got.Stretches != tc.want {
			t.Errorf("%s: %+v, want %d stretches", name, got, tc.want)
		}
	}
}

func TestAReplayedRunIsJudgedAsTheLiveOne(t *testing.T) {
	h := header(100)
	h.Limits = []string{"p99<20ms", "errors==0", "p99<50ms over 2s for 60%", "outage<1s"}
	events, end := canned.Written(7, 30), Trailer{Ended: Completed, ElapsedSeconds: 30}
	live := NewFold(h)
	for _, e := range events {
		e.To(live)
	}
	live.Finish(end)
	file := runFile(t, h, events, end)
	replayed := must.Have(Replay(bytes.NewReader(file)))(t)
	want := live.Result().Limits
	if diff := cmp.Diff(want, replayed.Result().Limits); diff != "" || len(want) != 4 {
		t.Errorf("limits (-live +replayed):\n%s", diff)
	}
	other := must.Have(Replay(bytes.NewReader(file), "failed<1000"))(t)
	if got := other.Result().Limits; len(got) != 1 || !got[0].Held || got[0].Expression != "failed<1000" {
		t.Errorf("judged anew: %+v", got)
	}
}
