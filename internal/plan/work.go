package plan

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Work is how long a consumer works on one record. The zero value is no time at all. ParseWork makes it.
type Work struct {
	text   string
	middle time.Duration // the time itself, the mean of exp, or the median of lognormal
	kind   string        // "", "exp" or "lognormal"
	sigma  float64       // of lognormal: the standard deviation of the logarithm
}

// ParseWork reads a time, in milliseconds without a unit: 250us; exp:MEAN, exponential, as of independent steps;
// or lognormal:MEDIAN,SPREAD, with a long tail: two thirds of the times lie within a factor of SPREAD, 1 to 100, around the median.
func ParseWork(s string) (w Work, err error) {
	kind, rest, found := strings.Cut(strings.TrimSpace(s), ":")
	if w.text = strings.TrimSpace(s); !found {
		kind, rest = "", kind
	}
	wrong := errors.New("write a time (1ms), exp:MEAN (exp:1ms) or lognormal:MEDIAN,SPREAD (lognormal:1ms,2)")
	if w.kind = kind; kind == "lognormal" {
		var spread string
		rest, spread, _ = strings.Cut(rest, ",")
		factor, err := ParseNumber(spread)
		if err != nil || !(factor >= 1 && factor <= 100) {
			return Work{}, wrong
		}
		w.sigma = math.Log(factor)
	}
	if w.middle, err = ParseTime(rest, time.Millisecond); err != nil || w.middle < 0 || w.middle > maxWork || kind != "" && kind != "exp" && kind != "lognormal" {
		return Work{}, wrong
	}
	if kind != "" && w.middle == 0 {
		return Work{}, errors.New("a distribution needs a time above 0; leave the flag out for none")
	}
	if kind == "" {
		return FixedWork(w.middle), nil
	}
	return w, nil
}

// FixedWork returns the same time for each record.
func FixedWork(d time.Duration) Work {
	if d <= 0 {
		return Work{}
	}
	return Work{text: d.String(), middle: d}
}

// maxWork keeps times far from what a clock can count, also in the tail.
const maxWork = 24 * time.Hour

// Mean returns the mean time.
func (w Work) Mean() time.Duration {
	return time.Duration(float64(w.middle) * math.Exp(w.sigma*w.sigma/2)) // Johnson, Kotz: Continuous Univariate Distributions, 14.3
}

// Draw returns the time for one record.
func (w Work) Draw(rng *rand.Rand) time.Duration {
	d := float64(w.middle)
	switch w.kind {
	case "exp":
		d *= rng.ExpFloat64()
	case "lognormal":
		d *= math.Exp(w.sigma * rng.NormFloat64())
	}
	return time.Duration(min(d, float64(maxWork)))
}

// String returns it as ParseWork reads it.
func (w Work) String() string { return w.text }

// IsZero reports whether records take no time.
func (w Work) IsZero() bool { return w.middle == 0 }

// MarshalText returns String.
func (w Work) MarshalText() ([]byte, error) { return []byte(w.text), nil }

// UnmarshalText reads what ParseWork does.
func (w *Work) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*w = Work{}
		return nil
	}
	*w, err = ParseWork(string(b))
	return err
}

// Equal reports whether both are the same.
func (w Work) Equal(o Work) bool { return w == o }
