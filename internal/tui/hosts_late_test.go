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

// The coordinator gives a second as long as those of its processes are on average, from
// the first of them on: it may begin before the last one ended.
func TestSecondsThatOverlapHaveTheirOwnRates(t *testing.T) {
	d := twoHosts()
	for i := range recentTicks + 3 {
		from := float64(i) - float64(i%2)/4
		a, b := told(from, from+1, 100), told(float64(i), float64(i+1), 100)
		whole := told(from, from+1, 200)
		d.observe(Tick{State: Running, Windows: []stats.Window{whole}, Hosts: []HostState{
			{Name: "a", State: hostRunning, Processes: 2, Window: a}, {Name: "b", State: hostRunning, Processes: 2, Window: b},
		}})
		for name, rate := range map[string]float64{
			"a": d.hosts[0].own.last.flow[acked].rate, "b": d.hosts[1].own.last.flow[acked].rate,
			"half of both": d.last.flow[acked].rate / 2, "half of the peak": d.peak / 2,
		} {
			if math.Abs(rate-100) > 0.01 {
				t.Fatalf("tick %d, %s: %.1f records a second, want 100", i, name, rate)
			}
		}
	}
	for _, h := range d.hosts {
		if rate, ok := h.usualRate(); !ok || math.Abs(rate-50) > 0.01 { // of each process
			t.Errorf("%s: %.1f records a second, want 50", h.name, rate)
		}
	}
	if got := (&scene{data: d}).hostWarning().long; got != "" {
		t.Errorf("hosts that do the same: %q", got)
	}
}

// What comes late is told of no time: its own was shown without it.
func TestWhatComesLateCountsAndHasNoRate(t *testing.T) {
	late := func(at float64, records int64) stats.Window {
		w := told(at, at, records)
		w.Outage = stats.Gap{Length: 3 * time.Second}
		return w
	}
	for _, tc := range []struct {
		name   string
		told   []stats.Window
		points int
		count  int64
		now    float64
		run    float64
	}{
		{"in time", []stats.Window{told(0, 1, 200), told(1, 2, 200)}, 2, 400, 200, 200},
		{"after a second", []stats.Window{told(0, 1, 200), late(1, 100), told(1, 2, 200)}, 2, 500, 200, 250},
		{"at the end", []stats.Window{told(0, 1, 200), told(1, 2, 200), late(2, 100)}, 2, 500, 200, 250},
		{"at first", []stats.Window{late(0, 100), told(0, 1, 200)}, 1, 300, 200, 300},
		{"alone", []stats.Window{late(0, 100)}, 0, 100, 0, 0},
	} {
		d := twoHosts()
		for i, w := range tc.told {
			state := Running
			if i == len(tc.told)-1 {
				state = Done
			}
			d.observe(Tick{State: state, Windows: []stats.Window{w}})
		}
		if len(d.points) != tc.points || d.count[acked] != tc.count || d.total.Acknowledged != tc.count || d.total.Service.Count() != tc.count {
			t.Errorf("%s: %d points, %d records, in the total %d", tc.name, len(d.points), d.count[acked], d.total.Acknowledged)
		}
		if got := [3]float64{d.last.flow[acked].rate, d.run.flow[acked].rate, d.peak}; got != [3]float64{tc.now, tc.run, tc.now} {
			t.Errorf("%s: now, in the run and at most %v records a second, want %v, %v and %v", tc.name, got, tc.now, tc.run, tc.now)
		}
		if got := d.timeline.acks.longest.Length; (got != 0) != (tc.name != "in time") {
			t.Errorf("%s: the longest time without an acknowledgement is %v", tc.name, got)
		}
	}
}

func TestWhatIsAnsweredLateIsOutstandingNoLonger(t *testing.T) {
	sent, answered := told(0, 1, 0), told(1, 1, 0)
	sent.Offered, answered.Acknowledged = 100, 100
	d := twoHosts()
	for i, w := range []stats.Window{sent, answered, told(1, 5, 0)} {
		d.observe(Tick{State: Running, Windows: []stats.Window{w}})
		if want := []int64{100, 0, 0}[i]; d.outstanding != want {
			t.Errorf("after window %d, %d are outstanding, want %d", i, d.outstanding, want)
		}
	}
	if got := (&scene{data: d}).goingOn(); got != "" {
		t.Errorf("nothing is waited for: %q", got)
	}
}

// A host of which one process is heard again tells of a time that another one has told of.
func TestTimeThatIsToldOfTwiceHasNoTrendAndKeepsItsPlace(t *testing.T) {
	of := func(from, to time.Duration, consumerLag float64) point {
		return point{start: from * time.Second, end: to * time.Second, consumerLag: consumerLag}
	}
	for _, points := range [][]point{
		{of(1, 2, 5), of(0, 2, 9)},
		{of(1, 2, 5), of(0, 1, 9)},
	} {
		if got := (&scene{data: &data{points: points}}).lagTrend(); got != (trend{}) {
			t.Errorf("the consumer lag changes by %v a second", got.change)
		}
		if p := join(points[0], points[1]); p.start != 0 || p.end != 2*time.Second {
			t.Errorf("joined, they are from %v to %v", p.start, p.end)
		}
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
		{Tick{State: Running, Notice: notice + "\x1b[2J"}, false, notice + "?[2J  ↑↓ host"},
		{Tick{State: Running, Notice: notice}, true, notice + "  ↑↓ host"},
		{Tick{State: Draining}, true, "draining: waiting for acks; q again to leave"},
		{Tick{State: Running}, false, "q stop+report"},
		{
			Tick{State: Running, Notice: "waiting for " + strings.Repeat("x", 100) + " until 01:32:03; q: without it"},
			false,
			"waiting for " + strings.Repeat("x", 47) + "…" + strings.Repeat("x", 28) + " until 01:32:03; q: without it",
		},
	} {
		d.observe(tc.tick)
		if got := footer(tc.stopping); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%+v: %q", tc.tick.State, got)
		}
	}
}

func TestATinyScreenShowsTheKeyOfTheNoticeOrTheFigures(t *testing.T) {
	const notice = "waiting for vm16 until 01:32:03; q: without it"
	for _, tc := range []struct {
		w, h   int
		notice string
		want   bool
	}{
		{40, 1, notice, false},
		{40, 2, notice, false},
		{40, 3, notice, false}, // it takes two rows
		{40, 4, notice, true},
		{40, 9, notice, true},
		{59, 2, notice, false},
		{59, 3, notice, true},
		{20, 9, notice, false},
		{40, 9, strings.Replace(notice, "vm16", strings.Repeat("a long name ", 5), 1), false},
	} {
		d := twoHosts()
		d.observe(Tick{State: Running, Windows: []stats.Window{told(0, 1, 200)}, Notice: tc.notice})
		c := chart.New(tc.w, tc.h, theme.New(theme.Options{}))
		drawTiny(c, &scene{data: d})
		text := strings.Join(strings.Fields(c.String()), " ")
		if got := strings.Contains(text, "q: without it"); got != tc.want || strings.Contains(text, "waiting") != tc.want {
			t.Errorf("%dx%d: the key of the notice is shown: %v, want %v:\n%s", tc.w, tc.h, got, tc.want, c.String())
		}
		if !strings.Contains(text, "200 rec/s") {
			t.Errorf("%dx%d: there are no figures:\n%s", tc.w, tc.h, c.String())
		}
	}
}
