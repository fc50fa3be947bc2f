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

// String returns the sizes as --record-size reads them: as ranges between quantiles, or up to a gap. So the median and the 99th
// percentile stay. Each range has the mean of its sizes, so that the mean stays.
func (s *sizes) String() string {
	if len(s.counts) == 1 { // not the middle of its bucket
		return strconv.Itoa(max(int(math.Round(s.mean())), 1))
	}
	ends := []float64{0.05, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95, 0.99, 0.998, 1}
	const gap, small = 1.5, 0.002 // a range ends before a size that is so many times larger, unless it is so small a share
	var texts []string
	var weights []float64
	var low, high, sum, weight, below float64
	end := func() {
		mean := sum / weight
		if mean < (low+high)/2 {
			high = 2*mean - low
		} else {
			low = 2*mean - high
		}
		text := fmt.Sprintf("%.0f-%.0f", max(math.Round(low), 1), max(math.Round(high), 1))
		if from, to, _ := strings.Cut(text, "-"); from == to {
			text = from
		}
		if last := len(texts) - 1; last >= 0 && texts[last] == text {
			weights[last] += weight
		} else {
			texts, weights = append(texts, text), append(weights, weight)
		}
		sum, weight = 0, 0
	}
	for _, bucket := range slices.Sorted(maps.Keys(s.counts)) {
		size, left := within(bucket), float64(s.counts[bucket])
		if weight > small*float64(s.n) && size > gap*high {
			end()
		}
		for left > 0 {
			if weight == 0 {
				low = size
			}
			part := min(left, ends[0]*float64(s.n)-below)
			high, sum, weight, below, left = size, sum+part*size, weight+part, below+part, left-part
			if len(ends) > 1 && below >= ends[0]*float64(s.n)-0.5 { // half a record
				if ends = ends[1:]; weight > 0 {
					end()
				}
			}
		}
	}
	if weight > 0 {
		end()
	}
	for i, w := range weights {
		texts[i] += "@" + number(100*w/float64(s.n))
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
