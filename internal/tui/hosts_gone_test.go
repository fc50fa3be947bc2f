//go:build !race

package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

func TestThePanelOfAHostThatTellsNothingForSecondsHasNoRate(t *testing.T) {
	for _, row := range []struct {
		name  string
		ticks int
		want  string
	}{
		{"a second may be late", patience - 1, "300 rec/s"},
		{"it is silent", patience, "– rec/s"},
	} {
		c := manyHosts(loadHost("a", 100e3, 0.4), loadHost("b", 100e3, 0.4))
		m, _ := hostModel(c, 120, 30)
		m = send(m, press("enter"))
		m = give(m, c, given{State: result.Running, Windows: []stats.Window{second(57, 300)}, Hosts: []givenHost{
			{Name: "a", Processes: 5, State: hostRunning, Window: second(57, 300)},
		}})
		for i := range row.ticks {
			m = give(m, c, given{State: result.Running, Windows: []stats.Window{second(58+i, 100)}, Hosts: []givenHost{
				{Name: "a", Processes: 5, State: hostAway}, {Name: "b", Processes: 5, State: hostRunning, Window: second(58+i, 100)},
			}})
		}
		if title := strings.Split(m.frame(), "\n")[2]; !strings.Contains(title, "Throughput, a ") || !strings.Contains(title, row.want) {
			t.Errorf("%s: there is no %q in %q", row.name, row.want, title)
		}
	}
}

func TestTheConsumerLagOfAHostThatTellsNothingForSecondsIsNotKnown(t *testing.T) {
	d := watch(Header{Command: "consume", Hosts: []HostHeader{{Name: "a", Processes: 1}, {Name: "b", Processes: 1}}})
	read := func(at int) givenHost {
		start := time.Duration(at) * time.Second
		w := stats.Window{Start: start, End: start + time.Second}
		w.Consumed, w.ConsumerLag = 100, 1000
		return givenHost{Name: "b", Processes: 1, State: hostRunning, Window: w}
	}
	for i := range 12 {
		b := read(i)
		d.observe(given{State: result.Running, Windows: []stats.Window{b.Window}, Hosts: []givenHost{b}})
	}
	s := &scene{data: d.data, one: true, selected: 1}
	told := func() [3]string {
		th := theme.New(theme.Options{})
		table := newHostTable(chart.New(118, 10, th), s)
		level, _ := s.subject().lagValue(th)
		return [3]string{table.consumerLag(d.hosts[1]).text, level, s.subject().lagOutlook()}
	}
	must.Match(t, [3]string{"12.0k", "12.0k ↑", "grows by 1.00k a second"}, told(), "while it tells")
	for range patience {
		d.observe(given{State: result.Running, Hosts: []givenHost{{Name: "b", Processes: 1, State: hostAway}}})
	}
	must.Match(t, [3]string{"", "–", ""}, told(), "after %d silent ticks", patience)
}

func TestWhenNoHostIsHeardNothingIsKnownAndTheClockGoesOn(t *testing.T) {
	c := manyHosts(loadHost("a", 100e3, 0.4), loadHost("b", 100e3, 0.4))
	m, clock := hostModel(c, 120, 30)
	for range 10 {
		clock.now = clock.now.Add(time.Second)
		m = give(m, c, given{State: result.Running, Hosts: []givenHost{{Name: "a", Processes: 5, State: hostAway}, {Name: "b", Processes: 5, State: hostAway}}})
	}
	frame := m.frame()
	must.Has(t, "the frame", frame, "rec/s –   hosts 0/2   MiB/s –   p50 –", "01:07 / 02:00", "00:58 a and b away")
	clock.now = clock.now.Add(time.Second)
	m = give(m, c, given{State: result.Running, Windows: []stats.Window{second(67, 300)}, Hosts: []givenHost{
		{Name: "a", Processes: 5, State: hostRunning, Window: second(67, 300)},
	}})
	frame = m.frame()
	must.True(t, strings.Contains(frame, "rec/s 300") && strings.Contains(frame, "01:08 / 02:00"), "once one is heard again:\n%s", frame)
}

