//go:build !race

package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
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

func twoHosts() watched {
	return watch(Header{Command: "produce", Hosts: []HostHeader{{Name: "a", Processes: 2}, {Name: "b", Processes: 2}}})
}

func TestTimeInWhichAHostToldNothingIsNotHeldAgainstIt(t *testing.T) {
	d := twoHosts()
	for i := range 20 {
		w := told(float64(i), float64(i+1), 100)
		hosts := []givenHost{{Name: "a", State: hostRunning, Processes: 2, Window: w}, {Name: "b", State: hostRunning, Processes: 2, Window: w}}
		if i >= 10 && i < 14 {
			hosts[1].Window = stats.Window{}
		}
		d.observe(given{State: result.Running, Windows: []stats.Window{w}, Hosts: hosts})
	}
	must.Match(t, "", (&scene{data: d.data}).hostWarning().long, "hosts that do the same")
}

func TestNoLoadGoesOnAfterItsPlannedEnd(t *testing.T) {
	away := loadHost("b", 100e3, 0.4)
	away.state, away.from, away.silent = hostAway, 8, true
	s := hostsAfter(20, loadHost("a", 100e3, 0.4), away)
	for clock, want := range map[time.Duration][2]string{
		s.header.Duration - 1: {"b has been silent for 12 s: its load may go on", "RUN"},
		s.header.Duration:     {"b has been silent for 12 s", "DRAIN"},
	} {
		s.clock = clock
		badge := s.badge(chart.New(80, 1, theme.New(theme.Options{})))
		must.Match(t, want, [2]string{s.hostWarning().long, badge[len(badge)-1].text}, "after %v", clock)
	}
	gathering := &scene{data: twoHosts().data, clock: time.Hour}
	gathering.header.Duration = time.Minute
	if badge := gathering.badge(chart.New(80, 1, theme.New(theme.Options{}))); badge[len(badge)-1].text != "WAITING" {
		t.Errorf("who waits for an hour is in %q", badge[len(badge)-1].text)
	}
}

func TestTheNoticeIsThatOfTheLatestTick(t *testing.T) {
	const notice = "waiting for vm16 until 01:32:03 UTC; q: without it"
	d := twoHosts()
	footer := func(stopping bool) string {
		c := chart.New(120, 1, theme.New(theme.Options{}))
		drawFooter(c, &scene{data: d.data, stopping: stopping})
		return strings.TrimSpace(c.String())
	}
	for _, tc := range []struct {
		tick     given
		stopping bool
		want     string // how the footer begins
	}{
		{given{State: result.Running, Notice: notice + "\x1b[2J"}, false, notice + "?[2J  ↑↓ host"},
		{given{State: result.Running, Notice: notice}, true, notice + "  ↑↓ host"},
		{given{State: result.Draining}, true, "draining: waiting for acks; q again to leave"},
		{given{State: result.Running}, false, "q stop+report"},
		{
			given{State: result.Running, Notice: "waiting for " + strings.Repeat("x", 100) + " until 01:32:03 UTC; q: without it"},
			false,
			"waiting for " + strings.Repeat("x", 27) + "…" + strings.Repeat("x", 44) + " until 01:32:03 UTC; q: without it",
		},
	} {
		d.observe(tc.tick)
		if got := footer(tc.stopping); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%+v: %q", tc.tick.State, got)
		}
	}
}

func TestATinyScreenShowsTheKeyOfTheNoticeOrTheFigures(t *testing.T) {
	const notice = "waiting for vm16 until 01:32:03 UTC; q: without it"
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
		{20, 9, notice, true},
		{20, 4, notice, false},
		{40, 5, strings.Replace(notice, "vm16", strings.Repeat("a long name ", 9), 1), false},
	} {
		d := twoHosts()
		d.observe(given{State: result.Running, Windows: []stats.Window{told(0, 1, 200)}, Notice: tc.notice})
		c := chart.New(tc.w, tc.h, theme.New(theme.Options{}))
		drawTiny(c, &scene{data: d.data})
		text := strings.Join(strings.Fields(c.String()), " ")
		if got := strings.Contains(text, "q: without it"); got != tc.want || strings.Contains(text, "waiting") != tc.want {
			t.Errorf("%dx%d: the key of the notice is shown: %v, want %v:\n%s", tc.w, tc.h, got, tc.want, c.String())
		}
		must.Has(t, "the figures", text, "rec/s 200")
	}
}
