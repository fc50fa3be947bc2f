package report

import (
	"maps"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// header is that of a run at a rate on three brokers; 0: unlimited.
func header(rate float64) result.Header {
	return result.Header{
		Schema: result.Schema, RunID: "0123456789abcdef", KTVersion: "1.2.3",
		StartedAt: time.Date(2026, 11, 21, 12, 10, 25, 0, time.UTC), Args: []string{"kt", "produce", "--topic", "orders"},
		Plan: plan.Plan{
			Command: "produce", Engine: plan.Client, Bootstrap: []string{"kafka-1:9092"}, Producers: 2, Seed: 1,
			Topic: plan.Topic{Name: "orders", Partitions: 4, ReplicationFactor: 3, Configs: map[string]string{"min.insync.replicas": "2"}},
			Load: plan.Load{
				Rate: plan.Rate{PerSecond: rate}, Arrivals: plan.Uniform, Duration: plan.Duration(time.Minute), Records: 1_000_000,
				Warmup: plan.Warmup{Duration: plan.Duration(time.Second)}, Transaction: plan.Duration(3 * time.Second),
			},
			Payload: plan.Payload{
				Kind: plan.Mixed, Size: plan.FixedSize(512), Compressibility: 0.5, Keys: plan.RangeKeys, KeyRange: 100,
				Headers: []plan.Header{{Key: "trace", Value: "1"}},
			},
		},
		Config: []result.Setting{
			{Name: "acks", Value: "all", Default: "all", Source: "--acks", Client: "RequiredAcks"},
			{Name: "buffer.memory", Value: "33554432", Default: "33554432", Source: "default", Client: "kt"},
			{Name: "client.id", Value: "kt", Default: "", Source: "default", Client: "ClientID"},
			{Name: "compression.type", Value: "lz4", Default: "none", Source: "profile throughput", Client: "ProducerBatchCompression", Note: "a note"},
		},
		Environment: result.Environment{
			Host: host.Facts{
				Hostname: "bench-1", OS: "linux", Kernel: "6.8.0", Arch: "amd64", Machine: "Maker Model", CPUModel: "CPU", LogicalCPUs: 8, GOMAXPROCS: 4,
				MemoryBytes: 32 << 30, CPULimitCores: 4, MemoryLimitBytes: 8 << 30, NetworkSpeed: 10_000_000_000, ClockSource: "tsc",
				Hypervisor: true, Container: "docker", GoVersion: "go1.26", Unavailable: []string{"cgroup: no such file"},
			},
			Cluster: result.Cluster{ID: "cluster-1", Version: "4.2", Controller: 1, Brokers: []result.Broker{
				{ID: 1, Addr: "kafka-1:9092", Rack: "a"}, {ID: 2, Addr: "kafka-2:9092"}, {ID: 3, Addr: "kafka-3:9092"},
			}},
			Topic: result.Topic{
				Name: "orders", Partitions: 4, ReplicationFactor: 3, Created: true,
				Leaders: map[int32]int32{0: 1, 1: 2, 2: 3, 3: 1}, Configs: map[string]string{"min.insync.replicas": "2"},
			},
		},
	}
}

// second is one second of a load of 1,000 records, of which three partitions get
// some. shape changes it.
func second(i int, warmup bool, shape func(*stats.Window)) stats.Window {
	at := time.Duration(i) * time.Second
	w := stats.Window{
		Start: at, End: at + time.Second, Warmup: warmup,
		Offered: 1000, Acknowledged: 1000, Bytes: 512_000, FirstDue: at, LastSent: at + 999*time.Millisecond, LastAck: at + time.Second,
		ShardTime: 2 * time.Second, BufferFull: 100 * time.Millisecond, ConnTime: 6 * time.Second, InFlightUse: 600 * time.Millisecond, Counters: stats.Counters{Transactions: 1},
		Partitions: make(map[int32]stats.Partition), Brokers: make(map[int32]stats.Broker),
	}
	for n := range 1000 {
		service := 2*time.Millisecond + time.Duration(n*n)*50*time.Nanosecond
		delay := time.Duration(n%10) * 43 * time.Microsecond
		w.SendDelay.Record(delay)
		w.OwnSendDelay.Record(delay)
		w.Service.Record(service)
		w.Response.Record(delay + service)
	}
	for id, records := range map[int32]int64{0: 500, 1: 300, 2: 200} {
		w.Partitions[id] = stats.Partition{Records: records, Bytes: 512 * records, ServiceSum: time.Duration(records) * 9 * time.Millisecond, ServiceMax: 52 * time.Millisecond}
		b := stats.Broker{Traffic: stats.Traffic{Requests: 20, Batches: 25, Records: records, Bytes: 512 * records, WireBytes: 256 * records}}
		b.Latency.RecordN(time.Duration(id+1)*438*time.Microsecond, 20)
		w.Brokers[id+1] = b
	}
	if shape != nil {
		shape(&w)
	}
	return w
}

// folded is a load of some seconds, the first of which is the warm-up.
func folded(h result.Header, seconds int, cores float64, shape func(*stats.Window)) *result.Fold {
	f := result.NewFold(h)
	for i := range seconds {
		f.AddWindow(second(i, i == 0, shape))
		f.AddSample(host.Sample{
			At: time.Duration(i+1) * time.Second, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: cores, HostCPU: cores + 1,
			RSS: 96 << 20, GCPauseMax: 438_000, GCCPU: 0.02, NetSent: 300 << 10, NetSpeed: 10_000_000_000,
		})
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: float64(seconds), SendingSeconds: float64(seconds) - 0.001})
	return f
}

