package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// partitionColumn is a number of each partition, over the last ten seconds.
type partitionColumn struct {
	name  string
	value func(*result.PartitionNow) float64
	text  func(float64) string
}

// partitionColumns returns the columns of the table.
func (s *scene) partitionColumns() []partitionColumn {
	took := func(v float64) string { return theme.Duration(time.Duration(v)) }
	columns := []partitionColumn{
		{"partition", func(p *result.PartitionNow) float64 { return float64(p.ID) }, func(v float64) string { return fmt.Sprintf("p%.0f", v) }},
		{"leader", func(p *result.PartitionNow) float64 { return float64(p.Leader) }, func(v float64) string {
			if v < 0 {
				return "?"
			}
			return fmt.Sprint(int(v))
		}},
		{"rec/s", s.rateOf, theme.Rate},
	}
	if s.writes {
		columns = append(columns,
			partitionColumn{s.unit.name(), func(p *result.PartitionNow) float64 { return p.Bytes }, s.unit.write},
			partitionColumn{"p99", func(p *result.PartitionNow) float64 { return float64(p.P99) }, took},
			partitionColumn{"max", func(p *result.PartitionNow) float64 { return float64(p.Max) }, took},
			partitionColumn{"gap", func(p *result.PartitionNow) float64 { return float64(p.Gap) }, took})
	}
	if s.reads {
		columns = append(columns, partitionColumn{"lag", func(p *result.PartitionNow) float64 { return float64(p.ConsumerLag) }, theme.Rate})
	}
	return columns
}

// drawPartitionTable draws a row for each partition, in the order of one column: of the first the
// least comes first, of the others the greatest.
func (s *scene) drawPartitionTable(c chart.Canvas) {
	const first, width = 11, 9
	columns := s.partitionColumns()
	by := s.order % len(columns)
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(a, b result.PartitionNow) int {
		order := cmp.Compare(columns[by].value(&a), columns[by].value(&b))
		if by > 0 {
			return -order
		}
		return order
	})
	_, h := c.Size()
	rows = rows[max(min(s.row, len(rows)-h+1), 0):]
	for i, column := range columns {
		right, name := first+i*width, column.name
		style := theme.Style{FG: theme.Muted}
		if i == by {
			name, style = name+string(c.Theme().Glyphs.Event), theme.Style{FG: theme.Brand, Bold: true}
		}
		c.TextRight(right, 0, name, style)
		for y := range min(len(rows), h-1) {
			c.TextRight(right, y+1, column.text(column.value(&rows[y])), theme.Style{FG: theme.Text})
		}
	}
}
