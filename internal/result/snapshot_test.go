package result

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// everyField lets cmp look into all types: a snapshot holds windows for later.
var everyField = cmp.Options{cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty()}

func TestASnapshotEqualsTheFoldOfTheRunFileUpToItsSecond(t *testing.T) {
	const seconds = 20
	for _, tc := range []struct {
		name   string
		header Header
		events []canned.Event
	}{
		{"produce", header(0), canned.Written(3, seconds)},
		{"produce at a rate", header(100), canned.Written(4, seconds)},
		{"roundtrip", readHeader(plan.Roundtrip, 100), canned.Read(5, seconds)},
		{"consume", readHeader(plan.Consume, 0), canned.Read(6, seconds)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			live := NewFold(tc.header)
			var snapshots []Snapshot
			var upTo []int
			for i, e := range tc.events {
				e.To(live)
				if e.Sample != nil {
					snapshots, upTo = append(snapshots, live.Snapshot()), append(upTo, i+1)
				}
			}
			for k, want := range snapshots { // they did not change since
				file := runFile(t, tc.header, tc.events[:upTo[k]], completed)
				replayed := must.Have(Replay(bytes.NewReader(file), nil))(t)
				if diff := cmp.Diff(want, replayed.Snapshot(), everyField); diff != "" {
					t.Fatalf("second %d (-live +replayed):\n%s", k+1, diff)
				}
				got := replayed.Snapshot()
				if diff := cmp.Diff(want.Partitions(), got.Partitions()); diff != "" {
					t.Fatalf("partitions of second %d (-live +replayed):\n%s", k+1, diff)
				}
			}
			if got, want := live.Snapshot().Points, live.Result().Series; len(got) != len(want) {
				t.Errorf("%d points, and %d in the result", len(got), len(want))
			}
		})
	}
}

func TestTheTotalsOfASnapshotAreThoseOfTheResult(t *testing.T) {
	f := NewFold(readHeader(plan.Roundtrip, 100))
	for _, e := range canned.Read(5, 40) {
		e.To(f)
	}
	s, r := f.Snapshot(), f.Result()
	if s.Run.Counts.Acknowledged != r.Records.Acknowledged || s.All.Acknowledged != r.Records.Acknowledged+r.Warmup.Records.Acknowledged {
		t.Errorf("%d measured records and %d in all, want %d and %d more", s.Run.Counts.Acknowledged, s.All.Acknowledged, r.Records.Acknowledged, r.Warmup.Records.Acknowledged)
	}
	if s.Run.Acknowledged.Records != r.Throughput.RecordsPerSecond || s.Run.Read.Records != r.Fetch.RecordsPerSecond {
		t.Errorf("rates %v and %v, want %v and %v", s.Run.Acknowledged, s.Run.Read, r.Throughput.RecordsPerSecond, r.Fetch.RecordsPerSecond)
	}
	if s.Run.Batches != r.Batches || s.Verdict != r.BoundBy || s.Run.Response.P99 != r.Latency.Response.P99 {
		t.Errorf("batches %+v, verdict %+v, p99 %v", s.Run.Batches, s.Verdict, s.Run.Response.P99)
	}
}

// observed is the snapshot after seconds in which this happened.
func observed(command plan.Command, windows ...stats.Window) Snapshot {
	h := header(0)
	h.Plan.Command = command
	f := NewFold(h)
	for i, w := range windows {
		w.Start, w.End = time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		f.AddWindow(w)
	}
	return f.Snapshot()
}

// consumed is a second in which n records were read and the consumer lag changed.
func consumed(n, lag int64) stats.Window {
	return stats.Window{Read: stats.Read{Consumed: n, ConsumedBytes: n * 100, ConsumerLag: lag, ReadTime: time.Second}}
}

