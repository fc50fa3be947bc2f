package tui

import (
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// A partition is cold below this share of the usual rate, and skew is worth a
// look from its inverse on.
const coldShare = 0.7

// drawPartitions is the rate of each partition over the last ticks.
func drawPartitions(c chart.Canvas, s *scene) {
	rates := s.parts.rates(int(s.header.Partitions))
	coldest, hottest := 0, 0
	for i, v := range rates {
		if v < rates[coldest] {
			coldest = i
		}
		if v > rates[hottest] {
			hottest = i
		}
	}
	usual := median(slices.Clone(rates))
	b := box{pane: panePartitions, name: "Partitions"}
	if len(rates) > 1 && rates[hottest] > 0 {
		b.right = skew(rates, coldest, hottest, usual)
	}
	if len(rates) > 0 && rates[hottest] > 0 {
		b.bottom = []line{{muted(fmt.Sprintf("busiest p%d %s rec/s", hottest, theme.Rate(rates[hottest])))}, {muted("last 10 s")}}
	}
	inner := b.draw(c)
	if len(rates) == 0 || rates[hottest] == 0 {
		inner.Text(1, 0, "no acknowledgement yet, or none lately", theme.Style{FG: theme.Muted})
		return
	}
	chart.Bars{Values: rates, Style: func(i int) theme.Style {
		switch {
		case rates[i] < coldShare*usual:
			return theme.Style{FG: theme.Bad}
		case rates[i]*coldShare > usual:
			return theme.Style{FG: theme.Warn}
		}
		return theme.Style{FG: theme.Info}
	}}.Draw(inner)
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
