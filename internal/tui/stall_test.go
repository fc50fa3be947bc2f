//go:build !race

package tui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// good is the verdict that a stall must not stand beside.
var good = verdict.Verdict{Limit: verdict.None, Evidence: "the target of 20000 records/s was kept"}

// secondOf is a second that began with records waiting for so long, and in which some
// were acknowledged after 5 ms.
func secondOf(i int, acknowledged int64, oldest time.Duration) stats.Window {
	at := time.Duration(i) * time.Second
	w := stats.Window{Start: at, End: at + time.Second, Offered: 20_000, Acknowledged: acknowledged, Oldest: oldest}
	w.Response.RecordN(5*time.Millisecond, acknowledged)
	return w
}

// looked is a model of a run at 20,000 records/s that has been well for eight seconds,
// and whose oldest record is looked at.
func looked(since, now *time.Duration) (Model, *fakeClock) {
	clock := &fakeClock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	h := Header{Command: "produce", TargetRate: 20e3}
	m := NewModel(h, Options{
		Now:    func() time.Time { return clock.now },
		Oldest: func() (time.Duration, time.Duration, bool) { return *since, *now, *since < *now },
	})
	feed := newFeeder(&h)
	for i := range 8 {
		*now = time.Duration(i+1) * time.Second
		*since = *now - 5*time.Millisecond
		clock.now = clock.now.Add(time.Second)
		m = send(m, feed.told(given{Windows: []stats.Window{secondOf(i, 20_000, 5*time.Millisecond)}, State: result.Running, Verdict: good}))
	}
	return m, clock
}

// pass is the frames of a time in which no tick comes.
func pass(m Model, clock *fakeClock, now *time.Duration, d time.Duration) Model {
	const frame = 250 * time.Millisecond
	for ; d > 0; d -= frame {
		*now += frame
		clock.now = clock.now.Add(frame)
		m = send(m, clockMsg{})
	}
	return m
}

func frameOf(m Model) string { m.w, m.h = 120, 36; return m.frame() }

func TestAStallIsSeenWithinASecondAndNoGreenVerdictStandsOverIt(t *testing.T) {
	for _, early := range []time.Duration{0, 60, 120, 180, 240} { // milliseconds before the next frame
		var since, now time.Duration
		m, clock := looked(&since, &now)
		if f := frameOf(m); !strings.Contains(f, "● RUN") || !strings.Contains(f, "limit "+string(verdict.None)) || strings.Contains(f, "oldest") {
			t.Fatalf("before the stall:\n%s", f)
		}
		since = now - early*time.Millisecond // nothing is answered from here on
		m = pass(m, clock, &now, 750*time.Millisecond)
		f := frameOf(m)
		must.Has(t, "a stall", f, "● STALL", "oldest ", "limit "+string(verdict.Stalled), "7 Events")
		must.True(t, !strings.Contains(f, "was kept"), "a green verdict stands over a stall:\n%s", f)
	}
}

func TestTheAgeIsThereAsSoonAsItStandsOut(t *testing.T) {
	var since, now time.Duration
	m, clock := looked(&since, &now)
	m = pass(m, clock, &now, 250*time.Millisecond)
	f := frameOf(m)
	must.True(t, strings.Contains(f, "oldest 255ms") && !strings.Contains(f, "STALL"), "a quarter of a second is an age and no stall yet:\n%s", f)
}

func TestAStallEndsWithAnEventAndTheNewestWord(t *testing.T) {
	var since, now time.Duration
	m, clock := looked(&since, &now)
	m = pass(m, clock, &now, 3*time.Second)
	since = now + 245*time.Millisecond
	m = pass(m, clock, &now, 250*time.Millisecond)
	f := frameOf(m)
	must.True(t, !strings.Contains(f, "STALL") && !strings.Contains(f, "oldest") && strings.Contains(f, "records are answered again"),
		"after the stall:\n%s", f)
	var kinds []stats.EventKind
	for _, e := range m.data.events {
		kinds = append(kinds, e.Kind)
	}
	must.True(t, len(kinds) == 2 && kinds[0] == kindStalled && kinds[1] == kindResumed, "its events are %v", kinds)
}

