package result

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// HeatColumn counts the latencies of a second by their size; of a long run, of several seconds.
type HeatColumn struct {
	Start time.Duration    `json:"start_ns"`
	End   time.Duration    `json:"end_ns"`
	Bins  [HeatBins]uint32 `json:"counts"`
}

// A bin is a twelfth of a decade, from 1 µs on. The last one holds an hour.
const (
	HeatPerDecade = 12
	HeatBins      = 115
)

// maxHeat bounds the columns of a heat map.
const maxHeat = 3600

// HeatStart returns the shortest latency of a bin, in seconds. Bins may have a fraction.
func HeatStart(bin float64) float64 { return 1e-6 * math.Pow(10, bin/HeatPerDecade) }

// heatEnds are the ends of the bins in microseconds. The last bin has none.
var heatEnds = func() (ends [HeatBins - 1]float64) {
	for i := range ends {
		ends[i] = math.Pow(10, float64(i+1)/HeatPerDecade)
	}
	return ends
}()

func (c *HeatColumn) count(h *stats.Histogram) {
	bin := 0
	h.Each(func(upTo time.Duration, count int64) {
		us := float64(upTo) / float64(time.Microsecond)
		for bin < len(heatEnds) && us >= heatEnds[bin] {
			bin++
		}
		c.Bins[bin] = addClamped(c.Bins[bin], count)
	})
}

func addClamped(a uint32, b int64) uint32 {
	return uint32(min(int64(a)+min(b, math.MaxUint32), math.MaxUint32))
}

// join adds the column after c.
func (c *HeatColumn) join(o *HeatColumn) {
	for bin, n := range o.Bins {
		c.Bins[bin] = addClamped(c.Bins[bin], int64(n))
	}
	c.Start, c.End = min(c.Start, o.Start), max(c.End, o.End)
}

// JoinHeat joins neighbouring columns, so that there are at most so many.
func JoinHeat(columns []HeatColumn, most int) []HeatColumn {
	each := (len(columns) + most - 1) / max(most, 1)
	if each < 2 {
		return columns
	}
	var joined []HeatColumn
	for some := range slices.Chunk(columns, each) {
		c := some[0]
		for i := range some[1:] {
			c.join(&some[1+i])
		}
		joined = append(joined, c)
	}
	return joined
}

// heat is the heat map of a run: of its headline latency, or of fetches while no record has one. Columns that are in it do not
// change: snapshots hold them.
type heat struct {
	columns []HeatColumn
	fetches bool // the columns count fetches
}

// heatOf returns the heat map with the windows of one more second. It may take the memory behind columns.
func (f *Fold) heatOf(columns []HeatColumn, windows []stats.Window) heat {
	if f.lean || f.hosted || len(windows) == 0 {
		return f.heat
	}
	c := HeatColumn{Start: windows[0].Start}
	timed := f.total[stats.Warmup].EndToEnd.Count()+f.total[stats.Measured].EndToEnd.Count() > 0
	fetches := f.header.Plan.ReadsOnly() && !timed
	for i := range windows {
		w := &windows[i]
		c.Start, c.End = min(c.Start, w.Start), max(c.End, w.End)
		if !fetches {
			c.count(w.Headline(f.header.Plan.Reads()))
			continue
		}
		for _, b := range w.Brokers {
			c.count(&b.Fetch.Latency)
		}
	}
	if f.heat.fetches && !fetches { // records carry stamps from now on
		columns = nil
	}
	return heat{withColumn(columns, c), fetches}
}

// withColumn adds a column. Once there are too many, those of the older half are joined two by two.
func withColumn(columns []HeatColumn, c HeatColumn) []HeatColumn {
	columns = append(columns, c)
	if n := len(columns); n > maxHeat {
		return append(JoinHeat(columns[:n/2], n/4), columns[n/2:]...)
	}
	return columns
}
