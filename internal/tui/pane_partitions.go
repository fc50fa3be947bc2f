package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// A partition is cold below this share of the usual rate, and skew is worth a
// look from its inverse on.
const coldShare = 0.7

// lagRows is the height from which the consumer lags are drawn below the rates, and tableFrom that from which a table is below the bars.
const (
	lagRows   = 7
	tableFrom = 15
)

// drawPartitions is the rate of each partition over the last ticks, and what waits
// in it below.
func drawPartitions(c chart.Canvas, s *scene) {
	if s.topics > 1 {
		drawTopics(c, s)
		return
	}
	rates := s.byPartition(s.rateOf)
	levels := s.byPartition(func(p *result.PartitionNow) float64 { return float64(p.Lag) })
	coldest, hottest := extremes(rates)
	usual := upperMedian(rates)
	idle := len(rates) == 0 || rates[hottest] == 0
	b := s.box(panePartitions, "Partitions")
	if s.reads && s.ConsumerLag.Known {
		text, color := s.lagValue(c.Theme())
		b.right = append(b.right, line{muted("lag "), emphasis(color, text)})
	}
	uneven := s.main != read && s.comparable(len(rates)) // who only reads takes what there is
	if len(rates) > 1 && !idle && uneven {
		b.right = append(b.right, skew(rates, coldest, hottest, usual)...)
	}
	if !idle {
		b.bottom = []line{{muted(fmt.Sprintf("busiest p%d %s rec/s", hottest, theme.Rate(rates[hottest])))}, {muted("last 10 s")}}
	}
	if _, longest := extremes(levels); s.reads && len(levels) > 0 && levels[longest] > 0 {
		b.bottom = slices.Insert(b.bottom, 0, line{muted(fmt.Sprintf("waiting: p%d %s", longest, theme.Rate(levels[longest])))})
	}
	inner := b.draw(c)
	w, h := inner.Size()
	if third := h / 3; (s.zoom == panePartitions || h >= tableFrom) && len(s.rows) > 0 && third > 2 {
		s.drawPartitionTable(inner.Sub(0, third+1, w, h-third-1))
		inner, h = inner.Sub(0, 0, w, third), third
	}
	both := s.reads && h >= lagRows
	if idle && (!both || len(levels) == 0 || slices.Max(levels) == 0) {
		why := "no acknowledgement in the last 10 s"
		if s.main == read {
			why = "no record read in the last 10 s"
		}
		inner.Text(1, 0, why, theme.Style{FG: theme.Muted})
		return
	}
	bars := chart.Bars{Values: rates, Style: func(i int) theme.Style {
		switch {
		case !uneven:
		case rates[i] < coldShare*usual, rates[i]*coldShare > usual:
			return theme.Style{FG: theme.Warn}
		}
		return theme.Style{FG: theme.Info}
	}}
	if !both {
		bars.Draw(inner)
		return
	}
	bars.Bare = true
	upper := (h - 1) / 2
	bars.Draw(scaled(inner.Sub(0, 0, w, upper), rates, "rec/s", 0))
	s.drawPartitionLags(scaled(inner.Sub(0, upper, w, h-upper), levels, "waiting", 1), levels, rates)
}

// scaled writes before bars what a full one is, from a row on, and returns the
// place of the bars.
func scaled(c chart.Canvas, values []float64, unit string, row int) chart.Canvas {
	const width = len("waiting") + 1
	w, h := c.Size()
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	style := theme.Style{FG: theme.Muted}
	c.TextRight(width-1, row, theme.Rate(top), style)
	c.TextRight(width-1, row+1, unit, style)
	return c.Sub(width, 0, w-width, h)
}

