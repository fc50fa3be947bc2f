package result

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// sound returns the result of a run that nobody objects to. Three brokers are on this host.
func sound() *Result {
	h := header(1000)
	h.Accepted = []string{"one-run"}
	h.Plan.Load.Warmup = plan.Warmup{Duration: plan.Duration(10 * time.Second)}
	h.Plan.Payload.Keys = plan.RangeKeys
	h.Config = []Setting{{Name: "acks", Value: "all"}}
	h.Environment = Environment{
		Cluster: Cluster{Version: "v4.3", Brokers: []Broker{{ID: 1}, {ID: 2}, {ID: 3}}},
		Topic: Topic{
			Name: "orders", Partitions: 3, ReplicationFactor: 3, Created: true, Leaders: map[int32]int32{0: 1, 1: 2, 2: 3},
			Replicas: map[int32]Replicas{1: {All: 3}, 2: {All: 4}},
			Dirs:     map[int32]map[string]int{1: {"/a": 2, "/b": 1}, 2: {"/a": 1, "/b": 2}},
			Configs:  map[string]string{"min.insync.replicas": "2", "segment.bytes": "1048576", "compression.type": "producer"},
		},
		Quotas: map[string]float64{"producer_byte_rate": 1 << 20},
	}
	r := &Result{Header: h, BoundBy: verdict.Verdict{Limit: verdict.None}}
	r.ElapsedSeconds, r.Throughput.Seconds = 60, 60
	r.Records = Records{Offered: 30_000, Acknowledged: 30_000}
	r.LogEnds = &LogEnds{Before: 0, After: 30_100}
	r.Batches.CompressionRatio = 4
	for i := range int32(3) {
		r.Brokers = append(r.Brokers, BrokerRow{ID: i + 1, BrokerRequests: BrokerRequests{MiB: 30}})
		r.Partitions = append(r.Partitions, PartitionRow{ID: i, RowFigures: RowFigures{Records: 10_000}})
	}
	r.Machine = &Busy{
		Seconds: 60, FlushSeconds: 30, DirtyLimit: 1 << 30, DirtyBytesMax: 1 << 20, Disks: []BusyDisk{{WrittenMiB: 5, ReadMiB: 5}},
		Brokers: []BusyBroker{{Version: "4.3.1", FileSystems: "ext4"}, {Version: "4.3.1", FileSystems: "xfs"}, {Version: "4.3.1", FileSystems: "ext4 xfs"}},
	}
	return r
}

// here puts the brokers on kt's host, which raises a doubt of its own.
func here(r *Result) *Result {
	for i := range r.Environment.Cluster.Brokers {
		r.Environment.Cluster.Brokers[i].Here = true
	}
	r.Accepted = append(r.Accepted, "own-host")
	return r
}

// replayed returns r as a run that reads 300 MiB which were written before it.
func replay(r *Result) *Result {
	r.Plan.Command, r.Plan.Producers, r.Plan.Read.Consumers, r.LogEnds = plan.Consume, 0, 1, nil
	r.Brokers, r.Records = nil, Records{Consumed: 30_000}
	r.Fetch, r.ConsumerLag = &Fetch{Requests: 310, FailedRequests: 10, RequestBytes: 1 << 20, Seconds: 60}, &ConsumerLag{}
	return here(r)
}

// watchedHosts gives r two hosts with kt, of clocks that are 300 µs apart.
func watchedHosts(r *Result) *Result {
	r.Machine = nil
	r.Hosts = []HostRow{
		{Host: "a", Counted: 1, ClockOffsetUS: new(int64(100)), ClockBoundUS: new(int64(100)), Busy: &Busy{StealShare: 0.001}},
		{Host: "b", Counted: 1, ClockOffsetUS: new(int64(-200)), ClockBoundUS: new(int64(100)), Busy: &Busy{}},
		{Host: "c", Busy: &Busy{Brokers: make([]BusyBroker, 3)}},
	}
	r.Latency.EndToEnd = &Latency{P50: 10_000}
	return r
}

