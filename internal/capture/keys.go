package capture

import (
	"hash/maphash"
	"math"
	"slices"
)

const (
	maxHashes  = 1 << 14 // of distinct keys that are held: their number is within 1 % where there are more
	exactKeys  = 1000    // whose records are counted one by one: that takes no more memory than a sketch
	sketchRows = 5
	sketchBits = 11 // of the columns of a row: a row is within 3 %, and the median of all within 2 %
)

// keys counts distinct keys, and how alike their popularity is, by hashes alone, in 700 KiB at most.
type keys struct {
	n      int64 // records with a key
	seed   maphash.Seed
	level  int                                 // hashes that end in so many zeros are in seen: a part of 1 in 2^level
	seen   map[uint64]int32                    // and the records of each; Gibbons, "Distinct sampling", VLDB 2001
	sketch *[sketchRows][1 << sketchBits]int32 // nil: there are few keys
}

func (k *keys) add(key []byte) {
	if k.n++; k.seen == nil {
		k.seed, k.seen = maphash.MakeSeed(), make(map[uint64]int32)
	}
	hash := maphash.Bytes(k.seed, key)
	if hash&(1<<k.level-1) == 0 {
		k.seen[hash]++
	}
	if k.sketch != nil {
		k.note(hash, 1)
	} else if len(k.seen) > exactKeys {
		k.sketch = new([sketchRows][1 << sketchBits]int32)
		for hash, n := range k.seen {
			k.note(hash, n)
		}
	}
	for ; len(k.seen) > maxHashes; k.level++ {
		for h := range k.seen {
			if h>>k.level&1 == 1 {
				delete(k.seen, h)
			}
		}
	}
}

// note adds n records of a key to the sketch. Each row sums up +n and -n by key, so that its squares are those of the counts of the
// keys, in the mean (Charikar and others, 2002).
func (k *keys) note(hash uint64, n int32) {
	for row := range k.sketch {
		hash = hash*0x9e3779b97f4a7c15 + 0xd1b54a32d192ed03
		mixed := (hash ^ hash>>32) * 0xbf58476d1ce4e5b9
		k.sketch[row][mixed>>(64-sketchBits)] += n - n*int32(mixed>>20&1)*2
	}
}

// distinct returns how many keys were seen.
func (k *keys) distinct() float64 { return float64(len(k.seen)) * math.Exp2(float64(k.level)) }

// collisions returns how probable it is that two records have one key.
func (k *keys) collisions() float64 {
	squares := []float64{0}
	if k.sketch == nil {
		for _, n := range k.seen {
			squares[0] += float64(n) * float64(n)
		}
	} else {
		squares = nil
		for _, row := range k.sketch {
			sum := 0.0
			for _, v := range row {
				sum += float64(v) * float64(v)
			}
			squares = append(squares, sum)
		}
		slices.Sort(squares)
	}
	n := float64(k.n)
	return (squares[len(squares)/2] - n) / (n * max(n-1, 1))
}

const (
	recordsOfKey = 10   // so many records a key, or more, tell how many keys there are,
	mostKeys     = 0.7  // if this part of them was seen: the law alone does not tell its end
	noise        = 0.05 // of the sketch: three standard deviations
	evenZipf     = 0.3  // exponents below are taken for 0
	leastZipf    = 0.5  // kt makes exponents from here
	mostZipf     = 3
)

// of returns how many keys of a Zipf law there are, if as many were seen as were.
func (k *keys) of(zipf float64) float64 {
	seen := k.distinct()
	return math.Exp(bisect(math.Log(seen), math.Log(1000*seen), 1e-4, func(keys float64) bool {
		drawn, _ := zipfSums(math.Exp(keys), zipf, float64(k.n))
		return drawn < seen
	}))
}

// even reports whether all keys may be alike.
func (k *keys) even() bool {
	_, same := zipfSums(k.of(0), 0, float64(k.n))
	return k.collisions()-noise*(k.collisions()+1/float64(k.n)) <= same
}

// popularity returns how many keys there are and the exponent of their Zipf law, 0 where all are alike. known is false where the
// number is only a lower bound.
func (k *keys) popularity() (number int64, zipf float64, known bool) {
	if collisions := k.collisions(); !k.even() {
		zipf = bisect(0, mostZipf, 1e-3, func(s float64) bool {
			_, same := zipfSums(k.of(s), s, float64(k.n))
			return same < collisions
		})
	}
	if zipf < evenZipf {
		zipf = 0
	} else {
		zipf = max(zipf, leastZipf)
	}
	count := k.of(zipf)
	if known = float64(k.n) >= recordsOfKey*count && k.distinct() >= mostKeys*count; !known {
		count = k.distinct()
	}
	return max(int64(math.Round(count)), 1), zipf, known
}

// bisect returns where below, which is true up to some place, becomes false, to within a distance.
func bisect(from, to, within float64, below func(at float64) bool) float64 {
	for to-from > within {
		if middle := (from + to) / 2; below(middle) {
			from = middle
		} else {
			to = middle
		}
	}
	return (from + to) / 2
}

// zipfSums returns how many of some keys n records have, and the probability that two have the same, where the key of rank k comes
// with a probability in proportion to k^-s. Beyond 40, ranks are taken together as long as they differ by 5 %.
func zipfSums(keys, s, n float64) (distinct, same float64) {
	each := func(do func(weight, ranks float64)) {
		for from := 1.0; from <= keys; {
			to := min(max(from+1, math.Floor(from*1.05)), math.Floor(keys)+1)
			do(math.Pow((from+to-1)/2, -s), to-from)
			from = to
		}
	}
	sum := 0.0
	each(func(weight, ranks float64) { sum += weight * ranks })
	each(func(weight, ranks float64) {
		p := weight / sum
		distinct -= ranks * math.Expm1(n*math.Log1p(-min(p, 1-1e-12)))
		same += ranks * p * p
	})
	return distinct, same
}
