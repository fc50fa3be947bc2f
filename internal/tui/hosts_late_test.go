package tui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// told is a window between two moments, in seconds.
func told(from, to float64, records int64) stats.Window {
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	w := stats.Window{Start: at(from), End: at(to), Offered: records, Acknowledged: records}
	w.Service.RecordN(time.Millisecond, records)
	return w
}

func twoHosts() *data {
	return newData(Header{Command: "produce", Hosts: []HostHeader{{Name: "a", Processes: 2}, {Name: "b", Processes: 2}}})
}

func TestTimeThatTwoProcessesTellOfCountsOnceInARate(t *testing.T) {
	d := twoHosts()
	for i := range recentTicks + 3 {
		start := float64(i)
		// The second process of a ticks half a second after the first.
		a := stats.Merge(told(start, start+1, 50), told(start+0.5, start+1.5, 50))
		b := told(start, start+1, 100)
		d.observe(Tick{State: Running, Windows: []stats.Window{stats.Merge(a, b)}, Hosts: []HostState{
			{Name: "a", State: hostRunning, Processes: 2, Window: a}, {Name: "b", State: hostRunning, Processes: 2, Window: b},
		}})
	}
	s := &scene{data: d}
	if got := s.hostWarning().long; got != "" {
		t.Errorf("hosts that do the same: %q", got)
	}
	for name, rate := range map[string]float64{"a": d.hosts[0].own.last.flow[acked].rate, "b": d.hosts[1].own.last.flow[acked].rate, "both": d.last.flow[acked].rate / 2} {
		if math.Abs(rate-100) > 0.01 {
			t.Errorf("%s: %.1f records a second, want 100", name, rate)
		}
	}
	points := d.hosts[0].own.points
	for i := range points[1:] {
		if points[i+1].start < points[i].end {
			t.Fatalf("a point begins at %v, and the one before ends at %v", points[i+1].start, points[i].end)
		}
	}
}

func TestWhatIsToldLateCountsWithTheNextTick(t *testing.T) {
	d := twoHosts()
	tell := func(w stats.Window) {
		d.observe(Tick{State: Running, Windows: []stats.Window{w}, Hosts: []HostState{{Name: "a", State: hostRunning, Processes: 2, Window: w}}})
	}
	tell(told(0, 2, 150)) // one process told of two seconds, the other of one
	tell(told(1, 2, 50))
	own := d.hosts[0].own
	if len(own.points) != 1 || own.count[acked] != 150 || own.silent != 0 || own.run.flow[acked].rate != 75 {
		t.Errorf("%d points, %d records, silent for %d ticks, in the run %.1f/s", len(own.points), own.count[acked], own.silent, own.run.flow[acked].rate)
	}
	tell(told(2, 3, 100))
	if got := own.last.flow[acked].rate; got != 150 || own.count[acked] != 300 || len(own.points) != 2 {
		t.Errorf("then %.1f records a second, %d in all, in %d points", got, own.count[acked], len(own.points))
	}
	if got := own.run.flow[acked].rate; got != 100 {
		t.Errorf("in the run %.1f records a second, want 100", got)
	}
}

func TestTimeInWhichAHostToldNothingIsNotHeldAgainstIt(t *testing.T) {
	d := twoHosts()
	for i := range 20 {
		w := told(float64(i), float64(i+1), 100)
		hosts := []HostState{{Name: "a", State: hostRunning, Processes: 2, Window: w}, {Name: "b", State: hostRunning, Processes: 2, Window: w}}
		if i >= 10 && i < 14 {
			hosts[1].Window = stats.Window{}
		}
		d.observe(Tick{State: Running, Windows: []stats.Window{w}, Hosts: hosts})
	}
	if got := (&scene{data: d}).hostWarning().long; got != "" {
		t.Errorf("hosts that do the same: %q", got)
	}
}

func TestNoLoadGoesOnAfterItsPlannedEnd(t *testing.T) {
	away := loadHost("b", 100e3, 0.4)
	away.state, away.from, away.silent = hostAway, 8, true
	s := hostsAfter(20, loadHost("a", 100e3, 0.4), away)
	for clock, want := range map[time.Duration][2]string{
		s.header.Duration - 1: {"b was not heard for 12 s: its load goes on by itself", "RUN"},
		s.header.Duration:     {"b was not heard for 12 s", "DRAIN"},
	} {
		s.clock = clock
		badge := s.badge(chart.New(80, 1, theme.New(theme.Options{})))
		if got := [2]string{s.hostWarning().long, badge[len(badge)-1].text}; got != want {
			t.Errorf("after %v: %q, want %q", clock, got, want)
		}
	}
	gathering := &scene{data: twoHosts(), clock: time.Hour}
	gathering.header.Duration = time.Minute
	if badge := gathering.badge(chart.New(80, 1, theme.New(theme.Options{}))); badge[len(badge)-1].text != "LOBBY" {
		t.Errorf("who waits for an hour is in %q", badge[len(badge)-1].text)
	}
}

func TestTheNoticeIsThatOfTheLatestTick(t *testing.T) {
	const notice = "waiting for vm16 until 01:32:03; q: without it"
	if got := merge(Tick{Notice: notice}, Tick{}).Notice; got != "" {
		t.Errorf("merged: %q", got)
	}
	d := twoHosts()
	footer := func(stopping bool) string {
		c := chart.New(120, 1, theme.New(theme.Options{}))
		drawFooter(c, &scene{data: d, stopping: stopping})
		return strings.TrimSpace(c.String())
	}
	for _, tc := range []struct {
		tick     Tick
		stopping bool
		want     string // how the footer begins
	}{
		{Tick{State: Running, Notice: notice + "\x1b[2J"}, false, notice + "[2J  ↑↓ host"},
		{Tick{State: Running, Notice: notice}, true, notice + "  ↑↓ host"},
		{Tick{State: Draining}, true, "draining: waiting for acks; q again to leave"},
		{Tick{State: Running}, false, "q stop+report"},
	} {
		d.observe(tc.tick)
		if got := footer(tc.stopping); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%+v: %q", tc.tick.State, got)
		}
	}
}
