package capture

import (
	"hash/maphash"
	"maps"
	"math"
)

const (
	maxHashes = 1 << 14 // of distinct keys that are held: their number is within 1 % where there are more
	busyShare = 1e-3    // of the records: a key with more of them stays, since such keys decide how probable equal keys are
)

// keys counts distinct keys, and how alike their popularity is, by hashes alone, in 700 KiB at most.
type keys struct {
	n     int64 // records with a key
	seed  maphash.Seed
	level int              // hashes that end in so many zeros are in seen, a part of 1 in 2^level, and those of busy keys
	seen  map[uint64]int64 // and the records of each; Gibbons, "Distinct sampling", VLDB 2001
}

func (k *keys) add(key []byte) {
	if k.n++; k.seen == nil {
		k.seed, k.seen = maphash.MakeSeed(), make(map[uint64]int64)
	}
	hash := maphash.Bytes(k.seed, key)
	if n := k.seen[hash]; n > 0 || k.drawn(hash) {
		k.seen[hash] = n + 1
	}
	for len(k.seen) > maxHashes {
		k.level++
		maps.DeleteFunc(k.seen, func(hash uint64, n int64) bool { return !k.drawn(hash) && !k.isBusy(n) })
	}
}

// drawn reports whether a hash is in the part that stands for all.
func (k *keys) drawn(hash uint64) bool { return hash&(1<<k.level-1) == 0 }

func (k *keys) isBusy(n int64) bool { return float64(n) >= busyShare*float64(k.n) }

// sum returns the sum of a figure of the records of each key, over all keys: those that are not busy stand for 2^level each.
func (k *keys) sum(of func(n float64) float64) (sum float64) {
	for hash, n := range k.seen {
		if k.isBusy(n) {
			sum += of(float64(n))
		} else if k.drawn(hash) {
			sum += of(float64(n)) * math.Exp2(float64(k.level))
		}
	}
	return sum
}

// distinct returns how many keys were seen.
func (k *keys) distinct() float64 { return k.sum(func(float64) float64 { return 1 }) }

// collisions returns how probable it is that two records have one key.
func (k *keys) collisions() float64 {
	return k.sum(func(n float64) float64 { return n * (n - 1) }) / (float64(k.n) * max(float64(k.n)-1, 1))
}

const (
	recordsOfKey = 10   // so many records a key, or more, tell how many keys there are,
	mostKeys     = 0.7  // if this part of them was seen: the law alone does not tell its end
	nearlyAll    = 0.99 // if this part was seen, those are all
	noise        = 0.05 // of collisions where few keys stand for many
	evenZipf     = 0.3  // exponents below are taken for 0
	leastZipf    = 0.5  // kt makes exponents from here
	mostZipf     = 3
)

// of returns how many keys of a Zipf law there are, if as many were seen as were.
func (k *keys) of(zipf float64) float64 {
	seen := k.distinct()
	return math.Exp(bisect(math.Log(seen), math.Log(1000*seen), 1e-4, func(keys float64) bool {
		drawn, _ := zipfSums(math.Exp(keys), zipf, float64(k.n))
		return drawn < seen-0.5 // both are whole numbers
	}))
}

// even reports whether all keys may be alike.
func (k *keys) even() bool {
	_, same := zipfSums(k.of(0), 0, float64(k.n))
	pairs := 1.0 // of records with one key that were counted: their number is uncertain by its square root
	for _, n := range k.seen {
		pairs += float64(n) * float64(n-1) / 2
	}
	return k.collisions()-max(noise, 3/math.Sqrt(pairs))*(k.collisions()+1/float64(k.n)) <= same
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
	if known = float64(k.n) >= recordsOfKey*count && k.distinct() >= mostKeys*count; !known || k.level == 0 && k.distinct() >= nearlyAll*count {
		count = k.distinct()
	}
	return max(int64(math.Round(count)), 1), zipf, known
}

// exact reports whether so many keys are those that were counted one by one.
func (k *keys) exact(number int64) bool { return k.level == 0 && number == int64(len(k.seen)) }

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