// Where records are old because the queue is long, the oldest is another one all the time.
func TestALongQueueIsNoStall(t *testing.T) {
	for _, row := range []struct {
		name string
		ages func(i int) time.Duration // at the end of second i
		p99  time.Duration
		want bool
	}{
		{"catching up", func(i int) time.Duration { return time.Duration(8-i) * time.Second }, 5 * time.Millisecond, false},
		{"behind a quarter of the target", func(i int) time.Duration { return time.Duration(i+1) * 750 * time.Millisecond }, 5 * time.Millisecond, false},
		{"a deep queue", func(int) time.Duration { return 1900 * time.Millisecond }, 1800 * time.Millisecond, false},
		{"nothing moves", func(i int) time.Duration { return time.Duration(i+1) * time.Second }, 5 * time.Millisecond, true},
		{"nothing moves in one partition of slow ones", func(i int) time.Duration { return time.Duration(i+1) * time.Second }, 300 * time.Millisecond, true},
	} {
		d := watch(Header{Command: "produce"})
		for i := range 7 {
			w := secondOf(i, 0, row.ages(i))
			w.Acknowledged = 20_000
			w.Response.RecordN(row.p99, 20_000)
			d.observe(given{Windows: []stats.Window{w}, State: result.Running})
		}
		must.Match(t, row.want, d.stalled(), "%s: stalled: %+v", row.name, d.stall)
	}
}

func TestConnectionsMayTakeTwoSecondsToOpen(t *testing.T) {
	d := watch(Header{Command: "produce", TargetRate: 20e3})
	d.observe(given{Windows: []stats.Window{secondOf(0, 0, time.Second)}})
	must.True(t, !d.stalled(), "the first second is a stall")
	d.observe(given{Windows: []stats.Window{secondOf(1, 0, 2*time.Second)}})
	must.Match(t, "no acknowledgement for 2.00s", (&scene{data: d.data}).goingOn(), "after two seconds")
}

func TestALateLookChangesNothing(t *testing.T) {
	var s stall
	const usual = 5 * time.Millisecond
	s.observe(time.Second, 3*time.Second, usual, true)
	s.observe(2990*time.Millisecond, 3100*time.Millisecond, usual, true)
	_, happened := s.observe(time.Second, 3*time.Second, usual, true)
	must.True(t, !happened && !s.on, "what was seen before the end of the stall begins it anew")
}

func TestTheLatencyChartShowsTheAgeInsteadOfAGap(t *testing.T) {
	d := watch(Header{Command: "produce", TargetRate: 20e3})
	for i := range 4 {
		d.observe(given{Windows: []stats.Window{secondOf(i, 20_000, 5*time.Millisecond)}})
	}
	for i := range 3 {
		d.observe(given{Windows: []stats.Window{secondOf(4+i, 0, time.Duration(i+1)*time.Second)}})
	}
	for i, p := range d.Recent {
		want := math.NaN()
		if i >= 4 {
			want = float64(i - 3)
		}
		got := d.ageOf(&p)
		must.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "second %d: the age is %v, want %v", i, got, want)
	}
	m, _ := newModel(silent(), nil)
	m = send(m, press("2"))
	f := frameOf(m)
	must.True(t, strings.Contains(f, "p99.9") && strings.Contains(f, ageLook.name), "the chart has no line of the age:\n%s", f)
}

// A grid must not flicker: events take the place of the partitions from an event on, and the
// partitions come back a minute after the latest one.
func TestEventsAreNewsForAMinuteAndDuringAStall(t *testing.T) {
	moved := stats.Event{At: 10 * time.Second, Kind: stats.LeaderMoved}
	for _, row := range []struct {
		name   string
		clock  time.Duration
		events []stats.Event
		stall  stall
		want   bool
	}{
		{"nothing happened", 5 * time.Second, nil, stall{}, false},
		{"at the event", moved.At, []stats.Event{moved}, stall{}, true},
		{"within a minute", moved.At + newsFor - 1, []stats.Event{moved}, stall{}, true},
		{"after a minute", moved.At + newsFor, []stats.Event{moved}, stall{}, false},
		{"a stall that lasts", moved.At + newsFor, []stats.Event{moved}, stall{on: true, age: time.Minute}, true},
	} {
		d := newData(Header{})
		d.events, d.stall = row.events, row.stall
		must.Match(t, row.want, (&scene{data: d, clock: row.clock}).news(), "%s", row.name)
	}
}

func TestTheScreenCountsEventsThatItDoesNotList(t *testing.T) {
	m, _ := newModel(silent(), nil)
	m = send(m, press("7"))
	m.data.events = []stats.Event{{Kind: stats.AlarmOn, Text: "an alarm"}}
	m.data.LeftOut = result.Errors{"first_error": 300}
	if f := frameOf(m); !strings.Contains(f, "newest first") || !strings.Contains(f, "300 more: 300 first error") {
		t.Errorf("the pane of events does not say how many more there are:\n%s", f)
	}
}
