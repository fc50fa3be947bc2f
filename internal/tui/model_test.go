//go:build !race

package tui

import (
	"image/color"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// calls counts what the model asks for.
type calls struct{ stop, interrupt, abort int }

func callable(t *testing.T) (Model, *calls) {
	t.Helper()
	c := &calls{}
	m := NewModel(cannedHeader(), Options{
		Now:       func() time.Time { return time.Unix(0, 0) },
		Stop:      func() { c.stop++ },
		Interrupt: func() { c.interrupt++ },
		Abort:     func() { c.abort++ },
	})
	return send(m, tea.WindowSizeMsg{Width: 120, Height: 36}), c
}

// updated is the model after a message, with its command.
func updated(t *testing.T, m Model, msg tea.Msg) (next Model, cmd tea.Cmd) {
	t.Helper()
	n, cmd := m.Update(msg)
	return n.(Model), cmd
}

func TestTheFirstQuitStopsTheLoadAndSaysWhatItWaitsFor(t *testing.T) {
	for key, want := range map[string]calls{"q": {stop: 1}, "ctrl+c": {interrupt: 1}} {
		m, c := callable(t)
		m, cmd := updated(t, m, press(key))
		msg := cmd()
		must.True(t, msg == nil && *c == want, "%s: message %v, calls %+v", key, msg, *c)
		frame := m.frame()
		must.Has(t, "frame", frame, "DRAIN", "draining: waiting for acks; q again to leave")
	}
}

func TestTheSecondQuitAborts(t *testing.T) {
	m, c := callable(t)
	m, cmd := updated(t, m, press("q"))
	cmd()
	_, cmd = updated(t, m, press("ctrl+c"))
	must.Hold(t, cmd != nil, "no command")
	_, quit := cmd().(tea.QuitMsg)
	must.True(t, !quit, "it quits before it aborts")
	must.Match(t, 1, c.stop, "calls of Stop")
}

func TestDigitsAndTabZoom(t *testing.T) {
	for keys, want := range map[string]pane{
		"": grid, "1": paneThroughput, "6": paneClient, "3 0": grid, "3 esc": grid, "tab": paneThroughput,
		"tab tab": paneLatency, "7 tab": grid, "6 tab": paneEvents, "shift+tab": paneEvents, "7": paneEvents, "8": grid, "9": grid, "x": grid,
		"2 ? esc": paneLatency, "2 ? esc esc": grid,
	} {
		m, _ := callable(t)
		for _, k := range strings.Fields(keys) {
			m = send(m, press(k))
		}
		must.Match(t, want, m.scene.zoom, "%q", keys)
	}
}

func TestTheClockGoesOnBetweenTicks(t *testing.T) {
	m, clock := newModel(newCanned(), nil)
	clock.now = clock.now.Add(2300 * time.Millisecond)
	m = send(m, clockMsg{})
	must.True(t, m.elapsed() == 59300*time.Millisecond, "%v", m.elapsed())
}

func TestEveryBindingHasAFunctionAndNoKeyHasTwo(t *testing.T) {
	for _, c := range []*canned{newCanned(), hostsRunning()} {
		seen := map[string]bool{}
		for _, b := range newData(c.header).bindings() {
			must.True(t, b.do != nil && b.keys != "", "%+v", b)
			for k := range strings.FieldsSeq(b.keys) {
				must.True(t, !seen[k], "%s is bound twice", k)
				seen[k] = true
				must.Match(t, k, press(k).String(), "Bubble Tea calls")
			}
		}
	}
}

func TestABrokerIsSlowComparedWithTheOthers(t *testing.T) {
	broker := func(id int32, ms int) result.BrokerNow {
		return result.BrokerNow{ID: id, UsualP99: time.Duration(ms) * time.Millisecond}
	}
	for _, tc := range []struct {
		name    string
		brokers []result.BrokerNow
		want    string
	}{
		{"one of three", []result.BrokerNow{broker(1, 10), broker(2, 31), broker(3, 11)}, "broker 2 p99 over 10 s is 2.8x the others'"},
		{"none", []result.BrokerNow{broker(1, 10), broker(3, 11)}, ""},
		{"alone", []result.BrokerNow{broker(2, 31)}, ""},
		{"the others did not answer", []result.BrokerNow{broker(1, 0), broker(2, 31)}, ""},
	} {
		s := &scene{data: newData(Header{})}
		s.Brokers = tc.brokers
		must.Match(t, tc.want, s.brokerWarning(), "%s", tc.name)
	}
}

func TestABrokerIsLostWhereItShouldAnswer(t *testing.T) {
	if got, text := newData(Header{Command: "produce", Uncounted: true}).health(&result.BrokerNow{}); got != brokerUp || text == "" {
		t.Errorf("of a client that does not count its requests: %v %q", got, text)
	}
	for _, tc := range must.Rows[[]struct {
		Command string
		Broker  result.BrokerNow
		Want    health
		Said    bool
	}](t, "model") {
		got, text := newData(Header{Command: tc.Command}).health(&tc.Broker)
		must.True(t, got == tc.Want && (text != "") == tc.Said, "%s %+v: %v %q", tc.Command, tc.Broker, got, text)
	}
}

func TestTheChartGrowsWithTheRunAndThenMovesByWholeColumns(t *testing.T) {
	s := &scene{data: newData(Header{}), span: defaultSpan}
	const columns = 58
	column := 60.0 / columns
	before := math.Inf(-1)
	for i := range 500 {
		s.At = time.Duration(i+1) * time.Second
		x := s.timeAxis(columns)
		if end := float64(i + 1); end <= 60 {
			must.Hold(t, x.From == 0 && x.To >= end && x.To <= max(end+15, 15),
				"after %v s the axis is from %v to %v, want the run so far", end, x.From, x.To)
			continue
		}
		n := x.To / column
		must.Hold(t, math.Abs(n-math.Round(n)) <= 1e-6, "after %d s the axis ends within a column: %v", i, n)
		m := float64(i) + 0.5
		must.Hold(t, m <= x.To && m > x.To-column-1e-9, "the tick of second %d is not in the last column, which ends at %v", i, x.To)
		must.Hold(t, x.To >= before, "after %d s the axis goes back", i)
		before = x.To
	}
}

func TestPartitionsAreComparedOnlyByEnoughBatches(t *testing.T) {
	d := newData(Header{})
	d.Tail.Batches.Count = 3*leastBatches - 1
	must.True(t, !d.comparable(3), "three partitions are compared by fewer batches than it takes")
	if d.Tail.Batches.Count++; !d.comparable(3) || d.comparable(4) {
		t.Error("enough batches for three partitions, and not for four")
	}
}

func TestSingleSecondsAreShownAsLongAsASnapshotHasThem(t *testing.T) {
	d := newData(Header{})
	d.Points = []result.Point{{Seconds: 10}, {StartSeconds: 10, Seconds: 10}}
	d.Recent, d.Placed = []result.Point{{StartSeconds: 18, Seconds: 1}, {StartSeconds: 19, Seconds: 1}}, 20
	for from, want := range map[float64]int{-1: 2, 5: 2, 12: 1, 18.5: 2, 19: 1} {
		got := d.since(from)
		must.True(t, len(got) == want, "from %v on: %+v", from, got)
	}
}

func TestABrokerThatAnsweredNothingHasNoLatency(t *testing.T) {
	for _, s := range []*scene{{data: &data{role: role{writes: true}}}, {data: &data{role: role{writes: true, reads: true}}}, {data: &data{role: role{reads: true}}}} {
		for _, c := range s.brokerColumns(muted("–")) {
			got := c.value(&result.BrokerNow{Asked: true})
			must.True(t, c.name != "p99" && c.name != "mean" && c.name != "wait" || got == muted("–"), "%s is %+v", c.name, got)
		}
	}
	columns := (&scene{data: &data{role: role{writes: true}}}).brokerColumns(muted("–"))
	got := columns[1].value(&result.BrokerNow{Asked: true, P99: time.Millisecond})
	must.True(t, got == colored(theme.Good, "1.00ms"), "p99 is %+v", got)
}

func TestTheScreenIsEmptyWhenItIsLeft(t *testing.T) {
	over := func(m Model) Model { m.data.Stage = result.Finished; return m }
	for name, leave := range map[string]func(m Model) Model{
		"by the end of the load": func(m Model) Model { return send(m, leaveMsg{}) },
		"by a key":               func(m Model) Model { return send(over(m), press("q")) },
	} {
		m, _ := newModel(newCanned(), nil)
		m = leave(send(m, tea.WindowSizeMsg{Width: 120, Height: 36}))
		if v := m.View(); !v.AltScreen || strings.TrimSpace(v.Content) != "" || strings.Count(v.Content, "\n") != 35 {
			t.Errorf("%s: the last frame is\n%s", name, v.Content)
		}
	}
}

func TestTheThemeFollowsTheTerminal(t *testing.T) {
	th := theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})
	light := false
	m := NewModel(cannedHeader(), Options{Theme: th, Background: func(l bool) { light = l }})
	m = send(m, tea.BackgroundColorMsg{Color: color.White})
	text := (theme.Style{FG: theme.Text})
	must.True(t, light && m.options.Theme.Paint(text, "x") != th.Paint(text, "x"), "white is light: %t, and the theme is as before", light)
}

