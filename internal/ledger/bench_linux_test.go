//go:build !race

package ledger

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// BenchmarkLedgerSecond is what the ledger costs in a second of the wire engine at 1,000,000 records/s, in batches of 148: the outcomes
// of all batches of 4 producers with 5 producer ids each, and the mark. cpu-ms is of all threads of the process, with its garbage.
func BenchmarkLedgerSecond(b *testing.B) {
	const producers, batch, rate = 4 * 5, 148, 1_000_000
	for _, partitions := range []int{7, 100} {
		b.Run(fmt.Sprint(partitions, " partitions"), func(b *testing.B) {
			var all []*Producer
			for number := range uint16(producers) {
				all = append(all, NewProducer(number))
			}
			f := must.Have(Create(filepath.Join(b.TempDir(), "ledger"), false))(b)
			defer f.Discard()
			book := &Book{Topics: []BookTopic{{"t", "", partitions}}, Start: make([]int64, partitions), Headers: true}
			must.Do(b, f.Mark(book, time.Now(), func() []Lane { return nil }))
			var outcomes sync.Mutex
			lanes := func() (lanes []Lane) {
				for _, p := range all {
					lanes = append(lanes, p.Lanes(&outcomes)...)
				}
				return lanes
			}
			sent, offset, before, bytes := 0, int64(0), cpu(), int64(0)
			for b.Loop() {
				for range rate / batch {
					partition, p := int32(sent/producers%partitions), all[sent%producers]
					first := p.Next(partition, batch)
					outcomes.Lock()
					p.Originate(partition, Origin{ID: int64(p.number), Sequence: first, First: first})
					outcomes.Unlock()
					outcomes.Lock()
					p.Acknowledged(partition, first, batch, offset)
					outcomes.Unlock()
					sent, offset = sent+1, offset+batch
				}
				f.next = time.Time{}
				size := f.size
				must.Do(b, f.Mark(book, f.at.Add(time.Second), lanes))
				bytes = max(bytes, f.size-size)
			}
			must.Match(b, min(producers*partitions, sent), len(f.lanes), "lanes")
			b.ReportMetric((cpu()-before).Seconds()*1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(bytes)/1000, "kB")
		})
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it never fails for oneself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