func TestPartitionsAreThoseOfTheLastTenSeconds(t *testing.T) {
	window := func(n, a, b int64) stats.Window {
		w := consumed(2*n, a+b)
		w.Partitions = map[int32]stats.Partition{0: {Consumed: n, ConsumerLag: a}, 2: {Records: n, Consumed: n, ConsumerLag: b}}
		return w
	}
	windows := []stats.Window{window(990, 500, 40)}
	for range 10 {
		windows = append(windows, window(10, -10, 20))
	}
	s := observed(plan.Consume, windows...)
	want := []PartitionNow{
		{Partition: stats.Partition{Consumed: 100, ConsumerLag: -100}, Seconds: 10, ID: 0, Leader: 1, Lag: 400, Growth: -10},
		{Partition: stats.Partition{Records: 100, Consumed: 100, ConsumerLag: 200}, Seconds: 10, ID: 2, Leader: 3, Lag: 240, Growth: 20},
	}
	must.Match(t, want, s.Partitions(), "partitions")
	must.Match(t, 20, s.Tail.Read.Records, "records a second are read")
	first := observed(plan.Consume, windows[0])
	must.Match(t, 0, first.Partitions()[0].Growth, "the first level is a growth")
	f := NewFold(header(0))
	for _, w := range []stats.Window{window(10, 0, 0), window(10, 500, 40)} { // one second in which the warm-up ends
		w.Warmup, w.End = w.ConsumerLag == 0, time.Second
		f.AddWindow(w)
	}
	s = f.Snapshot()
	must.Match(t, 0, s.Partitions()[0].Growth, "the first level in the second in which the warm-up ends is a growth")
}

func TestABrokerIsSilentRefusingOrGone(t *testing.T) {
	answer := func(p99 time.Duration) stats.Broker {
		b := stats.Broker{Traffic: stats.Traffic{Requests: 1, WireBytes: 50}}
		b.Latency.Record(p99)
		return b
	}
	both := stats.Window{Brokers: map[int32]stats.Broker{1: answer(time.Millisecond), 2: answer(9 * time.Millisecond)}}
	one := stats.Window{Brokers: map[int32]stats.Broker{1: answer(3 * time.Millisecond), 2: {Traffic: stats.Traffic{Requests: 1, Failed: 1}}}}
	one.Events = []stats.Event{{Kind: stats.BrokerGone, Broker: 2}, {Kind: stats.BrokerGone, Broker: -1}}
	none := stats.Window{Events: []stats.Event{{Kind: stats.BrokerBack, Broker: 2}}}
	rows := observed(plan.Produce, both, one).Brokers
	if len(rows) != 3 || rows[2].Asked { // the header has a third
		t.Fatalf("%+v", rows)
	}
	if b := rows[0]; b.Gone || b.Refusing || b.Silent != 0 || b.Written != 50 || b.UsualP99 != 3*time.Millisecond {
		t.Errorf("broker 1: %+v", b)
	}
	if b := rows[1]; !b.Gone || !b.Refusing || b.Silent != 1 || b.Written != 0 || b.UsualP99 != 9*time.Millisecond {
		t.Errorf("broker 2: %+v", b)
	}
	if b := observed(plan.Produce, both, one, none).Brokers[1]; b.Gone || b.Refusing || b.Silent != 2 {
		t.Errorf("broker 2 is back: %+v", b)
	}
}

func TestABrokerLeadsAndKeepsReplicasInSyncAsEventsTell(t *testing.T) {
	h := header(0)
	h.Environment.Topic.Leaders = map[int32]int32{0: 1, 1: 2, 2: 1}
	h.Environment.Topic.Replicas = map[int32]Replicas{1: {3, 3}, 2: {3, 2}}
	f := NewFold(h)
	add := func(second int, records int64, events ...stats.Event) {
		at := time.Duration(second) * time.Second
		w := stats.Window{Start: at, End: at + time.Second, Events: events}
		w.Brokers = map[int32]stats.Broker{1: {Traffic: stats.Traffic{Requests: 1, Records: records}}}
		f.AddWindow(w)
	}
	const seconds = trendTime + 5
	for i := range seconds {
		add(i, int64(i))
	}
	add(seconds, 7,
		stats.Event{Kind: stats.ISRShrank, Broker: 1, Count: 2},
		stats.Event{Kind: stats.ISRGrew, Broker: 2, Count: 4},
		stats.Event{Kind: stats.LeaderMoved, Broker: 1, To: 2, Partitions: []int32{0}, Count: 1})
	s := f.Snapshot()
	one, two := s.Brokers[0], s.Brokers[1]
	must.True(t, one.Leads == 1 && two.Leads == 2 && one.Replicas == (Replicas{3, 1}) && two.Replicas == (Replicas{3, 3}), "%+v and %+v", one, two)
	if n := len(one.Trend); n != trendTime || one.Trend[n-1] != 7 || one.Trend[n-2] != seconds-1 {
		t.Errorf("the trend of %d seconds is %v", n, one.Trend)
	}
}

