package tui

import (
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// pane is one of the boxes.
type pane int

// The panes.
const (
	grid pane = iota // all that fit
	paneThroughput
	paneLatency
	paneHeatmap
	panePartitions
	paneBrokers
	paneClient
	paneEvents // in the place of the partitions while something happens
	paneHosts
)

// The panes of a run on this host, and of one on many, each by the digit that shows it
// alone. Partitions are not told of over the network, and each host has a client of its own.
var (
	ownPanes  = [...]pane{grid, paneThroughput, paneLatency, paneHeatmap, panePartitions, paneBrokers, paneClient, paneEvents}
	hostPanes = [...]pane{grid, paneThroughput, paneLatency, paneHosts, paneHeatmap, paneBrokers, paneEvents}
)

// panes are those of this run.
func (d *data) panes() []pane {
	if d.many() {
		return hostPanes[:]
	}
	return ownPanes[:]
}

// rect is a place on the screen, in cells.
type rect struct{ x, y, w, h int }

// above cuts rows off the upper edge and returns them.
func (r *rect) above(rows int) rect {
	cut := rect{r.x, r.y, r.w, rows}
	r.y, r.h = r.y+rows, r.h-rows
	return cut
}

// below cuts rows off the lower edge and returns them.
func (r *rect) below(rows int) rect {
	r.h -= rows
	return rect{r.x, r.y + r.h, r.w, rows}
}

// placed is a pane and its place.
type placed struct {
	pane pane
	rect rect
}

// screen is where everything goes. The places do not overlap and fill the
// terminal.
type screen struct {
	tiny   bool // the header has the state, figures and the limit in few columns
	flat   bool // panes have a line above instead of a border around
	header rect
	banner rect // says that the broker is embedded; empty when it is not
	limit  rect // empty where a pane says it
	events rect // the latest event; empty where there is none, or a pane lists them
	footer rect
	panes  []placed
}

// Sizes from which a layout is used, and the least that a pane needs.
const (
	leastWidth, leastHeight = 50, 12
	stripsFrom              = 18 // the least height with bars or events below the charts
	boxesFrom               = 24 // the least height with borders around panes
	gridWidth, gridHeight   = 100, 30
	sixWidth, sixHeight     = 120, 36
	allWidth, allHeight     = 180, 50
	headerHeight            = 2
	tinyHeader              = 3
	leastChart              = 4    // title, two rows and axis
	chartHeight             = 6    // border, axis and three rows
	stripHeight             = 4    // of bars on one row
	tableHeight             = 9    // border, six gauges and what they mean
	leftShare, rightOfShare = 4, 7 // the left column takes 4/7: time needs more room than bars
)

// needs are what there is to show.
type needs struct {
	zoom           pane
	notice, events bool // there is a line to be shown
	news           bool // events take the place of the partitions
	brokers        int  // rows that would be well used below the charts
	hosts          int  // the same of the hosts; 0: kt runs here alone
	gathering      bool // the hosts are not ready: there is nothing else to see
	one            bool // the charts are of one of the hosts
	chart          pane // above the hosts where there is room for one
}

// bars returns the pane beside or below the charts.
func (n needs) bars() pane {
	if n.news {
		return paneEvents
	}
	return panePartitions
}

// roomy reports whether there is room for charts side by side.
func roomy(w, h int) bool { return w >= gridWidth && h >= gridHeight }

// layout shares the terminal out. Panes that do not fit are left to their digit. Every
// layout of a run on this host says the limit: in the client's pane or on a line.
func layout(w, h int, n needs) screen {
	if w < leastWidth || h < leastHeight {
		return tiny(max(w, 0), max(h, 0), n)
	}
	body := rect{0, 0, w, h}
	s := screen{flat: h < boxesFrom, header: body.above(headerHeight), footer: body.below(1)}
	if n.notice {
		s.banner = body.above(1)
	}
	own := n.zoom == grid && n.hosts == 0
	if said := n.hosts > 0 || n.zoom == paneClient || own && h >= gridHeight; !said {
		s.limit = body.above(1)
	}
	all := own && w >= allWidth && h >= allHeight
	if listed := n.zoom == paneEvents || all || own && n.news && h >= stripsFrom; n.events && !listed {
		s.events = body.below(1)
	}
	switch {
	case n.gathering:
		s.panes = []placed{{paneHosts, body}}
	case n.zoom != grid:
		s.panes = []placed{{n.zoom, body}}
	case n.hosts > 0:
		s.panes = overHosts(body, n, roomy(w, h))
	case all:
		s.panes = everything(body)
	case w >= sixWidth && h >= sixHeight:
		const around = 4 // border, head and a warning: the charts share what the tables leave
		tables := min(max(n.brokers+around, tableHeight), body.h/3)
		upper := (body.h - tables + 1) / 2
		s.panes = rows(body, []int{upper, body.h - tables - upper, tables}, []pane{paneThroughput, paneLatency, paneHeatmap, n.bars(), paneBrokers, paneClient})
	case roomy(w, h):
		lower := max(body.h*2/5, tableHeight)
		s.panes = rows(body, []int{body.h - lower, lower}, []pane{paneThroughput, paneLatency, n.bars(), paneClient})
	default:
		s.panes = stacked(body, n, h)
	}
	return s
}

// tiny has the figures above, and charts and the keys below where there is room.
func tiny(w, h int, n needs) screen {
	body := rect{0, 0, w, h}
	s := screen{tiny: true, flat: true}
	if h < tinyHeader+leastChart+1 || n.gathering {
		s.header = body
		return s
	}
	s.header, s.footer = body.above(tinyHeader), body.below(1)
	s.panes = charts(body)
	return s
}

// charts is throughput over latency, or throughput alone.
func charts(b rect) []placed {
	if b.h < 2*leastChart {
		return []placed{{paneThroughput, b}}
	}
	upper := b.above((b.h + 1) / 2)
	return []placed{{paneThroughput, upper}, {paneLatency, b}}
}

// everything is every pane of a run on this host, three of them in the last row.
func everything(b rect) []placed {
	third := b.h / 3
	out := rows(b, []int{b.h - 2*third, third}, []pane{paneThroughput, paneLatency, paneHeatmap, panePartitions})
	b.above(b.h - third)
	for i, p := range []pane{paneBrokers, paneEvents, paneClient} {
		from, to := b.x+b.w*i/3, b.x+b.w*(i+1)/3
		out = append(out, placed{p, rect{from, b.y, to - from, b.h}})
	}
	return out
}

// stacked is panes one above the other: as many as a terminal of this height has room for.
func stacked(b rect, n needs, height int) []placed {
	var below []placed
	if height >= gridHeight {
		below = append(below, placed{paneClient, b.below(tableHeight)})
	}
	if height >= stripsFrom {
		below = append(below, placed{n.bars(), b.below(stripHeight)})
	}
	return append(charts(b), below...)
}

// overHosts returns the charts, or one of them, and the table of the hosts below. Few hosts leave room
// for two rows of charts; on a wide terminal the map of latencies takes the place of their quantiles.
func overHosts(b rect, n needs, both bool) []placed {
	const (
		around  = 4 // border, head and a warning
		chart   = chartHeight + 2
		charts  = 12 // two of them, side by side
		twoRows = 20
	)
	table := min(n.hosts+around, max(b.h-chart, (b.h+1)/2))
	if both { // a chart must not be squeezed by hosts that can be scrolled to
		table = min(n.hosts+around, max(b.h/2, b.h-charts))
	}
	below := placed{paneHosts, b.below(table)}
	if !both {
		return []placed{{n.chart, b}, below}
	}
	switch {
	case n.one: // of a host there is no map
	case b.h >= twoRows:
		upper := (b.h + 1) / 2
		return append(rows(b, []int{upper, b.h - upper}, []pane{paneThroughput, paneLatency, paneHeatmap, paneBrokers}), below)
	case b.w >= sixWidth:
		brokers := placed{paneBrokers, rect{b.x + b.w - b.w/3, b.y, b.w / 3, b.h}}
		b.w -= b.w / 3
		return append(rows(b, []int{b.h}, []pane{paneThroughput, paneHeatmap}), brokers, below)
	}
	return append(rows(b, []int{b.h}, []pane{paneThroughput, paneLatency}), below)
}

// rows places two panes a row.
func rows(b rect, heights []int, panes []pane) []placed {
	var out []placed
	left := b.w * leftShare / rightOfShare
	for i, h := range heights {
		row := b.above(h)
		out = append(out,
			placed{panes[2*i], rect{row.x, row.y, left, h}},
			placed{panes[2*i+1], rect{row.x + left, row.y, row.w - left, h}})
	}
	return out
}

// drawPane draws one pane in its place.
func drawPane(c chart.Canvas, p pane, s *scene) {
	map[pane]func(chart.Canvas, *scene){
		grid:           func(chart.Canvas, *scene) {},
		paneThroughput: func(c chart.Canvas, s *scene) { drawThroughput(c, s.subject()); drawSubject(c, s) },
		paneLatency:    func(c chart.Canvas, s *scene) { drawLatency(c, s.subject()); drawSubject(c, s) },
		paneHeatmap:    func(c chart.Canvas, s *scene) { drawHeatmap(c, s.whole()) },
		panePartitions: drawPartitions, paneBrokers: drawBrokers, paneClient: drawClient, paneEvents: drawEvents, paneHosts: drawHosts,
	}[p](c, s)
}

// frame draws the whole screen: exactly h lines of exactly w cells.
func frame(s *scene, th *theme.Theme, w, h int) string {
	c := chart.New(w, h, th)
	eventful := len(s.events) > 0 || s.many() && s.goingOn() != "" // a run on this host says a silence where it says the limit
	l := layout(w, h, needs{
		zoom: s.zoom, notice: s.header.Notice != "", events: eventful, news: s.news(), brokers: len(s.Brokers),
		hosts: len(s.hosts), gathering: s.gathering(), one: s.one, chart: s.chart,
	})
	s.flat = l.flat
	if l.tiny {
		drawTiny(place(c, l.header), s)
	} else {
		drawHeader(place(c, l.header), s)
	}
	if l.banner.h > 0 {
		ground := theme.Style{FG: theme.Ground, BG: theme.Warn, Bold: true}
		c.Row(0, l.banner.y, w, ' ', ground)
		c.Text(1, l.banner.y, c.Fit(string(c.Theme().Glyphs.Alert)+" "+s.header.Notice, w-2), ground)
	}
	if l.limit.h > 0 {
		s.limitLine(c, l.limit.w-2).draw(c, 1, l.limit.y)
	}
	for _, p := range l.panes {
		drawPane(place(c, p.rect), p.pane, s)
	}
	if l.events.h > 0 {
		s.eventLine(c).draw(c, 1, l.events.y)
	}
	if l.footer.h > 0 {
		drawFooter(place(c, l.footer), s)
	}
	if s.help && !l.tiny {
		drawHelp(c, s)
	}
	return c.String()
}

func place(c chart.Canvas, r rect) chart.Canvas { return c.Sub(r.x, r.y, r.w, r.h) }
