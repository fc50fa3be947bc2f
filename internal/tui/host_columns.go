package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// number returns a column of text that ends at its right edge; value may be empty.
func (t *hostTable) number(name string, width, rank int, value func(h *hostData) segment) column[hostData] {
	return column[hostData]{name: name, width: width, rank: rank, value: func(h *hostData) segment {
		p := value(h)
		return segment{p.text, t.styleOf(h, p.style)}
	}}
}

// styleOf returns the style of what is known of a host: what is old is not news.
func (t *hostTable) styleOf(h *hostData, s theme.Style) theme.Style {
	if !h.heard() {
		s.FG = theme.Muted
	}
	return s
}

// gatheringColumns returns what matters before the load begins.
func (t *hostTable) gatheringColumns() []column[hostData] {
	return []column[hostData]{
		t.stateColumn(1),
		t.number("processes", 11, 3, func(h *hostData) segment {
			if h.Processes == 0 {
				return t.missing()
			}
			return plain(fmt.Sprint(h.Processes))
		}),
		t.clockColumn(4),
		t.seenColumn(5),
		t.noteColumn(2),
	}
}

// loadColumns returns what a host does and how busy it is.
func (t *hostTable) loadColumns() []column[hostData] {
	columns := []column[hostData]{
		t.stateColumn(1),
		t.number("rec/s", 8, 2, func(h *hostData) segment {
			n, ok := t.rates(h)
			if !ok {
				return t.missing()
			}
			return plain(theme.Rate(n.flow[t.s.main].Records))
		}),
		{name: trendName, width: leastTrend + columnGap, rank: 10, draw: t.trend},
	}
	if t.s.untimed() {
		columns = append(columns, t.number("lag", 9, 3, t.consumerLag))
	} else {
		columns = append(columns,
			t.number("p50", 9, 9, t.latency(p50)),
			t.number("p99", 9, 3, t.latency(p99)),
			t.number("p99.9", 9, 12, t.latency(p999)))
	}
	columns = append(columns, t.number("CPU", 6, 4, t.cpu), t.number("NIC", t.networkWidth(), 5, t.network))
	if slices.ContainsFunc(t.s.hosts, func(h *hostData) bool { return h.Processes == 0 }) {
		columns = append(columns, t.number("disk", 6, 6, t.disk))
	}
	return append(columns, t.clockColumn(11), t.seenColumn(8), t.noteColumn(7))
}

func (t *hostTable) stateColumn(rank int) column[hostData] {
	return column[hostData]{name: "state", width: 13, rank: rank, draw: func(c chart.Canvas, h *hostData) {
		g, color := c.Theme().Glyphs, stateColor(h.State)
		mark, text := g.Dot, bounded(h.State)
		switch h.State {
		case hostRunning:
			text = "run"
		case hostLobby:
			text = "waiting"
		case hostLost:
			mark = g.Cross
		}
		w, _ := c.Size()
		c.Set(0, 0, mark, theme.Style{FG: color})
		c.Text(2, 0, c.Fit(text, w-2), theme.Style{FG: color})
	}}
}

// stateColor returns how good it is for a host to be in a state.
func stateColor(state string) theme.Color {
	switch state {
	case hostLobby, hostPreparing, hostDraining, hostAway:
		return theme.Warn
	case hostLost:
		return theme.Bad
	}
	return theme.Good
}

func (t *hostTable) clockColumn(rank int) column[hostData] {
	width := 10
	if slices.ContainsFunc(t.s.hosts, func(h *hostData) bool { return h.Bound >= largeBound }) {
		width = 15
	}
	return t.number("clock", width, rank, func(h *hostData) segment {
		if h.Bound <= 0 {
			return t.missing()
		}
		return plain(clockText(h.Offset, h.Bound))
	})
}

// largeBound is the error of an offset that has to be told with it: latencies on a LAN
// are about as long.
const largeBound = time.Millisecond

// clockText returns an offset with its sign, and its error where that is large.
func clockText(offset, bound time.Duration) string {
	text := "0"
	switch offset = offset.Round(time.Microsecond); { // no clock is compared better
	case offset < 0:
		text = theme.Duration(offset)
	case offset > 0:
		text = "+" + theme.Duration(offset)
	}
	if bound >= largeBound {
		text += "±" + theme.TickDuration(bound.Round(100*time.Microsecond))
	}
	return text
}

