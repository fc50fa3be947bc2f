package tui

import (
	"math"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
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

// run is Update with its command.
func run(t *testing.T, m Model, msg tea.Msg) (next Model, cmd tea.Cmd) {
	t.Helper()
	n, cmd := m.Update(msg)
	return n.(Model), cmd
}

func TestTheFirstQuitStopsTheLoadAndSaysWhatItWaitsFor(t *testing.T) {
	for key, want := range map[string]calls{"q": {stop: 1}, "ctrl+c": {interrupt: 1}} {
		m, c := callable(t)
		m, cmd := run(t, m, press(key))
		if msg := cmd(); msg != nil || *c != want {
			t.Errorf("%s: message %v, calls %+v", key, msg, *c)
		}
		frame := m.frame()
		for _, want := range []string{"DRAIN", "draining: waiting for acks; q again to leave"} {
			if !strings.Contains(frame, want) {
				t.Errorf("%s: no %q in\n%s", key, want, frame)
			}
		}
	}
}

func TestTheSecondQuitAborts(t *testing.T) {
	m, c := callable(t)
	m, cmd := run(t, m, press("q"))
	cmd()
	_, cmd = run(t, m, press("ctrl+c"))
	if cmd == nil {
		t.Fatal("no command")
	}
	if _, quit := cmd().(tea.QuitMsg); quit {
		t.Error("it quits before it aborts")
	}
	if c.stop != 1 {
		t.Errorf("Stop was called %d times", c.stop)
	}
}

func TestQuitLeavesARunThatIsOver(t *testing.T) {
	m, c := callable(t)
	m = send(m, Tick{State: Done})
	_, cmd := run(t, m, press("q"))
	if _, quit := cmd().(tea.QuitMsg); !quit || *c != (calls{}) {
		t.Errorf("calls %+v", *c)
	}
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
		if m.scene.zoom != want {
			t.Errorf("%q: %d, want %d", keys, m.scene.zoom, want)
		}
	}
}

func TestTheTimeShownHasEnds(t *testing.T) {
	m, _ := callable(t)
	for range 9 {
		m = send(m, press("]"))
	}
	if got := spans[m.scene.span]; got != 0 {
		t.Errorf("the longest is %v", got)
	}
	for range 9 {
		m = send(m, press("["))
	}
	if got := spans[m.scene.span]; got != 15*time.Second {
		t.Errorf("the shortest is %v", got)
	}
}

