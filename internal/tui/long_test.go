//go:build !race

package tui

import (
	"runtime"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// A run of four hours takes no more memory than one of two: in what makes the result, and on the screen.
func TestALongRunTakesNoMoreMemory(t *testing.T) {
	h := cannedHeader()
	fold, d := newFeeder(&h), newData(h)
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first one's finalizers held
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	at, before := 0, uint64(0)
	for _, hours := range []int{2, 4} {
		for ; at < hours*3600; at++ {
			start := time.Duration(at) * time.Second
			w := stats.Window{
				Start: start, End: start + time.Second, Offered: 100, Acknowledged: 100, Bytes: 1e5, LastAck: start + time.Second, ShardTime: time.Second,
				Brokers:    map[int32]stats.Broker{int32(at%3 + 1): {Traffic: stats.Traffic{Requests: 1, Records: 100}}},
				Partitions: map[int32]stats.Partition{int32(at % 6): {Records: 100}},
			}
			if at%10 == 0 {
				w.Events = []stats.Event{{At: start, Kind: stats.LeaderMoved, Broker: 1, To: 2, Text: "a leader moved"}}
			}
			d.observe(fold.tick(result.Running, w))
		}
		after := used()
		if before > 0 && after > before+256<<10 {
			t.Errorf("%d bytes after 2 hours, %d after %d", before, after, hours)
		}
		before = after
	}
	if n := len(d.Points); n > 3600 {
		t.Errorf("%d points", n)
	}
	runtime.KeepAlive(fold)
}
