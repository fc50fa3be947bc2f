package merge

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/stats"
)

// long makes up a run of many seconds as a real one looks: 21 partitions, 3 brokers, and
// latencies of a few milliseconds with a tail.
func long(seconds int) []canned.Event {
	rng := rand.New(rand.NewPCG(1, 2))
	var events []canned.Event
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		w := stats.Window{
			Start: start, End: end, FirstDue: start, LastDue: end, LastSent: end, LastAck: end, ShardTime: 4 * time.Second,
			Partitions: make(map[int32]stats.Partition), Brokers: make(map[int32]stats.Broker),
		}
		for range 2000 {
			delay := time.Duration(rng.ExpFloat64() * float64(300*time.Microsecond))
			service := 2*time.Millisecond + time.Duration(rng.ExpFloat64()*float64(3*time.Millisecond))
			if rng.IntN(100) == 0 {
				service *= 10
			}
			w.SendDelay.RecordN(delay, 10)
			w.OwnSendDelay.RecordN(delay, 9)
			w.Service.RecordN(service, 10)
			w.Response.RecordN(delay+service, 10)
		}
		w.Offered, w.Acknowledged, w.Bytes = 20_000, 20_000, 20_000*512
		for p := range int32(21) {
			w.Partitions[p] = stats.Partition{Records: 950, Bytes: 950 * 512, ServiceSum: 4 * time.Second, ServiceMax: 40 * time.Millisecond}
		}
		for b := range int32(3) {
			var t stats.Traffic
			for range 300 {
				t.Latency.Record(time.Millisecond + time.Duration(rng.ExpFloat64()*float64(2*time.Millisecond)))
			}
			t.Requests, t.Batches, t.Records, t.Bytes, t.WireBytes = 300, 900, 6700, 6700*512, 6700*300
			w.Brokers[b] = stats.Broker{Traffic: t}
		}
		events = append(events, canned.Event{Window: &w}, canned.Event{Sample: &host.Sample{At: end, Interval: time.Second, Cores: 8, HostCores: 8, ProcessCPU: 1, HostCPU: 5, RSS: 1 << 27}})
	}
	return events
}

// joined is a file of two pieces: so many files can share the bigger one.
type joined struct{ head, body []byte }

func (j joined) size() int64 { return int64(len(j.head) + len(j.body)) }

func (j joined) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < int64(len(j.head)) {
		n = copy(b, j.head[at:])
	}
	if at += int64(n) - int64(len(j.head)); at >= 0 && at < int64(len(j.body)) {
		n += copy(b[n:], j.body[at:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// manyParts is the files of a run of so many parts, ten on each host.
func manyParts(tb testing.TB, n, seconds int) []joined {
	body := partFile{run: "r", epoch: "e", host: "h", process: 1, events: long(seconds), trailer: trailerOf(float64(seconds))}.bytes(tb)
	bare := len(partFile{run: "r", epoch: "e", host: "h", process: 1}.bytes(tb))
	var files []joined
	for i := range n {
		head := partFile{run: "r", epoch: "e", host: fmt.Sprintf("host%02d", i/10), process: 1 + i%10, late: time.Duration(i) * 37 * time.Microsecond}.bytes(tb)
		files = append(files, joined{head, body[bare:]})
	}
	return files
}

// peak runs f and tells the most memory that the Go runtime had of the system, above
// what it had before.
func peak(f func()) int64 {
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
	}
	debug.FreeOSMemory() // what was freed before would be used first
	before, most := read(), int64(0)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	f()
	close(done)
	watching.Wait()
	return max(0, most-before)
}

// benchFiles returns how many files a benchmark merges.
func benchFiles(b *testing.B) int {
	b.Helper()
	s := os.Getenv("KT_MERGE_FILES")
	if s == "" {
		return 8
	}
	return must.Have(strconv.Atoi(s))(b)
}

// BenchmarkMerge merges run files of 10 minutes: as many as KT_MERGE_FILES says.
func BenchmarkMerge(b *testing.B) {
	n := benchFiles(b)
	files := manyParts(b, n, 600)
	for b.Loop() {
		used := peak(func() {
			s := NewSet()
			for _, f := range files {
				must.Do(b, s.Add("f", f, f.size(), false))
			}
			must.Have(s.Result(b.Context()))(b)
		})
		b.ReportMetric(float64(used)/mib, "peak-MiB")
		b.ReportMetric(float64(n)*float64(files[0].size())/mib, "files-MiB")
	}
}
