package report

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"maps"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

//go:embed testdata/fixtures.json
var fixtures []byte

// fixture returns a value of testdata/fixtures.json, each time another copy.
func fixture[T any](name string) (v T) {
	var all map[string]json.RawMessage
	err := json.Unmarshal(fixtures, &all)
	if err = cmp.Or(err, json.Unmarshal(all[name], &v)); err != nil {
		panic(err)
	}
	return v
}

// header is that of a run at a rate on three brokers; 0: unlimited.
func header(rate float64) result.Header {
	h := fixture[result.Header]("header")
	h.Plan.Load.Rate = plan.Rate{PerSecond: rate}
	return h
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

	captured := header(1000)
	captured.Part = &result.Part{Run: "shop", Host: "load-1", Process: 1, Load: "orders", Asked: &result.Asked{
		Rate: 1000, Bytes: 261e3, Batch: 10e3, Records: 13, Ratio: 1.6, Keys: 2000, Zipf: 1.1, Unlike: []string{"3 of its 40 headers are left out"},
	}}
	captured.Plan.Payload.Keys, captured.Plan.Payload.KeyRange = "zipf:1.1", 2000

	return map[string]result.Result{
		"captured": folded(captured, 4, 1.5, nil).Result(),
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

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) result.Header {
	h := header(rate)
	h.Plan.Command, h.Args[1] = command, string(command)
	h.Plan.Read = plan.Read{Consumers: 2, Group: "billing", Commit: plan.CommitAuto, Timeout: plan.Duration(10 * time.Second)}
	h.Plan.Load.Transaction = 0
	h.Environment.Clock = &host.Clock{Synchronised: true, ErrorUS: 438}
	h.ConsumerConfig = []result.Setting{
		{Name: "client.id", Value: "kt", Default: "", Source: "default", Client: "ClientID"},
		{Name: "isolation.level", Value: "read_committed", Default: "read_uncommitted", Source: "--consumer-property", Client: "FetchIsolationLevel"},
	}
	if command == plan.Consume {
		h.Plan.Producers, h.Config, h.Plan.Payload = 0, nil, plan.Payload{}
		h.Plan.Load = plan.Load{Records: 1_000_000, Arrivals: plan.Uniform, Rate: h.Plan.Load.Rate}
	}
	return h
}

// reads makes a second one in which what it acknowledged, or a thousand records,
// was read too.
func reads(w *stats.Window) {
	w.Consumed, w.ConsumedBytes, w.FirstRead, w.LastRead = 1000, 512_000, w.Start+10*time.Millisecond, w.End-20*time.Millisecond
	w.ReadTime, w.ReadWait, w.Fetches = 2*time.Second, 1200*time.Millisecond, 40
	w.Commits, w.CommitTime = 1, 3438*time.Microsecond
	for n := range 1000 {
		w.EndToEnd.Record(3*time.Millisecond + time.Duration(n*n)*60*time.Nanosecond)
	}
	for id, p := range w.Partitions {
		p.Consumed, p.ConsumedBytes = p.Records, p.Bytes
		w.Partitions[id] = p
	}
	for id, b := range w.Brokers {
		b.Fetch = stats.Traffic{Requests: 20, Batches: 25, Records: b.Records, Bytes: b.Bytes, WireBytes: b.WireBytes}
		b.Fetch.Latency.RecordN(time.Duration(id)*20*time.Millisecond, 20)
		w.Brokers[id] = b
	}
}

// onlyReads takes what was written out of a second.
func onlyReads(w *stats.Window) {
	reads(w)
	start, end, warmup, read := w.Start, w.End, w.Warmup, w.Read
	partitions, brokers := w.Partitions, w.Brokers
	*w = stats.Window{Start: start, End: end, Warmup: warmup, Read: read, Partitions: partitions, Brokers: brokers}
	for id, p := range partitions {
		partitions[id] = stats.Partition{Consumed: p.Consumed, ConsumedBytes: p.ConsumedBytes}
	}
	for id, b := range brokers {
		brokers[id] = stats.Broker{Fetch: b.Fetch}
	}
}

// waiting changes how many records wait in a partition.
func waiting(w *stats.Window, partition int32, change int64) {
	p := w.Partitions[partition]
	p.ConsumerLag += change
	w.Partitions[partition] = p
	w.ConsumerLag += change
}

// readResults are the cases of runs that read.
func readResults() map[string]result.Result {
	return map[string]result.Result{
		"consume":         consumed().Result(),
		"consume_timeout": timedOut().Result(),
		"roundtrip":       roundtrip(1000, nil).Result(),
		"roundtrip_slow":  roundtrip(0, func(w *stats.Window) { waiting(w, 1, 600); waiting(w, 2, 100) }).Result(),
		"one_at_a_time":   oneAtATime().Result(),
		"outage":          outage().Result(),
	}
}

// consumed is a run that reads four seconds' records, in a group, behind a warm-up.
func consumed() *result.Fold {
	h := readHeader(plan.Consume, 0)
	h.Plan.Load.Warmup = plan.Warmup{Duration: plan.Duration(time.Second)}
	f := folded(h, 5, 1.5, func(w *stats.Window) {
		onlyReads(w)
		if w.Start == 0 {
			w.JoinTime, w.FirstRead = 438*time.Millisecond, 450*time.Millisecond
			waiting(w, 0, 4000)
			return
		}
		waiting(w, 0, -1000)
	})
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 5, SendingSeconds: 5, ReadEnd: result.ReadAll})
	return f
}

