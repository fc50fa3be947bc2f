package theme

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// none stands for a number that there is none of.
const none = "–"

// Rate writes a number per second in at most five characters, three of them
// digits, and one below 10 as PerSecond: 826k, 1.24M, 99.6, 1.5.
func Rate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	if v < 0 {
		return "-" + Rate(-v)
	}
	switch {
	case 0.01 <= v && v < 9.95:
		return PerSecond(v)
	case v < 999.5:
		return trim(Number(v))
	}
	const prefixes = "kMGTPE"
	i := -1
	for v >= 999.5 && i < len(prefixes)-1 {
		v /= 1000
		i++
	}
	return Number(v) + prefixes[i:i+1]
}

// PerSecond writes a rate: a whole number as Count does, and two significant digits below 10. 5,999, 100, 1.5, 0.3.
func PerSecond(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case a < 1e-4:
		return "0"
	case a < 9.95:
		return trim(strconv.FormatFloat(v, 'g', 2, 64))
	}
	return Count(int64(math.Round(v)))
}

// Tick writes a number beside an axis: as Rate, without zeros at its end. 1M,
// 250k, 2.5k.
func Tick(v float64) string {
	s := Rate(v)
	if n := len(s) - 1; n > 0 && s[n] > '9' {
		return trim(s[:n]) + s[n:]
	}
	return trim(s)
}

// Number writes three significant digits without a prefix, and all the digits of
// a number over 1000: 8.06, 80.6, 806, 8060.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// trim takes the zeros off the end of a decimal fraction.
func trim(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Count writes a whole number exactly, in groups of three: 96,100,000.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Amount writes a number that need not be whole for a sentence: one of three digits or more
// as Count does, a smaller one with its fraction, and one below 10 as PerSecond. 5,999, 99.6, 0.5.
func Amount(v float64) string {
	if math.Abs(v) < 9.95 {
		return PerSecond(v)
	}
	if math.Abs(v) < 99.95 || math.IsNaN(v) || math.IsInf(v, 0) {
		return trim(Number(v))
	}
	return Count(int64(min(math.Round(v), 1<<63-1024))) // the largest float64 that an int64 can be
}

// Plural writes an amount with the word that goes with it: 1 process, 1,500 processes.
func Plural[N int | int64 | float64](n N, one, several string) string {
	if s := Amount(float64(n)); s != "1" {
		return s + " " + several
	}
	return "1 " + one
}

// Bytes writes a size in binary units: 512 B, 1 KiB, 29.8 MiB.
func Bytes(n int64) string {
	if n < 0 {
		if n == math.MinInt64 { // it has no opposite
			n++
		}
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	const prefixes = "KMGTPE"
	v, i := float64(n)/1024, 0
	for v >= 1023.5 && i < len(prefixes)-1 {
		v /= 1024
		i++
	}
	return trim(Number(v)) + " " + prefixes[i:i+1] + "iB"
}

// MiB writes a number of bytes as mebibytes, without the unit: 0.52, 80.6, 806.
func MiB(bytes float64) string { return Number(bytes / (1 << 20)) }

// Duration writes a time to three significant digits, and one over a minute in
// two units: 438µs, 3.44ms, 1.20s, 2m05s, 1h02m.
func Duration(d time.Duration) string {
	switch {
	case d >= 1<<50*time.Microsecond: // stats.Never
		return "failed"
	case d < 0:
		if d == math.MinInt64 { // it has no opposite
			d++
		}
		return "-" + Duration(-d)
	case d == 0:
		return "0s"
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case d < 999500*time.Nanosecond:
		return trim(Number(float64(d)/float64(time.Microsecond))) + "µs"
	case d < 999500*time.Microsecond:
		return Number(float64(d)/float64(time.Millisecond)) + "ms"
	case d < 59950*time.Millisecond:
		return Number(d.Seconds()) + "s"
	}
	if s := int64(d.Round(time.Second) / time.Second); s < 3600 {
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	m := int64(d.Round(time.Minute) / time.Minute)
	return fmt.Sprintf("%dh%02dm", m/60, m%60)
}

// TickDuration writes a time beside an axis: as Duration, without zeros at its
// end. 1ms, 60s, 5m, 2.5s.
func TickDuration(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 && d < time.Hour && d != time.Minute {
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	if d >= time.Second && d < 2*time.Minute && d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	s := Duration(d)
	if d >= time.Minute || d <= 0 {
		return s
	}
	unit := strings.TrimLeft(s, "0123456789.")
	return trim(strings.TrimSuffix(s, unit)) + unit
}

// Clock writes how long something has run: 00:57, 1:02:03.
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Percent writes a share: 0.042 is 4.2%. A share that is not nothing is never
// written as 0%, nor one that is not all as 100%.
func Percent(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return none
	case p < 0:
		return "-" + Percent(-share)
	case p > 0 && p < 0.01:
		return "<0.01%"
	case p < 0.995:
		return trim(strconv.FormatFloat(p, 'f', 2, 64)) + "%"
	case p < 9.95:
		return trim(strconv.FormatFloat(p, 'f', 1, 64)) + "%"
	case p > 99 && p < 100:
		return trim(strconv.FormatFloat(math.Min(p, 99.99), 'f', 2, 64)) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// Signed writes a shift with its sign: +4.2%.
func Signed[F ~float64](share F) string {
	if share > 0 && share <= math.MaxFloat64 {
		return "+" + Percent(float64(share))
	}
	return Percent(float64(share))
}

// Ratio writes how many times as much: 0.04x, 1.8x, 12x. A ratio that is not nothing is never written as 0x.
func Ratio(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return none
	case v < 0.995:
		return strconv.FormatFloat(v, 'g', 2, 64) + "x"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + "x"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + "x"
}
