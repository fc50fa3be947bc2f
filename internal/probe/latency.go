package probe

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// recorder holds what one worker timed. kt's histogram of a run counts in
// microseconds, which is too coarse for a write to the page cache: this one counts
// in nanoseconds. It is not safe for concurrent use.
type recorder struct {
	hdr    *hdrhistogram.Histogram
	count  int64
	sum    time.Duration
	max    time.Duration
	stalls Stalls
	bytes  int64 // of the operations that were recorded
}

const longest = time.Hour // that a histogram holds; a longer one counts as this

func newRecorder() *recorder {
	return &recorder{hdr: hdrhistogram.New(1, int64(longest), 3)}
}

// record adds one operation.
func (r *recorder) record(d time.Duration, bytes int) {
	_ = r.hdr.RecordValue(int64(min(max(d, 1), longest))) // always in range
	r.count++
	r.sum += d
	r.max = max(r.max, d)
	r.bytes += int64(bytes)
	if d <= 10*time.Millisecond {
		return
	}
	r.stalls.Over10ms++
	if d > 50*time.Millisecond {
		r.stalls.Over50ms++
	}
	if d > 500*time.Millisecond {
		r.stalls.Over500ms++
	}
}

// merge adds what other workers timed.
func merge(all []*recorder) *recorder {
	sum := newRecorder()
	for _, r := range all {
		sum.hdr.Merge(r.hdr)
		sum.count += r.count
		sum.sum += r.sum
		sum.max = max(sum.max, r.max)
		sum.bytes += r.bytes
		sum.stalls.Over10ms += r.stalls.Over10ms
		sum.stalls.Over50ms += r.stalls.Over50ms
		sum.stalls.Over500ms += r.stalls.Over500ms
	}
	return sum
}

// latency is the percentiles; all 0 when nothing was timed.
func (r *recorder) latency() Latency {
	if r.count == 0 {
		return Latency{}
	}
	at := func(percent float64) float64 {
		return micros(min(time.Duration(r.hdr.ValueAtPercentile(percent)), r.max))
	}
	return Latency{
		Count: r.count, Mean: micros(r.sum / time.Duration(r.count)),
		P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: micros(r.max),
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
