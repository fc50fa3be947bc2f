package limit

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Unit is what the values of a metric count.
type Unit string

// The units, as a result names them.
const (
	Time        Unit = "us"
	Records     Unit = "records"
	RecordsRate Unit = "records/s"
	BytesRate   Unit = "bytes/s"
	Cores       Unit = "cores"
)

// Bounds of values.
const (
	mostTime  = 100 * time.Hour
	mostCount = 1_000_000_000_000_000
)

// units are how the values of each unit are read and shown.
var units = map[Unit]struct {
	wants string // what to write, for an error
	parse func(text string) (float64, error)
	show  func(v float64) string // for people
}{
	Time:        {"a time (20ms, 1.5s)", parseTime, func(v float64) string { return theme.Duration(micros(v)) }},
	Records:     {"a number of records (0, 1000, 5k)", parseCount, func(v float64) string { return theme.Plural(v, "record", "records") }},
	RecordsRate: {"records a second (50000, 50k)", parseRecordsRate, func(v float64) string { return theme.Plural(v, "record", "records") + "/s" }},
	BytesRate:   {"bytes a second, with /s (100MiB/s, 100MB/s)", parseBytesRate, func(v float64) string { return theme.MiB(v) + " MiB/s" }},
	Cores:       {"a number of cores (1.5)", parseCores, func(v float64) string { return theme.Number(v) + " cores" }},
}

// Known reports whether there is such a unit. A document may name another.
func (u Unit) Known() bool {
	_, known := units[u]
	return known
}

// Show writes a value of a known unit for people.
func (u Unit) Show(v float64) string { return units[u].show(v) }

var errRange = errors.New("out of range")

func micros(v float64) time.Duration {
	return time.Duration(math.Round(v * float64(time.Microsecond)))
}

func parseTime(text string) (float64, error) {
	d, err := plan.ParseDuration(text)
	if err == nil && (d < 0 || d > mostTime) {
		err = errRange
	}
	return float64(d) / float64(time.Microsecond), err
}

func parseCount(text string) (float64, error) {
	n, err := plan.ParseCount(text)
	if err == nil && (n < 0 || n > mostCount) {
		err = errRange
	}
	return float64(n), err
}

func parseRecordsRate(text string) (float64, error) { return parseRate(text, false) }
func parseBytesRate(text string) (float64, error)   { return parseRate(text, true) }

// parseRate reads a rate, which may be 0 here.
func parseRate(text string, bytes bool) (float64, error) {
	if text == "0" {
		return 0, nil
	}
	r, err := plan.ParseRate(text)
	if err == nil && (r.IsUnlimited() || r.Bytes != bytes) {
		err = errRange
	}
	return r.PerSecond, err
}

func parseCores(text string) (float64, error) {
	v, err := plan.ParseNumber(text)
	if err == nil && !(v >= 0 && v <= 1e6) {
		err = errRange
	}
	return v, err
}

// parsePercent reads "95%" and "95 %".
func parsePercent(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	v, err := plan.ParseNumber(strings.TrimSpace(number))
	if err == nil && !(isPercent && v > 0 && v <= 100) {
		err = errRange
	}
	return v, err
}