func TestPlusAndMinusAskForAnotherRateWhileThereIsALoad(t *testing.T) {
	var asked []bool
	m := NewModel(cannedHeader(), Options{Now: func() time.Time { return time.Unix(0, 0) }, Faster: func(up bool) string {
		asked = append(asked, up)
		return "another rate"
	}})
	m = send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
	for _, key := range []string{"+", "-", "="} {
		m = send(m, press(key))
	}
	must.Match(t, []bool{true, false, true}, asked, "asked")
	must.Has(t, "the note", m.frame(), "another rate")
	for _, stage := range []result.Stage{result.Draining, result.Finished} {
		m = send(send(m, Tick{Snapshot: result.Snapshot{Live: result.Live{Stage: stage}}}), press("+"))
		must.True(t, len(asked) == 3 && !strings.Contains(m.frame(), "another rate"), "asked %d times, want 3:\n%s", len(asked), m.frame())
	}
}

func TestANoteGoesAfterAWhile(t *testing.T) {
	now := time.Unix(0, 0)
	m := NewModel(cannedHeader(), Options{Now: func() time.Time { return now }, Faster: func(bool) string { return "another rate" }})
	m = send(send(m, tea.WindowSizeMsg{Width: 80, Height: 24}), press("+"))
	for _, step := range []struct {
		pass  time.Duration
		shown bool
	}{{noteTime / 2, true}, {noteTime, false}} {
		now = now.Add(step.pass)
		if m = send(m, clockMsg{}); strings.Contains(m.frame(), "another rate") != step.shown {
			t.Errorf("after %v: want shown %t in\n%s", now.Sub(time.Unix(0, 0)), step.shown, m.frame())
		}
	}
}

