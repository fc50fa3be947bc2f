package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Options are the options of a format.
type Options struct {
	doc.Options // of a text; its Full is for a run of the past, of whose version of kt all is told then

	RunFile string // where the run file is; "" when there is none
	Check   string // the command that looks for the records of the run's ledger; "" when there is none

	Consumer ConsumerRows // how PerfTest writes a run that only reads; it has one row, never Detailed ones
}

// Format writes a finished result.
type Format func(w io.Writer, r result.Result, o Options) error

// Formats are the formats by name.
var Formats = map[string]Format{
	"text":      Text,
	"line":      ofLoads(Line),
	"json":      JSON,
	"yaml":      YAML,
	"jsonl":     JSONLines,
	"csv":       ofLoads(CSV),
	"processes": Processes,
	"perf-test": ofOneLoad(PerfTest),
	"markdown":  ofLoads(Markdown),
	"junit":     JUnit,
	"hgrm":      ofOneLoad(HGRM),
}

// ofOneLoad returns a format that has nothing for processes that are not added up.
func ofOneLoad(f Format) Format {
	return func(w io.Writer, r result.Result, o Options) error {
		if err := r.OneLoad(); err != nil {
			return fmt.Errorf("%w: use --output text, %s", err, pick(len(r.Loads) > 0, "line, json, yaml, jsonl, csv, markdown, junit or processes", "json or processes"))
		}
		return f(w, r, o)
	}
}

// ofLoads is ofOneLoad of a format that has the loads of a workload too.
func ofLoads(f Format) Format {
	return func(w io.Writer, r result.Result, o Options) error {
		return pick(len(r.Loads) > 0, f, ofOneLoad(f))(w, r, o)
	}
}

// Write writes a document in a form, or in JSON or YAML the value that it is of.
func Write(w io.Writer, form string, d *doc.Document, v any, o Options) error {
	switch form {
	case "json":
		return Indented(w, v)
	case "yaml":
		return asYAML(w, func(w io.Writer) error { return Indented(w, v) })
	case "csv":
		return flat(w, pick(d.List != nil, d.List, v), json.Marshal)
	case "markdown":
		return d.Markdown(w)
	}
	return d.Text(w, o.Options)
}

// Indented writes a value as JSON for people and programs.
func Indented(w io.Writer, v any) error { return theme.JSON(w, v, "  ") }

// JSON writes the whole document.
func JSON(w io.Writer, r result.Result, _ Options) error { return applyingTo(&r).write(w, r, "  ") }

// JSONLines writes one object a line: {"type":"interval",…} for each point of the series and {"type":"summary",…}, the whole document with
// an empty series, at the end.
func JSONLines(w io.Writer, r result.Result, _ Options) error {
	for _, l := range loadsOf(&r) {
		run := applyingTo(&l.Result).run // once: a series has thousands of points, and a run a thousand processes
		for _, p := range l.Series {
			if err := jsonInterval(w, l.Name, p, run); err != nil {
				return err
			}
		}
	}
	return jsonSummary(w, r)
}

// jsonInterval writes one point of the series of a load of a workload; "": the run is none.
func jsonInterval(w io.Writer, load string, p result.Point, run doing) error {
	return (&applying{run: run}).write(w, struct {
		Type string `json:"type"`
		Load string `json:"load,omitempty"`
		result.Point
	}{"interval", load, p}, "")
}

// loadsOf returns the loads of a workload, or else the run as one load without a name.
func loadsOf(r *result.Result) []result.LoadResult {
	if len(r.Loads) > 0 {
		return r.Loads
	}
	return []result.LoadResult{{Result: *r}}
}

// jsonSummary writes the last line of JSONLines.
func jsonSummary(w io.Writer, r result.Result) error {
	r.Series, r.Loads = []result.Point{}, slices.Clone(r.Loads)
	for i := range r.Loads {
		r.Loads[i].Series = []result.Point{}
	}
	return applyingTo(&r).write(w, struct {
		Type string `json:"type"`
		result.Result
	}{"summary", r}, "")
}