// timedOut is a run that reads of two topics with trouble, and then finds no more.
func timedOut() *result.Fold {
	h := readHeader(plan.Consume, 0)
	h.Environment.Clock = nil
	h.Plan.Topic, h.Plan.Read.Include, h.Plan.Read.Processing = plan.Topic{}, "orders.*", plan.FixedWork(time.Millisecond)
	h.Environment.Topic = result.Topic{Name: "orders", Partitions: 2, ReplicationFactor: 3, Leaders: map[int32]int32{0: 1, 1: 2}}
	h.Environment.Topics = []result.Topic{h.Environment.Topic, {Name: "orders-eu", Partitions: 2, ReplicationFactor: 3, Leaders: map[int32]int32{0: 3, 1: 1}}}
	f := folded(h, 4, 1, func(w *stats.Window) {
		w.Warmup = false
		onlyReads(w)
		w.EndToEnd = stats.Histogram{}
		w.EndToEnd.RecordN(-time.Millisecond, 5)
		w.ReadHeld, w.ReadWait = 1500*time.Millisecond, 100*time.Millisecond
		w.FetchErrors = map[string]int64{"NOT_LEADER_OR_FOLLOWER": 3}
		w.JoinTime = 3 * time.Second
		w.Rebalances, w.RebalanceTime, w.RebalanceMax = 2, 100*time.Millisecond, 80*time.Millisecond
		w.Events = []stats.Event{{At: w.Start + time.Second/2, Kind: stats.Rebalance, Broker: -1, To: -1, Text: "consumer 2 has other partitions"}}
		waiting(w, 2, 5000)
		waiting(w, 0, 10)
	})
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 14.5, SendingSeconds: 14.5, ReadEnd: result.ReadIdle})
	return f
}

// unread is a run that reads and finds nothing.
func unread() *result.Fold {
	f := folded(readHeader(plan.Consume, 0), 3, 1, func(w *stats.Window) {
		onlyReads(w)
		w.Warmup, w.Consumed, w.ConsumedBytes, w.Fetches, w.Partitions, w.EndToEnd = false, 0, 0, 0, nil, stats.Histogram{}
		w.FirstRead, w.LastRead = 0, 0
	})
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 13, SendingSeconds: 13, ReadEnd: result.ReadIdle})
	return f
}

func roundtrip(rate float64, shape func(*stats.Window)) *result.Fold {
	f := folded(readHeader(plan.Roundtrip, rate), 4, 1.5, func(w *stats.Window) {
		reads(w)
		if shape != nil {
			shape(w)
		}
	})
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 4.1, SendingSeconds: 4, ReadEnd: result.ReadAll, Verify: &ledger.Verdict{
		Readers: 1, Issued: 4000, Acknowledged: 4000, Checked: 4000, AcknowledgedRead: 4000,
	}})
	return f
}

