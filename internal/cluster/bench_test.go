package cluster

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/stats"
)

// BenchmarkSecond measures the work of an agent for one second of one process: decode, slim and
// encode it for the coordinator. "sent-B/op" are the bytes for the network.
func BenchmarkSecond(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	w := stats.Window{End: time.Second, Offered: 50_000, Acknowledged: 50_000, Partitions: map[int32]stats.Partition{}, Brokers: map[int32]stats.Broker{}}
	for range 50_000 {
		d := time.Duration(r.ExpFloat64() * float64(5*time.Millisecond))
		w.Response.Record(d)
		w.Service.Record(d)
		w.OwnSendDelay.Record(d / 50)
		w.SendDelay.Record(d / 50)
	}
	for p := range int32(21) {
		w.Partitions[p] = stats.Partition{Records: 2381}
	}
	for n := range int32(3) {
		w.Brokers[n] = stats.Broker{Traffic: stats.Traffic{Requests: 100, Latency: w.Service}}
	}
	line, err := json.Marshal(FromProcess{Second: &Second{Windows: []stats.Window{w.Slim()}, Sample: host.Sample{At: time.Second}}})
	if err != nil {
		b.Fatal(err)
	}
	o, s := newOutbox(), &counting{}
	for b.Loop() {
		m, err := decodeFromProcess(line)
		if err != nil {
			b.Fatal(err)
		}
		o.second(1, m.Second)
		for _, m := range o.take("E") {
			if err := send(b.Context(), s, m); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(s.bytes)/float64(b.N), "sent-B/op")
}
