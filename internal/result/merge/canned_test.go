package merge

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// header is that of a run at a rate; 0: unlimited.
func header(rate float64) result.Header {
	return result.Header{
		Schema: result.Schema, RunID: "0123456789abcdef", KTVersion: "test",
		StartedAt: time.Date(2026, 11, 21, 12, 10, 25, 123456789, time.UTC), Args: []string{"kt", "produce", "--topic", "orders"},
		Plan:   canned.Plan(rate),
		Config: []result.Setting{{Name: "acks", Value: "all", Default: "all", Source: "default", Client: "RequiredAcks"}},
		Environment: result.Environment{
			Host: host.Facts{Hostname: "h", LogicalCPUs: 4, GOMAXPROCS: 4},
			Cluster: result.Cluster{ID: "c", Version: "4.2", Brokers: []result.Broker{
				{ID: 1, Addr: "a:9092"}, {ID: 2, Addr: "b:9092", Rack: "r"}, {ID: 3, Addr: "c:9092"},
			}},
			Topic: result.Topic{Name: "orders", Partitions: 6, ReplicationFactor: 3, Leaders: map[int32]int32{0: 1, 1: 2, 2: 3, 3: 1, 4: 2, 5: 3}},
		},
	}
}

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) result.Header {
	h := header(rate)
	h.Plan = canned.ReadPlan(command, rate)
	h.ConsumerConfig = []result.Setting{{Name: "client.id", Value: "kt"}}
	if command == plan.Consume {
		h.Config = nil
	}
	return h
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	return string(must.Have(json.MarshalIndent(v, "", " "))(t))
}