func TestASnapshotIsBoundedAndKeepsTheNewest(t *testing.T) {
	f := NewFold(header(0))
	var held []Snapshot
	const seconds = 3*maxPoints/2 + 1
	for i := range seconds {
		at := time.Duration(i) * time.Second
		events := []stats.Event{{At: at + 2, Text: fmt.Sprint(i)}, {At: at + 1}} // of two sources
		f.AddWindow(stats.Window{Start: at, End: at + time.Second, Acknowledged: int64(i), Events: events})
		if i%500 == 0 {
			held = append(held, f.Snapshot())
		}
	}
	s := f.Snapshot()
	if len(s.Points) > maxPoints || len(s.Recent) != recentPoints || len(s.Events) != stats.MostOfKind || s.LeftOut[""] != 2*seconds-stats.MostOfKind || s.Placed != seconds {
		t.Fatalf("%d points, %d recent of %d, %d events", len(s.Points), len(s.Recent), s.Placed, len(s.Events))
	}
	if last := s.Recent[recentPoints-1]; last.Acknowledged != seconds-1 || s.Peak != seconds-1 {
		t.Errorf("the newest point is %+v, the peak %v", last, s.Peak)
	}
	for i := range s.Events[1:] {
		must.Hold(t, s.Events[i].At <= s.Events[i+1].At, "%v before %v", s.Events[i].At, s.Events[i+1].At)
	}
	for i, h := range held {
		sum := int64(0)
		for _, p := range h.Points {
			sum += p.Acknowledged
		}
		if n := int64(500 * i); sum != n*(n+1)/2 {
			t.Errorf("the snapshot of second %d changed: its points have %d records", n, sum)
		}
	}
}

func TestLatenciesOfAHostForgetWhatIsLongAgo(t *testing.T) {
	f := NewHostFold(header(0))
	for i := range 11 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		w.Response.RecordN(time.Millisecond, 1)
		if i == 0 {
			w.Response.RecordN(time.Second, 1000)
		}
		f.AddWindow(w)
		got := f.Snapshot().Tail.Response
		if i == 4 && got.Max.Duration() != time.Second {
			t.Errorf("the slow second is forgotten after four: %+v", got)
		}
		if i == 2 && got.P50.Duration() != time.Second {
			t.Errorf("they are merged and not averaged: %+v", got)
		}
	}
	must.Match(t, time.Millisecond, f.Snapshot().Tail.Response.Max.Duration(), "after eleven seconds the longest")
}

func TestTimeThatAHostDidNotReportIsNotHeldAgainstIt(t *testing.T) {
	f := NewHostFold(header(0))
	for i := range 20 {
		if i >= 12 && i < 16 {
			continue
		}
		f.AddWindow(stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, Acknowledged: 100})
	}
	must.Match(t, 100, f.Snapshot().Tail.Acknowledged.Records, "records a second over the last seconds that it reported")
}

// noisy is a run of 1000 seconds in which records fail and are acknowledged by turns, and the events of others.
func noisy(others map[int][]stats.Event) load {
	const length = 1000
	l := load{Rates: rates{{length, 1000}}, Events: map[int][]stats.Event{}}
	for i := range length {
		for n := range 5 {
			from := float64(i) + float64(n)/5
			l.Events[i] = append(l.Events[i], at(from, stats.FirstError), at(from+0.1, stats.FirstSuccess))
		}
		l.Events[i] = append(l.Events[i], others[i]...)
	}
	return l
}

