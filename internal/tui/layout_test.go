//go:build !race

package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// drawLayout draws the rectangles, eight cells by two as one character: H the header, B the banner, L the limit, E
// the latest event, F the footer, and each pane as its digit. Of lines that are alike it tells how many there are, and of
// a line with several panes how wide each is: "H, 6×(1:9 2:6), F".
func drawLayout(w, h int, s screen) string {
	const cellW, cellH, order = 8, 2, ".123456789HBLEF" // who is on top of whom
	rows := make([]string, (h+cellH-1)/cellH)
	mark := map[rune]rect{'H': s.header, 'B': s.banner, 'L': s.limit, 'E': s.events, 'F': s.footer}
	for _, p := range s.panes {
		mark[rune('0'+p.pane)] = p.rect
	}
	for y := range rows {
		var runs []string
		for x := 0; x < w/cellW; {
			name, width := '.', 1
			for m, r := range mark {
				if from, to := (r.x+cellW/2)/cellW, (r.x+r.w+cellW/2)/cellW; x == from && to > x && r.y < (y+1)*cellH && y*cellH < r.y+r.h && strings.IndexRune(order, m) > strings.IndexRune(order, name) {
					name, width = m, min(to, w/cellW)-from
				}
			}
			runs, x = append(runs, fmt.Sprintf("%c:%d", name, width)), x+width
		}
		if rows[y] = strings.Join(runs, " "); len(runs) == 1 {
			rows[y] = rows[y][:1]
		}
	}
	var all []string
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n] == rows[0] {
			n++
		}
		line := rows[0]
		if strings.Contains(line, " ") {
			line = "(" + line + ")"
		}
		if n > 1 {
			line = fmt.Sprintf("%d×%s", n, line)
		}
		all, rows = append(all, line), rows[n:]
	}
	return strings.Join(all, ", ")
}

func TestLayoutPutsWhatMattersMostOnTheScreen(t *testing.T) {
	const news pane = -1 // all panes that fit while something happens
	for _, row := range must.Rows[[]struct {
		Name  string
		W, H  int
		Zoom  pane
		Hosts int
		Want  string
	}](t, "layout") {
		got := drawLayout(row.W, row.H, layout(row.W, row.H, needs{zoom: max(row.Zoom, grid), news: row.Zoom == news, events: row.Zoom == news, brokers: 3, hosts: row.Hosts, chart: paneThroughput}))
		must.Match(t, row.Want, got, "%s", row.Name)
	}
}

func TestLayoutFillsTheTerminalWithoutOverlap(t *testing.T) {
	for w := 1; w <= 210; w += 7 {
		for h := 1; h <= 90; h++ {
			for kind := range 8 {
				embedded, events, hosts := kind%2 == 1, kind/2%2 == 1, kind/4*(w%70+1)
				s := layout(w, h, needs{notice: embedded, events: events, news: events && h%2 == 0, brokers: h % 9, hosts: hosts, chart: paneThroughput})
				rects := []rect{s.header, s.banner, s.limit, s.events, s.footer}
				for _, p := range s.panes {
					rects = append(rects, p.rect)
				}
				covered := make([]int, w*h)
				for _, r := range rects {
					for y := r.y; y < r.y+r.h; y++ {
						for x := r.x; x < r.x+r.w; x++ {
							covered[y*w+x]++
						}
					}
				}
				i := slices.IndexFunc(covered, func(n int) bool { return n != 1 })
				must.True(t, i < 0, "%dx%d embedded %v events %v hosts %d: cell %d,%d is not covered once", w, h, embedded, events, hosts, i%w, i/w)
			}
		}
	}
}

func TestTheBannerOfTheEmbeddedBrokerIsNeverLeftOut(t *testing.T) {
	for _, zoom := range []pane{grid, paneClient} {
		s := layout(60, 16, needs{zoom: zoom, notice: true, events: true, brokers: 1})
		must.True(t, s.banner == (rect{0, 2, 60, 1}), "zoom %d: %+v", zoom, s.banner)
	}
}