func TestFiguresThatNobodyTellsAnyMoreAreMissing(t *testing.T) {
	c := hostsRoundtrip()
	m, _ := hostModel(c, 120, 30)
	for range patience {
		m = give(m, c, given{State: result.Running})
	}
	figures := strings.Split(m.frame(), "\n")[1]
	must.Has(t, "the figures", figures, "acked/s –", "read/s –", "e2e p50 –", "ack p99 –", "lag –")
}

func TestWhatHappensToHostsIsAnEvent(t *testing.T) {
	const names = "abcd"
	for _, row := range must.Rows[[]struct {
		Name    string
		Seconds []string // a letter each host: r running, a away, l lost
		Want    []string
	}](t, "hosts_gone") {
		var hosts []cannedHost
		for _, name := range names {
			hosts = append(hosts, loadHost(string(name), 100e3, 0.4))
		}
		d := watch(manyHosts(hosts...).header)
		d.observe(given{State: result.Preparing, Hosts: []givenHost{{Name: "a", Processes: 5, State: hostAway}}}) // no event: nothing runs
		for i, states := range row.Seconds {
			w := second(i, 10)
			tick := given{State: result.Running, Windows: []stats.Window{w}}
			for j, state := range states {
				tick.Hosts = append(tick.Hosts, givenHost{
					Name: names[j : j+1], Processes: 5, State: map[rune]string{'r': hostRunning, 'a': hostAway, 'l': hostLost}[state],
				})
			}
			d.observe(tick)
		}
		var got []string
		for _, e := range d.events {
			got = append(got, theme.Clock(e.At)+" "+e.Text)
		}
		must.Match(t, row.Want, got, "%s", row.Name)
	}
}

func TestAHostsEventIsNoneOfTheEngines(t *testing.T) {
	events := make([]stats.Event, 1, 4)
	w := second(0, 10)
	w.Events = events
	d := watch(Header{Hosts: []HostHeader{{Name: "a", Processes: 1}}})
	d.observe(given{State: result.Running, Windows: []stats.Window{w}, Hosts: []givenHost{{Name: "a", Processes: 1, State: hostAway}}})
	must.True(t, len(d.events) == 2 && events[:2][1].Text == "", "%d events; behind those of the window there is %+v", len(d.events), events[:2][1])
}

func TestWhoIsNotReadyIsNamedWhereNotAllHaveARow(t *testing.T) {
	c := hosts200()
	for i := range c.hosts {
		c.hosts[i].state, c.hosts[i].from, c.hosts[i].silent = "ready", 0, false
	}
	c.hosts[150].state, c.hosts[160].state = hostPreparing, hostLobby
	c.seconds, c.last = 4, result.Preparing
	const want = "▲ kafka-l…enerator-150 and kafka-l…enerator-160 are not ready"
	for _, row := range []struct {
		rows int
		want bool
	}{{24, true}, {240, false}} {
		if m, _ := hostModel(c, 120, row.rows); strings.Contains(m.frame(), want) != row.want {
			t.Errorf("on %d rows it is shown: %v, want %v:\n%s", row.rows, !row.want, row.want, m.frame())
		}
	}
}

func TestTheTimeBeforeTheLoadIsNoneOfItsEvents(t *testing.T) {
	d := watch(Header{Hosts: []HostHeader{{Name: "a", Processes: 1}}})
	for range 100 {
		d.observe(given{State: result.Preparing})
	}
	d.observe(given{State: result.Running, Hosts: []givenHost{{Name: "a", Processes: 1, State: hostLost}}})
	at := d.events[0].At
	must.True(t, at <= time.Second, "after a hundred seconds of waiting, a host that is lost as the load begins is so at %v", at)
}

func TestAHostThatComesWhileTheDisplayIsFrozenCannotBeSelected(t *testing.T) {
	c := manyHosts(loadHost("a", 100e3, 0.4))
	m, _ := hostModel(c, 120, 30)
	m = send(send(m, press("enter")), press("space"))
	m = give(m, c, given{State: result.Running, Hosts: []givenHost{{Name: "late", Processes: 1, State: hostRunning}}})
	m = send(m, press("down"))
	must.Has(t, "it shows another host", m.frame(), "Throughput, a")
	m = send(send(m, press("space")), press("down"))
	must.True(t, strings.Contains(m.frame(), "Throughput, late"), "it cannot be selected after that:\n%s", m.frame())
}

