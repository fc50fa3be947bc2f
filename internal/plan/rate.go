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
const maxRate = 1e9

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

// parseLimit reads a rate above 0.
func parseLimit(s string) (Rate, error) {
	t, none := strings.TrimSpace(s), fmt.Errorf("%q is not a rate: give records a second (50000, 50k) or bytes a second (100MiB/s)", s)
	if num, ok := cutSuffixFold(t, "/s"); ok {
		num = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(num), "records"))
		if n, ok := parseNumber(num); ok { // "500/s"
			return checkRate(s, Rate{PerSecond: n})
		}
		b, err := parseBytes(num, "/s")
		if errors.Is(err, ErrBits) {
			return Rate{}, err
		} else if err != nil {
			return Rate{}, none
		}
		return checkRate(s, Rate{PerSecond: b, Bytes: true})
	}
	n, ok := parseNumber(t)
	if !ok {
		return Rate{}, none
	}
	return checkRate(s, Rate{PerSecond: n})
}

var errNever = errors.New("would never send a record: give a rate above 0")

func checkRate(s string, r Rate) (Rate, error) {
	limit := maxRate
	if r.Bytes {
		limit *= 1024
	}
	switch {
	case r.PerSecond == 0:
		return Rate{}, fmt.Errorf("%q %w", s, errNever)
	case r.PerSecond < 0:
		return Rate{}, fmt.Errorf("%q is below 0: give a rate above 0", s)
	case r.PerSecond > limit:
		return Rate{}, fmt.Errorf("%q is above %s a second: give less", s, strconv.FormatFloat(limit, 'f', -1, 64))
	}
	return r, nil
}

// MarshalText writes the rate as ParseTarget reads it.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a target as ParseTarget does.
func (r *Rate) UnmarshalText(b []byte) error {
	v, err := ParseTarget(string(b))
	*r = v
	return err
}

// byteUnits have the longest suffix first: "KiB" ends in "B" too.
var byteUnits = []struct {
	suffix string
	factor float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

// ErrBits is in the error of an amount in bits. kt counts bytes, and takes no b for a B: they differ by a factor of 8.
var ErrBits = errors.New("counts bits (b)")

// ParseBytes reads a number of bytes: "512", "64KiB", "1.5MB". A bare number is
// bytes; KiB is 1024 bytes and KB is 1000.
func ParseBytes(s string) (int64, error) {
	v, err := parseBytes(s, "")
	if err != nil {
		return 0, err
	}
	if v < 0 || v > math.MaxInt32 || v != math.Trunc(v) {
		return 0, fmt.Errorf("%q is not a whole number of bytes from 0 to %d", s, math.MaxInt32)
	}
	return int64(v), nil
}

// ParseVolume reads an amount of data: "5GiB". It is at least one byte and at most 1 EiB.
func ParseVolume(s string) (int64, error) {
	v, err := parseBytes(s, "")
	if err != nil {
		return 0, err
	}
	if v < 1 || v > 1<<60 {
		return 0, fmt.Errorf("%q is not an amount of data: write 500MiB or 5GiB", s)
	}
	return int64(v), nil
}

// parseBytes reads a number of bytes, of which errors say per what they are.
func parseBytes(s, per string) (float64, error) {
	t, factor, unit := strings.TrimSpace(s), 1.0, ""
	for _, u := range byteUnits {
		if num, ok := cutSuffixFold(t, u.suffix); ok {
			t, factor, unit = strings.TrimSpace(num), u.factor, u.suffix
			break
		}
	}
	n, err := ParseNumber(t)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a number of bytes: write 512, 64KiB or 1MB", s)
	case strings.HasSuffix(strings.TrimSpace(s), "b"):
		return 0, fmt.Errorf("%q %w: write %s%s for bytes, or %s%s for as many bits", s+per, ErrBits, t, unit+per, strconv.FormatFloat(n/8, 'f', -1, 64), unit+per)
	}
	b := wholeIfNear(n * factor)
	if math.IsInf(b, 0) {
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