func TestNoiseCrowdsOutNoCause(t *testing.T) {
	f := noisy(map[int][]stats.Event{500: {at(500.3, stats.AlarmOn)}, 505: {at(505, stats.AlarmOff)}}).fold()
	r, s := f.Result(), f.Snapshot()
	kinds := make(map[stats.EventKind]int)
	for _, e := range r.Events {
		kinds[e.Kind]++
	}
	if kinds[stats.AlarmOn] != 1 || kinds[stats.AlarmOff] != 1 || kinds[stats.FirstError] != stats.MostOfKind || kinds[stats.FirstSuccess] != stats.MostOfKind {
		t.Errorf("events %v; want the alarm and its end, and %d of each other kind", kinds, stats.MostOfKind)
	}
	must.Match(t, "9,600 more: 4,800 first error, 4,800 first success", r.EventsLeftOut.List(), "left out")
	if f.line.keep(&stats.Window{EventsLeftOut: map[string]int64{"rebalance": 1}}); s.LeftOut["rebalance"] != 0 { // a screen reads it meanwhile
		t.Error("a snapshot changes")
	}
	if first, last := r.Events[0], r.Events[len(r.Events)-1]; first.AtSeconds != 0 || last.AtSeconds < 999.8 {
		t.Errorf("the first event is of %v s, the last of %v s, of a run of 1000", first.AtSeconds, last.AtSeconds)
	}
}

func TestAnOutageNeedsNoEventThatIsDropped(t *testing.T) {
	l := noisy(map[int][]stats.Event{500: {at(500, stats.Exec), at(502, stats.InSync), moved(501, 1, 2)}})
	for i := 503; i < 1000; i++ {
		l.Events[i] = append(l.Events[i], at(float64(i), stats.InSync), moved(float64(i), 1, 2), moved(float64(i)+0.5, 2, 1))
	}
	for i := 500; i < 503; i++ {
		l.Events[i] = l.Events[i][2:] // the first failure is 0.2 s later
	}
	o := l.fold().Result().Outage
	if o.BeganWith != stats.Exec || *o.FirstErrorMS != 200 || *o.FirstSuccessMS != 300 || *o.InSyncMS != 2000 || *o.NewLeaderMS != 3000 {
		t.Errorf("it began with %s; first error %d ms, first success %d, in sync %d, new leader %d", o.BeganWith, *o.FirstErrorMS, *o.FirstSuccessMS, *o.InSyncMS, *o.NewLeaderMS)
	}
	early := noisy(nil) // the fault is found at once, and is still known when its event is one of 5,000
	early.Warmup = 500
	must.Match(t, 500, *early.fold().Result().Outage.BeganSeconds, "the outage of a run with 500 s of warm-up began at … s")
}

func TestAStallHasItsCauseAmongHundreds(t *testing.T) {
	l := load{Rates: rates{{1000, 1000}}, Events: map[int][]stats.Event{}, gaps: map[int]stats.Gap{504: {From: 500 * time.Second, Length: 4 * time.Second}}}
	for i := range 1000 {
		e := at(float64(i)+0.5, stats.AlarmOn)
		e.Text = "alarm of " + time.Duration(i*int(time.Second)).String()
		l.Events[i] = []stats.Event{e}
	}
	if v := l.fold().Verdict(); v.Limit != verdict.Stalled || !strings.Contains(v.Evidence, "alarm of 8m19s") && !strings.Contains(v.Evidence, "alarm of 8m20s") {
		t.Errorf("bound by %q (%s), want the alarm of that second", v.Limit, v.Evidence)
	}
}

