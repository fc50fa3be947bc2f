package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Options are the options of a format.
type Options struct {
	Theme   *theme.Theme
	RunFile string // where the run file is; "" when there is none
	Check   string // the command that looks for the records of the run's ledger; "" when there is none
	Width   int    // of the terminal that Text and Peers write to, in columns, 60 at least; 0: they write to none
	Verbose bool   // Text writes details too
	Full    bool   // Text writes the whole command line and version, for a run of the past

	Consumer ConsumerRows // how PerfTest writes a run that only reads; it has one row, never Detailed ones
}

// Format writes a finished result.
type Format func(w io.Writer, r result.Result, o Options) error

// Formats are the formats by name.
var Formats = map[string]Format{
	"text":      Text,
	"line":      ofOneLoad(Line),
	"json":      JSON,
	"yaml":      YAML,
	"jsonl":     JSONLines,
	"csv":       ofOneLoad(CSV),
	"processes": Processes,
	"perf-test": ofOneLoad(PerfTest),
	"markdown":  ofOneLoad(Markdown),
	"junit":     JUnit,
	"hgrm":      ofOneLoad(HGRM),
}

// ofOneLoad returns a format that has nothing for processes that are not added up.
func ofOneLoad(f Format) Format {
	return func(w io.Writer, r result.Result, o Options) error {
		if err := r.OneLoad(); err != nil {
			return fmt.Errorf("%w: use --output text, json or processes", err)
		}
		return f(w, r, o)
	}
}

// JSON writes the whole document.
func JSON(w io.Writer, r result.Result, _ Options) error {
	line, err := applyingTo(&r).document("", r)
	if err != nil {
		return err
	}
	return theme.JSON(w, line, "  ")
}

// JSONLines writes one object a line: {"type":"interval",…} for each point of the
// series and {"type":"summary",…}, the whole document with an empty series, at
// the end.
func JSONLines(w io.Writer, r result.Result, _ Options) error {
	run := applyingTo(&r).run // once: a series has thousands of points, and a run a thousand processes
	for _, p := range r.Series {
		if err := jsonInterval(w, p, &applying{run: run}); err != nil {
			return err
		}
	}
	return writeJSONSummary(w, r)
}

// writeJSONInterval writes one point of the series of a plan, as it comes.
func writeJSONInterval(w io.Writer, p result.Point, of *plan.Plan) error {
	return jsonInterval(w, p, &applying{run: doingOf(of, nil)})
}

func jsonInterval(w io.Writer, p result.Point, a *applying) error {
	line, err := a.document("interval", struct {
		Type string `json:"type"`
		result.Point
	}{"interval", p})
	if err != nil {
		return err
	}
	return theme.JSON(w, line, "")
}

// writeJSONSummary writes the last line of JSONLines.
func writeJSONSummary(w io.Writer, r result.Result) error {
	r.Series = []result.Point{}
	line, err := applyingTo(&r).document("", struct {
		Type string `json:"type"`
		result.Result
	}{"summary", r})
	if err != nil {
		return err
	}
	return theme.JSON(w, line, "")
}

// csvHeader names the columns of CSV.
var csvHeader = []string{
	"start_seconds", "seconds", "warmup", "records", "records_per_second", "mib_per_second", "failed",
	"response_p50_us", "response_p90_us", "response_p99_us", "response_p999_us", "response_max_us", "send_delay_p99_us", "cpu_cores",
	"consumed", "consumed_per_second", "consumed_mib_per_second", "consumer_lag",
	"end_to_end_p50_us", "end_to_end_p90_us", "end_to_end_p99_us", "end_to_end_p999_us", "end_to_end_max_us", "events",
}

// CSV writes the series with a header line. A field is empty where nothing was measured, as
// is the rate of a row that is too short for one.
func CSV(w io.Writer, r result.Result, _ Options) error {
	rows := [][]string{csvHeader}
	for _, p := range r.Series {
		rows = append(rows, csvRow(p))
	}
	return writeCSV(w, rows)
}

// writeCSV writes rows with clean fields.
func writeCSV(w io.Writer, rows [][]string) error {
	c := csv.NewWriter(w)
	for _, row := range rows {
		clean := make([]string, len(row))
		for i, field := range row {
			clean[i] = theme.Clean(field)
		}
		if err := c.Write(clean); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func csvRow(p result.Point) []string {
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	i := func(v int64) string { return strconv.FormatInt(v, 10) }
	rate := func(n, unit float64) string {
		if p.Seconds < result.ShortRow {
			return ""
		}
		return f(per(n/unit, seconds(p.Seconds)))
	}
	us := func(v result.Micros) string {
		if v == 0 {
			return ""
		}
		return csvMicros(v)
	}
	cores := f(p.CPUCores)
	if p.CPUCores == 0 {
		cores = ""
	}
	return []string{
		f(p.StartSeconds), f(p.Seconds), strconv.FormatBool(p.Warmup), i(p.Acknowledged), rate(float64(p.Acknowledged), 1), rate(float64(p.Bytes), mibBytes), i(p.Failed),
		us(p.P50), us(p.P90), us(p.P99), us(p.P999), us(p.Max), us(result.Micros(p.SendDelayP99)), cores,
		i(p.Consumed), rate(float64(p.Consumed), 1), rate(float64(p.ConsumedBytes), mibBytes), p.ConsumerLag.Or("", i),
		us(p.EndToEndP50), us(p.EndToEndP90), us(p.EndToEndP99), us(p.EndToEndP999), us(p.EndToEndMax), i(p.Events),
	}
}

// csvMicros writes a latency: "failed" among records that were not served.
func csvMicros(v result.Micros) string {
	if v == result.Failed {
		return "failed"
	}
	return strconv.FormatInt(int64(v), 10)
}

const mibBytes = 1 << 20

// buffered writes into memory and then out in one piece, so that a report is
// there whole or not at all.
func buffered(w io.Writer, write func(*bytes.Buffer)) error {
	var b bytes.Buffer
	write(&b)
	_, err := w.Write(b.Bytes())
	return err
}