func TestUnitsGoRound(t *testing.T) {
	m, _ := callable(t)
	var got []string
	for range 4 {
		got = append(got, m.scene.unit.name()+" "+m.scene.unit.write(1<<30))
		m = send(m, press("u"))
	}
	if diff := cmp.Diff([]string{"MiB/s 1024", "MB/s 1074", "Gb/s 8.59", "MiB/s 1024"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFrozenDisplayDoesNotChangeUntilItIsThawed(t *testing.T) {
	c := newCanned()
	m, clock := newModel(c, nil)
	m = send(m, tea.WindowSizeMsg{Width: 120, Height: 36})
	m = send(m, press("space"))
	before := m.frame()
	clock.now = clock.now.Add(time.Second)
	m = send(send(m, c.tick(57)), clockMsg{})
	if diff := cmp.Diff(before, m.frame()); diff != "" {
		t.Errorf("it changed:\n%s", diff)
	}
	m = send(m, press("space"))
	if after := m.frame(); !strings.Contains(after, "00:58") {
		t.Errorf("what came meanwhile is lost:\n%s", after)
	}
}

func TestTheClockGoesOnBetweenTicks(t *testing.T) {
	m, clock := newModel(newCanned(), nil)
	clock.now = clock.now.Add(2300 * time.Millisecond)
	if m = send(m, clockMsg{}); m.elapsed() != 59300*time.Millisecond {
		t.Errorf("%v", m.elapsed())
	}
}

func TestEveryBindingHasAFunctionAndNoKeyHasTwo(t *testing.T) {
	for _, c := range []*canned{newCanned(), hostsRunning()} {
		seen := map[string]bool{}
		for _, b := range newData(c.header).bindings() {
			if b.action == doNothing || len(b.keys) == 0 {
				t.Errorf("%+v", b)
			}
			for _, k := range b.keys {
				if seen[k] {
					t.Errorf("%s is bound twice", k)
				}
				seen[k] = true
				if got := press(k).String(); got != k {
					t.Errorf("Bubble Tea calls %q %q", k, got)
				}
			}
		}
	}
}

func TestWarmupIsNotMeasured(t *testing.T) {
	d := newData(Header{})
	w := stats.Window{End: time.Second, Warmup: true, Acknowledged: 10}
	w.Service.Record(time.Second)
	d.observe(Tick{Windows: []stats.Window{w}})
	w = stats.Window{Start: time.Second, End: 3 * time.Second, Acknowledged: 100}
	w.Service.Record(time.Millisecond)
	d.observe(Tick{Windows: []stats.Window{w}, State: Running})
	if d.run.flow[acked].rate != 50 || d.run.max != time.Millisecond || d.peak != 50 || d.count[acked] != 110 {
		t.Errorf("rate %v, max %v, peak %v, acknowledged %d", d.run.flow[acked].rate, d.run.max, d.peak, d.count[acked])
	}
}

func TestAtATargetRateTheResponseTimeIsShown(t *testing.T) {
	w := stats.Window{End: time.Second, Acknowledged: 1}
	w.Service.Record(time.Millisecond)
	w.Response.Record(time.Second)
	for rate, want := range map[float64]time.Duration{0: time.Millisecond, 100: time.Second} {
		d := newData(Header{TargetRate: rate})
		d.observe(Tick{Windows: []stats.Window{w}})
		if got := d.last.quantiles[p50]; got != want {
			t.Errorf("at %v: %v, want %v", rate, got, want)
		}
	}
}

func TestMemoryIsBoundedAndNoRecordIsLostByThinning(t *testing.T) {
	var points []point
	const seconds = 4 * maxPoints
	for i := range seconds {
		p := point{start: time.Duration(i) * time.Second, end: time.Duration(i+1) * time.Second, rate: [ways]float64{acked: 10}, consumerLag: float64(i % 5)}
		p.heat[3] = 2
		p.latency[p99] = float64(i % 7)
		p.failed = i == 5
		points = appendPoint(points, p, maxPoints)
		if len(points) > maxPoints {
			t.Fatalf("%d points", len(points))
		}
	}
	records, heat, end, failed := 0.0, 0, time.Duration(0), false
	for _, p := range points {
		if p.start != end {
			t.Fatalf("a hole from %v to %v", end, p.start)
		}
		end = p.end
		records += p.rate[acked] * (p.end - p.start).Seconds()
		heat += int(p.heat[3])
		failed = failed || p.failed
	}
	if math.Abs(records-10*seconds) > 1 || heat != 2*seconds || end != seconds*time.Second || !failed {
		t.Errorf("%v records, %d latencies, until %v, failed %v", records, heat, end, failed)
	}
	if points[0].latency[p99] != 6 {
		t.Errorf("the worst latency became %v", points[0].latency[p99])
	}
	if points[0].consumerLag != 4 {
		t.Errorf("the longest consumer lag became %v", points[0].consumerLag)
	}
}

func TestABrokerIsSlowComparedWithTheOthers(t *testing.T) {
	d := newData(Header{Brokers: map[int32]string{1: "a", 2: "b", 3: "c"}})
	for i := range 12 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second, Brokers: map[int32]stats.Broker{}}
		for id, ms := range map[int32]int{1: 10, 2: 31, 3: 11} {
			b := stats.Broker{Traffic: stats.Traffic{Requests: 1}}
			b.Latency.Record(time.Duration(ms) * time.Millisecond)
			w.Brokers[id] = b
		}
		d.observe(Tick{Windows: []stats.Window{w}, State: Running})
	}
	s := &scene{data: d}
	if got, want := s.brokerWarning([]int32{1, 2, 3}), "broker 2 p99 is 2.8x the others'"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := s.brokerWarning([]int32{1, 3}); got != "" {
		t.Errorf("%q", got)
	}
	if got := s.brokerWarning([]int32{2}); got != "" {
		t.Errorf("alone: %q", got)
	}
}

func TestTheChartMovesByWholeColumnsOnly(t *testing.T) {
	s := &scene{data: newData(Header{}), span: defaultSpan}
	const columns = 58
	column := 60.0 / columns
	before := math.Inf(-1)
	for i := range 500 {
		s.points = []point{{start: time.Duration(i) * time.Second, end: time.Duration(i+1) * time.Second}}
		x := s.timeAxis(columns)
		if n := x.To / column; math.Abs(n-math.Round(n)) > 1e-6 {
			t.Fatalf("after %d s the axis ends within a column: %v", i, n)
		}
		if m := float64(i) + 0.5; m > x.To || m <= x.To-column-1e-9 {
			t.Fatalf("the tick of second %d is not in the last column, which ends at %v", i, x.To)
		}
		if x.To < before {
			t.Fatalf("after %d s the axis goes back", i)
		}
		before = x.To
	}
}

// A producer fills one batch after the other: of a paused load the last seconds hold too few.
func TestPartitionsAreComparedOnlyByEnoughBatches(t *testing.T) {
	var p partitions
	tick := func(batches int64) {
		p.add(&stats.Window{End: time.Second, Brokers: map[int32]stats.Broker{
			1: {Traffic: stats.Traffic{Batches: batches / 2}}, 2: {Traffic: stats.Traffic{Batches: batches - batches/2}},
		}}, acked)
	}
	tick(3*leastBatches - 1)
	if p.comparable(3) {
		t.Error("three partitions are compared by fewer batches than it takes")
	}
	tick(1)
	if !p.comparable(3) || p.comparable(4) {
		t.Error("enough batches for three partitions, and not for four")
	}
	for range recentTicks {
		tick(0)
	}
	if p.comparable(3) {
		t.Error("the batches of long ago count")
	}
}

func TestABrokerThatAnsweredNothingHasNoLatency(t *testing.T) {
	for _, s := range []*scene{{data: &data{role: role{writes: true}}}, {data: &data{role: role{writes: true, reads: true}}}, {data: &data{role: role{reads: true}}}} {
		columns, _ := s.columns("–")
		for _, c := range columns {
			got := c.value(&broker{})
			if (c.name == "p99" || c.name == "mean" || c.name == "wait") && got != muted("–") {
				t.Errorf("%s is %+v", c.name, got)
			}
		}
	}
	columns, _ := (&scene{data: &data{role: role{writes: true}}}).columns("–")
	if got := columns[1].value(&broker{p99: time.Millisecond}); got != colored(theme.Good, "1.00ms") {
		t.Errorf("p99 is %+v", got)
	}
}

func TestTheScreenIsEmptyWhenItIsLeft(t *testing.T) {
	over := func(m Model) Model { m.data.state = Done; return m }
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
