package result

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// load is a run at some records a second, in which events are told of.
type load struct {
	Rates   rates
	Events  map[int][]stats.Event // by the second in which they are told
	Warmup  int                   // seconds
	Failed  map[int]int64
	Loading int               // seconds in all of which the load goes on; 0: all
	gaps    map[int]stats.Gap // by the second in which they are told
}

// rates are pairs of a number of seconds and the records of each.
type rates [][2]int64

func (l load) fold() *Fold {
	f := NewFold(header(1000))
	i := 0
	for _, r := range l.Rates {
		for range r[0] {
			at := time.Duration(i) * time.Second
			w := stats.Window{
				Start: at, End: at + time.Second, Warmup: i < l.Warmup, Offered: 1000, Acknowledged: r[1], Failed: l.Failed[i],
				ShardTime: time.Second, Events: withDefaults(l.Events[i]), Outage: l.gaps[i],
			}
			if l.Loading > 0 && i >= l.Loading {
				w.ShardTime /= 2
			}
			f.AddWindow(w)
			i++
		}
	}
	return f
}

// withDefaults sets what a row leaves out of events.
func withDefaults(events []stats.Event) []stats.Event {
	for i := range events {
		e := &events[i]
		e.Broker, e.To, e.Text = cmp.Or(e.Broker, -1), cmp.Or(e.To, -1), cmp.Or(e.Text, string(e.Kind))
	}
	return events
}

// at is an event.
func at(seconds float64, kind stats.EventKind) stats.Event {
	return stats.Event{At: time.Duration(seconds * float64(time.Second)), Kind: kind, Broker: -1, To: -1, Text: string(kind)}
}

func moved(seconds float64, from, to int32) stats.Event {
	e := at(seconds, stats.LeaderMoved)
	e.Broker, e.To = from, to
	return e
}

func TestAnOutageIsToldFromItsEvents(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		In   load
		Want *Outage
	}](t, "timeline") {
		must.Match(t, tc.Want, tc.In.fold().Result().Outage, "%s", tc.Name)
	}
}

func TestACommandThatDoesNothingIsNoOutage(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name string
		In   load
		Want bool
	}](t, "timeline") {
		r := tc.In.fold().Result()
		if (r.Outage != nil) != tc.Want || len(r.Events) == 0 {
			t.Errorf("%s: the outage is %+v, want one: %t; %d events", tc.Name, r.Outage, tc.Want, len(r.Events))
		}
	}
}

func TestTheRateIsBackWhenItStays(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		Rates   rates
		Loading int
		Gone    time.Duration // 0: 20.25 s
		Want    *int64
	}](t, "timeline") {
		gone := cmp.Or(tc.Gone, 20_250*time.Millisecond)
		l := load{Rates: tc.Rates, Loading: tc.Loading, Events: map[int][]stats.Event{int(gone / time.Second): {at(gone.Seconds(), stats.BrokerGone)}}}
		must.Match(t, tc.Want, l.fold().Result().Outage.RecoveredMS, "%s", tc.Name)
	}
}

func TestTheRateOfARunThatOnlyReadsIsThatOfReading(t *testing.T) {
	f := NewFold(readHeader(plan.Consume, 0))
	for i := range 26 {
		at := time.Duration(i) * time.Second
		w := stats.Window{Start: at, End: at + time.Second, Read: stats.Read{Consumed: 1000, ReadTime: time.Second}}
		if i >= 10 && i < 14 {
			w.Consumed, w.Events = 0, withDefaults([]stats.Event{{At: 10 * time.Second, Kind: stats.LeaderLost, Broker: 1}})
		}
		f.AddWindow(w)
	}
	if o := f.Result().Outage; o == nil || o.RecoveredMS == nil || *o.RecoveredMS != 5000 {
		t.Errorf("the outage is %+v", o)
	}
}