func TestTheHeaderHasTheTargetOfNow(t *testing.T) {
	m, _ := callable(t)
	m = send(m, Tick{Snapshot: result.Snapshot{At: time.Second, Target: 123_000}})
	must.Has(t, "the new target", m.frame(), "target 123k")
}

func TestSavedIsWhatIsSeenWithoutColours(t *testing.T) {
	saved := ""
	m := NewModel(cannedHeader(), Options{
		Theme: theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}), Now: func() time.Time { return time.Unix(0, 0) },
		Save: func(frame string) string { saved = frame; return "saved as kt.txt" },
	})
	m = send(m, tea.WindowSizeMsg{Width: 80, Height: 24})
	for range 2 { // the note of the first is not in the second
		next, cmd := updated(t, m, press("s"))
		m = send(next, cmd())
		must.True(t, strings.Contains(m.frame(), "saved as kt.txt") && strings.Contains(m.frame(), "\x1b["),
			"no note, or no colours, in\n%s", m.frame())
		if strings.Contains(saved, "\x1b") || strings.Contains(saved, "saved as") || strings.Count(saved, "\n") != 23 || !strings.Contains(saved, "kt produce") {
			t.Errorf("saved:\n%s", saved)
		}
	}
}

func TestTheKeysOfAReplayPauseAndLeaveIt(t *testing.T) {
	var paused []bool
	h := cannedHeader()
	h.Replay = true
	m := NewModel(h, Options{Now: func() time.Time { return time.Unix(0, 0) }, Pause: func(on bool) { paused = append(paused, on) }, Stop: func() { t.Error("a load is stopped") }})
	m = send(send(m, tea.WindowSizeMsg{Width: 120, Height: 36}), Tick{Snapshot: result.Snapshot{At: 5 * time.Second}})
	for _, want := range []string{"PAUSED", "WARM-UP"} {
		m = send(m, press("space"))
		must.True(t, strings.Contains(m.frame(), want) && strings.Contains(m.frame(), "00:05"), "no %q, or not at 5 s, in\n%s", want, m.frame())
	}
	must.Match(t, []bool{true, false}, paused, "paused")
	for _, key := range []string{"q", "ctrl+c"} {
		_, cmd := updated(t, m, press(key))
		_, quit := cmd().(tea.QuitMsg)
		must.True(t, quit, "%s does not leave", key)
	}
}

