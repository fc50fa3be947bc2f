package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// drawLayout draws the rectangles, eight cells by two as one character: H the
// header, B the banner, L the limit, E the latest event, F the footer, and each pane as its
// digit.
func drawLayout(w, h int, s screen) string {
	const cellW, cellH = 8, 2
	rows := make([][]byte, (h+cellH-1)/cellH)
	for y := range rows {
		rows[y] = []byte(strings.Repeat(".", w/cellW))
	}
	put := func(r rect, mark byte) {
		for y := r.y; y < r.y+r.h; y++ {
			for x := (r.x + cellW/2) / cellW; x < (r.x+r.w+cellW/2)/cellW && x < w/cellW; x++ {
				rows[y/cellH][x] = mark
			}
		}
	}
	for _, p := range s.panes {
		put(p.rect, byte('0'+p.pane))
	}
	put(s.header, 'H')
	put(s.banner, 'B')
	put(s.limit, 'L')
	put(s.events, 'E')
	put(s.footer, 'F')
	return strings.TrimSpace(strings.Join(strings.Fields(string(joinLines(rows))), "\n"))
}

func joinLines(rows [][]byte) []byte {
	var out []byte
	for _, r := range rows {
		out = append(append(out, r...), '\n')
	}
	return out
}

func TestLayoutPutsWhatMattersMostOnTheScreen(t *testing.T) {
	const news pane = -1 // all panes that fit while something happens
	for _, row := range []struct {
		name  string
		w, h  int
		zoom  pane
		hosts int
		want  string
	}{
		{"one column has throughput, latency and partitions", 80, 24, grid, 0, `
HHHHHHHHHH
LLLLLLLLLL
1111111111
1111111111
1111111111
2222222222
2222222222
2222222222
2222222222
4444444444
4444444444
FFFFFFFFFF`},
		{"a small column has two charts", 64, 16, grid, 0, `
HHHHHHHH
LLLLLLLL
11111111
11111111
22222222
22222222
22222222
FFFFFFFF`},
		{"a small column has lines for the limit and the latest event", 64, 16, news, 0, `
HHHHHHHH
LLLLLLLL
11111111
11111111
22222222
22222222
22222222
FFFFFFFF`},
		{"events take the place of the partitions in a column", 80, 24, news, 0, `
HHHHHHHHHH
LLLLLLLLLL
1111111111
1111111111
1111111111
2222222222
2222222222
2222222222
2222222222
7777777777
7777777777
FFFFFFFFFF`},
		{"a tall column has the client", 80, 40, grid, 0, `
HHHHHHHHHH
1111111111
1111111111
1111111111
1111111111
1111111111
1111111111
2222222222
2222222222
2222222222
2222222222
2222222222
2222222222
4444444444
4444444444
6666666666
6666666666
6666666666
6666666666
FFFFFFFFFF`},
		{"a small grid has four", 104, 30, grid, 0, `
HHHHHHHHHHHHH
1111111222222
1111111222222
1111111222222
1111111222222
1111111222222
1111111222222
1111111222222
1111111222222
4444444666666
4444444666666
4444444666666
4444444666666
4444444666666
FFFFFFFFFFFFF`},
		{"a large grid has all", 120, 36, grid, 0, `
HHHHHHHHHHHHHHH
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
333333333444444
333333333444444
333333333444444
333333333444444
333333333444444
333333333444444
555555555666666
555555555666666
555555555666666
555555555666666
FFFFFFFFFFFFFFF`},
		{"events take the place of the partitions in a grid", 120, 36, news, 0, `
HHHHHHHHHHHHHHH
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
333333333777777
333333333777777
333333333777777
333333333777777
333333333777777
333333333777777
555555555666666
555555555666666
555555555666666
555555555666666
FFFFFFFFFFFFFFF`},
		{"a digit shows one alone", 80, 16, paneHeatmap, 0, `
HHHHHHHHHH
LLLLLLLLLL
3333333333
3333333333
3333333333
3333333333
3333333333
FFFFFFFFFF`},
		{"events have a pane alone", 64, 16, paneEvents, 0, `
HHHHHHHH
LLLLLLLL
77777777
77777777
77777777
77777777
77777777
FFFFFFFF`},
		{"many hosts have charts, brokers and a table", 120, 30, grid, 4, `
HHHHHHHHHHHHHHH
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
888888888888888
888888888888888
888888888888888
888888888888888
FFFFFFFFFFFFFFF`},
		{"a table of very many hosts leaves the charts their axes", 120, 30, grid, 64, `
HHHHHHHHHHHHHHH
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
111111333355555
888888888888888
888888888888888
888888888888888
888888888888888
888888888888888
888888888888888
888888888888888
FFFFFFFFFFFFFFF`},
		{"without room for three side by side there are two charts", 100, 30, grid, 64, `
HHHHHHHHHHHH
111111122222
111111122222
111111122222
111111122222
111111122222
111111122222
888888888888
888888888888
888888888888
888888888888
888888888888
888888888888
888888888888
FFFFFFFFFFFF`},
		{"few hosts leave room for two rows of charts", 120, 36, grid, 4, `
HHHHHHHHHHHHHHH
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
111111111222222
333333333555555
333333333555555
333333333555555
333333333555555
333333333555555
333333333555555
888888888888888
888888888888888
888888888888888
888888888888888
FFFFFFFFFFFFFFF`},
		{"a small terminal has one chart over the hosts", 80, 24, grid, 4, `
HHHHHHHHHH
1111111111
1111111111
1111111111
1111111111
1111111111
1111111111
8888888888
8888888888
8888888888
8888888888
FFFFFFFFFF`},
		{"a tiny terminal has a chart", 40, 10, grid, 0, `
HHHHH
HHHHH
11111
11111
FFFFF`},
		{"on four rows there are numbers", 40, 4, paneClient, 0, `
HHHHH
HHHHH`},
	} {
		got := drawLayout(row.w, row.h, layout(row.w, row.h, needs{zoom: max(row.zoom, grid), news: row.zoom == news, events: row.zoom == news, brokers: 3, hosts: row.hosts, chart: paneThroughput}))
		must.Match(t, strings.TrimSpace(row.want), got, "%s", row.name)
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

func TestTheLatestEventIsOnEveryScreen(t *testing.T) {
	for _, zoom := range []pane{grid, paneLatency, paneClient, paneEvents} {
		for h := leastHeight; h < 40; h++ {
			s := layout(80, h, needs{zoom: zoom, events: true, news: true, brokers: 1})
			listed := slices.ContainsFunc(s.panes, func(p placed) bool { return p.pane == paneEvents })
			if lines := s.events.h; listed && lines != 0 || !listed && lines != 1 {
				t.Errorf("zoom %d on %d rows: %+v", zoom, h, s)
			}
		}
	}
}

func TestTheLimitIsOnEveryScreenWithRoomForIt(t *testing.T) {
	for _, zoom := range []pane{grid, paneLatency, paneClient} {
		for h := leastHeight; h < 40; h++ {
			s := layout(80, h, needs{zoom: zoom, events: true, brokers: 1})
			pane := slices.ContainsFunc(s.panes, func(p placed) bool { return p.pane == paneClient })
			if lines := s.limit.h; pane && lines != 0 || !pane && lines != 1 {
				t.Errorf("zoom %d on %d rows: %+v", zoom, h, s)
			}
		}
	}
}