func TestEventsAreListedInOrderAndBounded(t *testing.T) {
	l := load{Rates: rates{{30, 1000}}, Events: map[int][]stats.Event{}}
	for i := range 30 {
		for range 50 {
			l.Events[i] = append(l.Events[i], at(float64(29-i), stats.Rebalance))
		}
	}
	e := moved(7, 1, 2)
	e.Partitions, e.Count = []int32{3, 4}, 2
	l.Events[0] = append(l.Events[0], e)
	r := l.fold().Result()
	if len(r.Events) != stats.MostOfKind+1 || r.EventsLeftOut["rebalance"] != 1300 || len(r.EventsLeftOut) != 1 {
		t.Fatalf("%d events, and left out %v", len(r.Events), r.EventsLeftOut)
	}
	for i, e := range r.Events[1:] {
		must.Hold(t, e.AtSeconds >= r.Events[i].AtSeconds, "event %d is of second %v, the one before of %v", i+1, e.AtSeconds, r.Events[i].AtSeconds)
	}
	var of int64
	for _, p := range r.Series {
		of += p.Events
	}
	must.Match(t, 1501, of, "the points count events")
	want := Event{AtSeconds: 7, Kind: stats.LeaderMoved, Broker: 1, To: 2, Partitions: []int32{3, 4}, Count: 2, Text: "leader_moved"}
	for _, e := range r.Events {
		if e.Kind == stats.LeaderMoved {
			must.Match(t, want, e, "event")
			return
		}
	}
	t.Error("the first event told is not listed")
}

func TestTheVerdictOnAStallPointsToWhatHappened(t *testing.T) {
	const prefix = "nothing was acknowledged for 3.96s, from 10.0s"
	for _, tc := range must.Rows[[]struct {
		Name   string
		Events []stats.Event
		Want   string
	}](t, "timeline") {
		f := load{Rates: rates{{10, 1000}, {4, 0}, {10, 1000}}, Events: map[int][]stats.Event{16: tc.Events}, gaps: map[int]stats.Gap{
			14: {From: 10_040 * time.Millisecond, Length: 3960 * time.Millisecond},
		}}.fold()
		if v := f.Verdict(); v.Limit != verdict.Stalled || !strings.HasPrefix(v.Evidence, prefix) || !strings.Contains(v.Evidence, tc.Want) || strings.Contains(v.Evidence, ": at ") != strings.HasPrefix(tc.Want, ":") {
			t.Errorf("%s: bound by %q (%s), want %q", tc.Name, v.Limit, v.Evidence, tc.Want)
		}
	}
}

func TestTheLongestGapNeedsNoEvent(t *testing.T) {
	f := NewFold(header(0))
	f.AddWindow(stats.Window{End: time.Second, Offered: 1, Outage: stats.Gap{From: time.Millisecond, Length: 2 * time.Millisecond}})
	f.AddWindow(stats.Window{
		Start: time.Second, End: 2 * time.Second, Outage: stats.Gap{From: time.Second, Length: 700 * time.Millisecond},
		Partitions: map[int32]stats.Partition{2: {Records: 1, Outage: stats.Gap{From: time.Second, Length: 800 * time.Millisecond}}},
	})
	r := f.Result()
	must.Match(t, &Outage{LongestGapMS: new(int64(700)), LongestGapFromSeconds: new(1.0)}, r.Outage, "a gap without an event")
	if text := marshal(t, r.Outage); strings.Contains(text, "began") || strings.Contains(text, "records_failed") {
		t.Errorf("nothing happened, and it is told: %s", text)
	}
	must.Match(t, &Gap{FromSeconds: 1, LengthMS: 800}, r.Partitions[0].LongestGap, "the partition's")
}

// A system that is looked at is known to throttle a moment after it begins to.
func TestATimeInWhichASystemThrottlesIsNoStall(t *testing.T) {
	for text, want := range map[string]verdict.Limit{stats.KtIsThrottled + "a limit": verdict.Throttle, "alarm_on": verdict.Stalled} {
		e := at(10.9, stats.AlarmOn)
		e.Text = text
		f := NewFold(header(0))
		for i := range 20 {
			w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, ShardTime: time.Second, Offered: 1000, Acknowledged: 1000}
			if w.LastDue, w.LastSent, w.LastAck = w.End, w.End, w.End; i == 11 {
				w.Events, w.Outage = []stats.Event{e}, stats.Gap{From: 9 * time.Second, Length: 2500 * time.Millisecond}
				w.Brokers = map[int32]stats.Broker{1: {Traffic: stats.Traffic{Throttle: 30 * time.Second}}}
			}
			f.AddWindow(w)
		}
		v := f.Verdict()
		if v.Limit != want || want == verdict.Throttle && v.Evidence != "brokers throttled kt 100 % of the time: a limit" {
			t.Errorf("%s: %+v, want %s", text, v, want)
		}
	}
}

