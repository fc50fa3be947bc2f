//go:build !race

package tui

import (
	"math"
	"time"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// reading is what a canned run reads.
type reading struct {
	stamped   bool
	joining   int     // seconds before there are partitions
	waiting   int64   // records, when it begins
	appended  float64 // records a second that others write
	rebalance int     // second in which the group rebalances; 0: never

	consumerLag []int64 // by partition, as of the last tick; it begins empty
}

func cannedConsumer() *canned {
	c := newCanned()
	c.header = Header{
		Command: "consume", Topic: "orders-bench", Group: "kt-bench",
		Tags:     []string{"group kt-bench", "3 consumers", "21 partitions", "from earliest"},
		Duration: 2 * time.Minute, Partitions: 21,
	}
	c.read = &reading{joining: 3, waiting: 40e6, appended: 300e3}
	return c
}

// catchingUp reads what others have written, and some of it was written in the run.
func catchingUp() *canned {
	c := cannedConsumer()
	c.header.Tags = append(c.header.Tags, "stamped")
	c.header.TargetRate = 850e3
	c.read.stamped, c.read.rebalance = true, 30
	return c
}

func roundtrip() *canned {
	c := newCanned()
	c.header.Command, c.header.Group = "roundtrip", "kt-bench"
	c.header.Tags = []string{"acks=all", "21 partitions", "RF 3", "1 KiB", "3 consumers"}
	c.read = &reading{stamped: true}
	return c
}

// consume adds what is read in a second to its window.
func (c *canned) consume(w *stats.Window, second int, written int64) {
	r := c.read
	w.ReadTime, w.ReadWait = 3*time.Second, 1300*time.Millisecond
	if c.header.Command == "consume" {
		written = int64(r.appended)
		if c.header.TargetRate > 0 {
			w.ReadHeld = 400 * time.Millisecond
		}
	}
	n := written
	switch {
	case second < r.joining || r.rebalance > 0 && second == r.rebalance || c.header.Command == "consume" && r.appended == 0:
		n = 0
	case c.header.Command == "consume":
		n = int64(c.rate(second))
	}
	if w.Partitions == nil {
		w.Partitions = map[int32]stats.Partition{}
	}
	partitions := int64(c.header.Partitions)
	if r.consumerLag == nil {
		r.consumerLag = make([]int64, partitions)
		w.ConsumerLag = r.waiting
		for id := range r.consumerLag {
			r.consumerLag[id] = r.waiting / partitions
			c.wait(w, int32(id), r.consumerLag[id])
		}
	}
	for id := range r.consumerLag {
		part := float64(n) / float64(partitions)
		if id == 13 && r.waiting > 0 {
			part *= 0.3
		}
		change := int64(float64(written)/float64(partitions) - part)
		if r.waiting == 0 { // what is on its way at the end of the second
			change = int64(float64(n)/float64(partitions)*0.002*(1+c.rng.Float64())) - r.consumerLag[id]
		}
		change = max(change, -r.consumerLag[id])
		r.consumerLag[id] += change
		w.ConsumerLag += change
		c.wait(w, int32(id), change)
		p := w.Partitions[int32(id)]
		p.Consumed, p.ConsumedBytes = int64(part), int64(part)*1024
		w.Partitions[int32(id)] = p
	}
	if second == r.joining {
		w.JoinTime = 3140 * time.Millisecond
	}
	if r.rebalance > 0 && second == r.rebalance {
		w.Rebalances, w.RebalanceTime = 1, 800*time.Millisecond
		w.Events = append(w.Events, stats.Event{
			At: w.Start + 840*time.Millisecond, Kind: stats.Rebalance, Broker: -1, To: -1, Count: 7,
			Text: "group kt-bench: consumer 2 has 7 new partitions, after 800ms",
		})
	}
	c.fetches(w, n)
	if n == 0 {
		return
	}
	w.Consumed, w.ConsumedBytes, w.Fetches = n, n*1024, 400
	w.FirstRead, w.LastRead = w.Start, w.End
	if c.header.Group == "shares" {
		again := n / 90
		w.Share = stats.Share{Accepted: n - n/10, Released: again, Locks: 1900, Deliveries: map[string]int64{"1": n - again, "2": again}}
	}
	if r.stamped {
		slow := 1.6
		if c.hiccup(second) {
			slow = 6
		}
		c.latencies(&w.EndToEnd, n, slow)
	}
}

func (c *canned) wait(w *stats.Window, id int32, change int64) {
	p := w.Partitions[id]
	p.ConsumerLag += change
	w.Partitions[id] = p
}

// fetches shares what is read out among the brokers.
func (c *canned) fetches(w *stats.Window, n int64) {
	if w.Brokers == nil {
		w.Brokers = map[int32]stats.Broker{}
	}
	for _, id := range []int32{1, 2, 3} {
		b := w.Brokers[id]
		b.Fetch = stats.Traffic{
			Requests: 120, Batches: n / 3 / 15, Records: n / 3, Bytes: n / 3 * 1024,
			WireBytes: int64(float64(n) / 3 * 1024 / 3.1 * (0.98 + 0.04*c.rng.Float64())),
		}
		for range 120 {
			d := 6e6 * math.Exp(0.5*c.rng.NormFloat64())
			if n == 0 || c.rng.IntN(10) == 0 {
				d = 500e6 + 2e6*c.rng.Float64() // there was nothing to read
			}
			b.Fetch.Latency.Record(time.Duration(d))
		}
		w.Brokers[id] = b
	}
}

// outageEvents are what a broker that dies brings with it, in the seconds after.
func outageEvents() []stats.Event {
	event := func(ms int, kind stats.EventKind, broker, to int32, count int, text string) stats.Event {
		return stats.Event{At: time.Duration(ms) * time.Millisecond, Kind: kind, Broker: broker, To: to, Count: count, Text: text}
	}
	return []stats.Event{
		event(0, stats.Exec, -1, -1, 0, "started: scripts/kafka kill 2"),
		event(310, stats.BrokerGone, 2, -1, 0, "broker 2 does not answer"),
		event(940, stats.LeaderLost, 2, -1, 7, "7 partitions have no leader"),
		event(1120, stats.FirstError, -1, -1, 0, "records fail: NOT_LEADER_OR_FOLLOWER"),
		event(2480, stats.ISRShrank, 2, -1, 21, "broker 2 has fallen out of sync in 21 partitions"),
		event(4050, stats.LeaderMoved, 2, 3, 7, "7 partitions have moved from broker 2 to broker 3"),
		event(4230, stats.FirstSuccess, -1, -1, 0, "records are acknowledged again"),
		event(10400, stats.BrokerBack, 2, -1, 0, "broker 2 answers again"),
		event(12700, stats.ISRGrew, 2, -1, 21, "broker 2 is in sync again in 21 partitions"),
		event(12710, stats.InSync, -1, -1, 0, "all replicas are in sync"),
	}
}

// happen adds the events of a second to its window, and what the outage leaves
// behind: nothing is acknowledged for four seconds, while records wait.
func (c *canned) happen(w *stats.Window, second int) {
	from := time.Duration(c.outage) * time.Second
	for _, e := range outageEvents() {
		if e.At += from; e.At >= w.Start && e.At < w.End {
			w.Events = append(w.Events, e)
		}
	}
	switch second {
	case c.outage:
		w.Offered += 50_000
	case c.outage + 4:
		w.Offered -= 50_000 - 3*1200 // the others have failed
		w.Outage = stats.Gap{From: from + 90*time.Millisecond, Length: 4140 * time.Millisecond}
		p := w.Partitions[4]
		p.Outage = stats.Gap{From: from + 40*time.Millisecond, Length: 4630 * time.Millisecond}
		w.Partitions[4] = p
	}
}

func outage() *canned {
	c := newCanned()
	c.outage, c.failover = 40, 40
	return c
}

// silent is the same while it goes on.
func silent() *canned {
	c := outage()
	c.seconds = 44
	return c
}

var limitReader = verdict.Verdict{
	Limit:    "this consumer",
	Evidence: "readers waited for records 43 % of the time; kt used 6.70 of 16 cores",
}