func TestEachDoubtIsRaisedByWhatItIsAboutAndByNothingElse(t *testing.T) {
	tested := make(map[string]bool)
	same := func(r *Result) *Result { return r }
	for _, row := range []struct {
		id, text string                     // of the doubt
		from     func(r *Result) *Result    // a sound result, as it is without the doubt
		has      func(r *Result)            // what raises it
		not      map[string]func(r *Result) // what nearly does, or hides it
	}{
		{
			"one-run", "1 run of 1m00s, not repeated", same,
			func(r *Result) { r.Accepted = nil }, nil,
		},
		{
			"one-replica", "1 replica in 1 topic", same,
			func(r *Result) { r.Environment.Topic.ReplicationFactor = 1 },
			map[string]func(r *Result){"not known": func(r *Result) { r.Environment.Topic.ReplicationFactor = 0 }},
		},
		{
			"rebalances", "2 rebalances while it was measured", func(r *Result) *Result {
				r.Plan.Command, r.Plan.Read.Consumers, r.Plan.Read.Group, r.whole = plan.Roundtrip, 1, "g", &metric.Figures{Plan: &r.Plan, Window: new(stats.Window)}
				return r
			},
			func(r *Result) { r.whole.Window = &stats.Window{Read: stats.Read{Rebalances: 2}} }, nil,
		},
		{
			"alike", "values compress 12.0 times, real data 2 to 5 times", same,
			func(r *Result) { r.Batches.CompressionRatio = 12 },
			map[string]func(r *Result){"the user's own data": func(r *Result) { r.Batches.CompressionRatio, r.Plan.Payload.Kind = 12, plan.File }},
		},
		{
			"page-cache", "95% of the bytes read came from memory", replay,
			func(r *Result) { r.Machine.Disks[0].ReadMiB = 0.25 },
			map[string]func(r *Result){
				"a tail that is written now": func(r *Result) { r.Machine.Disks[0].ReadMiB, r.ConsumerLag.KeptUp = 0, new(true) },
				"logs that may be far away":  func(r *Result) { r.Machine.Disks[0].ReadMiB, r.Machine.Brokers[1].FileSystems = 0, "nfs4" },
				"logs that are not known":    func(r *Result) { r.Machine.Disks[0].ReadMiB, r.Machine.Brokers[1].FileSystems = 0, "" },
				"a broker elsewhere":         func(r *Result) { r.Machine.Disks[0].ReadMiB, r.Environment.Cluster.Brokers[2].Here = 0, false },
				"too little":                 func(r *Result) { r.Machine.Disks[0].ReadMiB, r.Fetch.RequestBytes = 0, 1000 },
			},
		},
		{
			"not-on-disk", "22% of the bytes written reached a disk", here,
			func(r *Result) { r.Machine.Disks[0].WrittenMiB = 1 },
			map[string]func(r *Result){
				"disks that are not known": func(r *Result) { r.Machine.Disks = nil },
				"brokers that compress": func(r *Result) {
					r.Machine.Disks[0].WrittenMiB, r.Environment.Topic.Configs["compression.type"] = 1, "zstd"
				},
				"a broker elsewhere":         func(r *Result) { r.Machine.Disks[0].WrittenMiB, r.Environment.Cluster.Brokers[2].Here = 1, false },
				"a broker that was not seen": func(r *Result) { r.Machine.Disks[0].WrittenMiB, r.Machine.Brokers = 1, r.Machine.Brokers[:2] },
			},
		},
		{
			"short-flush", "20.0s of load, memory may hold data for 30.0s", here,
			func(r *Result) { r.ElapsedSeconds = 20 },
			map[string]func(r *Result){
				"logs in memory": func(r *Result) {
					r.ElapsedSeconds = 20
					for i := range r.Machine.Brokers {
						r.Machine.Brokers[i].FileSystems = "tmpfs"
					}
				},
				"much waited":    func(r *Result) { r.ElapsedSeconds, r.Machine.DirtyBytesMax = 20, 1<<30 },
				"a cycle of 5 s": func(r *Result) { r.ElapsedSeconds, r.Machine.FlushSeconds = 20, 5 },
			},
		},
		{
			"no-warmup", "no warm-up in 1m00s", same,
			func(r *Result) { r.Plan.Load.Warmup = plan.Warmup{} },
			map[string]func(r *Result){"an hour": func(r *Result) { r.Plan.Load.Warmup, r.ElapsedSeconds = plan.Warmup{}, 3600 }},
		},
		{
			"no-roll", "30 MiB of a segment of 1 GiB were filled", same,
			func(r *Result) { r.Environment.Topic.Configs["segment.bytes"] = "1073741824" },
			map[string]func(r *Result){"a topic with older records": func(r *Result) {
				r.Environment.Topic.Configs["segment.bytes"], r.Environment.Topic.Created = "1073741824", false
				r.LogEnds.Before, r.LogEnds.After = 1, r.LogEnds.After+1
			}, "a warm-up that filled some": func(r *Result) {
				r.Environment.Topic.Configs["segment.bytes"], r.Warmup = "1073741824", &Warmup{Records: Records{Offered: 40 * r.Records.Offered}}
				r.LogEnds.After *= 41
			}},
		},
		{
			"min-insync", "1 of 3 replicas is enough for acks=all", same,
			func(r *Result) { r.Environment.Topic.Configs["min.insync.replicas"] = "1" },
			map[string]func(r *Result){"acks=1": func(r *Result) { r.Environment.Topic.Configs["min.insync.replicas"], r.Config[0].Value = "1", "1" }},
		},
		{
			"leaders", "2 of 3 partitions are led by 1 of 3 brokers", same,
			func(r *Result) { r.Environment.Topic.Leaders[0] = 2 },
			map[string]func(r *Result){
				"seven of three brokers": func(r *Result) {
					r.Environment.Topic.Leaders = map[int32]int32{0: 1, 1: 2, 2: 3, 3: 1, 4: 2, 5: 3, 6: 1}
				},
				"one of three brokers": func(r *Result) { r.Environment.Topic.Leaders = map[int32]int32{0: 1} },
			},
		},
		{
			"log-dirs", "3 of 4 replicas of broker 2 are in 1 of 2 log directories", same,
			func(r *Result) { r.Environment.Topic.Dirs[2]["/b"] = 3 },
			map[string]func(r *Result){"logs still to come": func(r *Result) { r.Environment.Topic.Dirs[2] = map[string]int{"/a": 0, "/b": 3} }},
		},
		{
			"hot-partition", "60% of the records went to 1 of 3 partitions", same,
			func(r *Result) { r.Partitions[1].Records = 30_000 },
			map[string]func(r *Result){
				"no keys":     func(r *Result) { r.Partitions[1].Records, r.Plan.Payload.Keys = 30_000, plan.NoKeys },
				"few records": func(r *Result) { r.Partitions[1].Records, r.Records.Acknowledged = 30_000, 2_999 },
			},
		},
		{
			"own-host", "3 brokers on the host of kt", same,
			func(r *Result) { here(r).Accepted = []string{"one-run"} },
			map[string]func(r *Result){"a tunnel": func(r *Result) { here(r).Machine.Brokers, r.Accepted = nil, []string{"one-run"} }},
		},
		{
			"cpu-credits", "1 host has a CPU with credits (Amazon EC2 t4g.large)", same,
			func(r *Result) { r.Environment.Host.Machine = "Amazon EC2 t4g.large" },
			map[string]func(r *Result){
				"a fixed type": func(r *Result) { r.Environment.Host.Machine = "Amazon EC2 c7g.4xlarge" },
				"a trn1":       func(r *Result) { r.Environment.Host.Machine = "Amazon EC2 trn1.2xlarge" },
			},
		},
		{
			"steal", "3% of a host's CPU went to other virtual machines", watchedHosts,
			func(r *Result) { r.Hosts[2].Busy.StealShare = 0.03 }, nil,
		},
		{
			"cpu-clock", "1 host changes its CPU frequency (powersave)", func(r *Result) *Result {
				r.Tune = []TuneCheck{{Findings: []TuneFinding{{ID: "cpu.governor", Verdict: TuneInfo, Current: "powersave"}}}}
				return r
			},
			func(r *Result) { r.Tune[0].Findings[0].Verdict = TuneWarn }, nil,
		},
		{
			"hot-cpu", "7 times a CPU was slowed down by heat", same,
			func(r *Result) { r.Machine.Hot = 7 }, nil,
		},
		{
			"near-quota", "100% of a quota of 512 KiB/s was used", same,
			func(r *Result) { r.Environment.Quotas["producer_byte_rate"] = 1 << 19 },
			map[string]func(r *Result){"the limit": func(r *Result) { r.Environment.Quotas["producer_byte_rate"], r.BoundBy.Limit = 1<<19, verdict.Throttle }},
		},
		{
			"held-back", "1.50s of throttling by brokers", same,
			func(r *Result) { r.Brokers[1].ThrottleMS = 1500 },
			map[string]func(r *Result){"the limit": func(r *Result) { r.Brokers[1].ThrottleMS, r.BoundBy.Limit = 1500, verdict.Throttle }},
		},
		{
			"broker-fault", "Kafka 3.6.0 has KAFKA-15653 (compressed batches can fail)", func(r *Result) *Result {
				r.Environment.Cluster.Version = "v3.6"
				return here(r)
			},
			func(r *Result) {
				for i := range r.Machine.Brokers {
					r.Machine.Brokers[i].Version = "3.6.0"
				}
			},
			map[string]func(r *Result){
				"brokers of two versions": func(r *Result) { r.Machine.Brokers[0].Version = "3.6.0" },
				"no compression": func(r *Result) {
					for i := range r.Machine.Brokers {
						r.Machine.Brokers[i].Version = "3.6.0"
					}
					r.Batches.CompressionRatio = 0.99
				},
			},
		},
		{
			"other-records", "25% of the records in the topic are not of this run", same,
			func(r *Result) { r.LogEnds.After = 40_000 },
			map[string]func(r *Result){
				"markers of transactions": func(r *Result) { r.LogEnds.After, r.Client.Transactions = 40_000, 5000 },
				"a broker that failed":    func(r *Result) { r.LogEnds.After, r.Outage = 40_000, &Outage{BeganSeconds: new(1.0)} },
			},
		},
		{
			"other-records", "10% of the records in the topic are not of this run", func(r *Result) *Result {
				r.Verify = &ledger.Verdict{Checked: 900}
				return r
			},
			func(r *Result) { r.Verify.Foreign, r.Verify.Unstamped = 70, 30 }, nil,
		},
		{
			"other-topics", "40% of all new records went to other topics", same,
			func(r *Result) { r.Others = 20_000 },
			map[string]func(r *Result){"few": func(r *Result) { r.Others = 200 }},
		},
		{
			"clocks", "500µs may lie between clocks, with an end to end p50 of 2.00ms", watchedHosts,
			func(r *Result) { r.Latency.EndToEnd.P50 = 2000 },
			map[string]func(r *Result){"one host": func(r *Result) { r.Latency.EndToEnd.P50, r.Hosts[1].Counted = 2000, 0 }},
		},
		{
			"late-consumers", "5.00s passed until consumers read, in 1m00s", func(r *Result) *Result {
				r.Plan.Command, r.Plan.Read.Consumers, r.Records.Consumed, r.Fetch = plan.Roundtrip, 1, 30_000, &Fetch{FirstReadSeconds: 10.1}
				r.Throughput.FirstDueSeconds = 10
				return r
			},
			func(r *Result) { r.Fetch.FirstReadSeconds = 15 },
			map[string]func(r *Result){"a backlog": func(r *Result) { r.Fetch.FirstReadSeconds, r.Plan.Read.Backlog = 15, 1<<20 }},
		},
	} {
		tested[row.id] = true
		for name, change := range row.not {
			r := row.from(sound())
			change(r)
			r.Doubt()
			must.True(t, len(r.Doubts) == 0, "%s, with %s: %+v", row.id, name, r.Doubts)
		}
		r := row.from(sound())
		r.Doubt()
		must.True(t, len(r.Doubts) == 0, "without %s: %+v", row.id, r.Doubts)
		row.has(r)
		r.Doubt()
		must.True(t, len(r.Doubts) == 1 && r.Doubts[0].ID == row.id, "with %s: %+v", row.id, r.Doubts)
		must.Match(t, row.text, r.Doubts[0].Text, row.id)
		line := r.Doubts[0].Text + ": " + r.Doubts[0].Next + " (" + row.id + ")"
		must.True(t, len(line) <= 105, "%d bytes: %s", len(line), line)
		r.Accepted = append(r.Accepted, row.id)
		r.Doubt()
		must.True(t, len(r.Doubts) == 0, "accepted %s: %+v", row.id, r.Doubts)
	}
	for _, row := range doubtRows() {
		must.True(t, tested[row.ID] || doubtReaders[row.ID] == nil && row.Unless.Metric == nil, "doubt %s has no test", row.ID) // those of a comparison are tested there
	}
}
