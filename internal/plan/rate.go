package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a target: records or bytes a second. The zero value is Unlimited.
type Rate struct {
	PerSecond float64 // of stages, the mean
	Bytes     bool    // PerSecond counts bytes of keys and values
	Stages    []Stage // in their order; empty: the rate is always the same
}

// Unlimited is the rate of a closed loop: as fast as the brokers take it.
var Unlimited = Rate{}

// maxRate is above what any client can offer, and keeps float64 schedules exact to well under a microsecond for days.
const maxRate float64 = 1e9

// IsUnlimited reports whether there is no target.
func (r Rate) IsUnlimited() bool { return r.PerSecond == 0 }

// RecordsPerSecond returns the target in records; 0 when unlimited. meanBytes is the
// mean size of a record, used for a rate in bytes.
func (r Rate) RecordsPerSecond(meanBytes float64) float64 {
	if r.Bytes && meanBytes > 0 {
		return r.PerSecond / meanBytes
	}
	return r.PerSecond
}

// String prints the rate as ParseTarget reads it.
func (r Rate) String() string {
	switch {
	case len(r.Stages) > 0:
		var stages []string
		for _, g := range r.Stages {
			stages = append(stages, g.text(r.Bytes))
		}
		return strings.Join(stages, ",")
	case r.IsUnlimited():
		return "unlimited"
	case r.Bytes:
		for _, u := range []int{2, 1, 0} { // GiB, MiB and KiB
			if v := r.PerSecond / byteUnits[u].factor; v >= 1 && v*byteUnits[u].factor == r.PerSecond {
				return strconv.FormatFloat(v, 'f', -1, 64) + byteUnits[u].suffix + "/s"
			}
		}
		return strconv.FormatFloat(r.PerSecond, 'f', -1, 64) + "B/s"
	}
	return strconv.FormatFloat(r.PerSecond, 'f', -1, 64)
}

// ParseRate reads a rate: "50000", "50k", "5,999 records/s" and "0.5" are records a second,
// "100MiB/s" and "1.5 GB/s" are bytes a second, "-1" and "unlimited" set no target.
func ParseRate(s string) (Rate, error) {
	if t := strings.TrimSpace(s); t == "-1" || strings.EqualFold(t, "unlimited") {
		return Unlimited, nil
	}
	r, err := parseLimit(s)
	if err != nil && !errors.Is(err, ErrBits) {
		err = fmt.Errorf("%w, or -1 for no limit", err)
	}
	return r, err
}

// ParseLadder reads rates in records a second, each higher than the one before.
func ParseLadder(texts []string) (ladder []float64, err error) {
	var errs []error
	for _, rung := range texts {
		r, err := ParseRate(rung)
		switch n := len(ladder); {
		case err != nil || r.IsUnlimited() || r.Bytes:
			errs = append(errs, fmt.Errorf("%q: write records a second (10k, 50000)", rung))
		case n > 0 && r.PerSecond <= ladder[n-1]:
			errs = append(errs, fmt.Errorf("%q: each rate must be higher than the one before", rung))
		default:
			ladder = append(ladder, r.PerSecond)
		}
	}
	return ladder, errors.Join(errs...)
}

var errNever = errors.New("would never send a record: give a rate above 0")

// parseLimit reads a rate above 0.
func parseLimit(s string) (r Rate, err error) {
	limit, text := maxRate, strings.TrimSpace(s)
	number, isRate := cutSuffixFold(text, "/s")
	if isRate {
		number = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(number), "records"))
	}
	var ok bool
	if r.PerSecond, ok = parseNumber(number); !ok && isRate {
		limit, r.Bytes = maxRate*1024, true
		r.PerSecond, err = parseBytes(number, "/s")
		ok = err == nil
	}
	switch {
	case errors.Is(err, ErrBits):
	case !ok:
		err = fmt.Errorf("%q is not a rate: give records a second (50000, 50k) or bytes a second (100MiB/s)", s)
	case r.PerSecond == 0:
		err = fmt.Errorf("%q %w", s, errNever)
	case r.PerSecond < 0:
		err = fmt.Errorf("%q is below 0: give a rate above 0", s)
	case r.PerSecond > limit:
		err = fmt.Errorf("%q is above %s a second: give less", s, strconv.FormatFloat(limit, 'f', -1, 64))
	}
	if err != nil {
		return Rate{}, err
	}
	return r, nil
}

// MarshalText writes the rate as ParseTarget reads it.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a target as ParseTarget does.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseTarget(string(b))
	return err
}

// unit is a word behind a number.
type unit struct {
	suffix string
	factor float64
}

// byteUnits have the longest suffix first: "KiB" ends in "B" too.
var byteUnits = []unit{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// ErrBits is in the error of an amount in bits. kt counts bytes, and takes no b for a B: they differ by a factor of 8.
var ErrBits = errors.New("counts bits (b)")

// ParseBytes reads a number of bytes: "512", "64KiB", "1.5MB". A bare number is
// bytes; KiB is 1024 bytes and KB is 1000.
func ParseBytes(s string) (int64, error) {
	v, err := parseBytes(s, "")
	if err == nil && (v < 0 || v > math.MaxInt32 || v != math.Trunc(v)) {
		err = fmt.Errorf("%q is not a whole number of bytes from 0 to %d", s, math.MaxInt32)
	}
	if err != nil {
		return 0, err
	}
	return int64(v), nil
}

// ParseVolume reads an amount of data: "5GiB". It is at least one byte and at most 1 EiB.
func ParseVolume(s string) (int64, error) {
	v, err := parseBytes(s, "")
	if err == nil && (v < 1 || v > 1<<60) {
		err = fmt.Errorf("%q is not an amount of data: write 500MiB or 5GiB", s)
	}
	if err != nil {
		return 0, err
	}
	return int64(v), nil
}

// parseBytes reads a number of bytes, of which errors say per what they are.
func parseBytes(s, per string) (float64, error) {
	t, u := strings.TrimSpace(s), unit{"", 1}
	for _, one := range byteUnits {
		if number, ok := cutSuffixFold(t, one.suffix); ok {
			t, u = strings.TrimSpace(number), one
			break
		}
	}
	n, err := ParseNumber(t)
	b := wholeIfNear(n * u.factor)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number of bytes: write 512, 64KiB or 1MB", s)
	case strings.HasSuffix(strings.TrimSpace(s), "b"):
		return 0, fmt.Errorf("%q %w: write %s%s for bytes, or %s%s for as many bits", s+per, ErrBits, t, u.suffix+per, strconv.FormatFloat(n/8, 'f', -1, 64), u.suffix+per)
	case math.IsInf(b, 0):
		return 0, fmt.Errorf("%q is not a number of bytes: it is too large", s)
	}
	return b, nil
}

func cutSuffixFold(s, suffix string) (string, bool) {
	if len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix) {
		return s[:len(s)-len(suffix)], true
	}
	return s, false
}
