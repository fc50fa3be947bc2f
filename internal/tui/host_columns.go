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

// hostTable has a row for each host.
type hostTable struct {
	table[hostData]
	s    *scene
	slow []slowHost
}

// Widths of the table.
const (
	columnGap    = 2
	leastNote    = 8
	leastTrend   = len(trendName)
	longestTrend = 60 // a cell a second
	trendTime    = 60 // seconds
)

// Columns that grow.
const (
	trendName = "rec/s trend"
	noteName  = "note"
)

func newHostTable(c chart.Canvas, s *scene) hostTable {
	t := hostTable{table: table[hostData]{c: c, gap: columnGap}, s: s, slow: s.slowHosts()}
	name := chart.Width(s.header.rowName())
	for _, h := range s.hosts {
		name = max(name, chart.Width(h.short))
	}
	w, _ := c.Size()
	name = min(name, max(w/4, 1))
	first := column[hostData]{name: s.header.rowName(), width: name + columnGap, left: true, value: func(h *hostData) segment {
		return h.known(segment{chart.FitMiddle(h.short, name), theme.Style{FG: theme.Text, Bold: h == s.hosts[s.selected]}})
	}}
	t.columns = append([]column[hostData]{first}, fitColumns(t.all(), w-name)...)
	return t
}

// known returns the segment in the style of what is known of a host: what is old is not news.
func (h *hostData) known(p segment) segment {
	if !h.heard() {
		p.style.FG = theme.Muted
	}
	return p
}

// all returns what matters before the load begins, and then what a host does and how busy it is.
func (t *hostTable) all() []column[hostData] {
	s := t.s
	before, untimed, loads := s.gathering(), s.untimed(), s.header.loads()
	rank := func(gathering, load int) int {
		if before {
			return gathering
		}
		return load
	}
	watched := slices.ContainsFunc(s.hosts, func(h *hostData) bool { return h.Processes == 0 })
	clock := 10
	if slices.ContainsFunc(s.hosts, func(h *hostData) bool { return h.Bound >= largeBound }) {
		clock = 15
	}
	columns := shown([]column[hostData]{
		{name: "state", width: 13, rank: 1, left: true, value: t.state},
		{name: "processes", width: 11, rank: 3, hidden: !before, value: func(h *hostData) segment { return where(h.Processes > 0, fmt.Sprint(h.Processes)) }},
		{name: "rec/s", width: 8, rank: 2, hidden: before, value: func(h *hostData) segment {
			n, ok := t.rates(h)
			return where(ok, theme.Rate(n.flow[h.own.main].Records))
		}},
		{name: "target", width: 8, rank: 4, hidden: !loads, value: func(h *hostData) segment {
			return where(h.own.header.TargetRate > 0, theme.Rate(h.own.header.TargetRate))
		}},
		{name: trendName, width: leastTrend + columnGap, rank: 10, hidden: before, draw: t.trend()},
		{name: "lag", width: 9, rank: 3, hidden: before || !untimed && !loads, value: t.consumerLag},
		{name: "p50", width: 9, rank: 9, hidden: before || untimed, value: t.latency(p50)},
		{name: "p99", width: 9, rank: 3, hidden: before || untimed, value: t.latency(p99)},
		{name: "p99.9", width: 9, rank: 12, hidden: before || untimed, value: t.latency(p999)},
		{name: "errors", width: 8, rank: 5, hidden: !loads, value: func(h *hostData) segment {
			return colored(countColor(h.own.All.Failed, theme.Bad), theme.Rate(float64(h.own.All.Failed)))
		}},
		{name: "limit", width: 24, rank: 6, hidden: !loads, left: true, value: func(h *hostData) segment { return plain(h.own.Verdict.Limit.String()) }},
		{name: "CPU", width: 6, rank: 4, hidden: before || loads, value: func(h *hostData) (p segment) {
			if v := h.vitals(); v != nil && v.Cores > 0 {
				p = share(v.CPU / v.Cores)
			}
			return p
		}},
		{name: "NIC", width: t.networkWidth(), rank: 5, hidden: before || loads, value: t.network},
		{name: "disk", width: 6, rank: 6, hidden: before || !watched || loads, value: disk},
		{name: "clock", width: clock, rank: rank(4, 11), hidden: loads, value: func(h *hostData) segment { return where(h.Bound > 0, clockText(h.Offset, h.Bound)) }},
		{name: "seen", width: 8, rank: rank(5, 8), hidden: loads, value: seen},
		{name: noteName, width: leastNote, rank: rank(2, 7), left: true, value: func(h *hostData) segment {
			if h.note == "" && t.isSlow(h) {
				return colored(theme.Warn, string(t.c.Theme().Glyphs.Alert)+" slow")
			}
			return plain(h.note)
		}},
	})
	for i := range columns {
		if value := columns[i].value; !columns[i].left && value != nil && columns[i].name != "seen" { // these say themselves what is known
			columns[i].value = func(h *hostData) segment {
				p := value(h)
				if p.text == "" {
					p = missing(t.c)
				}
				return h.known(p)
			}
		}
	}
	return columns
}

