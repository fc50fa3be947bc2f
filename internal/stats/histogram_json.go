package stats

import (
	"encoding/binary"
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

// encode returns HdrHistogram's V2 compressed encoding, in base64. value returns that of a sub-bucket in a unit.
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

// packed is the encoded form of the counts of a histogram: the payload of HdrHistogram's V2 encoding.
// It has numbers for the sub-buckets in turn, up to the last one with a value:
//
//   - a positive number is the count of one sub-bucket
//   - a negative number, -n, is for n sub-buckets without a value
//   - 0 is for one sub-bucket without a value
//
// Numbers are ZigZag varints, as package binary reads and appends them. A packed histogram is never changed.
type packed []byte

// maxPacked bounds the length of encoded counts.
const maxPacked = binary.MaxVarintLen64 * countsLength

// pack encodes the counts that each passes to its function.
func pack(each func(func(index int, count int64) bool)) packed {
	var b packed
	next := 0
	each(func(index int, count int64) bool {
		if gap := index - next; gap == 1 {
			b = append(b, 0)
		} else if gap > 1 {
			b = binary.AppendVarint(b, -int64(gap))
		}
		b = binary.AppendVarint(b, count)
		next = index + 1
		return true
	})
	return b
}

var errPacked = errors.New("its counts are no HdrHistogram payload of kt's range")

// check returns the number of values, and the first and the last sub-bucket with a value. It is an
// error if the counts go beyond the last sub-bucket or an int64, or end in a gap.
func (b packed) check() (total int64, first, last int, err error) {
	if len(b) == 0 || len(b) > maxPacked {
		return 0, 0, 0, errPacked
	}
	next := 0                               // sub-bucket
	var c byte                              // the last number's first byte
	for i := 0; i < len(b) && total >= 0; { // below 0: it has overflowed
		if i+8 <= len(b) { // eight numbers of one byte at once: a merge checks gigabytes
			if some := binary.LittleEndian.Uint64(b[i:]); some&(0x80*each8) == 0 {
				half, gaps := some>>1&(0x3f*each8), some&each8*0xff
				total, next = total+sum8(half&^gaps), next+8+int(sum8(half&gaps))
				c = b[i+7]
				i += 8
				continue
			}
		}
		count, step, size := numberOf(b[i:])
		if size == 0 || count == 0 && step <= 1 && size > 1 || step > countsLength {
			return 0, 0, 0, errPacked
		}
		total, next = total+count, next+step
		c = b[i]
		i += size
	}
	if total < 0 || c == 0 || c&1 == 1 || next > countsLength {
		return 0, 0, 0, errPacked
	}
	b.each(func(index int, _ int64) bool {
		first = index
		return false
	})
	return total, first, next - 1, nil
}

const each8 = 0x0101010101010101 // 1 in each of eight bytes

// sum8 returns the sum of eight bytes below 64.
func sum8(v uint64) int64 {
	const pairs = 0x00ff00ff00ff00ff
	return int64((v&pairs + v>>8&pairs) * 0x0001000100010001 >> 48)
}

type oneNumber struct {
	count int64
	step  uint
}

// oneByte are the numbers of one byte. Counts and gaps alternate at random: a processor would mispredict a branch half of the time.
var oneByte = func() (all [0x80]oneNumber) {
	for c := range all {
		count, step, _ := numberOf([]byte{byte(c)})
		all[c].count, all[c].step = count, uint(step)
	}
	return all
}()

// numberOf returns count, step and size of the number at the start of b; size 0 if there is none.
func numberOf(b []byte) (count int64, step, size int) {
	n, size := binary.Varint(b)
	return max(n, 0), int(max(-n, 1)), max(size, 0)
}

// each calls f for every sub-bucket with a value, least first, until f returns false. The counts have
// been checked.
func (b packed) each(f func(index int, count int64) bool) {
	for next := 0; len(b) > 0; {
		count, step, size := numberOf(b)
		if count > 0 && !f(next, count) {
			return
		}
		next += step
		b = b[size:]
	}
}

// addTo adds the counts to d, page by page.
func (b packed) addTo(d *dense) {
	next := uint(0) // not an int, which would have to be checked for being below 0
	for i := 0; i < len(b); {
		page, at := next>>pageBits, next&(pageSize-1)
		to := d.page(int(page))
		for ; i < len(b) && at < pageSize; i++ {
			c := b[i]
			if c < 0x80 {
				to[at] += oneByte[c].count
				at += oneByte[c].step
				continue
			}
			count, step, size := numberOf(b[i:])
			to[at] += count
			at += uint(step)
			i += size - 1
		}
		next = page<<pageBits + at
	}
}