func TestTheTargetLineHasTheTargetOfEachTime(t *testing.T) {
	s := scene{data: newData(cannedHeader())}
	rate := must.Have(plan.ParseTarget("100@10s,700..900@10s,300@10s"))(t)
	s.Targets = rate.Schedule(rate.PerSecond)
	for second, want := range map[float64]float64{0: 100, 9.9: 100, 10: 700, 15: 800, 20: 300, 60: 300} {
		must.Match(t, want, s.targetAt(second), "at %v s", second)
	}
	for from, want := range map[float64]float64{-5: 900, 12: 900, 20: 300} {
		must.Match(t, want, s.highestTarget(chart.TimeAxis{From: from, To: 60}), "from %v s on the highest", from)
	}
}

// A run of four hours takes no more memory than one of two: in what makes the result, and on the screen.
func TestALongRunTakesNoMoreMemory(t *testing.T) {
	h := cannedHeader()
	fold, d := newFeeder(&h), newData(h)
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one's finalizers held
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	at, before := 0, uint64(0)
	for _, hours := range []int{2, 4} {
		for ; at < hours*3600; at++ {
			start := time.Duration(at) * time.Second
			w := stats.Window{
				Start: start, End: start + time.Second, Offered: 100, Acknowledged: 100, Bytes: 1e5, LastAck: start + time.Second, ShardTime: time.Second,
				Brokers:    map[int32]stats.Broker{int32(at%3 + 1): {Traffic: stats.Traffic{Requests: 1, Records: 100}}},
				Partitions: map[int32]stats.Partition{int32(at % 6): {Records: 100}},
			}
			if at%10 == 0 {
				w.Events = []stats.Event{{At: start, Kind: stats.LeaderMoved, Broker: 1, To: 2, Text: "a leader moved"}}
			}
			d.observe(fold.tick(result.Running, w))
		}
		after := used()
		must.True(t, before <= 0 || after <= before+256<<10, "%d bytes after 2 hours, %d after %d", before, after, hours)
		before = after
	}
	n := len(d.Points)
	must.True(t, n <= 3600, "%d points", n)
	runtime.KeepAlive(fold)
}

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
		must.True(t, len(marks) != 0 && marks[len(marks)-1].Style.FG == row.want, "%s: %+v", row.name, marks)
	}
}

func TestACatchUpLeavesNoMarks(t *testing.T) {
	w := stats.Window{Events: []stats.Event{{At: time.Second, Kind: stats.CatchingUp}, {At: 2 * time.Second, Kind: stats.ISRShrank}}}
	s := &scene{data: observed(Header{}, w), span: defaultSpan}
	marks := s.marks(chart.TimeAxis{From: 0, To: 60})
	must.True(t, len(marks) == 1 && marks[0].At == 2, "marks %+v, want that of the replicas out of sync alone", marks)
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
