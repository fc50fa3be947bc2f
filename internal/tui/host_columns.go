package tui

import (
	"fmt"
	"slices"
	"time"

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
