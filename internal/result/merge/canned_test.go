package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// header is that of a run at a rate; 0: unlimited.
func header(rate float64) result.Header {
	return result.Header{
		Schema: result.Schema, RunID: "0123456789abcdef", KTVersion: "test",
		StartedAt: time.Date(2026, 11, 21, 12, 10, 25, 123456789, time.UTC), Args: []string{"kt", "produce", "--topic", "orders"},
		Plan: plan.Plan{
			Command: "produce", Engine: plan.Client, Bootstrap: []string{"a:9092"}, Producers: 1, Seed: 1,
			Topic:   plan.Topic{Name: "orders", Configs: map[string]string{"min.insync.replicas": "2"}},
			Load:    plan.Load{Rate: plan.Rate{PerSecond: rate}, Arrivals: plan.Uniform, Duration: plan.Duration(time.Minute)},
			Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(100), Keys: plan.NoKeys},
		},
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

// sink is what a run gives its windows and samples to: a Fold or a RunFile.
type sink interface {
	AddWindow(stats.Window)
	AddSample(host.Sample)
}

// event is a window or a sample of a run.
type event struct {
	window *stats.Window
	sample *host.Sample
}

func (e event) to(s sink) {
	if e.window != nil {
		s.AddWindow(*e.window)
		return
	}
	s.AddSample(*e.sample)
}

// canned makes up a run of some seconds as the engine would tell of it: with a
// warm-up whose last acknowledgements come late, failures, an election, and
// throttling.
func canned(seed uint64, seconds int) []event {
	rng := rand.New(rand.NewPCG(seed, 0))
	rec := stats.NewRecorder()
	warmup := rng.IntN(seconds)
	var events []event
	for s := range seconds {
		start, end := time.Duration(s)*time.Second, time.Duration(s+1)*time.Second
		phase := stats.PhaseOf(s < warmup)
		for range rng.IntN(200) {
			due := start + time.Duration(rng.Int64N(int64(time.Second)))
			delay := time.Duration(rng.ExpFloat64() * float64(time.Millisecond))
			service := time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond))
			of := phase
			if s == warmup && rng.IntN(4) == 0 {
				of = stats.Warmup // was due in the warm-up
			}
			rec.Sent(of, 1, due, due, delay, rng.IntN(2) == 0)
			broker := int32(1 + rng.IntN(3))
			switch rng.IntN(50) {
			case 0:
				rec.Failed(of, 1, []string{"NOT_LEADER_OR_FOLLOWER", "client:RECORD_TIMEOUT", "<&>"}[rng.IntN(3)], delay+service)
			case 1:
				rec.Unknown(of, 1, delay+service)
			case 2:
				rec.Acknowledged(of, 1, int32(rng.IntN(6)), 100, 2*time.Hour, 2*time.Hour, end) // out of range
			default:
				rec.Acknowledged(of, 1, int32(rng.IntN(6)), 100, service, delay+service, min(end, due+delay+service))
			}
			rec.Request(of, broker, service, rng.IntN(30) == 0)
			rec.Batch(of, broker, 3, 300, 100+rng.IntN(200))
		}
		rec.Throttle(phase, 2, time.Duration(rng.IntN(1000))*time.Microsecond)
		rec.BufferFull(phase, time.Duration(rng.IntN(1000))*time.Millisecond)
		rec.InFlight(phase, time.Duration(rng.IntN(1000))*time.Millisecond, 3*time.Second)
		rec.Counters(phase).Transactions++
		taken := rec.Take(new(stats.Phases), phase, start, end, time.Second)
		for _, of := range []int{stats.Warmup, stats.Measured} {
			if of == phase || !taken[of].Empty() {
				events = append(events, event{window: &taken[of]})
			}
		}
		events = append(events, event{sample: &host.Sample{
			At: end, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: rng.Float64() * 4, HostCPU: rng.Float64() * 8,
			RSS: rng.Int64N(1 << 30), GCPauseMax: rng.Int64N(1e6), GCCPU: rng.Float64(), NetSent: rng.Int64N(1e9), NetSpeed: 10_000_000_000,
		}})
	}
	return events
}

// memory is a file that is kept in memory. It says no after room bytes, if room
// is above 0.
type memory struct {
	bytes.Buffer
	room   int
	closed int
}

func (m *memory) Write(b []byte) (int, error) {
	if m.room > 0 && m.Len()+len(b) > m.room {
		return 0, fmt.Errorf("no space left on device")
	}
	return m.Buffer.Write(b)
}

func (m *memory) Close() error { m.closed++; return nil }

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
