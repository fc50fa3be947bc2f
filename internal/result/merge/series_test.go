package merge

import (
	"math"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/stats"
)

// flowing is a load of so many records a second from a moment on: what a window has is
// what its time has.
func flowing(first, last time.Duration, rate float64) []canned.Event {
	var events []canned.Event
	for start := time.Duration(0); start < last; start += time.Second {
		w := stats.Window{Start: start, End: min(last, start+time.Second), ShardTime: time.Second}
		from := max(first, w.Start)
		n := int64(math.Round(rate * (w.End - from).Seconds()))
		if n > 0 {
			w.Offered, w.Acknowledged, w.Bytes = n, n, 100*n
			w.FirstDue, w.LastDue, w.LastSent, w.LastAck = from, w.End, w.End, w.End
			w.Response.RecordN(time.Millisecond, n)
		}
		events = append(events, canned.Event{Window: &w})
	}
	return events
}

func TestTheRowsOfAMergedSeriesFollowEachOther(t *testing.T) {
	const rate = 500
	part := func(host string, late time.Duration, first, last float64) []byte {
		return partFile{
			run: "r", host: host, process: 1, alone: true, late: late,
			events: flowing(time.Duration(first*float64(time.Second)), time.Duration(last*float64(time.Second)), rate), trailer: trailerOf(last),
		}.bytes(t)
	}
	for _, late := range []time.Duration{0, 3 * time.Millisecond, 300 * time.Millisecond, 550 * time.Millisecond, 1900 * time.Millisecond} {
		r := merged(t, part("a", 0, 0.4, 24.5), part("b", late, 0, 24.5), part("c", late/2, 0, 23.2))
		seconds, records := 0.0, int64(0)
		for i, p := range r.Series {
			if math.Abs(p.StartSeconds-r.Series[0].StartSeconds-seconds) > 1e-9 {
				t.Errorf("%s late: row %d begins at %v s, %v s after the first: %v", late, i, p.StartSeconds, seconds, r.Series)
			}
			seconds += p.Seconds
			records += p.Acknowledged
			whole := p.StartSeconds > late.Seconds()+0.4 && p.StartSeconds+p.Seconds < 23.2+late.Seconds()/2
			if got := float64(p.Acknowledged) / p.Seconds; whole && math.Abs(got/(3*rate)-1) > 0.03 {
				t.Errorf("%s late: %.0f/s in the %.3f s from %.3f s on, want %d", late, got, p.Seconds, p.StartSeconds, 3*rate)
			}
		}
		if math.Abs(seconds-r.Overlap.SpanSeconds) > 1e-9 || records != r.Records.Acknowledged {
			t.Errorf("%s late: %v s and %d records in the series, %v s and %d in all", late, seconds, records, r.Overlap.SpanSeconds, r.Records.Acknowledged)
		}
	}
}

func TestARowOfAMergedSeriesEndsWhereItsPhaseHasAGap(t *testing.T) {
	gap := steady(0, 8, 100)
	gap = append(gap[:3:3], gap[5:]...)
	part := func(host string) []byte {
		return partFile{run: "r", host: host, process: 1, events: gap, trailer: trailerOf(8)}.bytes(t)
	}
	for i, p := range merged(t, part("a"), part("b")).Series {
		if p.Seconds != 1 || p.Acknowledged != 200 {
			t.Errorf("row %d has %d records in %v s, want 200 in 1 s", i, p.Acknowledged, p.Seconds)
		}
	}
}
