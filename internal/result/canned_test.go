package result

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
)

// header is that of a run at a rate; 0: unlimited.
func header(rate float64) Header {
	return Header{
		Schema: Schema, RunID: "0123456789abcdef", KTVersion: "test",
		StartedAt: time.Date(2026, 11, 21, 12, 10, 25, 123456789, time.UTC), Args: []string{"kt", "produce", "--topic", "orders"},
		Plan:   canned.Plan(rate),
		Config: []Setting{{Name: "acks", Value: "all", Default: "all", Source: "default", Client: "RequiredAcks"}},
		Environment: Environment{
			Host: host.Facts{Hostname: "h", LogicalCPUs: 4, GOMAXPROCS: 4},
			Cluster: Cluster{ID: "c", Version: "4.2", Brokers: []Broker{
				{ID: 1, Addr: "a:9092"}, {ID: 2, Addr: "b:9092", Rack: "r"}, {ID: 3, Addr: "c:9092"},
			}},
			Topic: Topic{Name: "orders", Partitions: 6, ReplicationFactor: 3, Leaders: map[int32]int32{0: 1, 1: 2, 2: 3, 3: 1, 4: 2, 5: 3}},
		},
	}
}

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) Header {
	h := header(rate)
	h.Plan = canned.ReadPlan(command, rate)
	h.ConsumerConfig = []Setting{{Name: "client.id", Value: "kt"}}
	if command == plan.Consume {
		h.Config = nil
	}
	return h
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	return string(must.Have(json.MarshalIndent(v, "", " "))(t))
}

// runFile returns the run file of some events.
func runFile(t testing.TB, h Header, events []canned.Event, end Trailer) []byte {
	t.Helper()
	var m canned.File
	f := must.Have(NewRunFile(&m, h))(t)
	for _, e := range events {
		e.To(f)
	}
	must.Do(t, f.Close(end))
	return m.Bytes()
}
