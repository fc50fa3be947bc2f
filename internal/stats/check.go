package stats

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// maxTotal bounds the sum of the numbers of one run, in records, bytes and nanoseconds alike. It is far
// beyond any run, and leaves room in an int64 to add up runs.
const maxTotal = int64(1) << 60

// maxRate is more records a second than any run has for its target.
const maxRate = 1e12

// Totals checks the windows of one run, from a file that anyone may have written. The zero value is ready
// to use.
type Totals struct {
	offered, settled int64
	consumed, timed  int64 // timed from end to end
	sum              int64 // of all numbers of all windows
	err              error
}

// Add returns an error if a window is impossible, by itself or after those before it.
func (t *Totals) Add(w *Window) error {
	t.window(w)
	t.read(&w.Read)
	t.parts(w)
	if t.err != nil {
		return t.err
	}
	t.offered += w.Offered
	t.consumed += w.Consumed
	t.timed += w.EndToEnd.all() // its phase is that of the due time, not of the poll
	t.settled += w.Acknowledged + w.Failed + w.Unknown
	switch {
	case w.Start > w.End:
		return fmt.Errorf("it is from %v to %v", w.Start, w.End)
	case w.Service.all() > w.Acknowledged:
		return fmt.Errorf("%d records were acknowledged, and %d have a service time", w.Acknowledged, w.Service.all())
	case max(w.Response.unserved, w.EndToEnd.unserved) > w.Failed+w.Unknown+w.Unsent:
		return fmt.Errorf("%d records failed, are unknown or unsent, and latencies rank %d of them", w.Failed+w.Unknown+w.Unsent, max(w.Response.unserved, w.EndToEnd.unserved))
	case total(w.Errors) != w.Failed:
		return fmt.Errorf("%d records failed, and %d have an error", w.Failed, total(w.Errors))
	}
	for _, e := range w.Events {
		if e.Kind == RateChanged && !(min(e.OldRate, e.NewRate) > 0 && max(e.OldRate, e.NewRate) <= maxRate && e.At >= 0) {
			return fmt.Errorf("the rate is changed from %g to %g at %v", e.OldRate, e.NewRate, e.At)
		}
	}
	return nil
}

// End returns an error if the windows are impossible together.
func (t *Totals) End() error {
	if t.settled > t.offered {
		return fmt.Errorf("%d records were sent, and %d have an outcome", t.offered, t.settled)
	}
	if t.timed > t.consumed {
		return fmt.Errorf("%d records were read, and %d have an end-to-end time", t.consumed, t.timed)
	}
	return nil
}

// number checks a number that is not below 0, and adds it to sum.
func (t *Totals) number(name string, n int64) {
	t.natural(name, n)
	switch {
	case t.err != nil:
	case n > maxTotal-t.sum:
		t.err = fmt.Errorf("%s is %d: the numbers of all windows add up to more than any run has", name, n)
	default:
		t.sum += n
	}
}

// natural checks that a number is not below 0.
func (t *Totals) natural(name string, n int64) {
	if t.err == nil && n < 0 {
		t.err = fmt.Errorf("%s is %d, below 0", name, n)
	}
}

func (t *Totals) duration(name string, d time.Duration) { t.number(name, int64(d)) }

func (t *Totals) window(w *Window) {
	t.number("offered", w.Offered)
	t.number("acknowledged", w.Acknowledged)
	t.number("failed", w.Failed)
	t.number("unknown", w.Unknown)
	t.number("unsent", w.Unsent)
	t.number("bytes", w.Bytes)
	for _, c := range w.each() {
		t.number(strings.Trim(c.field, `":`), *c.n)
	}
	t.duration("shard_time_ns", w.ShardTime)
	t.duration("buffer_full_ns", w.BufferFull)
	t.duration("in_flight_use_ns", w.InFlightUse)
	t.duration("conn_time_ns", w.ConnTime)
	t.natural("oldest_ns", int64(w.Oldest))
	t.natural("op_span_ns", int64(w.OpSpan))
	t.natural("the length of the outage", int64(w.Outage.Length))
	for _, n := range w.Errors {
		t.number("errors", n)
	}
}

func (t *Totals) read(r *Read) {
	t.number("consumed", r.Consumed)
	t.number("consumed_bytes", r.ConsumedBytes)
	t.number("consumer lag", magnitude(r.ConsumerLag))
	t.duration("read_time_ns", r.ReadTime)
	t.duration("read_wait_ns", r.ReadWait)
	t.duration("read_held_ns", r.ReadHeld)
	t.number("fetches", r.Fetches)
	t.duration("join_time_ns", r.JoinTime)
	t.number("rebalances", r.Rebalances)
	t.duration("rebalance_time_ns", r.RebalanceTime)
	t.natural("rebalance_max_ns", int64(r.RebalanceMax))
	t.number("commits", r.Commits)
	t.duration("commit_time_ns", r.CommitTime)
	for _, n := range r.FetchErrors {
		t.number("fetch_errors", n)
	}
}

// parts checks the partitions and brokers of a window. Counts of partitions are part of the window's own.
func (t *Totals) parts(w *Window) {
	var of Partition
	for _, p := range w.Partitions {
		t.number("records of a partition", p.Records)
		t.number("bytes of a partition", p.Bytes)
		t.number("consumed of a partition", p.Consumed)
		t.number("consumed_bytes of a partition", p.ConsumedBytes)
		t.number("consumer lag of a partition", magnitude(p.ConsumerLag))
		// A million records that always wait are 2^60 ns in 19 minutes: Merge bounds this sum.
		t.natural("service_sum_ns of a partition", int64(p.ServiceSum))
		t.natural("service_max_ns of a partition", int64(p.ServiceMax))
		of.Records, of.Bytes = of.Records+p.Records, of.Bytes+p.Bytes
		of.Consumed, of.ConsumedBytes = of.Consumed+p.Consumed, of.ConsumedBytes+p.ConsumedBytes
	}
	if t.err == nil && (of.Records > w.Acknowledged || of.Bytes > w.Bytes || of.Consumed > w.Consumed || of.ConsumedBytes > w.ConsumedBytes) {
		t.err = fmt.Errorf("its partitions have %d records and %d read, more than the %d and %d of all", of.Records, of.Consumed, w.Acknowledged, w.Consumed)
	}
	for _, b := range w.Brokers {
		for _, f := range []*Traffic{&b.Traffic, &b.Fetch} {
			t.number("requests of a broker", f.Requests)
			t.number("failed of a broker", f.Failed)
			t.number("batches of a broker", f.Batches)
			t.number("records of a broker", f.Records)
			t.number("bytes of a broker", f.Bytes)
			t.number("wire_bytes of a broker", f.WireBytes)
			t.duration("throttle_ns of a broker", f.Throttle)
		}
	}
}

// magnitude returns the absolute value of a change, at most math.MaxInt64.
func magnitude(n int64) int64 {
	switch {
	case n == math.MinInt64:
		return math.MaxInt64
	case n < 0:
		return -n
	}
	return n
}

// total returns the sum of counts by error code.
func total(of map[string]int64) (n int64) {
	for _, k := range of {
		n += k
	}
	return n
}

// all returns the number of durations, with those out of range.
func (h *Histogram) all() int64 { return saturated(h.n, h.outOfRange) }