func TestAStallOfTheWholeHasItsOwnCause(t *testing.T) {
	early, late := at(101, stats.AlarmOn), at(301, stats.AlarmOn)
	early.Text, late.Text = "an alarm of one part", "an alarm of all"
	l := load{Rates: rates{{400, 1000}}, Events: map[int][]stats.Event{101: {early}, 301: {late}}, gaps: map[int]stats.Gap{105: {From: 100 * time.Second, Length: 5 * time.Second}}}
	f := l.fold()
	f.together = Together{Parts: verdict.Parts{Count: 2}, Stall: stats.Gap{From: 300 * time.Second, Length: 4 * time.Second}}
	must.Has(t, "cause", f.evidence().Stall.Cause, late.Text)
}

func TestWhatABrokerSaidIsKnownAmongHundredsOfErrors(t *testing.T) {
	l := noisy(nil)
	said := at(500.5, stats.FirstError)
	said.Text = stats.RecordsFail + "ACCESS_REFUSED: no rights"
	l.Events[500] = append(l.Events[500], said)
	f := l.fold()
	w := stats.Window{Start: 1000 * time.Second, End: 1001 * time.Second, Offered: 100_000, Failed: 100_000, Errors: map[string]int64{"ACCESS_REFUSED": 9, "client:TIMEOUT": 99_991}}
	f.AddWindow(w)
	r := f.Result()
	if r.BoundBy.Limit != verdict.Failures || !strings.Contains(r.BoundBy.Evidence, "ACCESS_REFUSED (no rights)") || r.Said["ACCESS_REFUSED"] != "no rights" {
		t.Errorf("bound by %q (%s), said %v", r.BoundBy.Limit, r.BoundBy.Evidence, r.Said)
	}
}

func TestPartitionsOfWhichRecordsFailAreNamed(t *testing.T) {
	some, all := at(1, stats.FirstError), at(2, stats.FirstError)
	some.Partitions, some.Count = []int32{2, 5}, 2
	all.Partitions, all.Count = []int32{0, 1, 2, 3, 4, 5}, 6
	r := load{Rates: rates{{5, 1000}}, Events: map[int][]stats.Event{1: {some}, 2: {all}}}.fold().Result()
	must.Match(t, []string{"first_error (2 of 6 partitions: 2 5)", "first_error"}, []string{r.Events[0].Text, r.Events[1].Text}, "%q and %q", r.Events[0].Text, r.Events[1].Text)
}

func TestALackOfRightsToReadIsNoStall(t *testing.T) {
	for code, want := range map[string]verdict.Limit{
		"ACCESS_REFUSED": verdict.ReadFailed, "TOPIC_AUTHORIZATION_FAILED": verdict.ReadFailed, "AuthorizationError": verdict.ReadFailed, "NOT_LEADER_OR_FOLLOWER": verdict.Stalled,
	} {
		f := NewFold(readHeader(plan.Consume, 0))
		for i := range 6 {
			at := time.Duration(i) * time.Second
			f.AddWindow(stats.Window{Start: at, End: at + time.Second, Read: stats.Read{ReadTime: time.Second, ConsumerLag: int64(1000 * max(0, 1-i)), FetchErrors: map[string]int64{code: 1, "client:connection lost": 5}}})
		}
		f.Finish(Trailer{Ended: Completed, ElapsedSeconds: 6, ReadEnd: ReadIdle})
		if v := f.Verdict(); v.Limit != want || (want == verdict.ReadFailed) != strings.Contains(v.Evidence, "6 "+code) {
			t.Errorf("%s: bound by %q (%s), want %q", code, v.Limit, v.Evidence, want)
		}
	}
}

func TestALackOfRightsIsTheWorstError(t *testing.T) {
	for _, tc := range []struct {
		errors Errors
		want   string
	}{
		{nil, ""},
		{Errors{"A": 2, "B": 3, "C": 3}, "B"},
		{Errors{"A": 99, "TOPIC_AUTHORIZATION_FAILED": 1, "client:TIMEOUT": 500}, "TOPIC_AUTHORIZATION_FAILED"},
		{Errors{"CLUSTER_AUTHORIZATION_FAILED": 1, "A": 99, "TOPIC_AUTHORIZATION_FAILED": 2}, "TOPIC_AUTHORIZATION_FAILED"},
	} {
		must.Match(t, tc.want, tc.errors.Worst(), "%v", tc.errors)
	}
}
