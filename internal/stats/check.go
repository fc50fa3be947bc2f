package stats

import (
	"fmt"
	"math"
	"unsafe"
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
	if windowFields.each(unsafe.Pointer(w), t.field); t.err != nil {
		return t.err
	}
	if err := w.checkParts(); err != nil {
		return err
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

// number checks a number that is not below 0. One that counts is added to sum.
func (t *Totals) number(f *field, n int64, counts bool) {
	switch {
	case t.err != nil:
	case n < 0:
		t.err = fmt.Errorf("%s is %d, below 0", f.name, n)
	case counts && n > maxTotal-t.sum:
		t.err = fmt.Errorf("%s is %d: the numbers of all windows add up to more than any run has", f.name, n)
	case counts:
		t.sum += n
	}
}

// field checks a field of the struct at p.
func (t *Totals) field(f *field, p unsafe.Pointer) {
	switch f.kind {
	case sum:
		t.number(f, *at[int64](p, f), true)
	case change:
		n := *at[int64](p, f)
		t.number(f, max(n, -max(n, -math.MaxInt64)), true)
	case bounded, highest, level: // a million records that always wait are 2^60 ns in 19 minutes
		t.number(f, *at[int64](p, f), false)
	case gap:
		t.number(f, int64(at[Gap](p, f).Length), false)
	case counts:
		for _, n := range *at[map[string]int64](p, f) {
			t.number(f, n, true)
		}
	}
}

// checkParts returns an error if more is counted in partitions than in all.
func (w *Window) checkParts() error {
	var of Partition
	for _, p := range w.Partitions {
		of.Records, of.Bytes = of.Records+p.Records, of.Bytes+p.Bytes
		of.Consumed, of.ConsumedBytes = of.Consumed+p.Consumed, of.ConsumedBytes+p.ConsumedBytes
	}
	if of.Records > w.Acknowledged || of.Bytes > w.Bytes || of.Consumed > w.Consumed || of.ConsumedBytes > w.ConsumedBytes {
		return fmt.Errorf("its partitions have %d records and %d read, more than the %d and %d of all", of.Records, of.Consumed, w.Acknowledged, w.Consumed)
	}
	return nil
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
