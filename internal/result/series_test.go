package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestALongSeriesIsBoundedAndItsSumsAreExact(t *testing.T) {
	for _, tc := range []struct {
		name   string
		warmup func(i int) bool
	}{
		{"no warm-up", func(int) bool { return false }},
		{"a short one", func(i int) bool { return i < 10 }},
		{"a long one", func(i int) bool { return i < 40_000 }},
		{"phases that take turns", func(i int) bool { return i%2 == 0 }},
		{"phases at random", func(i int) bool { return i*2654435761>>7&1 == 0 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const n = 100_000
			var s series
			want := make(map[bool]Point)
			rng := rand.New(rand.NewPCG(1, 1))
			for i := range n {
				v := rng.Int64N(1000)
				us := Micros(v)
				p := Point{
					StartSeconds: float64(i), Seconds: 1, Warmup: tc.warmup(i), Acknowledged: v, Failed: v % 3, Bytes: 10 * v,
					P50: us, P90: 2 * us, P99: 3 * us, P999: 4 * us, Max: 5 * us, SendDelayP99: 6 * v,
				}
				p.CPUCores = 2
				s.add(p, new(stats.Window))
				must.Hold(t, len(s.points) <= maxPoints, "%d points after %d windows", len(s.points), i+1)
				want[p.Warmup] = join(want[p.Warmup], p)
			}
			got := make(map[bool]Point)
			for i, p := range s.points {
				if i > 0 && p.StartSeconds < s.points[i-1].StartSeconds {
					t.Fatalf("point %d starts at %v, the one before at %v", i, p.StartSeconds, s.points[i-1].StartSeconds)
				}
				must.Hold(t, p.CPUCores >= 1.999 && p.CPUCores <= 2.001, "point %d used %v cores, want the mean of its seconds, 2", i, p.CPUCores)
				got[p.Warmup] = join(got[p.Warmup], p)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("sums and maxima by phase (-want +got):\n%s", diff)
			}
			must.True(t, len(s.points) >= maxPoints/4, "%d points are left of %d windows", len(s.points), n)
		})
	}
}

func TestJoinedLatenciesAreTheWorstAndCPUIsWeighted(t *testing.T) {
	a := Point{StartSeconds: 5, Seconds: 1, Acknowledged: 1, Failed: 2, Bytes: 3, P50: 10, P90: 1, P99: 30, P999: 4, Max: 50, SendDelayP99: 6, Oldest: 9, CPUCores: 4}
	b := Point{StartSeconds: 6, Seconds: 3, Acknowledged: 10, Failed: 20, Bytes: 30, P50: 1, P90: 20, P99: 3, P999: 40, Max: 5, SendDelayP99: 60}
	want := Point{StartSeconds: 5, Seconds: 4, Acknowledged: 11, Failed: 22, Bytes: 33, P50: 10, P90: 20, P99: 30, P999: 40, Max: 50, SendDelayP99: 60, Oldest: 9, CPUCores: 1}
	must.Match(t, want, join(a, b), "join(a, b)")
	must.Match(t, want, join(b, a), "join(b, a)")
	must.Match(t, 0, join(Point{}, Point{CPUCores: 1}).CPUCores, "points of no length used … cores")
}

// window is one at a rate of 1000 records/s, in which as many were sent as answered.
func window(from, to time.Duration, warmup bool, records int64, latency time.Duration) stats.Window {
	w := stats.Window{Start: from, End: to, Warmup: warmup, Offered: records, Acknowledged: records, FirstDue: from}
	w.Response.RecordN(latency, records)
	return w
}

// row is what the tests below look at.
type row struct {
	from, seconds float64
	warmup        bool
	records       int64
	p50, max      Micros
	cpu           float64
}

func rowsOf(points []Point) (rows []row) {
	for _, p := range points {
		rows = append(rows, row{p.StartSeconds, p.Seconds, p.Warmup, p.Acknowledged, p.P50, p.Max, math.Round(1000*p.CPUCores) / 1000})
	}
	return rows
}