// drawPartitionLags draws the consumer lag of each partition, below an arrow that shows whether
// it becomes more.
func (s *scene) drawPartitionLags(c chart.Canvas, levels, rates []float64) {
	trends := make([]trend, len(rates))
	for i, growth := range s.byPartition(func(p *result.PartitionNow) float64 { return p.Growth }) {
		trends[i] = trend{growth, rates[i]}
	}
	chart.Bars{
		Values: levels,
		Style: func(i int) theme.Style {
			if levels[i] > 0 && trends[i].rate == 0 && s.Second.Read.Records > 0 { // it is not read, and others are
				return theme.Style{FG: theme.Bad}
			}
			return theme.Style{FG: trends[i].color()}
		},
		Head: func(i int) rune {
			if levels[i] == 0 {
				return ' '
			}
			return trends[i].arrow(c.Theme())
		},
	}.Draw(c)
}

// extremes returns the places of the least value and of the greatest; 0 of none.
func extremes(values []float64) (least, greatest int) {
	for i, v := range values {
		if v < values[least] {
			least = i
		}
		if v > values[greatest] {
			greatest = i
		}
	}
	return least, greatest
}

// skew tells how far the busiest and the coldest partition are apart.
func skew(rates []float64, coldest, hottest int, usual float64) []line {
	if rates[coldest] == 0 {
		idle := 0
		for _, v := range rates {
			if v == 0 {
				idle++
			}
		}
		return []line{{emphasis(theme.Bad, fmt.Sprintf("%d idle", idle)), muted(fmt.Sprintf(": p%d", coldest))}}
	}
	ratio := rates[hottest] / rates[coldest]
	color := theme.Good
	if ratio > 1/coldShare {
		color = theme.Warn
	}
	out := []line{{muted("skew "), colored(color, theme.Ratio(ratio))}}
	if rates[coldest] < coldShare*usual {
		out = append(out, line{muted(fmt.Sprintf("p%d cold", coldest))})
	}
	if rates[hottest]*coldShare > usual {
		out = append(out, line{muted(fmt.Sprintf("p%d hot", hottest))})
	}
	return out
}

// partitionColumns returns the columns of the table: numbers of each partition over the last ten seconds.
func (s *scene) partitionColumns() []column[result.PartitionNow] {
	type partition = result.PartitionNow
	of := func(name string, shown bool, by func(*partition) float64, text func(float64) string) column[partition] {
		return column[partition]{name: name, width: 9, hidden: !shown, by: by, value: func(p *partition) segment { return plain(text(by(p))) }}
	}
	took := func(v float64) string { return theme.Duration(time.Duration(v)) }
	leader := func(v float64) string {
		if v < 0 {
			return "?"
		}
		return fmt.Sprint(int(v))
	}
	columns := shown([]column[partition]{
		of("partition", true, func(p *partition) float64 { return float64(p.ID) }, func(v float64) string { return fmt.Sprintf("p%.0f", v) }),
		of("leader", true, func(p *partition) float64 { return float64(p.Leader) }, leader),
		of("rec/s", true, s.rateOf, theme.Rate),
		of(s.unit.name(), s.writes, func(p *partition) float64 { return float64(p.Bytes) / p.Seconds }, s.unit.write),
		of("p99", s.writes, func(p *partition) float64 { return float64(p.Service.ValueAtQuantile(0.99, p.ServiceMax)) }, took),
		of("max", s.writes, func(p *partition) float64 { return float64(p.ServiceMax) }, took),
		of("gap", s.writes, func(p *partition) float64 { return float64(p.Outage.Length) }, took),
		of("lag", s.reads, func(p *partition) float64 { return float64(p.Lag) }, theme.Rate),
	})
	columns[0].width = 11
	return columns
}

// drawPartitionTable draws a row for each partition, in the order of one column.
func (s *scene) drawPartitionTable(c chart.Canvas) {
	t := table[result.PartitionNow]{c: c, columns: s.partitionColumns()}
	by := s.order % len(t.columns)
	_, h := c.Size()
	rows := t.ordered(s.rows, by)[max(min(s.row, len(s.rows)-h+1), 0):]
	t.head(by)
	for y := range min(len(rows), h-1) {
		t.row(y+1, &rows[y])
	}
}

