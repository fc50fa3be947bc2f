package result

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// noisy is a run of 1000 seconds in which records fail and are acknowledged by turns, and the events of others.
func noisy(others map[int][]stats.Event) load {
	const length = 1000
	l := load{rates: steadily(length, 1000), events: map[int][]stats.Event{}}
	for i := range length {
		for n := range 5 {
			from := float64(i) + float64(n)/5
			l.events[i] = append(l.events[i], at(from, stats.FirstError), at(from+0.1, stats.FirstSuccess))
		}
		l.events[i] = append(l.events[i], others[i]...)
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
		l.events[i] = append(l.events[i], at(float64(i), stats.InSync), moved(float64(i), 1, 2), moved(float64(i)+0.5, 2, 1))
	}
	for i := 500; i < 503; i++ {
		l.events[i] = l.events[i][2:] // the first failure is 0.2 s later
	}
	o := l.fold().Result().Outage
	if o.BeganWith != stats.Exec || *o.FirstErrorMS != 200 || *o.FirstSuccessMS != 300 || *o.InSyncMS != 2000 || *o.NewLeaderMS != 3000 {
		t.Errorf("it began with %s; first error %d ms, first success %d, in sync %d, new leader %d", o.BeganWith, *o.FirstErrorMS, *o.FirstSuccessMS, *o.InSyncMS, *o.NewLeaderMS)
	}
	early := noisy(nil) // the fault is found at once, and is still known when its event is one of 5,000
	early.warmup = 500
	must.Match(t, 500, *early.fold().Result().Outage.BeganSeconds, "the outage of a run with 500 s of warm-up began at … s")
}

func TestAStallHasItsCauseAmongHundreds(t *testing.T) {
	l := load{rates: steadily(1000, 1000), events: map[int][]stats.Event{}, gaps: map[int]stats.Gap{504: {From: 500 * time.Second, Length: 4 * time.Second}}}
	for i := range 1000 {
		e := at(float64(i)+0.5, stats.AlarmOn)
		e.Text = "alarm of " + time.Duration(i*int(time.Second)).String()
		l.events[i] = []stats.Event{e}
	}
	if v := l.fold().Verdict(); v.Limit != verdict.Stalled || !strings.Contains(v.Evidence, "alarm of 8m19s") && !strings.Contains(v.Evidence, "alarm of 8m20s") {
		t.Errorf("bound by %q (%s), want the alarm of that second", v.Limit, v.Evidence)
	}
}

func TestAStallOfTheWholeHasItsOwnCause(t *testing.T) {
	early, late := at(101, stats.AlarmOn), at(301, stats.AlarmOn)
	early.Text, late.Text = "an alarm of one part", "an alarm of all"
	l := load{rates: steadily(400, 1000), events: map[int][]stats.Event{101: {early}, 301: {late}}, gaps: map[int]stats.Gap{105: {From: 100 * time.Second, Length: 5 * time.Second}}}
	f := l.fold()
	f.together = &Together{Stall: stats.Gap{From: 300 * time.Second, Length: 4 * time.Second}}
	must.Has(t, "cause", f.evidence().Stall.Cause, late.Text)
}

func TestWhatABrokerSaidIsKnownAmongHundredsOfErrors(t *testing.T) {
	l := noisy(nil)
	said := at(500.5, stats.FirstError)
	said.Text = stats.RecordsFail + "ACCESS_REFUSED: no rights"
	l.events[500] = append(l.events[500], said)
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
	r := load{rates: steadily(5, 1000), events: map[int][]stats.Event{1: {some}, 2: {all}}}.fold().Result()
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
