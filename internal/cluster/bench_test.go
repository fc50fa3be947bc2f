package cluster

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// sent counts the bytes for the network.
type sent struct{ bytes int }

func (s *sent) Write(b []byte) (int, error) {
	s.bytes += len(b)
	return len(b), nil
}

func (s *sent) Close() error { return nil }

// BenchmarkSecond measures what an agent sends for one second of one process that writes 50,000 records a second to 21
// partitions of 3 brokers.
func BenchmarkSecond(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	out := &sent{}
	f := must.Have(result.NewRunFile(out, result.Header{Schema: result.Schema}))(b)
	var seconds []stats.Window
	for range 10 {
		w := stats.Window{End: time.Second, Offered: 50_000, Acknowledged: 50_000, Partitions: map[int32]stats.Partition{}, Brokers: map[int32]stats.Broker{}}
		for range 50_000 {
			d := time.Duration(r.ExpFloat64() * float64(5*time.Millisecond))
			w.Response.Record(d)
			w.Service.Record(d)
			w.OwnSendDelay.Record(d / 50)
			w.SendDelay.Record(d / 50)
		}
		for p := range int32(21) {
			w.Partitions[p] = stats.Partition{Records: 2381, Bytes: 2381 * 512, ServiceSum: time.Duration(r.Int64N(1e10))}
		}
		for n := range int32(3) {
			w.Brokers[n] = stats.Broker{Traffic: stats.Traffic{Requests: 100, Latency: w.Service}}
		}
		seconds = append(seconds, w)
	}
	out.bytes = 0
	n := 0
	for b.Loop() {
		f.AddWindow(seconds[n%len(seconds)])
		f.AddSample(host.Sample{At: time.Duration(n) * time.Second, Interval: time.Second})
		n++
	}
	b.ReportMetric(float64(out.bytes)/float64(n), "sent-B/op")
}