func TestTheLatestEventAndTheLimitAreOnEveryScreen(t *testing.T) {
	for _, zoom := range []pane{grid, paneLatency, paneClient, paneEvents} {
		for h := leastHeight; h < 40; h++ {
			s := layout(80, h, needs{zoom: zoom, events: true, news: true, brokers: 1})
			for of, lines := range map[pane]int{paneEvents: s.events.h, paneClient: s.limit.h} {
				listed := slices.ContainsFunc(s.panes, func(p placed) bool { return p.pane == of })
				must.True(t, (!listed || lines == 0) && (listed || lines == 1), "zoom %d on %d rows: pane %d in %+v", zoom, h, of, s)
			}
		}
	}
}

// firstColumn returns the first words of the table's rows, from the top.
func firstColumn(m Model) (ids []string) {
	for line := range strings.Lines(ansi.Strip(m.frame())) {
		if f := strings.Fields(strings.Trim(line, "│\n ")); len(f) > 3 && len(f[0]) <= 3 && strings.HasPrefix(f[0], "p") && f[1] != "p1" {
			ids = append(ids, f[0])
		}
	}
	return ids
}

func TestTheTableOfPartitionsIsSortedAndScrolled(t *testing.T) {
	m, _ := callable(t)
	m = send(send(m, tea.WindowSizeMsg{Width: 120, Height: 30}), press("4"))
	m.data.rows = nil
	for id := range int32(40) {
		m.data.rows = append(m.data.rows, result.PartitionNow{Partition: stats.Partition{Records: int64(id) * 7 % 40}, Seconds: 1, ID: id, Leader: 1})
	}
	got := firstColumn(m)
	must.Hold(t, len(got) >= 5 && got[0] == "p0" && got[1] == "p1", "by number: %v", got)
	got = firstColumn(send(m, press("down")))
	must.True(t, got[0] == "p1", "scrolled by one: %v", got)
	sorted := firstColumn(send(send(m, press("o")), press("o")))
	want := slices.SortedFunc(slices.Values(m.data.rows), func(a, b result.PartitionNow) int { return int(b.Records - a.Records) })
	must.Match(t, []string{fmt.Sprintf("p%d", want[0].ID), fmt.Sprintf("p%d", want[1].ID)}, []string{sorted[0], sorted[1]}, "by rate: %v", sorted)
}

// consumed is a second in which n records were read and the consumer lag changed.
func consumed(n, consumerLag int64) stats.Window {
	return stats.Window{Read: stats.Read{Consumed: n, ConsumedBytes: n * 100, ConsumerLag: consumerLag, ReadTime: time.Second}}
}

func TestTheCommandDecidesWhatIsCounted(t *testing.T) {
	w := stats.Window{End: time.Second, Acknowledged: 3, Read: stats.Read{Consumed: 2}}
	w.Response.Record(time.Millisecond)
	w.EndToEnd.Record(time.Second)
	for command, want := range map[string]struct {
		main    way
		median  time.Duration
		acked   time.Duration // p99
		untimed bool
	}{
		"produce":   {acked, time.Millisecond, 0, false},
		"consume":   {read, time.Second, 0, false},
		"roundtrip": {acked, time.Second, time.Millisecond, false},
	} {
		d := observed(Header{Command: command}, w)
		if n := d.current(); d.main != want.main || n.latency.P50.Duration() != want.median || n.Response.P99.Duration() != want.acked && want.acked > 0 || d.untimed() != want.untimed {
			t.Errorf("%s: main %v, p50 %v, ack p99 %v, untimed %v", command, d.main, n.latency.P50, n.Response.P99, d.untimed())
		}
	}
	d := observed(Header{Command: "consume"}, consumed(2, 0))
	must.True(t, d.untimed(), "without a stamp there is a latency")
}

