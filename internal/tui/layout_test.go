//go:build !race

package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
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
				for i, n := range covered {
					if n != 1 {
						t.Fatalf("%dx%d embedded %v events %v hosts %d: cell %d,%d is covered %d times", w, h, embedded, events, hosts, i%w, i/w, n)
					}
				}
			}
		}
	}
}

func TestTheBannerOfTheEmbeddedBrokerIsNeverLeftOut(t *testing.T) {
	for _, zoom := range []pane{grid, paneClient} {
		if s := layout(60, 16, needs{zoom: zoom, notice: true, events: true, brokers: 1}); s.banner != (rect{0, 2, 60, 1}) {
			t.Errorf("zoom %d: %+v", zoom, s.banner)
		}
	}
}

func TestTheLatestEventAndTheLimitAreOnEveryScreen(t *testing.T) {
	for _, zoom := range []pane{grid, paneLatency, paneClient, paneEvents} {
		for h := leastHeight; h < 40; h++ {
			s := layout(80, h, needs{zoom: zoom, events: true, news: true, brokers: 1})
			for of, lines := range map[pane]int{paneEvents: s.events.h, paneClient: s.limit.h} {
				listed := slices.ContainsFunc(s.panes, func(p placed) bool { return p.pane == of })
				if listed && lines != 0 || !listed && lines != 1 {
					t.Errorf("zoom %d on %d rows: pane %d in %+v", zoom, h, of, s)
				}
			}
		}
	}
}
