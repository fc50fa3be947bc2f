package metric

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

// The units that code asks for, as a result names them.
const (
	Time        Unit = "us"
	Records     Unit = "records"
	RecordsRate Unit = "records/s"
	Bytes       Unit = "bytes"
	BytesRate   Unit = "bytes/s"
	Cores       Unit = "cores"
	Ratio       Unit = "share"
)

// Bounds of values.
const (
	mostTime   = 100 * time.Hour
	mostCount  = 1_000_000_000_000_000
	mostNumber = 1e6
)

// unit is how values are read and shown.
type unit struct {
	wants  string // what to write, for an error
	parse  func(text string) (float64, error)
	most   float64                // that is read
	show   func(v float64) string // for people
	column string                 // the end of the name of a column
	code   string                 // by the Unified Code for Units of Measure, as OpenTelemetry has it
	suffix string                 // of a name in Prometheus
}

var units = map[Unit]unit{
	Time: {"a time (20ms, 1.5s)", parseTime, micros(mostTime), func(v float64) string {
		return theme.Duration(time.Duration(math.Round(v * float64(time.Microsecond))))
	}, "_us", "s", "_seconds"},
	RecordsRate: {
		"records a second (50000, 50k)", parseRate(false), math.MaxFloat64, func(v float64) string { return theme.Plural(v, "record", "records") + "/s" },
		"_records_per_second", "{record}/s", "_per_second",
	},
	Bytes: {"bytes (1MiB)", parseCount, mostCount, func(v float64) string { return theme.MiB(v) + " MiB" }, "_bytes", "By", "_bytes"},
	BytesRate: {
		"bytes a second, with /s (100MiB/s, 100MB/s)", parseRate(true), math.MaxFloat64, func(v float64) string { return theme.MiB(v) + " MiB/s" },
		"_bytes_per_second", "By/s", "_bytes_per_second",
	},
	"bytes/record": {"bytes of a record (120, 97.5)", plan.ParseNumber, mostCount, func(v float64) string { return theme.Number(v) + " B" }, "_bytes", "By", "_bytes"},
	Cores:          {"a number of cores (1.5)", plan.ParseNumber, mostNumber, func(v float64) string { return theme.Number(v) + " cores" }, "_cores", "{cpu}", ""},
	Ratio:          {"a share (0.05, 5%)", parseShare, mostNumber, theme.Percent, "", "1", "_ratio"},
	Records:        counted("record", "records"),
	"batches":      counted("batch", "batches"),
	"requests":     counted("request", "requests"),
	"fetches":      counted("fetch", "fetches"),
	"rebalances":   counted("rebalance", "rebalances"),
	"transactions": counted("transaction", "transactions"),
	"connects":     counted("connect", "connects"),
}

// counted is the unit of a number of things.
func counted(one, many string) unit {
	return unit{"a number of " + many + " (0, 1000, 5k)", parseCount, mostCount, func(v float64) string { return theme.Plural(v, one, many) }, "", "{" + one + "}", ""}
}

// Known reports whether there is such a unit. A document may name another.
func (u Unit) Known() bool {
	_, known := units[u]
	return known
}

// Show writes a value of a known unit for people.
func (u Unit) Show(v float64) string { return units[u].show(v) }

// Code returns the unit as OpenTelemetry has it.
func (u Unit) Code() string { return units[u].code }

// Suffix returns what a name in Prometheus has for the unit.
func (u Unit) Suffix() string { return units[u].suffix }

// Column returns the name of a column of the metric for programs, such as p99_us.
func (m *Metric) Column() string { return underscored(m.Name) + units[m.Unit].column }

func underscored(name string) string { return strings.NewReplacer(".", "_", "-", "_").Replace(name) }

var errRange = errors.New("out of range")

func micros(d time.Duration) float64 { return float64(d.Microseconds()) }

func parseTime(text string) (float64, error) {
	d, err := plan.ParseDuration(text)
	return float64(d) / float64(time.Microsecond), err
}

func parseCount(text string) (float64, error) {
	n, err := plan.ParseCount(text)
	return float64(n), err
}

// parseRate reads a rate, which may be 0 here.
func parseRate(bytes bool) func(text string) (float64, error) {
	return func(text string) (float64, error) {
		if text == "0" {
			return 0, nil
		}
		r, err := plan.ParseRate(text)
		if err == nil && (r.IsUnlimited() || r.Bytes != bytes) {
			err = errRange
		}
		return r.PerSecond, err
	}
}

// parseShare reads "0.05" and "5%".
func parseShare(text string) (float64, error) {
	if !strings.HasSuffix(text, "%") {
		return plan.ParseNumber(text)
	}
	v, err := parsePercent(text)
	return v / 100, err
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