func TestFewPollsTakeAsManyIntervals(t *testing.T) {
	s := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for name, tc := range map[string]struct {
		window stats.Window
		want   float64
	}{
		"a burst each 3 s":       {stats.Window{Read: stats.Read{Consumed: 1200, Fetches: 4, FirstRead: s(3), LastRead: s(12)}}, 100},
		"a record each 2.5 s":    {stats.Window{Read: stats.Read{Consumed: 5, Fetches: 5, FirstRead: s(1.2), LastRead: s(11.2)}}, 0.4},
		"a quota after a burst":  {stats.Window{End: s(11), Brokers: map[int32]stats.Broker{1: {Fetch: stats.Traffic{Throttle: s(9)}}}, Read: stats.Read{ReadTime: s(10), Consumed: 900, Fetches: 3, FirstRead: s(1), LastRead: s(1.5)}}, 100},
		"many polls":             {stats.Window{Read: stats.Read{Consumed: 10_000, Fetches: 1000, FirstRead: s(1), LastRead: s(11)}}, 1000},
		"bursts of a round trip": {stats.Window{Offered: 1200, LastDue: s(11.99), Read: stats.Read{Consumed: 1200, Fetches: 40, FirstRead: s(3), LastRead: s(12)}}, 100},
	} {
		if got := float64(tc.window.Consumed) / readSpan(&tc.window).Seconds(); math.Abs(got-tc.want) > 0.001*tc.want {
			t.Errorf("%s: %g records a second, want %g", name, got, tc.want)
		}
	}
}