// trend is by how many records a second consumer lag changes, beside the rate at which
// it is read.
type trend struct {
	change float64
	rate   float64
}

// steadyShare is the part of the rate by which consumer lag may change and still count
// as steady: it is looked at between two polls, and so differs by chance.
const steadyShare = 0.01

// direction is -1 for falling consumer lag, 1 for growing, else 0.
func (t trend) direction() int {
	switch slack := steadyShare * t.rate; {
	case t.change > slack:
		return 1
	case t.change < -slack:
		return -1
	}
	return 0
}

// arrow returns the direction as a character.
func (t trend) arrow(th *theme.Theme) rune {
	arrows := [...]rune{'↓', '→', '↑'}
	if th.ASCII() {
		arrows = [...]rune{'\\', '-', '/'} // the slope: v is an event
	}
	return arrows[t.direction()+1]
}

// color returns the direction as a colour: who reads less than there comes will never be
// done.
func (t trend) color() theme.Color {
	return [...]theme.Color{theme.Good, theme.Info, theme.Warn}[t.direction()+1]
}

// lagTrend returns the trend of the whole consumer lag over the last seconds.
func (s *scene) lagTrend() trend {
	return trend{change: s.ConsumerLag.Growth, rate: s.Tail.Read.Records}
}

// lagValue returns the consumer lag with its direction.
func (s *scene) lagValue(th *theme.Theme) (string, theme.Color) {
	if !s.ConsumerLag.Known || s.silent >= patience {
		return string(th.Glyphs.Missing), theme.Info
	}
	t := s.lagTrend()
	if s.ConsumerLag.Records == 0 { // an arrow says nothing of it
		return "0", theme.Good
	}
	return theme.Rate(float64(s.ConsumerLag.Records)) + " " + string(t.arrow(th)), t.color()
}

// lagOutlook returns what the trend of the consumer lag means; empty when it is steady,
// or about to be another.
func (s *scene) lagOutlook() string {
	if s.goingOn() != "" || s.silent >= patience {
		return ""
	}
	switch t := s.lagTrend(); t.direction() {
	case 1:
		return "grows by " + theme.Rate(t.change) + " a second"
	case -1:
		const longest = 100 * time.Hour // a longer time is no forecast
		if left := float64(s.ConsumerLag.Records) / -t.change; left < longest.Seconds() {
			return "falls by " + theme.Rate(-t.change) + " a second, gone in " + seconds(time.Duration(left*float64(time.Second)))
		}
		return "falls by " + theme.Rate(-t.change) + " a second"
	}
	return ""
}

// seconds writes a time in whole seconds.
func seconds(d time.Duration) string { return theme.TickDuration(d.Round(time.Second)) }

// drawConsumerLag is how many records wait, over time: in the place of the latency,
// where there is none.
func drawConsumerLag(c chart.Canvas, s *scene) {
	b := s.box(paneLatency, s.titled("Consumer lag (records)"))
	if s.ConsumerLag.Known {
		text, color := s.lagValue(c.Theme())
		b.right = []line{{emphasis(color, text)}}
	}
	if outlook := s.lagOutlook(); outlook != "" {
		b.bottom = []line{{muted(outlook)}}
	}
	inner := b.draw(c)
	w, _ := inner.Size()
	x := s.timeAxis(w - chart.Gutter - 1)
	points := s.since(x.From)
	top := 0.0
	for i := range points {
		top = max(top, float64(points[i].ConsumerLag))
	}
	lag := look{"lag", theme.Info, theme.Grid, '*', 1, 0}
	chart.Plot{
		Y: chart.Linear(top*headroom, 4), X: x, Label: theme.Tick,
		Series: []chart.Series{lag.series(samples(points, (*result.Point).Lag), chart.Max)},
	}.Draw(inner)
}
