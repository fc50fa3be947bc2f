package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// histogramJSON is the JSON of a histogram: its counts, and the exact values that these round.
type histogramJSON struct {
	Counts     []byte `json:"counts,omitempty"` // the payload of HdrHistogram's V2 encoding
	Sum        int64  `json:"sum_us,omitempty"`
	Min        int64  `json:"min_us,omitempty"`
	Max        int64  `json:"max_us,omitempty"`
	OutOfRange int64  `json:"out_of_range,omitempty"`
	Unserved   int64  `json:"unserved,omitempty"`
}

// documentJSON is the JSON of a histogram in a document for others.
type documentJSON struct {
	HDR string `json:"hdr_v2_base64,omitempty"` // HdrHistogram's V2 compressed encoding
	histogramJSON
}

func (h *Histogram) json(counts []byte) histogramJSON {
	return histogramJSON{Counts: counts, Sum: h.sum, Min: h.min, Max: h.max, OutOfRange: h.outOfRange, Unserved: h.unserved}
}

// MarshalJSON writes the histogram losslessly, for windows.
func (h Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(h.json(pack(h.each)))
}

// maxEncoded bounds what UnmarshalJSON hands to a decoder: a full histogram of this
// geometry takes less, whatever it counts.
const maxEncoded = 1 << 20

// UnmarshalJSON reads the JSON of a Histogram or a Distribution. A histogram of another geometry is an
// error, because it could not be merged without loss.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var j documentJSON
	err := json.Unmarshal(data, &j)
	if err == nil && j.HDR != "" {
		err = j.unpack()
	}
	if err == nil {
		*h, err = j.histogram()
	}
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	return nil
}

// unpack reads the counts of HdrHistogram's V2 compressed encoding.
func (j *documentJSON) unpack() error {
	if j.Counts != nil || len(j.HDR) > maxEncoded {
		return fmt.Errorf("it has its counts twice, or %d bytes is more than a histogram takes", len(j.HDR))
	}
	hdr, err := hdrhistogram.Decode([]byte(j.HDR))
	if err != nil {
		return err
	}
	if hdr.SignificantFigures() != significantDigits || hdr.LowestTrackableValue() != 1 ||
		hdr.HighestTrackableValue() != HighestTrackableValue.Microseconds() {
		return fmt.Errorf("its range is %d to %d at %d digits, kt's is 1 to %d at %d",
			hdr.LowestTrackableValue(), hdr.HighestTrackableValue(), hdr.SignificantFigures(),
			HighestTrackableValue.Microseconds(), significantDigits)
	}
	j.Counts = pack(func(f func(index int, count int64) bool) {
		for index, n := range hdr.Export().Counts {
			if n > 0 {
				f(index, n)
			}
		}
	})
	return nil
}

// histogram returns the histogram, or an error if its numbers contradict its counts: they would
// falsify every sum.
func (j *histogramJSON) histogram() (Histogram, error) {
	h := Histogram{sum: j.Sum, min: j.Min, max: j.Max, outOfRange: j.OutOfRange, unserved: j.Unserved}
	first, last := 0, 0
	if len(j.Counts) > 0 {
		var err error
		h.packed = j.Counts
		if h.n, first, last, err = h.packed.check(); err != nil {
			return Histogram{}, err
		}
	}
	n := float64(h.n)
	sum, least, most := float64(h.sum), float64(h.min)*n, float64(h.max)*n // all 0 when it is empty
	const rounding = 1e-9
	if min(h.outOfRange, h.unserved) < 0 || h.min < 0 || h.min > h.max || h.max > HighestTrackableValue.Microseconds() ||
		countsIndex(h.min) != first || countsIndex(h.max) != last ||
		sum < least*(1-rounding) || sum > most*(1+rounding) {
		return Histogram{}, fmt.Errorf("%d values from %d to %d with a sum of %d and %d out of range contradict each other",
			h.n, h.min, h.max, h.sum, h.outOfRange)
	}
	return h, nil
}

const significantDigits = 3

// Distribution is a Histogram in a document for others. Its JSON has HdrHistogram's V2 compressed
// encoding, which HdrHistogram's libraries in all languages read, and the exact values that the
// encoding rounds.
type Distribution struct{ Histogram }

// MarshalJSON writes the histogram losslessly.
func (d Distribution) MarshalJSON() ([]byte, error) {
	j := documentJSON{histogramJSON: d.json(nil)}
	if d.n > 0 {
		var err error
		if j.HDR, err = d.encode(time.Microsecond, lowestEquivalentValue); err != nil {
			return nil, err
		}
	}
	return json.Marshal(j)
}

// Nanoseconds returns the histogram in HdrHistogram's V2 compressed encoding, in base64, with its values in nanoseconds. A
// value is at most a thousandth above the one that ValueAtQuantile gives.
func (h *Histogram) Nanoseconds() (string, error) {
	return h.encode(time.Nanosecond, func(index int) int64 {
		return min(max(highestEquivalentValue(index), h.min), h.max) * int64(time.Microsecond)
	})
}

// encode returns HdrHistogram's V2 compressed encoding, in base64, for values in a unit. value returns that of a sub-bucket.
func (h *Histogram) encode(unit time.Duration, value func(index int) int64) (string, error) {
	hdr := hdrhistogram.New(1, int64(HighestTrackableValue/unit), significantDigits)
	var err error
	h.each(func(index int, count int64) bool {
		err = hdr.RecordValues(value(index), count)
		return err == nil
	})
	text, encodeErr := hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err := errors.Join(err, encodeErr); err != nil {
		return "", fmt.Errorf("encode histogram: %w", err)
	}
	return string(text), nil
}