// loaded returns the result of seconds with so many acknowledged records each.
func loaded(rate float64, perSecond func(second int) int64, seconds int) Result {
	f := NewFold(header(rate))
	for i := range seconds {
		f.AddWindow(even(i, millis(1), func(w *stats.Window) { w.Acknowledged, w.Offered = perSecond(i), perSecond(i) }))
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result()
}

func TestAKeptRateOfFewRecordsIsSteadyOrNotKnown(t *testing.T) {
	half := func(i int) int64 { return int64((i*3+2)/2 - (i*3-1)/2) } // 1.5 a second: one, two, one, two
	if r := loaded(1.5, half, 60); r.Stability != nil {
		t.Errorf("a minute at 1.5 records a second is %+v, want not known", r.Stability)
	}
	if r := loaded(1.5, half, 600); r.Stability == nil || r.Stability.Label != inference.Flat {
		t.Errorf("ten minutes at 1.5 records a second are %+v, want flat", r.Stability)
	}
}

func TestAMaximumThatStillRisesIsSaidToRise(t *testing.T) {
	grows := []int64{259_000, 445_000, 731_000}
	r := loaded(0, func(i int) int64 { return grows[i] }, 3)
	if first, last, warmup, still := r.Rising(); !still || first != 259_000 || last != 731_000 || warmup != 3 {
		t.Errorf("%g to %g, %g s, %v: want it to rise from 259000 to 731000, and a warm-up of 3 s", first, last, warmup, still)
	}
	for name, r := range map[string]Result{
		"an even one":              loaded(0, func(int) int64 { return 500_000 }, 9),
		"one that wavers":          loaded(0, func(i int) int64 { return 500_000 + int64(i%3)*40_000 }, 9),
		"one that rose at first":   loaded(0, func(i int) int64 { return min(int64(i+1)*200_000, 600_000) }, 9),
		"one with a target":        loaded(1000, func(i int) int64 { return int64(i+1) * 1000 }, 9),
		"one of a second":          loaded(0, func(int) int64 { return 500_000 }, 1),
		"one in which nothing was": loaded(0, func(int) int64 { return 0 }, 3),
	} {
		if first, last, _, still := r.Rising(); still {
			t.Errorf("%s: %g to %g", name, first, last)
		}
	}
}

// changed returns an event of a change of the target.
func changed(at time.Duration, from, to float64) stats.Event {
	return stats.Event{At: at, Kind: stats.RateChanged, Broker: -1, To: -1, OldRate: from, NewRate: to, Text: "the target rate is another"}
}

// follow makes the windows of a run that keeps a schedule to a share, by an ideal client.
func follow(s plan.Schedule, share float64, length int, events ...stats.Event) []stats.Window {
	var windows []stats.Window
	for i := range length {
		from, to := time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		n := int64(share * (s.Position(to) - s.Position(from)))
		w := stats.Window{
			Start: from, End: to, Offered: n, Acknowledged: n, FirstDue: from, LastDue: to - time.Microsecond,
			LastSent: to - time.Microsecond, LastAck: to - time.Microsecond, ShardTime: time.Second,
		}
		for _, e := range events {
			if e.At > from && e.At <= to {
				w.Events = append(w.Events, e)
			}
		}
		windows = append(windows, w)
	}
	return windows
}

func TestAChangedTargetIsJudgedByItsIntegral(t *testing.T) {
	up, down := changed(4300*time.Millisecond, 1000, 5000), changed(8*time.Second, 5000, 200)
	for _, tc := range []struct {
		name   string
		events []stats.Event
		target float64
		share  float64
		kept   bool
	}{
		{"raised and kept", []stats.Event{up}, (4.3*1000 + 5.7*5000) / 10, 1, true},
		{"raised and lowered and kept", []stats.Event{up, down}, (4.3*1000 + 3.7*5000 + 2*200) / 10, 1, true},
		{"twice at one time", []stats.Event{changed(5*time.Second, 1000, 2000), changed(5*time.Second, 2000, 3000)}, 2000, 1, true},
		{"raised and missed", []stats.Event{up}, (4.3*1000 + 5.7*5000) / 10, 0.9, false},
		{"lowered and missed", []stats.Event{changed(5*time.Second, 1000, 500)}, 750, 0.9, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := plan.NewSchedule(1000)
			for _, e := range tc.events {
				s = s.Change(e.At, e.NewRate)
			}
			f := NewFold(header(1000))
			for _, w := range follow(s, tc.share, 10, tc.events...) {
				f.AddWindow(w)
			}
			r := f.Result()
			if got := r.Throughput.TargetRecordsPerSecond; math.Abs(got-tc.target) > 0.01 {
				t.Errorf("the target is %v, want its mean %v", got, tc.target)
			}
			if kept := r.BoundBy.Limit == verdict.None; kept != tc.kept || r.Valid != tc.kept || (r.TargetReached == nil) != tc.kept {
				t.Errorf("bound by %v, valid %t, reached %v; want kept %t", r.BoundBy, r.Valid, r.TargetReached, tc.kept)
			}
			if r.TargetReached != nil && math.Abs(*r.TargetReached-tc.share) > 0.001 {
				t.Errorf("%v of the target was reached, want %v", *r.TargetReached, tc.share)
			}
			last := tc.events[len(tc.events)-1]
			must.Match(t, last.NewRate, f.Snapshot().Target, "a snapshot has the target")
			if e := r.Events[len(r.Events)-1]; e.OldRate != last.OldRate || e.NewRate != last.NewRate || e.AtSeconds != last.At.Seconds() {
				t.Errorf("the last event is %+v, want %+v", e, last)
			}
		})
	}
}

func TestAnOutageAfterARaisedTargetDoesNotBlameKt(t *testing.T) {
	// Nothing is acknowledged for 50 s at the end. Were the mean target of kt's own
	// schedule taken over that too, it would be close to 5000, and kt offered 1800.
	up := changed(8*time.Second, 1000, 5000)
	f := NewFold(header(1000))
	windows := follow(plan.NewSchedule(1000).Change(up.At, up.NewRate), 1, 10, up)
	windows[9].End, windows[9].LastAck = 60*time.Second, 60*time.Second
	for _, w := range windows {
		f.AddWindow(w)
	}
	if r := f.Result(); !r.Valid {
		t.Errorf("not valid: %v", r.Invalid)
	}
}

func TestALoweredTargetIsNoOutage(t *testing.T) {
	down := changed(15*time.Second, 1000, 100)
	gone := stats.Event{At: 14 * time.Second, Kind: stats.BrokerGone, Broker: 1, To: -1, Text: "broker 1 is gone"}
	f := NewFold(header(1000))
	for _, w := range follow(plan.NewSchedule(1000).Change(down.At, down.NewRate), 1, 40, gone, down) {
		f.AddWindow(w)
	}
	o := f.Result().Outage
	must.True(t, o != nil && o.RecoveredMS != nil && *o.RecoveredMS == 0, "the outage is %+v, want one in which the rate did not fall", o)
}
