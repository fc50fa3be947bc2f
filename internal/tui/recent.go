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

// partitions are the records of each partition over the last ticks, and how many
// wait.
type partitions struct {
	ticks   [recentTicks]partitionTick
	next    int
	waiting []consumerLag // by partition
}

type partitionTick struct {
	records []int64
	changes []int64 // of the consumer lag, but for the one by which it became known
	batches int64   // written, of all partitions
	length  time.Duration
}

func (p *partitions) add(w *stats.Window, main way) {
	t := &p.ticks[p.next%recentTicks]
	p.next++
	clear(t.records)
	clear(t.changes)
	t.length, t.batches = w.End-w.Start, 0
	for _, b := range w.Brokers {
		t.batches += b.Batches
	}
	for id, q := range w.Partitions {
		if id < 0 {
			continue
		}
		n := int(id) + 1
		t.records, t.changes, p.waiting = grown(t.records, n), grown(t.changes, n), grown(p.waiting, n)
		t.records[id] = q.Records
		if main == read {
			t.records[id] = q.Consumed
		}
		b := &p.waiting[id]
		if b.known {
			t.changes[id] = q.ConsumerLag
		}
		b.add(q.Consumed, q.ConsumerLag)
	}
}

// grown is s with at least n elements.
func grown[T any](s []T, n int) []T {
	if n > len(s) {
		s = append(s, make([]T, n-len(s))...)
	}
	return s
}

// rates are records a second by partition, of atLeast partitions or as many as
// were seen.
func (p *partitions) rates(atLeast int) []float64 {
	return p.perSecond(atLeast, func(t *partitionTick) []int64 { return t.records })
}

// leastBatches is how many batches the mean partition must have had before partitions are
// compared. A producer picks the partition of each batch by chance: of so many, 40 % more or
// less than usual is three standard deviations.
const leastBatches = 50

// comparable reports whether so many partitions had enough batches to be compared.
func (p *partitions) comparable(partitions int) bool {
	var batches int64
	for i := range p.ticks {
		batches += p.ticks[i].batches
	}
	return batches >= int64(leastBatches*partitions)
}

// trends are how the consumer lags change, by partition, beside the rates.
func (p *partitions) trends(rates []float64) []trend {
	changes := p.perSecond(len(rates), func(t *partitionTick) []int64 { return t.changes })
	trends := make([]trend, len(changes))
	for i := range trends {
		trends[i] = trend{changes[i], rates[i]}
	}
	return trends
}

// levels are the consumer lags, by partition.
func (p *partitions) levels(atLeast int) []float64 {
	levels := make([]float64, max(atLeast, len(p.waiting)))
	for i := range p.waiting {
		levels[i] = float64(max(p.waiting[i].records, 0))
	}
	return levels
}

func (p *partitions) perSecond(atLeast int, counts func(*partitionTick) []int64) []float64 {
	var length time.Duration
	for i := range p.ticks {
		atLeast = max(atLeast, len(counts(&p.ticks[i])))
		length += p.ticks[i].length
	}
	rates := make([]float64, atLeast)
	if length <= 0 {
		return rates
	}
	for i := range p.ticks {
		for id, n := range counts(&p.ticks[i]) {
			rates[id] += float64(n) / length.Seconds()
		}
	}
	return rates
}

func (p *partitions) clone() partitions {
	c := *p
	for i := range c.ticks {
		t := &c.ticks[i]
		t.records, t.changes = slices.Clone(t.records), slices.Clone(t.changes)
	}
	c.waiting = slices.Clone(p.waiting)
	return c
}

// broker is what one broker did in the last tick, and its p99 in those before.
type broker struct {
	silent    int     // ticks since it answered; forever: it never did
	refusing  bool    // it was asked in the last tick, and did not answer
	gone      bool    // the cluster says so
	wire      float64 // bytes a second, as sent
	fetched   float64 // bytes a second, as read
	fetches   float64 // a second
	p99, mean time.Duration
	wait      time.Duration // mean of a fetch
	throttle  time.Duration
	recent    [recentTicks]time.Duration // 0: it did not answer
	next      int
}

// forever is more ticks than any run has.
const forever = math.MaxInt / 2

// patience is for how many ticks a broker may be silent before that is told: at a
// low rate there is not something for each of them in every second.
const patience = 3

// usual is the median of the p99 of the last ticks; 0 when it answered in none.
func (b *broker) usual() time.Duration {
	seen := make([]time.Duration, 0, recentTicks)
	for _, v := range b.recent {
		if v > 0 {
			seen = append(seen, v)
		}
	}
	return upperMedian(seen)
}

// upperMedian is the median, of an even number the upper of the two in the middle, so that
// it is one of the values; 0 when there are none.
func upperMedian[T time.Duration | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// observeBrokers takes in what each broker did. One that is known and did nothing
// is seen to be silent.
func (d *data) observeBrokers(w *stats.Window) {
	length := (w.End - w.Start).Seconds()
	for _, id := range d.brokerIDs(w) {
		b, v := w.Brokers[id], d.brokers[id]
		if _, seen := d.brokers[id]; !seen {
			v.silent = forever
		}
		answered := b.Latency.Count()+b.Fetch.Latency.Count() > 0
		v.refusing = b.Failed+b.Fetch.Failed > 0 && !answered
		if v.silent++; answered {
			v.silent = 0
		}
		v.wire, v.fetched = wireBytes(&b.Traffic)/length, wireBytes(&b.Fetch)/length
		v.fetches = float64(b.Fetch.Requests) / length
		v.p99, v.mean = b.Latency.ValueAtQuantile(0.99), b.Latency.Mean()
		v.wait = b.Fetch.Latency.Mean()
		v.throttle = b.Throttle + b.Fetch.Throttle
		v.recent[v.next%recentTicks] = v.p99
		v.next++
		d.brokers[id] = v
	}
	for i := range w.Events {
		switch e := &w.Events[i]; e.Kind {
		case stats.BrokerGone, stats.BrokerBack:
			if v, known := d.brokers[e.Broker]; known {
				v.gone = e.Kind == stats.BrokerGone
				d.brokers[e.Broker] = v
			}
		}
	}
}

// wireBytes are the bytes of record batches as sent, where that is known.
func wireBytes(t *stats.Traffic) float64 {
	if t.WireBytes > 0 {
		return float64(t.WireBytes)
	}
	return float64(t.Bytes)
}

// brokerIDs are the brokers of the header, of the ticks before and of w, in
// order.
func (d *data) brokerIDs(w *stats.Window) []int32 {
	ids := slices.Concat(w.BrokerIDs(), slices.Collect(maps.Keys(d.brokers)), slices.Collect(maps.Keys(d.header.Brokers)))
	slices.Sort(ids)
	return slices.Compact(ids)
}
