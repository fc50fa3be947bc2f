package capture

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	exactSizes = 100  // sizes below have a bucket each
	sizeGrowth = 1.01 // of the buckets above: their middle is within 0.5 % of each size in them
)

// sizes are how many records have which size, in buckets: 1,800 at most.
type sizes struct {
	counts map[int]int64 // by bucket
	n, sum int64
}

func (s *sizes) add(size int) {
	if s.counts == nil {
		s.counts = make(map[int]int64)
	}
	bucket := size
	if size >= exactSizes {
		bucket = exactSizes + int(math.Log(float64(size)/exactSizes)/math.Log(sizeGrowth))
	}
	s.counts[bucket]++
	s.n++
	s.sum += int64(size)
}

// mean returns the mean size in bytes, exactly.
func (s *sizes) mean() float64 { return float64(s.sum) / float64(max(s.n, 1)) }

// within returns the middle of a bucket.
func within(bucket int) float64 {
	if bucket < exactSizes {
		return float64(bucket)
	}
	return exactSizes * math.Pow(sizeGrowth, float64(bucket-exactSizes)+0.5)
}

// span is neighbouring buckets that become one range of sizes, drawn evenly.
type span struct{ values, weights []float64 }

// rangeOf returns the ends of the range whose mean is that of the buckets.
func (p span) rangeOf() (low, high, weight float64) {
	low, high = p.values[0], p.values[len(p.values)-1]
	mean := 0.0
	for i, w := range p.weights {
		weight += w
		mean += w * p.values[i]
	}
	if mean /= weight; mean < (low+high)/2 {
		return low, 2*mean - low, weight
	}
	return 2*mean - high, high, weight
}

// wrong returns how far the sizes of the range are from those of the buckets, in the part of a record's size and of the mean size.
func (p span) wrong(mean float64) (wrong float64) {
	low, high, weight := p.rangeOf()
	below := 0.0
	for i, v := range p.values {
		drawn := low + (high-low)*(below+p.weights[i]/2)/weight
		wrong += p.weights[i] * math.Abs(drawn-v) * (1/max(v, 1) + 1/max(mean, 1))
		below += p.weights[i]
	}
	return wrong
}

func (p span) cut(at int) (span, span) {
	return span{p.values[:at], p.weights[:at]}, span{p.values[at:], p.weights[at:]}
}

// maxRanges is how many ranges a distribution of sizes is written with.
const maxRanges = 12

// String returns the sizes as --record-size reads them. The buckets of the median and the 99th percentile are ranges of their own,
// so that both stay; each other range has the mean of its buckets, so that the mean stays.
func (s *sizes) String() string {
	var all span
	for _, bucket := range slices.Sorted(maps.Keys(s.counts)) {
		all.values, all.weights = append(all.values, within(bucket)), append(all.weights, float64(s.counts[bucket]))
	}
	if len(all.values) == 1 { // not the middle of its bucket
		return strconv.Itoa(max(int(math.Round(s.mean())), 1))
	}
	var spans []span
	rest, below, begin := all, 0.0, 0
	for i, w := range all.weights {
		for _, q := range []float64{0.5, 0.99} {
			if edge := q * float64(s.n); below < edge && edge <= below+w && i >= begin {
				before, from := rest.cut(i - begin)
				middle, after := from.cut(1)
				spans, rest, begin = append(spans, before, middle), after, i+1
			}
		}
		below += w
	}
	spans = slices.DeleteFunc(append(spans, rest), func(p span) bool { return len(p.values) == 0 })
	for len(spans) < maxRanges {
		best, at, saved := -1, 0, 1e-3*float64(s.n) // less is not worth a range
		for i, p := range spans {
			before := p.wrong(s.mean())
			for j := 1; j < len(p.values) && before > saved; j++ {
				left, right := p.cut(j)
				if less := before - left.wrong(s.mean()) - right.wrong(s.mean()); less > saved {
					best, at, saved = i, j, less
				}
			}
		}
		if best < 0 {
			break
		}
		left, right := spans[best].cut(at)
		spans = slices.Replace(spans, best, best+1, left, right)
	}
	var texts []string
	for _, p := range spans {
		low, high, weight := p.rangeOf()
		from, to := max(int(math.Round(low)), 1), max(int(math.Round(high)), 1)
		text := strconv.Itoa(from)
		if to > from {
			text = fmt.Sprintf("%d-%d", from, to)
		}
		texts = append(texts, text+"@"+number(100*weight/float64(s.n)))
	}
	if len(texts) == 1 {
		text, _, _ := strings.Cut(texts[0], "@")
		return text
	}
	return strings.Join(texts, ",")
}

// number returns a number of five digits at least, as settings have it.
func number(v float64) string {
	if v > 0 {
		digits := math.Pow(10, max(0, 4-math.Floor(math.Log10(v))))
		v = math.Round(v*digits) / digits
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
