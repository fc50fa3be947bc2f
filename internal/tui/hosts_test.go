//go:build !race

package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// second is a window in which records were acknowledged, all after a millisecond.
func second(at int, records int64) stats.Window {
	start := time.Duration(at) * time.Second
	w := stats.Window{Start: start, End: start + time.Second, Offered: records, Acknowledged: records}
	w.Service.RecordN(time.Millisecond, records)
	return w
}

// hostsAfter is a run after so many seconds; each host sends as it says.
func hostsAfter(seconds int, hosts ...cannedHost) *scene {
	c := manyHosts(hosts...)
	c.seconds = seconds
	d := watch(c.header)
	c.each(d.data.observe)
	return &scene{data: d.data, span: defaultSpan, chart: paneThroughput}
}

func TestAHostThatKeepsItsTargetIsNotSlow(t *testing.T) {
	half := func(name string, rate float64) cannedHost {
		h := loadHost(name, rate, 1)
		h.Share = 0.5
		return h
	}
	for _, row := range []struct {
		target, caughtUp, usual float64
		want                    int
	}{
		{100e3, 90e3, 50e3, 0},  // the other one catches up
		{200e3, 90e3, 50e3, 1},  // neither keeps it
		{0, 90e3, 50e3, 1},      // there is none
		{100e3, 100e3, 40e3, 1}, // the other one catches up, and this one falls behind
	} {
		s := hostsAfter(20, half("a", row.caughtUp), half("b", row.usual))
		for _, h := range s.hosts {
			h.own.Targets = plan.NewSchedule(row.target).Times(h.part)
		}
		must.Match(t, row.want, len(s.slowHosts()), "at %v with targets of %v: hosts are slow", row.usual, row.target/2)
	}
}

func TestTheWarningNamesWhoIsGoneBeforeWhoIsSlow(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Name    string
		Seconds int
		Hosts   string // of each its name, its rate in thousands, its CPU, its share, and if it is silent its state and since when; without a rate it is watched
		Want    string
	}](t, "hosts") {
		var hosts []cannedHost
		for text := range strings.SplitSeq(row.Hosts, "; ") {
			var name, state string
			var rate, cpu, share float64
			var from int
			_, _ = fmt.Sscan(text, &name, &rate, &cpu, &share, &state, &from) // what comes first is enough
			h := loadHost(name, rate*1e3, cpu)
			if rate == 0 {
				h = brokerHost(name)
			}
			h.Share, h.state, h.from, h.silent = share, state, from, state != ""
			hosts = append(hosts, h)
		}
		must.Match(t, row.Want, hostsAfter(row.Seconds, hosts...).hostWarning().long, "%s", row.Name)
	}
}

func TestHostsAreCountedAsReadyBeforeTheLoadAndAsHeardAfter(t *testing.T) {
	d := watch(hostsGathering().header)
	must.True(t, d.Stage == result.Gathering && d.present() == 0, "before anything is known: %v, %d hosts", d.Stage, d.present())
	hostsGathering().each(d.data.observe)
	must.Match(t, 3, d.present(), "of %d are ready", len(d.hosts)) // two are ready, and one is watched
	s := hostsAfter(57, hostsGone().hosts...)
	must.True(t, s.present() == 4, "%d of %d are heard", s.present(), len(s.hosts))
}

func TestAHostThatNobodyAnnouncedIsShownToo(t *testing.T) {
	d := watch(Header{Hosts: []HostHeader{{Name: "a", Processes: 1}}})
	d.observe(given{State: result.Running, Hosts: []givenHost{{Name: "b", Processes: 2, State: "running"}}})
	must.True(t, len(d.hosts) == 2 && d.hosts[1].name == "b" && d.hosts[1].Processes == 2, "%d hosts", len(d.hosts))
}

func hostModel(c *canned, w, h int) (Model, *fakeClock) {
	m, clock := newModel(c, nil)
	return send(m, tea.WindowSizeMsg{Width: w, Height: h}), clock
}

func TestTheSelectionStaysOnTheHosts(t *testing.T) {
	m, _ := hostModel(hostsStarting(), 120, 30)
	for _, row := range []struct {
		keys string
		want int
	}{{"up", 0}, {"down down", 2}, {"down down down", 3}, {"up", 2}} {
		for _, k := range strings.Fields(row.keys) {
			m = send(m, press(k))
		}
		must.Match(t, row.want, m.scene.selected, "after %s", row.keys)
	}
}

func TestEnterShowsOneHostAndEscGoesBackStepByStep(t *testing.T) {
	m, _ := hostModel(hostsRunning(), 120, 30)
	for _, row := range must.Rows[[]struct{ Key, Has, HasNot string }](t, "hosts") {
		m = send(m, press(row.Key))
		if frame := m.frame(); !strings.Contains(frame, row.Has) || strings.Contains(frame, row.HasNot) {
			t.Fatalf("after %s there should be %q and not %q:\n%s", row.Key, row.Has, row.HasNot, frame)
		}
	}
}