func (t *hostTable) seenColumn(rank int) column[hostData] {
	return column[hostData]{name: "seen", width: 8, rank: rank, value: func(h *hostData) segment {
		text, style := fmt.Sprintf("%.1fs", h.Seen.Seconds()), theme.Style{FG: theme.Text}
		if h.Seen >= 10*time.Second {
			text = seconds(h.Seen)
		}
		if !h.heard() {
			style.FG = stateColor(h.State)
		}
		return segment{text, style}
	}}
}

func (t *hostTable) noteColumn(rank int) column[hostData] {
	return column[hostData]{name: noteName, width: leastNote, rank: rank, draw: func(c chart.Canvas, h *hostData) {
		w, _ := c.Size()
		text, style := h.note, theme.Style{FG: theme.Text}
		if text == "" && t.isSlow(h) {
			text, style.FG = string(c.Theme().Glyphs.Alert)+" slow", theme.Warn
		}
		c.Text(0, 0, c.Fit(text, w), style)
	}}
}

func (t *hostTable) isSlow(h *hostData) bool {
	return slices.ContainsFunc(t.slow, func(s slowHost) bool { return s.host == h })
}

func (t *hostTable) missing() segment { return muted(string(t.c.Theme().Glyphs.Missing)) }

// rates returns the numbers of a host now, and those of its run once that is over; ok is
// false when it makes no load or does not report.
func (t *hostTable) rates(h *hostData) (n numbers, ok bool) {
	if t.s.Stage == result.Finished {
		n = h.own.run()
		return n, n.flow != [ways]result.Rate{}
	}
	return h.own.numbersOf(&h.own.Second), h.own.silent < patience
}

// latency returns a quantile of the last seconds, and of the run once that is over.
func (t *hostTable) latency(quantile int) func(*hostData) segment {
	return func(h *hostData) segment {
		n, ok := t.rates(h)
		if t.s.Stage != result.Finished {
			n = h.own.numbersOf(&h.own.Tail)
		}
		of := &n.latency
		if !ok || of.Ranked() == 0 {
			return t.missing()
		}
		p := plain(theme.Duration(quantiles[quantile].of(of)))
		if quantile == p99 {
			p.style.FG = theme.Good
			if t.isSlow(h) {
				p.style.FG = theme.Warn
			}
		}
		return p
	}
}

// consumerLag returns how many records wait for a host's readers.
func (t *hostTable) consumerLag(h *hostData) segment {
	if _, ok := t.rates(h); !ok {
		return t.missing()
	}
	if lag := &h.own.ConsumerLag; lag.Known {
		return plain(theme.Rate(float64(lag.Records)))
	}
	return t.missing()
}

// trend draws the rate of the last minute, on one scale for all hosts.
func (t *hostTable) trend(c chart.Canvas, h *hostData) {
	w, _ := c.Size()
	to := t.s.end().Seconds()
	if to < trendTime { // as in the charts, the whole run
		to = wholeRun(to)
	}
	from := max(to-trendTime, 0)
	values := chart.Resample(samples(h.own.since(from), t.s.main.rate), from, to, w, chart.Mean)
	chart.Sparkline(c, 0, 0, values, t.top, t.styleOf(h, theme.Style{FG: theme.Flow}))
}

// highestRate returns the top of the trends.
func (s *scene) highestRate() float64 {
	top := 0.0
	for _, h := range s.hosts {
		for _, p := range h.own.since(s.end().Seconds() - trendTime) {
			if rate := s.main.rate(&p); rate > top { // NaN is not
				top = rate
			}
		}
	}
	return top
}

// vitals returns what the host said of itself; nil when that is not known any more.
func (h *hostData) vitals() *host.Vitals {
	if !h.heard() || h.Vitals == nil || h.Vitals.Interval <= 0 {
		return nil
	}
	return h.Vitals
}

// share returns a part of something that can run out.
func share(v float64) segment { return colored(loadColor(v), wholePercent(v)) }

func (t *hostTable) cpu(h *hostData) segment {
	v := h.vitals()
	if v == nil || v.Cores <= 0 {
		return t.missing()
	}
	return share(v.CPU / v.Cores)
}

