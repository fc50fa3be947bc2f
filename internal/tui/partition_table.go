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

// partitionColumns returns the columns of the table: numbers of each partition over the last ten seconds.
func (s *scene) partitionColumns() (columns []column[result.PartitionNow]) {
	add := func(has bool, name string, by func(*result.PartitionNow) float64, text func(float64) string) {
		if has {
			value := func(p *result.PartitionNow) segment { return plain(text(by(p))) }
			columns = append(columns, column[result.PartitionNow]{name: name, width: 9, value: value, by: by})
		}
	}
	took := func(v float64) string { return theme.Duration(time.Duration(v)) }
	add(true, "partition", func(p *result.PartitionNow) float64 { return float64(p.ID) }, func(v float64) string { return fmt.Sprintf("p%.0f", v) })
	add(true, "leader", func(p *result.PartitionNow) float64 { return float64(p.Leader) }, func(v float64) string {
		if v < 0 {
			return "?"
		}
		return fmt.Sprint(int(v))
	})
	add(true, "rec/s", s.rateOf, theme.Rate)
	add(s.writes, s.unit.name(), func(p *result.PartitionNow) float64 { return p.Bytes }, s.unit.write)
	add(s.writes, "p99", func(p *result.PartitionNow) float64 { return float64(p.P99) }, took)
	add(s.writes, "max", func(p *result.PartitionNow) float64 { return float64(p.Max) }, took)
	add(s.writes, "gap", func(p *result.PartitionNow) float64 { return float64(p.Gap) }, took)
	add(s.reads, "lag", func(p *result.PartitionNow) float64 { return float64(p.ConsumerLag) }, theme.Rate)
	columns[0].width = 11
	return columns
}

// drawPartitionTable draws a row for each partition, in the order of one column: of the first the
// least comes first, of the others the greatest.
func (s *scene) drawPartitionTable(c chart.Canvas) {
	t := table[result.PartitionNow]{c: c, columns: s.partitionColumns()}
	by := s.order % len(t.columns)
	rows := slices.Clone(s.rows)
	slices.SortStableFunc(rows, func(a, b result.PartitionNow) int {
		order := cmp.Compare(t.columns[by].by(&a), t.columns[by].by(&b))
		if by > 0 {
			return -order
		}
		return order
	})
	_, h := c.Size()
	rows = rows[max(min(s.row, len(rows)-h+1), 0):]
	t.head(by)
	for y := range min(len(rows), h-1) {
		t.row(y+1, &rows[y])
	}
}