func TestJoiningAGroupDoesNotCountInTheRateOfReading(t *testing.T) {
	d := watch(Header{Command: "consume", Group: "g"})
	must.True(t, d.joining(), "it has joined before it began")
	for i := range 6 {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		if i >= 3 {
			w.Consumed, w.JoinTime = 100, 3*time.Second
			w.FirstRead, w.LastRead = w.Start, w.End
		}
		d.observe(given{Windows: []stats.Window{w}, State: result.Running})
		must.Match(t, i < 3, d.joining(), "second %d: joining", i)
	}
	must.Match(t, 100, d.run().flow[read].Records, "records a second")
}

// Without a group there is nothing to join, and a roundtrip begins when its readers
// are ready.
func TestOnlyAGroupIsJoined(t *testing.T) {
	for _, h := range []Header{{Command: "consume"}, {Command: "roundtrip", Group: "g"}, {Command: "produce"}} {
		must.True(t, !newData(h).joining(), "%+v", h)
	}
}

func TestFetchErrorsAreErrorsOfTheirOwn(t *testing.T) {
	w := stats.Window{Failed: 2, Errors: map[string]int64{"X": 2}, Read: stats.Read{FetchErrors: map[string]int64{"X": 5}}}
	d := observed(Header{Command: "roundtrip"}, w)
	want := []failure{{"fetch X", 5}, {"X", 2}}
	if got := d.failures(); !slices.Equal(got, want) || len((&scene{data: d, span: defaultSpan}).marks(chart.TimeAxis{To: 60})) != 1 {
		t.Errorf("errors %v", got)
	}
}

// These tests are long and of one goroutine: the race detector would find nothing.

func TestEveryFrameFillsItsTerminalExactly(t *testing.T) {
	sizes := []size{{20, 2}, {40, 2}, {40, 5}, {40, 8}, {49, 15}, {60, 15}, {80, 24}, {100, 30}, {120, 30}, {120, 36}, {200, 60}, {1, 1}, {300, 17}, {61, 90}}
	kept := map[string]bool{}
	for n, base := range models() {
		state := states[n]
		for _, look := range looks {
			base.options.Theme = theme.New(look.options)
			for i, size := range sizes {
				if look.name != "plain" && (i+n)%5 > 0 && !strings.Contains(state.keep, size.String()) { // layouts do not depend on the look
					continue
				}
				frame := send(base, tea.WindowSizeMsg{Width: size.w, Height: size.h}).frame()
				name := fmt.Sprintf("%s %v %s", state.name, size, look.name)
				checkFrame(t, name, look.options, frame, size.w, size.h)
				if size.w == 120 && size.h == 36 && look.name == "plain" {
					checkWords(t, name, frame, state.says)
				}
				if strings.Contains(" "+state.keep+" ", fmt.Sprintf(" %v/%s ", size, look.name)) {
					file := strings.ReplaceAll(name, " ", "_") + ".txt"
					kept[file] = true
					golden(t, file, frame)
				}
			}
		}
	}
	checkNoOthers(t, kept)
}

// checkWords looks for all that a frame must say.
func checkWords(t *testing.T, name, frame, says string) {
	t.Helper()
	for _, want := range strings.Split(says, "; ") {
		must.Has(t, name, frame, want)
	}
}

// No size of the terminal may cause a panic or a torn frame, whatever is shown.
func FuzzSize(f *testing.F) {
	models := models()
	for _, s := range []size{{0, 0}, {1, 1}, {20, 2}, {59, 16}, {60, 15}, {60, 16}, {80, 24}, {99, 29}, {120, 36}, {255, 70}} {
		f.Add(uint8(s.w), uint8(s.h), uint8(s.w), uint8(s.h))
	}
	f.Fuzz(func(t *testing.T, w, h, state, look uint8) {
		m := models[int(state)%len(models)]
		options := looks[int(look)%len(looks)].options
		m.options.Theme = theme.New(options)
		frame := send(m, tea.WindowSizeMsg{Width: int(w), Height: int(h)}).frame()
		if h == 0 {
			must.Match(t, "", frame, "on no line there")
			return
		}
		checkFrame(t, fmt.Sprintf("state %d %dx%d", state, w, h), options, frame, int(w), int(h))
	})
}
