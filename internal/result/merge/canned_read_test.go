package merge

import (
	"math/rand/v2"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

// readHeader is header of a run that reads.
func readHeader(command plan.Command, rate float64) result.Header {
	h := header(rate)
	h.Plan.Command, h.Plan.Read = command, plan.Read{Consumers: 1, Group: "g", Commit: plan.CommitAuto}
	h.ConsumerConfig = []result.Setting{{Name: "client.id", Value: "kt"}}
	if command == plan.Consume {
		h.Plan.Producers, h.Config, h.Plan.Payload = 0, nil, plan.Payload{}
	}
	return h
}

// cannedReading is canned with what a reader counts, and with a fault.
func cannedReading(seed uint64, seconds int) []event {
	rng := rand.New(rand.NewPCG(seed, 1))
	events := canned(seed, seconds)
	for _, e := range events {
		w := e.window
		if w == nil {
			continue
		}
		rec := stats.NewRecorder()
		phase := stats.PhaseOf(w.Warmup)
		for range rng.IntN(20) {
			at := w.Start + time.Duration(rng.Int64N(int64(time.Second)))
			rec.Consumed(phase, int32(rng.IntN(6)), 10, 1000, at)
			rec.Polled(phase)
			rec.EndToEnd(phase, time.Duration(rng.ExpFloat64()*float64(20*time.Millisecond)))
			rec.Fetch(phase, int32(1+rng.IntN(3)), 5*time.Millisecond, rng.IntN(9) == 0)
			rec.FetchBatch(phase, 1, 10, 1000, 500)
		}
		rec.FetchFailed(phase, "NOT_LEADER_OR_FOLLOWER")
		rec.ReadTimes(phase, time.Second, time.Duration(rng.IntN(1000))*time.Millisecond, 0)
		rec.Joined(phase, time.Second)
		rec.Rebalanced(phase, 20*time.Millisecond)
		rec.OffsetsCommitted(phase, 2*time.Millisecond)
		rec.Outage(phase, stats.Gap{From: w.Start, Length: time.Duration(rng.IntN(1000)) * time.Millisecond})
		read := rec.Take(new(stats.Phases), phase, w.Start, w.End, 0)[phase]
		read.ConsumerLag = int64(rng.IntN(100) - 40)
		read.Add(&stats.Window{Partitions: map[int32]stats.Partition{0: {ConsumerLag: read.ConsumerLag}}, Warmup: w.Warmup, Start: w.Start, End: w.End})
		if w.End > time.Duration(seconds/2)*time.Second {
			read.Events = []stats.Event{{At: w.Start, Kind: stats.LeaderMoved, Broker: 1, To: 2, Partitions: []int32{1}, Count: 1, Text: "moved"}}
		}
		w.Add(&read)
	}
	return events
}
