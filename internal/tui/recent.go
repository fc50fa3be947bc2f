package tui

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// recentTicks is the number of ticks over which hosts are compared.
const recentTicks = 10

// forever is more ticks than any run has.
const forever = math.MaxInt / 2

// patience is the number of silent ticks of a broker or a host before the screen says so: at
// a low rate there is not something for each of them in every second.
const patience = 3

// leastBatches is the mean number of batches that partitions must have had before they are
// compared. A producer picks the partition of each batch by chance: of so many, 40 % more or
// less than usual is three standard deviations.
const leastBatches = 50

// comparable reports whether so many partitions had enough batches to be compared.
func (d *data) comparable(partitions int) bool {
	return d.Tail.Batches.Count >= int64(leastBatches*partitions)
}

// byPartition returns one value of each partition, by number: at least of those that the
// topics have.
func (d *data) byPartition(value func(*result.PartitionNow) float64) []float64 {
	n := int(d.header.Partitions)
	if last := len(d.rows) - 1; last >= 0 {
		n = max(n, int(d.rows[last].ID)+1)
	}
	values := make([]float64, n)
	for i := range d.rows {
		if p := &d.rows[i]; p.ID >= 0 {
			values[p.ID] = value(p)
		}
	}
	return values
}

// rateOf returns the rate of a partition that this run is about.
func (d *data) rateOf(p *result.PartitionNow) float64 {
	return byWay(d.main, p.Acknowledged, p.Read)
}

// upperMedian is the median, of an even number the upper of the two in the middle, so that
// it is one of the values; 0 when there are none.
func upperMedian[T time.Duration | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}