// disk returns the busiest disk of a host that is watched: what a client writes is not Kafka's.
func (t *hostTable) disk(h *hostData) segment {
	v := h.vitals()
	switch {
	case h.Processes > 0:
		return segment{}
	case v == nil || len(v.Disks) == 0:
		return t.missing()
	}
	busy := 0.0
	for i := range v.Disks {
		busy = max(busy, v.Disks[i].Busy)
	}
	return share(busy)
}

// network returns how busy the busiest interface is: of its speed, the busier way; where it
// does not tell its speed, in bytes.
func (t *hostTable) network(h *hostData) segment {
	v := h.vitals()
	if v == nil || len(v.Networks) == 0 {
		return t.missing()
	}
	used, known := busiestNetwork(v)
	if !known {
		return plain(t.s.unit.write(used) + " " + t.s.unit.name())
	}
	return share(used)
}

// busiestNetwork returns the highest share of a speed, or if the interface with most bytes
// tells no speed, its bytes a second.
func busiestNetwork(v *host.Vitals) (used float64, known bool) {
	most, of := 0.0, int64(0)
	for i := range v.Networks {
		n := &v.Networks[i]
		bytes := float64(max(n.Sent, n.Received)) / v.Interval.Seconds()
		if bytes > most {
			most, of = bytes, n.Speed
		}
		if n.Speed > 0 {
			known = true
			used = max(used, bytes*8/float64(n.Speed))
		}
	}
	if !known || most > 0 && of == 0 {
		return most, false
	}
	return used, true
}

// networkWidth has room for bytes where a host has an interface without a speed.
func (t *hostTable) networkWidth() int {
	const percent, bytes = 6, 12
	for _, h := range t.s.hosts {
		if v := h.vitals(); v != nil && len(v.Networks) > 0 {
			if _, known := busiestNetwork(v); !known {
				return bytes
			}
		}
	}
	return percent
}

// hostTable has a row for each host.
type hostTable struct {
	table[hostData]
	s    *scene
	slow []slowHost
	top  float64 // of the trends
}

// Widths of the table.
const (
	columnGap    = 2
	leastNote    = 8
	leastTrend   = len(trendName)
	longestTrend = 60 // a cell a second
	trendTime    = 60 // seconds
)

func newHostTable(c chart.Canvas, s *scene) hostTable {
	t := hostTable{table: table[hostData]{c: c, gap: columnGap}, s: s, slow: s.slowHosts(), top: s.highestRate()}
	name := chart.Width("host")
	for _, h := range s.hosts {
		name = max(name, chart.Width(h.short))
	}
	w, _ := c.Size()
	name = min(name, max(w/4, 1))
	all := t.loadColumns()
	if s.gathering() {
		all = t.gatheringColumns()
	}
	first := column[hostData]{name: "host", width: name + columnGap, draw: func(c chart.Canvas, h *hostData) {
		c.Text(0, 0, chart.FitMiddle(h.short, name), t.styleOf(h, theme.Style{FG: theme.Text, Bold: h == s.hosts[s.selected]}))
	}}
	t.columns = append([]column[hostData]{first}, fitColumns(all, w-name)...)
	return t
}

// fitColumns leaves out what there is no room for. What is left over goes to the trend
// and the note.
func fitColumns(all []column[hostData], room int) []column[hostData] {
	byRank := slices.SortedFunc(slices.Values(all), func(a, b column[hostData]) int { return cmp.Compare(a.rank, b.rank) })
	most := 0
	for _, col := range byRank {
		if col.width > room {
			break
		}
		room -= col.width
		most = col.rank
	}
	kept := slices.DeleteFunc(all, func(col column[hostData]) bool { return col.rank > most })
	find := func(name string) *column[hostData] {
		i := slices.IndexFunc(kept, func(col column[hostData]) bool { return col.name == name })
		if i < 0 {
			return &column[hostData]{}
		}
		return &kept[i]
	}
	trend, note := find(trendName), find(noteName)
	if trend.width > 0 {
		grow := min(room*2/3, longestTrend+columnGap-trend.width)
		trend.width += grow
		room -= grow
	}
	note.width += room
	return kept
}

// Columns that grow.
const (
	trendName = "rec/s trend"
	noteName  = "note"
)