func TestLongNamesOfHostsCanBeToldApart(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Name        string
		Hosts, Want []string
	}](t, "hosts_gone") {
		h := Header{}
		for _, name := range row.Hosts {
			h.Hosts = append(h.Hosts, HostHeader{Name: name})
		}
		var got []string
		for _, h := range newData(h).hosts {
			got = append(got, h.short)
		}
		must.Match(t, row.Want, got, "%s", row.Name)
	}
}

func TestTagsAreShownWholeOrNotAtAll(t *testing.T) {
	c := hostsStarting()
	for w := leastWidth; w < 160; w++ {
		m, _ := hostModel(c, w, 24)
		title := strings.Split(m.frame(), "\n")[0]
		tags, _, _ := strings.Cut(strings.TrimPrefix(title, " kt produce ▸ orders-bench"), "●")
		got := strings.TrimSpace(tags)
		must.True(t, strings.HasPrefix("acks=all · 21 partitions · 4 hosts ·", got+" ·") || got == "", "%d columns: %q", w, got)
	}
}

func TestTheKeyOfTheHelpIsAlwaysTold(t *testing.T) {
	for _, c := range []*canned{newCanned(), hostsRunning()} {
		m, _ := newModel(c, nil)
		for w := leastWidth; w < 160; w++ {
			lines := strings.Split(send(m, tea.WindowSizeMsg{Width: w, Height: 24}).frame(), "\n")
			if keys := lines[23]; !strings.HasPrefix(keys, " q stop+report  ") || !strings.HasSuffix(strings.TrimRight(keys, " "), "  ? help") {
				t.Errorf("%d columns: %q", w, keys)
			}
		}
	}
}

func TestTheSmallestScreenShowsEveryKeyInFull(t *testing.T) {
	replayed := newCanned()
	replayed.header.Replay = true
	for name, c := range map[string]*canned{"own": newCanned(), "hosts": hostsRunning(), "replay": replayed} {
		m, _ := newModel(c, nil)
		frame := send(send(m, tea.WindowSizeMsg{Width: 60, Height: 15}), press("?")).frame()
		for _, b := range m.data.bindings() {
			must.True(t, strings.Contains(frame, b.label) && strings.Contains(frame, b.long), "%s: %q is cut:\n%s", name, b.long, frame)
		}
	}
}

func TestNothingIsSaidOfTheLimitBeforeFiveMeasuredSeconds(t *testing.T) {
	bound := verdict.Verdict{Limit: verdict.Schedule, Evidence: "kt was late"}
	for _, many := range []bool{false, true} {
		for _, row := range []struct {
			name            string
			warmup, seconds int
			last            result.Stage
			want            bool
		}{
			{"one second", 0, 1, result.Running, false},
			{"four seconds", 0, 4, result.Running, false},
			{"five seconds", 0, 5, result.Running, true},
			{"the warm-up does not count", 20, 24, result.Running, false},
			{"five seconds after the warm-up", 20, 25, result.Running, true},
			{"a short run that is over", 0, 2, result.Finished, true},
		} {
			h := Header{Command: "produce"}
			if many {
				h.Hosts = []HostHeader{{Name: "a", Processes: 1}}
			}
			m, feed := NewModel(h, Options{}), newFeeder(&h)
			for i := range row.seconds {
				w := second(i, 10)
				w.Warmup = i < row.warmup
				tick := given{State: result.Running, Windows: []stats.Window{w}, Verdict: bound}
				if i == row.seconds-1 {
					tick.State = row.last
				}
				m = send(m, feed.told(tick))
			}
			name := fmt.Sprintf("%s, many hosts: %v", row.name, many)
			if frame := send(m, tea.WindowSizeMsg{Width: 120, Height: 36}).frame(); strings.Contains(frame, "could not keep its schedule") != row.want {
				t.Errorf("%s: it is shown: %v, want %v", name, !row.want, row.want)
			} else if strings.Contains(frame, "kt was late") != row.want && !many {
				t.Errorf("%s: the evidence is shown: %v, want %v", name, !row.want, row.want)
			}
		}
	}
}
