package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// The exponents of a Zipf law that kt takes.
const (
	minZipf = 0.5
	maxZipf = 3
)

// ParseZipf reads the law "zipf:S" and returns its exponent S, 0.5 to 3.
func ParseZipf(law string) (float64, error) {
	number, ok := strings.CutPrefix(law, "zipf:")
	s, err := ParseNumber(number)
	if !ok || err != nil || !(s >= minZipf && s <= maxZipf) {
		return 0, fmt.Errorf("it must be zipf:S with S from %g to %g, as zipf:1.1", minZipf, float64(maxZipf))
	}
	return s, nil
}

// Zipf draws ranks from 0 to n-1, of which rank k comes with a probability in proportion to (k+1)^-s.
//
// It draws by rejection-inversion, which needs no table: Hörmann and Derflinger, "Rejection-inversion to generate variates from
// monotone discrete distributions", ACM TOMACS 6 (1996). The law of math/rand is for s above 1 only.
type Zipf struct {
	n           float64
	flat        float64 // 1-s
	first, last float64 // the area below the hat: up to rank 1, with the whole of rank 0, and up to the last rank
	near        float64 // a draw that is so near above its rank is always taken
}

// NewZipf returns the law with the exponent s, above 0, of n ranks, 1 to 2^53.
func NewZipf(s float64, n int64) *Zipf {
	z := &Zipf{n: float64(n), flat: 1 - s}
	z.first, z.last = z.area(1.5)-1, z.area(z.n+0.5)
	z.near = 2 - z.place(z.area(2.5)-z.hat(2))
	return z
}

// Draw returns the next rank; 0 is the most frequent. It allocates nothing.
func (z *Zipf) Draw(rng *rand.Rand) int64 {
	for {
		u := z.last + rng.Float64()*(z.first-z.last)
		x := z.place(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.near || u >= z.area(k+0.5)-z.hat(k) {
			return int64(k) - 1
		}
	}
}

// weight returns about how often ranks come from one up to another, which is not among them, beside those of other ranges.
func (z *Zipf) weight(from, to int64) float64 {
	below := z.first // of rank 0, whose weight is 1
	if from > 0 {
		below = z.area(float64(from) + 0.5)
	}
	return z.area(float64(to)+0.5) - below
}

// hat returns x^-s.
func (z *Zipf) hat(x float64) float64 { return math.Exp((z.flat - 1) * math.Log(x)) }

// area returns the integral of the hat from 1 to x.
func (z *Zipf) area(x float64) float64 {
	l := math.Log(x)
	if t := z.flat * l; math.Abs(t) > 1e-8 { // else the hat is nearly 1/x
		return math.Expm1(t) / t * l
	}
	return l
}

// place returns the x whose area is a: the inverse of area.
func (z *Zipf) place(a float64) float64 {
	if t := max(z.flat*a, -1); math.Abs(t) > 1e-8 {
		return math.Exp(math.Log1p(t) / t * a)
	}
	return math.Exp(a)
}
