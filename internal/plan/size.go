package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// DefaultRecordSize is the size in bytes of a record of a load that does not say.
const DefaultRecordSize = 512

// MaxRecordSize is the largest record that a plan may ask for: 1 GiB, above what
// any broker is set to take.
const MaxRecordSize = 1 << 30

// Size is how large records are: always the same, or drawn from a distribution.
// Make one with ParseSize.
type Size struct {
	text    string
	buckets []sizeBucket // uniform between Min and Max, chosen by Weight
	mean    float64      // of the normal distribution before it is cut, when stddev > 0
	stddev  float64
}

// maxWeight keeps the sum of weights a number.
const maxWeight = 1e12

type sizeBucket struct {
	min, max int
	weight   float64
}

// FixedSize returns a size of n bytes.
func FixedSize(n int) Size {
	return Size{text: strconv.Itoa(n), buckets: []sizeBucket{{n, n, 1}}}
}

// ParseSize reads a record size:
//
//	512              always 512 bytes (64KiB, 1MB work too)
//	100-2000         uniform from 100 to 2000 bytes
//	normal:1024,200  normal with mean 1024 and standard deviation 200, cut at 1 byte and at mean + 6 deviations
//	100@80,10KiB@20  100 bytes for 80 records of 100, 10 KiB for 20; ranges may be weighted too
func ParseSize(s string) (Size, error) {
	z, err := parseSize(strings.TrimSpace(s))
	if err != nil {
		return Size{}, fmt.Errorf("%q is not a record size: %w", s, err)
	}
	z.text = strings.TrimSpace(s)
	return z, nil
}

func parseSize(s string) (z Size, err error) {
	if rest, ok := strings.CutPrefix(s, "normal:"); ok {
		return parseNormal(rest)
	}
	for part := range strings.SplitSeq(s, ",") {
		text, weight := part, 1.0
		if i := strings.LastIndexByte(part, '@'); i >= 0 {
			text = part[:i]
			if weight, err = ParseNumber(part[i+1:]); err != nil || !(weight > 0 && weight <= maxWeight) {
				return Size{}, fmt.Errorf("%q is not a weight above 0, up to %g", part[i+1:], maxWeight)
			}
		} else if strings.Contains(s, ",") {
			return Size{}, fmt.Errorf("each of several sizes needs a weight, as in 100@80,1000@20")
		}
		from, to, err := parseSizes(text, "-")
		switch {
		case err != nil:
			return Size{}, err
		case from > to:
			return Size{}, fmt.Errorf("%d is above %d", from, to)
		}
		z.buckets = append(z.buckets, sizeBucket{from, to, weight})
	}
	return z, nil
}

// parseSizes reads two numbers of bytes, or one that counts for both.
func parseSizes(s, between string) (int, int, error) {
	var sizes []int
	for _, text := range strings.SplitN(s, between, 2) {
		n, err := ParseBytes(text)
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("%w (or 100-2000, normal:MEAN,STDDEV, 100@80,10KiB@20)", err)
		case n < 1 || n > MaxRecordSize:
			return 0, 0, fmt.Errorf("it must be from 1 byte to %d", MaxRecordSize)
		}
		sizes = append(sizes, int(n))
	}
	return sizes[0], sizes[len(sizes)-1], nil
}

func parseNormal(s string) (Size, error) {
	mean, stddev, err := parseSizes(s, ",")
	switch top := mean + normalCut*stddev; {
	case !strings.Contains(s, ","):
		return Size{}, fmt.Errorf("write normal:MEAN,STDDEV")
	case err != nil:
		return Size{}, err
	case top > MaxRecordSize:
		return Size{}, fmt.Errorf("it reaches %d bytes, over %d", top, MaxRecordSize)
	default:
		return Size{mean: float64(mean), stddev: float64(stddev), buckets: []sizeBucket{{1, top, 1}}}, nil
	}
}

// normalCut is where a normal distribution is cut, in standard deviations: beyond it lies 1 record in a thousand million.
const normalCut = 6

// Max returns the largest size that can be drawn, in bytes.
func (z Size) Max() int {
	n := 0
	for _, b := range z.buckets {
		n = max(n, b.max)
	}
	return n
}

// Min returns the smallest size that can be drawn, in bytes. Only a normal distribution has
// none to speak of: it is merely cut at 1 byte.
func (z Size) Min() (n int, ok bool) {
	if z.stddev > 0 || z.IsZero() {
		return 0, false
	}
	n = z.buckets[0].min
	for _, b := range z.buckets {
		n = min(n, b.min)
	}
	return n, true
}

