package tui

import (
	"fmt"
	"slices"

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
	rates := s.byPartition(s.rateOf)
	levels := s.byPartition(func(p *result.PartitionNow) float64 { return float64(p.ConsumerLag) })
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
	s.drawPartitionLags(scaled(inner.Sub(0, upper, w, h-upper), levels, "waiting", 1), levels, s.trends(rates))
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
func (s *scene) drawPartitionLags(c chart.Canvas, levels []float64, trends []trend) {
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

// trends returns how the consumer lags change, by partition, beside the rates.
func (s *scene) trends(rates []float64) []trend {
	trends := make([]trend, len(rates))
	for i, growth := range s.byPartition(func(p *result.PartitionNow) float64 { return p.Growth }) {
		trends[i] = trend{growth, rates[i]}
	}
	return trends
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
