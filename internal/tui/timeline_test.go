//go:build !race

package tui

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// observed is what is known after seconds in which this happened.
func observed(h Header, windows ...stats.Window) *data {
	d := watch(h)
	for i, w := range windows {
		w.Start, w.End = time.Duration(i)*time.Second, time.Duration(i+1)*time.Second
		d.observe(given{Windows: []stats.Window{w}, State: result.Running})
	}
	return d.data
}

func TestASilenceIsToldOfWhileItLasts(t *testing.T) {
	sent, nothing := stats.Window{Offered: 5}, stats.Window{}
	acked := stats.Window{Offered: 5, Acknowledged: 5}
	for _, row := range []struct {
		name    string
		windows []stats.Window
		want    string
	}{
		{"records wait", []stats.Window{acked, sent, nothing}, "no acknowledgement for 2s"},
		{"one second may be chance", []stats.Window{acked, nothing, sent}, ""},
		{"nothing waits", []stats.Window{acked, nothing, nothing, nothing}, ""},
		{"an answer ends it", []stats.Window{sent, nothing, {Acknowledged: 1}}, ""},
		{"it goes on when other records have failed", []stats.Window{sent, {Failed: 2}, {Failed: 2}}, "no acknowledgement for 3s"},
		{"it is over when all have", []stats.Window{sent, nothing, {Failed: 4, Unknown: 1}}, ""},
	} {
		s := &scene{data: observed(Header{}, row.windows...)}
		must.Match(t, row.want, s.goingOn(), "%s", row.name)
		s.Stage = result.Finished
		must.Match(t, "", s.goingOn(), "%s: at the end", row.name)
	}
}

func TestReadersAreSilentOnlyWhenTheyCouldRead(t *testing.T) {
	waits := stats.Window{Read: stats.Read{ConsumerLag: 1000, Consumed: 1, ReadTime: time.Second}}
	idle := stats.Window{Read: stats.Read{ReadTime: time.Second}}
	held := stats.Window{Read: stats.Read{ReadTime: time.Second, ReadHeld: time.Second}}
	none := stats.Window{Read: stats.Read{Consumed: 1, ReadTime: time.Second}}
	for _, row := range []struct {
		name    string
		windows []stats.Window
		want    string
	}{
		{"records wait", []stats.Window{waits, idle, idle}, "nothing read for 2s, and 1.00k wait"},
		{"a rate holds them back", []stats.Window{waits, held, held}, ""},
		{"nothing waits", []stats.Window{none, idle, idle}, ""},
	} {
		s := &scene{data: observed(Header{Command: "consume"}, row.windows...)}
		must.Match(t, row.want, s.goingOn(), "%s", row.name)
	}
}

func TestWhereMarksMeetTheWorstIsSeen(t *testing.T) {
	event := func(k stats.EventKind) stats.Event { return stats.Event{At: 500 * time.Millisecond, Kind: k} }
	for _, row := range []struct {
		name   string
		window stats.Window
		want   theme.Color
	}{
		{"a failed second", stats.Window{Failed: 1}, theme.Bad},
		{"an event says more than a failed second", stats.Window{Failed: 1, Events: []stats.Event{event(stats.FirstSuccess)}}, theme.Good},
		{"the worst event", stats.Window{Events: []stats.Event{event(stats.BrokerGone), event(stats.LeaderMoved), event(stats.InSync), event(stats.Exec)}}, theme.Bad},
		{"a leader moved", stats.Window{Events: []stats.Event{event(stats.InSync), event(stats.LeaderMoved)}}, theme.Warn},
		{"the user's command", stats.Window{Events: []stats.Event{event(stats.Exec)}}, theme.Brand},
		{"an unknown kind", stats.Window{Events: []stats.Event{event("new")}}, theme.Warn},
	} {
		s := &scene{data: observed(Header{}, row.window), span: defaultSpan}
		marks := s.marks(chart.TimeAxis{From: 0, To: 60})
		if len(marks) == 0 || marks[len(marks)-1].Style.FG != row.want {
			t.Errorf("%s: %+v", row.name, marks)
		}
	}
}

func TestACatchUpLeavesNoMarks(t *testing.T) {
	w := stats.Window{Events: []stats.Event{{At: time.Second, Kind: stats.CatchingUp}, {At: 2 * time.Second, Kind: stats.ISRShrank}}}
	s := &scene{data: observed(Header{}, w), span: defaultSpan}
	if marks := s.marks(chart.TimeAxis{From: 0, To: 60}); len(marks) != 1 || marks[0].At != 2 {
		t.Errorf("marks %+v, want that of the replicas out of sync alone", marks)
	}
}

// What happens while the display is frozen is kept for later.
func TestAFrozenDisplayKeepsItsEvents(t *testing.T) {
	c := silent()
	m, _ := newModel(c, nil)
	m = send(send(m, tea.WindowSizeMsg{Width: 80, Height: 24}), press("space"))
	before := m.frame()
	for i := 44; i < 57; i++ {
		m = send(m, c.tick(i))
	}
	must.Match(t, before, m.frame(), "it changed")
	m = send(m, press("space"))
	must.Has(t, "what came meanwhile is lost", m.frame(), "all replicas are in sync")
}
