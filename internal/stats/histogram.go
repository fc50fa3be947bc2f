package stats

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Every histogram of kt has one geometry, so that any two can be merged:
// microseconds from 1 to one hour at three significant digits, 184 KiB once it
// holds a value.
const (
	// MaxTrackable is the longest duration that a histogram holds. A longer one
	// is counted as out of range.
	MaxTrackable = time.Hour

	significantDigits = 3
)

// Histogram is an HdrHistogram of durations in microseconds. The zero value is
// empty and ready for use; memory is taken with the first value. It is not safe
// for concurrent use.
type Histogram struct {
	hdr        *hdrhistogram.Histogram
	sum        int64 // microseconds, exact
	min, max   int64 // microseconds, exact where HdrHistogram rounds; they mean nothing while it holds no value
	outOfRange int64
}

// Record adds one duration. A negative one, or one over MaxTrackable, is
// counted by OutOfRange and left out of everything else.
func (h *Histogram) Record(d time.Duration) { h.RecordN(d, 1) }

// RecordN adds n equal durations.
func (h *Histogram) RecordN(d time.Duration, n int64) {
	if d < 0 || d > MaxTrackable {
		h.outOfRange += n
		return
	}
	if h.hdr == nil {
		h.hdr = newHDR()
		h.min = math.MaxInt64
	}
	us := int64(d / time.Microsecond)
	if err := h.hdr.RecordValues(us, n); err != nil {
		h.outOfRange += n
		return
	}
	h.min = min(h.min, us)
	h.max = max(h.max, us)
	h.sum += us * n
}

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, MaxTrackable.Microseconds(), significantDigits)
}

// Count is the number of durations held, without those out of range.
func (h *Histogram) Count() int64 {
	if h.hdr == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// OutOfRange is the number of durations that were negative or over MaxTrackable.
func (h *Histogram) OutOfRange() int64 { return h.outOfRange }

// Min is the shortest duration, exact to the microsecond; 0 when empty.
func (h *Histogram) Min() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.min) * time.Microsecond
}

// Max is the longest duration, exact to the microsecond; 0 when empty.
func (h *Histogram) Max() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.max) * time.Microsecond
}

// Mean is the exact mean; 0 when empty.
func (h *Histogram) Mean() time.Duration {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return time.Duration(float64(h.sum) / float64(n) * float64(time.Microsecond))
}

// Quantile is the value below which the share q (0 to 1) of the durations lie,
// to three significant digits, and never above Max; 0 when empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	v := h.hdr.ValueAtPercentile(q * 100)
	return time.Duration(min(max(v, h.min), h.max)) * time.Microsecond
}

// Each calls f for every bucket that holds a value, shortest first, with the
// bucket's highest duration and its count.
func (h *Histogram) Each(f func(upTo time.Duration, count int64)) {
	if h.Count() == 0 {
		return
	}
	for _, b := range h.hdr.Distribution() {
		if b.Count > 0 {
			f(time.Duration(b.To)*time.Microsecond, b.Count)
		}
	}
}

// empty tells whether nothing was recorded, not even out of range.
func (h *Histogram) empty() bool { return h.Count() == 0 && h.outOfRange == 0 }

// add merges o into h.
func (h *Histogram) add(o *Histogram) {
	h.outOfRange += o.outOfRange
	if o.Count() == 0 {
		return
	}
	if h.hdr == nil {
		h.hdr = newHDR()
		h.min = math.MaxInt64
	}
	h.outOfRange += h.hdr.Merge(o.hdr) // 0 while all share one geometry
	h.min, h.max = min(h.min, o.min), max(h.max, o.max)
	h.sum += o.sum
}

// reset empties h and keeps its memory.
func (h *Histogram) reset() {
	if h.hdr != nil && h.hdr.TotalCount() > 0 {
		h.hdr.Reset()
	}
	h.sum, h.min, h.max, h.outOfRange = 0, math.MaxInt64, 0, 0
}

// histogramJSON is how a histogram travels: HdrHistogram's own V2 compressed
// encoding, which every HdrHistogram library reads, beside what that encoding
// rounds.
type histogramJSON struct {
	HDR        string `json:"hdr_v2_base64,omitempty"`
	Sum        int64  `json:"sum_us,omitempty"`
	Min        int64  `json:"min_us,omitempty"`
	Max        int64  `json:"max_us,omitempty"`
	OutOfRange int64  `json:"out_of_range,omitempty"`
}

// MarshalJSON writes the histogram losslessly.
func (h Histogram) MarshalJSON() ([]byte, error) {
	j := histogramJSON{OutOfRange: h.outOfRange}
	if h.Count() > 0 {
		j.Sum, j.Min, j.Max = h.sum, h.min, h.max
		b, err := h.hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return nil, fmt.Errorf("encode histogram: %w", err)
		}
		j.HDR = string(b) // the library's Encode gives base64
	}
	return json.Marshal(j)
}

// maxEncodedHistogram bounds what UnmarshalJSON hands to the decoder: a full
// histogram of this geometry encodes to under 12 KiB at realistic counts.
const maxEncodedHistogram = 1 << 20

// UnmarshalJSON reads what MarshalJSON wrote. A histogram of another geometry is
// an error, for it could not be merged without loss.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var j histogramJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	*h = Histogram{sum: j.Sum, min: j.Min, max: j.Max, outOfRange: j.OutOfRange}
	if j.HDR == "" {
		return h.check()
	}
	if len(j.HDR) > maxEncodedHistogram {
		return fmt.Errorf("decode histogram: %d bytes is more than a histogram takes", len(j.HDR))
	}
	if _, err := base64.StdEncoding.DecodeString(j.HDR); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	hdr, err := hdrhistogram.Decode([]byte(j.HDR))
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if hdr.SignificantFigures() != significantDigits || hdr.LowestTrackableValue() != 1 ||
		hdr.HighestTrackableValue() != MaxTrackable.Microseconds() {
		return fmt.Errorf("decode histogram: its range is %d to %d at %d digits, kt's is 1 to %d at %d",
			hdr.LowestTrackableValue(), hdr.HighestTrackableValue(), hdr.SignificantFigures(),
			MaxTrackable.Microseconds(), significantDigits)
	}
	if hdr.TotalCount() > 0 {
		h.hdr = hdr
	}
	return h.check()
}

// check tells whether the exact numbers of a histogram that was read go with its
// counts. Those that do not would spoil everything it is merged into.
func (h *Histogram) check() error {
	n := float64(h.Count())
	sum, least, most := float64(h.sum), float64(h.min)*n, float64(h.max)*n // all 0 when it is empty
	const rounding = 1e-9
	if h.outOfRange < 0 || h.min < 0 || h.min > h.max || h.max > MaxTrackable.Microseconds() ||
		sum < least*(1-rounding) || sum > most*(1+rounding) || n == 0 && h.max != 0 {
		return fmt.Errorf("decode histogram: %d values from %d to %d with a sum of %d and %d out of range contradict each other",
			h.Count(), h.min, h.max, h.sum, h.outOfRange)
	}
	return nil
}

// IsZero tells whether nothing was recorded.
func (h Histogram) IsZero() bool { return h.empty() }