// where returns a text of what is known.
func where(known bool, text string) (p segment) {
	if known {
		p = plain(text)
	}
	return p
}

func seen(h *hostData) segment {
	p := plain(fmt.Sprintf("%.1fs", h.Seen.Seconds()))
	if h.Seen >= 10*time.Second {
		p.text = seconds(h.Seen)
	}
	if !h.heard() {
		p.style.FG = stateColor(h.State)
	}
	return p
}

func (t *hostTable) state(h *hostData) segment {
	mark, text := t.c.Theme().Glyphs.Dot, bounded(h.State)
	switch h.State {
	case hostRunning:
		text = "run"
	case hostLobby:
		text = "waiting"
	case hostLost:
		mark = t.c.Theme().Glyphs.Cross
	}
	return colored(stateColor(h.State), string(mark)+" "+text)
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

func (t *hostTable) isSlow(h *hostData) bool {
	return slices.ContainsFunc(t.slow, func(s slowHost) bool { return s.host == h })
}

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
		if t.s.Stage != result.Finished && !t.s.header.loads() { // whose tails have no latency
			n = h.own.numbersOf(&h.own.Tail)
		}
		if !ok {
			return segment{}
		}
		p := plain(n.text(quantile, ""))
		switch {
		case quantile != p99 || p.text == "":
		case t.isSlow(h):
			p.style.FG = theme.Warn
		default:
			p.style.FG = theme.Good
		}
		return p
	}
}

// consumerLag returns how many records wait for a host's readers.
func (t *hostTable) consumerLag(h *hostData) segment {
	_, ok := t.rates(h)
	return where(ok && h.own.reads && h.own.ConsumerLag.Known, theme.Rate(float64(h.own.ConsumerLag.Records)))
}

// trend draws the rate of the last minute, on one scale for all hosts.
func (t *hostTable) trend() func(chart.Canvas, *hostData) {
	to := t.s.end().Seconds()
	if to < trendTime { // as in the charts, the whole run
		to = wholeRun(to)
	}
	from, top := max(to-trendTime, 0), 0.0
	for _, h := range t.s.hosts {
		for _, p := range h.own.since(t.s.end().Seconds() - trendTime) {
			if rate := h.own.main.rate(&p); rate > top { // NaN is not
				top = rate
			}
		}
	}
	return func(c chart.Canvas, h *hostData) {
		w, _ := c.Size()
		values := chart.Resample(samples(h.own.since(from), h.own.main.rate), from, to, w, chart.Mean)
		chart.Sparkline(c, 0, 0, values, top, h.known(colored(theme.Flow, "")).style)
	}
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

// disk returns the busiest disk of a host that is watched: what a client writes is not Kafka's.
func disk(h *hostData) (p segment) {
	v := h.vitals()
	switch {
	case h.Processes > 0:
		return plain(" ")
	case v == nil || len(v.Disks) == 0:
		return p
	}
	busiest := slices.MaxFunc(v.Disks, func(a, b host.DiskVitals) int { return cmp.Compare(a.Busy, b.Busy) })
	return share(busiest.Busy)
}

// network returns how busy the busiest interface is: of its speed, the busier way; where it
// does not tell its speed, in bytes.
func (t *hostTable) network(h *hostData) (p segment) {
	v := h.vitals()
	if v == nil || len(v.Networks) == 0 {
		return p
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
	grow := func(name string, by int) {
		if i := slices.IndexFunc(kept, func(col column[hostData]) bool { return col.name == name }); i >= 0 {
			kept[i].width += by
			room -= by
		}
	}
	grow(trendName, min(room*2/3, longestTrend-leastTrend))
	grow(noteName, room)
	return kept
}