// results are the cases that every format is written for.
func results() map[string]result.Result {
	all := produceResults()
	maps.Copy(all, readResults())
	maps.Copy(all, mergedResults())
	return all
}

func produceResults() map[string]result.Result {
	unlimited := header(0)
	unlimited.Plan.Load.Warmup, unlimited.Plan.Load.Transaction, unlimited.Plan.Producers = plan.Warmup{}, 0, 1
	unlimited.Config[3].Value = "none"

	embedded := header(0)
	embedded.Embedded, embedded.Plan.Bootstrap = true, nil
	embedded.Environment.Cluster = result.Cluster{ID: "kfake", Brokers: []result.Broker{{ID: 1, Addr: "127.0.0.1:9092"}}}
	embedded.Environment.Topic = result.Topic{Name: "orders", Partitions: 1, ReplicationFactor: 1}

	cutOff := result.NewFold(header(1000))
	cutOff.AddWindow(second(0, true, nil))

	interrupted := folded(header(1000), 3, 1, nil)
	interrupted.Finish(result.Trailer{Ended: result.Interrupted, ElapsedSeconds: 65, SendingSeconds: 64, DrainTimedOut: true})

	nothing := result.NewFold(result.Header{Schema: result.Schema, Plan: plan.Plan{
		Command: "produce", Engine: plan.Client, Topic: plan.Topic{Name: "t"}, Load: plan.Load{Arrivals: plan.Uniform},
		Payload: plan.Payload{Kind: plan.Letters, Size: plan.FixedSize(1), Keys: plan.NoKeys},
	}})
	nothing.Finish(result.Trailer{Ended: result.Completed})

	stages := header(0)
	stages.Plan.Load.Rate, _ = plan.ParseTarget("1000@2s,500..1500@2s,1k@2s") // it is one, as the golden files show
	stages.Plan.Load.Records, stages.Plan.Load.Duration = 0, plan.Duration(4*time.Second)

	return map[string]result.Result{
		"stages": folded(stages, 4, 1, func(w *stats.Window) {
			if w.Start == 3*time.Second {
				late(w)
			}
		}).Result(),
		"fixed":       folded(header(1000), 4, 1.5, nil).Result(),
		"unlimited":   unlimitedRun(unlimited).Result(),
		"invalid":     folded(header(1000), 3, 1, late).Result(),
		"errors":      folded(header(1000), 3, 1, withErrors).Result(),
		"embedded":    folded(embedded, 2, 1, nil).Result(),
		"interrupted": interrupted.Result(),
		"cut_off":     cutOff.Result(),
		"nothing":     nothing.Result(),
	}
}

// unlimitedRun has no warm-up and a full buffer.
func unlimitedRun(h result.Header) *result.Fold {
	f := result.NewFold(h)
	for i := range 3 {
		f.AddWindow(second(i, false, func(w *stats.Window) {
			w.BufferFull, w.InFlightUse, w.Transactions = w.ShardTime*9/10, w.ConnTime*8/10, 0
			b := w.Brokers[2]
			b.Throttle = 20 * time.Millisecond
			w.Brokers[2] = b
		}))
		f.AddSample(host.Sample{At: time.Duration(i+1) * time.Second, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: 2, HostCPU: 3, RSS: 1 << 30})
	}
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 3.1, SendingSeconds: 3})
	return f
}

// late is kt being late with nothing in its way.
func late(w *stats.Window) { w.OwnSendDelay.RecordN(25*time.Millisecond, 50) }

// withErrors is a second with records of every fate.
func withErrors(w *stats.Window) {
	w.Offered, w.Failed, w.Unknown, w.Unsent = w.Offered+1205, 1200, 5, 12
	w.Errors = map[string]int64{"NOT_LEADER_OR_FOLLOWER": 1000, "client:RECORD_TIMEOUT": 100, "client:BUFFER_EXHAUSTED": 100}
	w.Response.RecordN(2*time.Hour, 3)
	b := w.Brokers[3]
	b.Failed = 4
	w.Brokers[3] = b
}
