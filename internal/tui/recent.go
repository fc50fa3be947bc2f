package tui

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// recentTicks is over how many ticks partitions and brokers are compared: a
// producer fills one batch after the other, so that within one second they
// differ by chance.
const recentTicks = 10

// partitions are the records of each partition over the last ticks.
type partitions struct {
	ticks [recentTicks]partitionTick
	next  int
}

type partitionTick struct {
	records []int64
	length  time.Duration
}

func (p *partitions) add(w *stats.Window) {
	t := &p.ticks[p.next%recentTicks]
	p.next++
	clear(t.records)
	t.length = w.End - w.Start
	for id, q := range w.Partitions {
		if id < 0 {
			continue
		}
		if n := int(id) + 1; n > len(t.records) {
			t.records = append(t.records, make([]int64, n-len(t.records))...)
		}
		t.records[id] = q.Records
	}
}

// rates are records a second by partition, of atLeast partitions or as many as
// were seen.
func (p *partitions) rates(atLeast int) []float64 {
	var length time.Duration
	for i := range p.ticks {
		atLeast = max(atLeast, len(p.ticks[i].records))
		length += p.ticks[i].length
	}
	rates := make([]float64, atLeast)
	if length <= 0 {
		return rates
	}
	for i := range p.ticks {
		for id, n := range p.ticks[i].records {
			rates[id] += float64(n) / length.Seconds()
		}
	}
	return rates
}

func (p *partitions) clone() partitions {
	c := *p
	for i := range c.ticks {
		c.ticks[i].records = slices.Clone(c.ticks[i].records)
	}
	return c
}

// broker is what one broker did in the last tick, and its p99 in those before.
type broker struct {
	silent    int     // ticks since it answered; forever: it never did
	refusing  bool    // it was asked in the last tick, and did not answer
	wire      float64 // bytes a second, as sent
	p99, mean time.Duration
	throttle  time.Duration
	recent    [recentTicks]time.Duration // 0: it did not answer
	next      int
}

// forever is more ticks than any run has.
const forever = math.MaxInt / 2

// patience is for how many ticks a broker may be silent before that is told: at a
// low rate there is not something for each of them in every second.
const patience = 3

// up tells that the broker has answered lately.
func (b *broker) up() bool { return b.silent < patience && !b.refusing }

// usual is the median of the p99 of the last ticks; 0 when it answered in none.
func (b *broker) usual() time.Duration {
	seen := make([]time.Duration, 0, recentTicks)
	for _, v := range b.recent {
		if v > 0 {
			seen = append(seen, v)
		}
	}
	return median(seen)
}

func median[T time.Duration | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// observeBrokers takes in what each broker did. One that is known and did nothing
// is seen to be silent.
func (d *data) observeBrokers(w *stats.Window) {
	length := (w.End - w.Start).Seconds()
	for _, id := range d.brokerIDs(w) {
		b, v := w.Brokers[id], d.brokers[id]
		wire := b.WireBytes
		if wire == 0 {
			wire = b.Bytes
		}
		if _, seen := d.brokers[id]; !seen {
			v.silent = forever
		}
		answered := b.Latency.Count() > 0
		v.refusing = b.Failed > 0 && !answered
		if v.silent++; answered {
			v.silent = 0
		}
		v.wire = float64(wire) / length
		v.p99, v.mean, v.throttle = b.Latency.Quantile(0.99), b.Latency.Mean(), b.Throttle
		v.recent[v.next%recentTicks] = v.p99
		v.next++
		d.brokers[id] = v
	}
}

// brokerIDs are the brokers of the header, of the ticks before and of w, in
// order.
func (d *data) brokerIDs(w *stats.Window) []int32 {
	ids := slices.Concat(w.BrokerIDs(), slices.Collect(maps.Keys(d.brokers)), slices.Collect(maps.Keys(d.header.Brokers)))
	slices.Sort(ids)
	return slices.Compact(ids)
}