func TestTabGoesToTheOtherChartWhereOnlyOneHasRoom(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Name string
		W, H int
		Keys string
		Zoom pane
		Over pane
	}](t, "hosts") {
		m, _ := hostModel(hostsStarting(), row.W, row.H)
		for _, k := range strings.Fields(row.Keys) {
			m = send(m, press(k))
		}
		must.Match(t, []pane{row.Zoom, row.Over}, []pane{m.scene.zoom, m.scene.chart}, "%s: zoom %d with chart %d", row.Name, m.scene.zoom, m.scene.chart)
	}
}

func TestTheSelectedHostIsAlwaysInSight(t *testing.T) {
	m, _ := hostModel(hosts64(), 80, 24)
	for i := range 64 {
		name := bounded(m.data.hosts[i].name)
		frame := m.frame()
		must.Hold(t, strings.Contains(frame, "▸"+name[:4]), "host %d, %q, is not in\n%s", i, name, frame)
		m = send(m, press("down"))
	}
}

func TestTheClockCountsDownToTheStart(t *testing.T) {
	c := hostsStarting()
	m, clock := hostModel(c, 80, 24)
	for _, row := range []struct {
		after time.Duration
		want  string
	}{{0, "START  in 3s"}, {time.Second, "START  in 2s"}, {2 * time.Second, "START  in 1s"}} {
		start := clock.now
		clock.now = start.Add(row.after)
		must.Has(t, "the frame", send(m, clockMsg{}).frame(), row.want)
		clock.now = start
	}
	w := second(0, 10)
	m = give(m, c, given{State: result.Running, Windows: []stats.Window{w}})
	must.True(t, m.elapsed() == time.Second && !m.data.gathering(), "after the start: %v", m.elapsed())
}

func TestAClockIsToldWithItsErrorWhereThatIsLarge(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Offset, Bound time.Duration
		Want          string
	}](t, "hosts") {
		must.Match(t, row.Want, clockText(row.Offset, row.Bound), "%v within %v", row.Offset, row.Bound)
	}
}

func TestANetworkIsComparedWithItsSpeedWhereItTellsOne(t *testing.T) {
	for _, row := range []struct {
		name     string
		networks []host.NetworkVitals
		used     float64
		known    bool
	}{
		{"the busier way counts", []host.NetworkVitals{{Sent: 125e6, Received: 625e6, Speed: 10e9}}, 0.5, true},
		{"the fullest counts, not the largest", []host.NetworkVitals{{Sent: 625e6, Speed: 10e9}, {Sent: 100e6, Speed: 1e9}}, 0.8, true},
		{"an idle one without a speed", []host.NetworkVitals{{Sent: 1e3}, {Sent: 625e6, Speed: 10e9}}, 0.5, true},
		{"a busy one without a speed", []host.NetworkVitals{{Sent: 700e6}, {Sent: 1e6, Speed: 10e9}}, 700e6, false},
		{"none with a speed", []host.NetworkVitals{{Sent: 1e6}, {Received: 2e6}}, 2e6, false},
		{"nothing sent", []host.NetworkVitals{{Speed: 10e9}}, 0, true},
	} {
		used, known := busiestNetwork(&host.Vitals{Interval: time.Second, Networks: row.networks})
		must.True(t, used == row.used && known == row.known, "%s: %v %v, want %v %v", row.name, used, known, row.used, row.known)
	}
}

func TestColumnsFillTheirRoomAndTheMostImportantStay(t *testing.T) {
	s := hostsAfter(12, hostsGone().hosts...)
	for w := range 220 {
		table := newHostTable(chart.New(w, 5, theme.New(theme.Options{})), s)
		used, names := -columnGap, []string(nil)
		for _, col := range table.columns {
			used += col.width
			names = append(names, col.name)
		}
		must.Hold(t, used <= w || len(names) <= 1, "%d cells of %d are used by %v", used, w, names)
		must.Hold(t, w < 60 || strings.HasPrefix(strings.Join(names, " "), "host state rec/s"), "on %d cells there are %v", w, names)
		must.True(t, w != 120 || len(names) >= 9, "on %d cells there are only %v", w, names)
	}
}

// What another host says of itself must neither steer the terminal nor tear a row:
// whatever it is, no control character is drawn, it is bounded, and drawing it fills a
// row exactly.
func FuzzHostText(f *testing.F) {
	for _, s := range []string{"vm14", "evil\x1b[2J\x07", "a\nb\r\tc", "\u202eright to left", "\u009b2J\u061c", "界界界", "\xff\xfe", "e\u0301", strings.Repeat("x", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := bounded(text)
		n := utf8.RuneCountInString(got)
		must.True(t, n <= longestText, "it is %d long", n)
		c := chart.New(20, 1, theme.New(theme.Options{Dark: true}))
		c.Text(0, 0, c.Fit(got, 20), theme.Style{})
		if drawn := c.String(); strings.ContainsFunc(drawn, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is drawn as %q", text, drawn)
		}
		checkFrame(t, fmt.Sprintf("%q", text), theme.Options{Dark: true}, c.String(), 20, 1)
	})
}

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
	badge := gathering.badge(chart.New(80, 1, theme.New(theme.Options{})))
	must.True(t, badge[len(badge)-1].text == "WAITING", "who waits for an hour is in %q", badge[len(badge)-1].text)
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
		got := footer(tc.stopping)
		must.True(t, strings.HasPrefix(got, tc.want), "%+v: %q", tc.tick.State, got)
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