func oneAtATime() *result.Fold {
	h := readHeader(plan.Roundtrip, 0)
	h.Plan.Load.OneAtATime, h.Plan.Producers, h.Plan.Read.Consumers, h.Plan.Read.Group = true, 1, 1, ""
	f := folded(h, 3, 0.1, reads)
	f.Finish(result.Trailer{Ended: result.Completed, ElapsedSeconds: 3, SendingSeconds: 3, ReadEnd: result.ReadAll})
	return f
}

// outage is a run of a minute in which a broker was killed, and records were lost.
func outage() *result.Fold {
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	event := func(s float64, kind stats.EventKind, from, to int32, text string) stats.Event {
		return stats.Event{At: at(s), Kind: kind, Broker: from, To: to, Text: text}
	}
	moved := event(12.4, stats.LeaderMoved, 2, 3, "leader of 2 partitions moved from broker 2 to 3")
	moved.Partitions, moved.Count = []int32{1, 3}, 2
	back := event(35.2, stats.LeaderMoved, 3, 2, "leader of 2 partitions moved from broker 3 to 2")
	events := map[int][]stats.Event{
		10: {event(10.25, stats.Exec, -1, -1, "kill -9 $(pgrep -f broker-2), a command that is so long that a summary has no room for all of it, is started")},
		11: {event(11.1, stats.FirstError, -1, -1, "records fail: NOT_LEADER_OR_FOLLOWER")},
		12: {moved, event(10.3, stats.BrokerGone, 2, -1, "broker 2 does not answer")},
		14: {event(14.2, stats.FirstSuccess, -1, -1, "records are acknowledged again")},
		30: {event(30.2, stats.BrokerBack, 2, -1, "broker 2 answers again"), event(33.2, stats.InSync, -1, -1, "all replicas are in sync again")},
		35: {back},
	}
	h := readHeader(plan.Roundtrip, 1000)
	h.Plan.Verify = true
	f := folded(h, 40, 1.5, func(w *stats.Window) {
		reads(w)
		second := int(w.Start / time.Second)
		w.Events = events[second]
		if second >= 11 && second < 14 {
			w.Acknowledged, w.Failed, w.Bytes = 100, 400, 51_200
			w.Errors = map[string]int64{"NOT_LEADER_OR_FOLLOWER": 400}
			waiting(w, 1, 50)
		}
		if second == 14 {
			w.Acknowledged = 2500
			w.Outage = stats.Gap{From: at(10.25), Length: at(3.95)}
			p := w.Partitions[1]
			p.Outage = stats.Gap{From: at(10.2), Length: at(4.2)}
			w.Partitions[1] = p
			waiting(w, 1, -150)
		}
	})
	started := h.StartedAt
	gaps := []ledger.Gap{}
	for i := range int64(12) {
		gaps = append(gaps, ledger.Gap{
			Partition: 1, Producer: uint16(i % 2), First: 5000 + 100*i, Last: 5010 + 100*i, Count: 11,
			OffsetBefore: 10_000 + 100*i, OffsetAfter: 10_001 + 100*i, DueBefore: started.Add(at(10.2)), DueAfter: started.Add(at(14.2)),
		})
	}
	gaps[0].OffsetBefore, gaps[0].DueBefore, gaps[0].Last, gaps[0].Count = -1, time.Time{}, gaps[0].First, 1
	f.Finish(result.Trailer{
		Ended: result.Completed, ElapsedSeconds: 40.5, SendingSeconds: 40, ReadEnd: result.ReadAll, Verify: &ledger.Verdict{
			Readers: 1, Issued: 39_300, Acknowledged: 38_100, Failed: 1200, Checked: 38_009, AcknowledgedRead: 37_977, Lost: 122, Unchecked: 1,
			Resurrected: 30, Duplicated: 2, Redelivered: 7, Unstamped: 40, Inexact: true, Rewritten: 1, ReadAgain: 1, Gaps: gaps, GapsBeyond: 3,
			Blame: []string{"acks=all: every in-sync replica had the lost records; with min.insync.replicas=1 or unclean leader election the topic's settings allow it"},
		},
	})
	return f
}
