package plan

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

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

// parseNumber reads what ParseCount does, with a fraction if there is one. ok is false for
// text that is no number, or no finite one.
func parseNumber(s string) (v float64, ok bool) {
	s, factor := ungrouped(s), 1.0
	for i, prefix := range "kMGTPE" {
		if num, found := strings.CutSuffix(s, string(prefix)); found {
			s, factor = num, math.Pow10(3*(i+1))
		}
	}
	if num, found := strings.CutSuffix(s, "K"); found { // many write it so
		s, factor = num, 1000
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

// wholeIfNear undoes the error of float64 in a decimal multiple: 1.005 × 1000 is not quite 1005
// in it.
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