// CSV writes the series: a row for each point, with its fields and its rates. A row that is too short has no rate. Rows of a workload
// begin with their load.
func CSV(w io.Writer, r result.Result, _ Options) error {
	type row struct {
		result.Point
		Rate *float64    `json:"records_per_second,omitempty"`
		Read *float64    `json:"consumed_per_second,omitempty"`
		Lag  *result.Lag `json:"consumer_lag,omitempty"` // 0 is a lag too
	}
	type loadRow struct {
		Load string `json:"load"`
		row
	}
	rows, named, whole, of := []row{}, []loadRow{}, applyingTo(&r), make(map[string]*applying)
	for _, l := range loadsOf(&r) {
		of[l.Name] = applyingTo(&l.Result)
		reads := l.Plan.Reads()
		for _, p := range l.Series {
			one, rated := row{Point: p, Lag: pick(reads, &p.ConsumerLag, nil)}, p.Seconds >= result.ShortRow
			written, read := float64(p.Acknowledged)/p.Seconds, float64(p.Consumed)/p.Seconds
			one.Rate, one.Read = pick(rated && l.Plan.Writes() || rated && l.Name == "", &written, nil), pick(rated && reads, &read, nil)
			rows, named = append(rows, one), append(named, loadRow{l.Name, one})
		}
	}
	if len(r.Loads) == 0 {
		return flat(w, rows, whole.document)
	}
	return flat(w, named, func(v any) ([]byte, error) {
		one, isRow := v.(loadRow)
		return pick(isRow, of[one.Load], whole).document(v)
	})
}

// flat writes a list as CSV, or a value as one row, with the fields of their JSON as columns.
func flat(w io.Writer, list any, document func(v any) ([]byte, error)) error {
	of := reflect.ValueOf(list)
	if of.Kind() != reflect.Slice {
		of = reflect.ValueOf([]any{list})
	}
	full := reflect.New(of.Type().Elem()) // it has every field, and is no row
	fill(full)
	values := []any{full.Interface()}
	for i := range of.Len() {
		values = append(values, of.Index(i).Interface())
	}
	var names []string
	rows := [][]string{nil}
	for i, v := range values {
		raw, err := document(v)
		if err != nil {
			return err
		}
		row := make([]string, len(names))
		fields("", raw, func(name, text string) {
			if !slices.Contains(names, name) {
				names, row = append(names, name), append(row, "")
			}
			row[slices.Index(names, name)] = theme.Clean(text)
		})
		if i > 0 {
			rows = append(rows, row)
		}
	}
	for i := range rows {
		rows[i] = append(rows[i], make([]string, len(names)-len(rows[i]))...)
	}
	rows[0] = names
	return csv.NewWriter(w).WriteAll(rows)
}

// fill gives each number, text, map and pointer in a value some value, so that its JSON leaves nothing out.
func fill(v reflect.Value) {
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case kind == reflect.Pointer && !v.IsNil():
		fill(v.Elem())
	case !v.CanSet():
	case kind == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.CanInt():
		v.SetInt(1)
	case v.CanFloat():
		v.SetFloat(1)
	case kind == reflect.String:
		v.SetString("-")
	case kind == reflect.Bool:
		v.SetBool(true)
	case kind == reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case v.Type() == reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf([]string{"-"}))
	}
}

// fields calls put for the fields of an object, and for those of objects in it, with its name before theirs.
func fields(prefix string, value json.RawMessage, put func(name, text string)) {
	for name, part := range each(value) {
		name = prefix + theme.Clean(name)
		var texts []string
		switch {
		case part[0] == '{':
			fields(name+"_", part, put)
		case json.Unmarshal(part, &texts) == nil: // null is no text
			put(name, strings.Join(texts, "; "))
		case part[0] == '"':
			var text string
			_ = json.Unmarshal(part, &text) // it is one
			put(name, text)
		case part[0] != '[':
			put(name, string(part))
		}
	}
}

const mibBytes = 1 << 20