// Mean returns the expected size in bytes.
func (z Size) Mean() float64 {
	if z.stddev > 0 {
		// A size below 1 byte is drawn as 1 byte and lifts the mean.
		cut := (1 - z.mean) / z.stddev
		below := math.Erfc(-cut/math.Sqrt2) / 2
		return below + (1-below)*z.mean + z.stddev*math.Exp(-cut*cut/2)/math.Sqrt(2*math.Pi)
	}
	var sum, weights float64
	for _, b := range z.buckets {
		sum += b.weight * float64(b.min+b.max) / 2
		weights += b.weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// Fixed reports whether every record has the same size.
func (z Size) Fixed() bool {
	return len(z.buckets) == 1 && z.stddev == 0 && z.buckets[0].min == z.buckets[0].max
}

// Draw takes one size from the distribution.
func (z Size) Draw(rng *rand.Rand) int {
	if z.stddev > 0 {
		return min(max(1, int(math.Round(rng.NormFloat64()*z.stddev+z.mean))), z.Max())
	}
	var total float64
	for _, b := range z.buckets {
		total += b.weight
	}
	at := rng.Float64() * total
	for _, b := range z.buckets {
		if at -= b.weight; at < 0 {
			return b.min + rng.IntN(b.max-b.min+1)
		}
	}
	return z.buckets[len(z.buckets)-1].max
}

// String returns the size as ParseSize reads it.
func (z Size) String() string { return z.text }

// IsZero reports whether no size was set, as when payloads come from a file.
func (z Size) IsZero() bool { return len(z.buckets) == 0 }

// MarshalText writes the size as ParseSize reads it.
func (z Size) MarshalText() ([]byte, error) { return []byte(z.text), nil }

// UnmarshalText reads a size as ParseSize does.
func (z *Size) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*z = Size{}
		return nil
	}
	*z, err = ParseSize(string(b))
	return err
}

// ParseCount reads a whole number in any of the forms in which kt prints one: "1500000",
// "1,500,000" and "1.5M" (k, M, G, T, P and E are thousand, million and so on). The error
// gives the reason alone.
func ParseCount(s string) (int64, error) {
	if n, err := strconv.ParseInt(ungrouped(s), 10, 64); err == nil {
		return n, nil // all 64 bits, which a float64 does not hold
	}
	v, ok := parseNumber(s)
	switch {
	case !ok || v != math.Trunc(v):
		return 0, errors.New("it must be a whole number, as 1500000 or 1.5M")
	case math.Abs(v) >= math.MaxInt64:
		return 0, errors.New("it is too large")
	}
	return int64(v), nil
}

// parseNumber reads what ParseCount does, with a fraction if there is one. ok is false for what is no finite number.
func parseNumber(s string) (v float64, ok bool) {
	s, factor := ungrouped(s), 1.0
	for _, prefix := range []unit{{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"E", 1e18}} { // many write K
		if number, found := strings.CutSuffix(s, prefix.suffix); found {
			s, factor = number, prefix.factor
			break
		}
	}
	n, err := ParseNumber(s)
	if err != nil || math.IsInf(n*factor, 0) {
		return 0, false
	}
	return wholeIfNear(n * factor), true
}

// ParseNumber reads a decimal number, as 0.5, 010 (ten) and 1e6. It refuses what only a program writes: 0x10p0, inf and nan. All
// numbers with a fraction that a user writes are read by it.
func ParseNumber(s string) (float64, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) && !strings.ContainsAny(s, "xX") {
		return n, nil
	}
	return 0, errors.New("it must be a number")
}

// wholeIfNear undoes the error of float64 in a decimal multiple: 1.005 × 1000 is not quite 1005 in it.
func wholeIfNear(v float64) float64 {
	if whole := math.Round(v); math.Abs(v-whole) <= math.Abs(v)*1e-15 {
		return whole
	}
	return v
}

// grouped is a number whose thousands are set apart.
var grouped = regexp.MustCompile(`^-?\d{1,3}([,_]\d{3})+(\.\d+)?$`)

// ungrouped returns a number without the marks between its thousands.
func ungrouped(s string) string {
	s = strings.TrimSpace(s)
	if grouped.MatchString(s) {
		s = strings.NewReplacer(",", "", "_", "").Replace(s)
	}
	return s
}
