package result

import (
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheHeatMapIsBoundedLosesNothingAndLeavesSnapshotsAlone(t *testing.T) {
	var columns, held, copied []HeatColumn
	const seconds = 4 * maxHeat
	for i := range seconds {
		c := HeatColumn{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		c.Bins[3] = 2
		columns = withColumn(columns, c)
		if len(columns) > maxHeat {
			t.Fatalf("%d columns", len(columns))
		}
		if i == maxHeat-1 {
			held = columns
			copied = slices.Clone(held)
		}
	}
	if !slices.Equal(held, copied) {
		t.Error("the columns of a snapshot have changed")
	}
	if n, end := cells(columns), lastEnd(t, columns); n != 2*seconds || end != seconds*time.Second {
		t.Errorf("%d latencies until %v", n, end)
	}
	joined := JoinHeat(columns, 600)
	if n, end := cells(joined), lastEnd(t, joined); len(joined) > 600 || n != 2*seconds || end != seconds*time.Second {
		t.Errorf("joined: %d columns, %d latencies until %v", len(joined), n, end)
	}
}

func TestTheHeatMapOfAResultStaysWhenTheRunGoesOn(t *testing.T) {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Produce, Producers: 1}})
	add := func(i int) {
		w := stats.Window{Start: time.Duration(i) * time.Second, End: time.Duration(i+1) * time.Second}
		w.Response.RecordN(time.Millisecond, int64(i+1))
		f.AddWindow(w)
	}
	add(0)
	add(1)
	held := f.Result().Heat // with a second that no sample has come after
	copied := slices.Clone(held)
	add(2)
	add(3)
	if got := f.Result().Heat; !slices.Equal(held, copied) || len(held) != 2 || len(got) != 4 || cells(got) != 1+2+3+4 {
		t.Errorf("%d columns, later %d with %d latencies; unchanged: %v", len(held), len(got), cells(got), slices.Equal(held, copied))
	}
}

func cells(columns []HeatColumn) (n int) {
	for _, c := range columns {
		for _, v := range c.Bins {
			n += int(v)
		}
	}
	return n
}

func lastEnd(t *testing.T, columns []HeatColumn) (end time.Duration) {
	for _, c := range columns {
		if c.Start != end {
			t.Fatalf("a hole from %v to %v", end, c.Start)
		}
		end = c.End
	}
	return end
}

func TestTheHeatMapForgetsFetchesWhenRecordsCarryStamps(t *testing.T) {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Consume, Read: plan.Read{Consumers: 1}}})
	fetch := stats.Broker{}
	fetch.Fetch.Latency.Record(time.Millisecond)
	second := func(i int, w stats.Window) []HeatColumn {
		w.Start, w.End, w.Brokers = time.Duration(i)*time.Second, time.Duration(i+1)*time.Second, map[int32]stats.Broker{1: fetch}
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second})
		return f.Snapshot().Heat
	}
	must.Match(t, 1, cells(second(0, stats.Window{})), "fetches")
	var w stats.Window
	w.EndToEnd.RecordN(time.Second, 5)
	must.Match(t, 5, cells(second(1, w)), "latencies")
}

func TestALatencyIsInTheBinThatBeginsBelowIt(t *testing.T) {
	for _, d := range []time.Duration{0, time.Microsecond, 9 * time.Microsecond, 11 * time.Microsecond, 3 * time.Millisecond, time.Second, time.Hour} {
		var c HeatColumn
		var h stats.Histogram
		h.Record(d)
		c.count(&h)
		for bin, n := range c.Bins {
			if n == 0 {
				continue
			}
			from, to := HeatStart(float64(bin)), HeatStart(float64(bin+1))
			const rounding = 1.001 // of a histogram
			if s := max(d, time.Microsecond).Seconds(); n != 1 || s*rounding < from || bin < HeatBins-1 && s > to {
				t.Errorf("%v is in bin %d, from %g to %g s", d, bin, from, to)
			}
		}
	}
}