// buffered writes into memory and then out in one piece: a report is there whole or not at all.
func buffered(w io.Writer, write func(*bytes.Buffer)) error {
	var b bytes.Buffer
	write(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// OfTable returns a document of one table. CSV has a row for each of a list.
func OfTable(command, subject string, t *doc.Table, list any) *doc.Document {
	return &doc.Document{Command: command, Subject: subject, Sections: []doc.Section{{ID: t.ID, Blocks: []doc.Block{t}}}, List: list}
}

// none stands for what is not known.
const none = doc.Unknown

// plural is a number of things.
func plural[N int | int64](n N, thing string) string { return theme.Plural(n, thing, thing+"s") }

// either is the word that goes with a number: of one, or of several.
func either[N int | int64](n N, one, several string) string { return pick(n == 1, one, several) }

// pick returns one of two values.
func pick[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

func micros[T ~int64](us T) time.Duration { return time.Duration(us) * time.Microsecond }

// millis returns a time that did happen.
func millis(ms *int64) time.Duration { return time.Duration(*ms) * time.Millisecond }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Line writes a run on one line: its rate, its latency, its errors, its limit, and whether it is valid. A workload has a line for each
// load, after its name.
func Line(w io.Writer, r result.Result, _ Options) error {
	for _, l := range loadsOf(&r) {
		if err := line(w, l.Name, &l.Result); err != nil {
			return err
		}
	}
	return nil
}

func line(w io.Writer, name string, r *result.Result) error {
	of, ok := r.Quoted()
	rate, valid := pick(ok, theme.PerSecond(of.Records)+" records/s", noRate), pick(r.Valid, "valid", "NOT VALID: "+strings.Join(invalid(r), "; "))
	_, l := Headline(r)
	_, err := fmt.Fprintln(w, theme.Clean(fmt.Sprintf("%s%s  p50 %s  p99 %s  errors %s  limit %s  %s", pick(name == "", "", name+"  "), rate, latencyOf(&l, l.P50), latencyOf(&l, l.P99),
		theme.Count(r.Records.Errors()), r.BoundBy.Limit, valid)))
	return err
}

// Processes writes a row a process with all its figures as CSV, and what is known of its host; of a result that was not merged the one row
// of its own process. There is no row with totals, so that whatever adds a column up gets what it wants.
func Processes(w io.Writer, r result.Result, _ Options) error {
	type row struct {
		result.ProcessRow
		Role          string   `json:"role"`
		Tags          []string `json:"tags"`
		ClockOffsetUS *int64   `json:"clock_offset_us"`
		ClockBoundUS  *int64   `json:"clock_bound_us"`
	}
	rows := []row{}
	for _, p := range processesOf(r) {
		one := row{ProcessRow: p}
		if i := slices.IndexFunc(r.Hosts, func(h result.HostRow) bool { return h.Host == p.Host }); i >= 0 {
			h := &r.Hosts[i]
			one.Role, one.Tags, one.ClockOffsetUS, one.ClockBoundUS = h.Role, h.Tags, h.ClockOffsetUS, h.ClockBoundUS
		}
		rows = append(rows, one)
	}
	return flat(w, rows, json.Marshal)
}

// processesOf returns the processes of a result. One that stands for itself is its own.
func processesOf(r result.Result) (all []result.ProcessRow) {
	for i := range r.Loads { // their numbers are in the order of the file
		for _, p := range processesOf(r.Loads[i].Result) {
			p.Topic = r.Loads[i].Subject()
			all = append(all, p)
		}
	}
	if len(r.Loads) > 0 {
		return all
	}
	if merged(&r) {
		return r.Processes
	}
	f := wholeFigures(&r)
	f.Errors, f.Bytes, f.Service, f.PeakResidentBytes = r.Errors, r.Throughput.Bytes, r.Latency.Service, r.Client.PeakResidentBytes
	if r.Fetch != nil {
		f.ConsumedBytes = r.Fetch.Bytes
	}
	p := result.ProcessRow{
		Host: r.Environment.Host.Hostname, Process: 1, RunID: r.RunID, Command: string(r.Plan.Command),
		State: result.PartLost, Counted: true, Figures: f, CoresAvailable: r.Client.CoresAvailable,
		Valid: r.Valid, Invalid: r.Invalid, BoundBy: r.BoundBy,
		FromSeconds: r.Throughput.FirstDueSeconds, ToSeconds: r.SendingSeconds,
	}
	switch r.Ended {
	case result.Completed, result.DiskFull:
		p.State = result.PartComplete
	case result.Interrupted, result.Aborted:
		p.State = result.PartStopped
	}
	if r.Part != nil {
		p.Host, p.Process = r.Part.Host, r.Part.Process
	}
	return []result.ProcessRow{p}
}