func TestEachSecondHasOneRow(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	sample := func(seconds, cores float64) host.Sample {
		return host.Sample{Interval: time.Duration(seconds * float64(time.Second)), ProcessCPU: cores}
	}
	late := func(from, to time.Duration, records int64) stats.Window { // of the warm-up, known when it was over
		w := window(from, to, true, records, 30*ms)
		w.Offered, w.FirstDue = 0, 0
		return w
	}
	measured := func(from, to, first time.Duration, records int64) stats.Window {
		w := window(from, to, false, records, 4*ms)
		w.Offered, w.FirstDue = max(1, records), first
		return w
	}
	type second struct {
		windows []stats.Window
		sample  host.Sample
	}
	for _, tc := range []struct {
		name string
		in   []second
		want []row
	}{
		{"the last milliseconds belong to the second before", []second{
			{[]stats.Window{window(0, s, false, 1000, 4*ms)}, sample(1, 0.12)},
			{[]stats.Window{window(s, 2*s, false, 1000, 4*ms)}, sample(1, 0.12)},
			{[]stats.Window{window(2*s, 2002*ms, false, 10, 30*ms)}, sample(0.002, 5)},
		}, []row{{0, 1, false, 1000, 4000, 4000, 0.12}, {1, 1.002, false, 1010, 4001, 30_000, 0.13}}},
		{"a run of milliseconds has a row without CPU", []second{
			{[]stats.Window{window(0, 2*ms, false, 10, 4*ms)}, sample(0.002, 5)},
		}, []row{{0, 0.002, false, 10, 4000, 4000, 0}}},
		{"the warm-up ends with a second", []second{
			{[]stats.Window{window(0, s, true, 1000, 4*ms)}, sample(1, 0.5)},
			{[]stats.Window{late(s, 2*s, 21), measured(s, 2*s, s, 979)}, sample(1, 0.5)},
			{[]stats.Window{late(2*s, 3*s, 4), measured(2*s, 3*s, 2*s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 1, true, 1025, 4001, 30_000, 0.5}, {1, 1, false, 979, 4000, 4000, 0.5}, {2, 1, false, 1000, 4000, 4000, 0.5}}},
		{"and in the midst of one", []second{
			{[]stats.Window{window(0, s, true, 1000, 4*ms)}, sample(1, 0.5)},
			{[]stats.Window{window(s, 2*s, true, 600, 4*ms), measured(s, 2*s, 1600*ms, 400)}, sample(1, 0.5)},
			{[]stats.Window{late(2*s, 3*s, 5), measured(2*s, 3*s, 2*s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 1, true, 1000, 4000, 4000, 0.5}, {1, 0.6, true, 605, 4001, 30_000, 0.5}, {1.6, 1.4, false, 1400, 4000, 4000, 0.5}}},
		{"just before one", []second{
			{[]stats.Window{window(0, s, true, 999, 4*ms), measured(0, s, 999*ms, 0)}, sample(1, 0.5)},
			{[]stats.Window{late(s, 2*s, 1), measured(s, 2*s, s, 1000)}, sample(1, 0.5)},
		}, []row{{0, 0.999, true, 1000, 4001, 30_000, 0.5}, {0.999, 1.001, false, 1000, 4000, 4000, 0.5}}},
	} {
		f := NewFold(header(1000))
		for _, s := range tc.in {
			for _, w := range s.windows {
				f.AddWindow(w)
			}
			f.AddSample(s.sample)
		}
		if diff := cmp.Diff(tc.want, rowsOf(f.Result().Series), cmp.AllowUnexported(row{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

func TestAPointOfAMomentInWhichNothingHappenedIsNotTold(t *testing.T) {
	f := NewFold(header(0))
	windows := []stats.Window{window(0, time.Second, true, 0, 0), window(0, time.Second, false, 10, time.Millisecond)}
	for _, w := range windows {
		f.AddWindow(w)
	}
	if got := rowsOf(f.Snapshot().Recent); len(got) != 1 || got[0].warmup {
		t.Errorf("points %+v, want that of the measured part alone", got)
	}
}

func TestAPointHoldsTheQuantilesOfItsWindow(t *testing.T) {
	w := stats.Window{Start: 3 * time.Second, End: 4500 * time.Millisecond, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7}
	for i := range 1000 {
		w.Response.Record(time.Duration(i+1) * time.Microsecond)
	}
	w.SendDelay.Record(42 * time.Microsecond)
	want := Point{
		StartSeconds: 3, Seconds: 1.5, Warmup: true, Acknowledged: 1000, Failed: 1, Bytes: 7,
		P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000, SendDelayP99: 42,
	}
	must.Match(t, want, new(steps).of([]stats.Window{w}, host.Sample{})[0], "the point")
}

func TestPointsKnowHowManyRecordsWait(t *testing.T) {
	windows := []stats.Window{
		{End: time.Second, Read: stats.Read{ConsumerLag: 500, Consumed: 10, ConsumedBytes: 100}, Events: make([]stats.Event, 2)},
		{Start: time.Second, End: 2 * time.Second, Read: stats.Read{ConsumerLag: -200, Consumed: 5, ConsumedBytes: 50}, Events: make([]stats.Event, 1)},
	}
	windows[0].EndToEnd.RecordN(3*time.Millisecond, 10)
	windows[1].EndToEnd.RecordN(2*time.Millisecond, 5)
	var points steps
	a, b := points.of(windows[:1], host.Sample{})[0], points.of(windows[1:], host.Sample{})[0]
	joined := join(a, b)
	want := Point{
		Seconds: 2, Consumed: 15, ConsumedBytes: 150, ConsumerLag: 300, Events: 3,
		EndToEndP50: 3000, EndToEndP90: 3000, EndToEndP99: 3000, EndToEndP999: 3000, EndToEndMax: 3000,
	}
	if joined != want || a.ConsumerLag != 500 || b.ConsumerLag != 300 {
		t.Errorf("points with %d and %d waiting; joined they are %+v, want %+v", a.ConsumerLag, b.ConsumerLag, joined, want)
	}
}

// gated returns a run of 3 s at 1,000 records a second with a warm-up of one, with gates that only a fault breaks.
func gated() Header {
	h := header(1000)
	h.Plan.Load.Warmup.Duration = plan.Duration(time.Second)
	h.Plan.Load.Duration = plan.Duration(3 * time.Second)
	h.Limits = []string{"p99<30s over 1s", "rate>=1 over 1s", "errors==0"}
	return h
}

// watched adds windows to a fold, second by second, and returns the first condition of "rate<1" that came true.
func watched(f *Fold, seconds ...[]stats.Window) string {
	f.AbortOn([]string{"rate<1", "rate<1 over 1s"})
	for _, windows := range seconds {
		for _, w := range windows {
			f.AddWindow(w)
		}
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Broken()
}

// empty is a measured window in which the load went on and no measured record was sent.
func empty(from, to time.Duration, took time.Duration) stats.Window {
	return stats.Window{Start: from, End: to, ShardTime: took, Counters: stats.Counters{}}
}

func TestNoSecondIsJudgedThatTheLoadDidNotFill(t *testing.T) {
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	warm := func(w *stats.Window) { w.Warmup = true }
	first := even(0, millis(3), warm)
	idleWarm := even(0, millis(3), func(w *stats.Window) { w.Warmup, w.ShardTime = true, 0 })
	second, third := even(1, millis(3), nil), even(2, millis(3), nil)
	last := even(2, millis(3), func(w *stats.Window) { w.ShardTime = 0 }) // the sender was done at the cut
	late := even(1, millis(3), func(w *stats.Window) { w.Start, w.FirstDue = 0, s(1) })
	lateWarm := even(0, millis(3), func(w *stats.Window) { w.Warmup, w.End = true, s(2) })
	acks := stats.Window{Start: s(1), End: s(2), Warmup: true, Acknowledged: 3}
	both := even(1, millis(3), func(w *stats.Window) { w.End, w.LastDue, w.LastSent = s(3), s(2.999), s(2.999) })
	for name, seconds := range map[string][][]stats.Window{
		"in order": {{first}, {second}, {third}},
		"an empty measured window beside the warm-up":       {{first, empty(0, s(1), 0)}, {second}, {third}},
		"the same, which has the time of the warm-up":       {{idleWarm, empty(0, s(1), s(1))}, {second}, {third}},
		"outcomes of the warm-up later":                     {{first}, {acks, second}, {third}},
		"outcomes of the warm-up after the measured window": {{first}, {second, acks}, {third}},
		"a late cut after the warm-up":                      {{lateWarm, late}, {third}},
		"a late cut over the whole measured part":           {{first}, {both}},
		"a drain":                          {{first}, {second}, {last}, {empty(s(3), s(4), 0)}, {empty(s(4), s(4.2), 0)}},
		"a drain while a late sender runs": {{first}, {second}, {third}, {empty(s(3), s(4), s(1))}, {empty(s(4), s(4.2), s(0.2))}},
		"a cut after the end that is late by a second":        {{first}, {second}, {empty(s(2), s(4), s(2))}},
		"the rest of a second in which the last records went": {{first}, {second}, {third}, {{Start: s(3), End: s(3.15), Offered: 20, LastDue: s(2.999), LastSent: s(3.1)}}},
	} {
		f := NewFold(gated())
		must.Match(t, "", watched(f, seconds...), "%s: a run without a fault is ended", name)
		r := f.Result()
		for _, l := range r.Limits {
			must.True(t, l.Held, "%s: %+v", name, l)
		}
		for _, p := range r.Series {
			if !p.Warmup && p.StartSeconds < 1 && p.Seconds >= ShortRow {
				t.Errorf("%s: the series has a measured second at %g: %+v", name, p.StartSeconds, p)
			}
		}
	}
	silent := even(1, 0, func(w *stats.Window) { w.Acknowledged, w.Response, w.Oldest = 0, stats.Histogram{}, s(0.999) })
	for name, seconds := range map[string][][]stats.Window{
		"a broker that is silent for a second":               {{first}, {silent}, {third}},
		"the same, beside outcomes of the warm-up":           {{first}, {acks, silent}, {third}},
		"a sender that a full buffer holds from the warm-up": {{first}, {empty(s(1), s(2), s(1))}, {third}},
	} {
		f := NewFold(gated())
		if text := watched(f, seconds...); text == "" {
			t.Errorf("%s: the run goes on", name)
		}
		if l := f.Result().Limits; l[1].Held {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// sparse returns a second at 0.5 records a second, with one record or with none.
func sparse(second int, change func(w *stats.Window)) stats.Window {
	at := time.Duration(second) * time.Second
	w := stats.Window{Start: at, End: at + time.Second, ShardTime: time.Second}
	if second%2 == 0 {
		w.Offered, w.Acknowledged, w.FirstDue, w.LastDue, w.LastSent, w.LastAck = 1, 1, at, at, at, at+millis(3)
		w.Response.RecordN(millis(3), 1)
	}
	if change != nil {
		change(&w)
	}
	return w
}

func TestAStretchInWhichNothingWasDueIsNotJudged(t *testing.T) {
	unanswered := func(age time.Duration) func(w *stats.Window) {
		return func(w *stats.Window) { w.Acknowledged, w.Response, w.Oldest = 0, stats.Histogram{}, age }
	}
	cut := func(w *stats.Window) { // the next record was sent before a late cut
		w.Offered, w.FirstDue, w.LastDue, w.LastSent = 1, w.End, w.End, w.End
	}
	for name, tc := range map[string]struct {
		change          map[int]func(w *stats.Window)
		of, held, empty int64
		note            string
	}{
		"a record every other second":             {nil, 5, 5, 5, ""},
		"the next record was due at the cut":      {map[int]func(w *stats.Window){3: cut}, 5, 5, 5, ""},
		"a record that comes in the next second":  {map[int]func(w *stats.Window){3: unanswered(millis(20))}, 5, 5, 5, ""},
		"a record that does not come in a second": {map[int]func(w *stats.Window){4: unanswered(time.Second)}, 5, 4, 5, "records were due in 1 of 5 stretches, and none came back"},
		"nor in the next": {
			map[int]func(w *stats.Window){4: unanswered(time.Second), 5: unanswered(2 * time.Second)},
			6, 4, 4,
			"records were due in 2 of 6 stretches, and none came back",
		},
	} {
		var run []stats.Window
		for i := range 10 {
			run = append(run, sparse(i, tc.change[i]))
		}
		l := limited([]string{"p99<5s over 1s"}, run...)[0]
		if l.Stretches != tc.of || l.StretchesHeld != tc.held || l.StretchesEmpty != tc.empty || l.Held != (tc.of == tc.held) || l.Note != tc.note {
			t.Errorf("%s: %+v", name, l)
		}
	}
	if l := limited([]string{"p99<5s over 1s"}, sparse(1, nil), sparse(3, nil))[0]; l.Held || !strings.HasPrefix(l.Note, "there was nothing") {
		t.Errorf("nothing was due at all: %+v", l)
	}
}

func TestReadersThatHaveNothingToReadHaveNoRateBeforeTheFirstRecord(t *testing.T) {
	h := readHeader(plan.Consume, 0)
	h.Limits = []string{"rate>=1 over 1s"}
	second := func(n int, read int64) []stats.Window {
		at := time.Duration(n) * time.Second
		return []stats.Window{{Start: at, End: at + time.Second, Read: stats.Read{
			ReadTime: time.Duration(h.Plan.Read.Clients()) * time.Second, Consumed: read, FirstRead: at + millis(1), LastRead: at + millis(900),
		}}}
	}
	f := NewFold(h)
	must.Match(t, "", watched(f, second(0, 0), second(1, 0), second(2, 10), second(3, 10)), "joining ends the run")
	if l := f.Result().Limits[0]; !l.Held || l.Stretches != 2 {
		t.Errorf("%+v", l)
	}
	if text := watched(NewFold(h), second(0, 10), second(1, 10), second(2, 0)); text == "" {
		t.Error("a second without a record after the first does not end the run")
	}
}

func TestTheHeatMapIsBoundedLosesNothingAndLeavesSnapshotsAlone(t *testing.T) {
	var held, copied []HeatColumn
	const seconds = 4 * maxHeat
	f := new(Fold)
	for i := range seconds {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		w.Response.RecordN(time.Millisecond, 2)
		f.addHeat([]stats.Window{w})
		must.Hold(t, len(f.heat) <= maxHeat, "%d columns", len(f.heat))
		if i == maxHeat-1 {
			held = f.heat
			copied = slices.Clone(held)
		}
	}
	must.True(t, slices.Equal(held, copied), "the columns of a snapshot have changed")
	columns := f.heat
	if n, end := cells(columns), lastEnd(t, columns); n != 2*seconds || end != seconds*time.Second {
		t.Errorf("%d latencies until %v", n, end)
	}
	joined := JoinHeat(columns, 600)
	if n, end := cells(joined), lastEnd(t, joined); len(joined) > 600 || n != 2*seconds || end != seconds*time.Second {
		t.Errorf("joined: %d columns, %d latencies until %v", len(joined), n, end)
	}
}

func TestTheHeatMapOfAResultStaysWhenTheRunGoesOn(t *testing.T) {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Produce, Producers: 1}})
	add := func(i int) {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		w.Response.RecordN(time.Millisecond, int64(i+1))
		f.AddWindow(w)
	}
	add(0)
	add(1)
	held := f.Result().Heat // with a second that no sample has come after
	copied := slices.Clone(held)
	add(2)
	add(3)
	if got := f.Result().Heat; !slices.Equal(held, copied) || len(held) != 2 || len(got) != 4 || cells(got) != 1+2+3+4 {
		t.Errorf("%d columns, later %d with %d latencies; unchanged: %v", len(held), len(got), cells(got), slices.Equal(held, copied))
	}
}

func cells(columns []HeatColumn) (n int) {
	for _, c := range columns {
		for _, v := range c.Bins {
			n += int(v)
		}
	}
	return n
}

func lastEnd(t *testing.T, columns []HeatColumn) (end time.Duration) {
	for _, c := range columns {
		must.Hold(t, c.Start == end, "a hole from %v to %v", end, c.Start)
		end = c.End
	}
	return end
}

func TestTheHeatMapForgetsFetchesWhenRecordsCarryStamps(t *testing.T) {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}}})
	fetch := stats.Broker{}
	fetch.Fetch.Latency.Record(time.Millisecond)
	second := func(i int, w stats.Window) []HeatColumn {
		w.Start, w.End, w.Brokers = time.Duration(i)*time.Second, time.Duration(i+1)*time.Second, map[int32]stats.Broker{1: fetch}
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second})
		return f.Snapshot().Heat
	}
	must.Match(t, 1, cells(second(0, stats.Window{})), "fetches")
	var w stats.Window
	w.EndToEnd.RecordN(time.Second, 5)
	must.Match(t, 5, cells(second(1, w)), "latencies")
}

func TestALatencyIsInTheBinThatBeginsBelowIt(t *testing.T) {
	for _, d := range []time.Duration{0, time.Microsecond, 9 * time.Microsecond, 11 * time.Microsecond, 3 * time.Millisecond, time.Second, time.Hour} {
		var c HeatColumn
		var h stats.Histogram
		h.Record(d)
		c.count(&h)
		for bin, n := range c.Bins {
			if n == 0 {
				continue
			}
			from, to := HeatStart(float64(bin)), HeatStart(float64(bin+1))
			const rounding = 1.001 // of a histogram
			if s := max(d, time.Microsecond).Seconds(); n != 1 || s*rounding < from || bin < HeatBins-1 && s > to {
				t.Errorf("%v is in bin %d, from %g to %g s", d, bin, from, to)
			}
		}
	}
}
