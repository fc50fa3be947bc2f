package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/result"
)

// Processes writes a line a process with all its figures as CSV, with a header line;
// of a result that was not merged the one line of its own process. There is no line
// with totals, so that whatever adds a column up gets what it wants.
func Processes(w io.Writer, r result.Result, _ Options) error {
	hosts := make(map[string]result.HostRow)
	for _, h := range r.Hosts {
		hosts[h.Host] = h
	}
	rows := [][]string{processHeader()}
	for _, p := range processesOf(r) {
		rows = append(rows, processRow(p, hosts[p.Host]))
	}
	return writeCSV(w, rows)
}

// processesOf returns the processes of a result. One that stands for itself is its own.
func processesOf(r result.Result) []result.ProcessRow {
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

// latencyNames are the figures of one distribution.
var latencyNames = []string{"count", "mean_us", "min_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "p9999_us", "max_us", "out_of_range"}

func processHeader() []string {
	header := []string{
		"host", "role", "tags", "process", "run_id", "command", "state", "counted", "note",
		"from_seconds", "to_seconds", "start_late_us", "clock_offset_us", "clock_bound_us",
		"offered", "acknowledged", "failed", "unknown", "unsent", "consumed", "bytes", "consumed_bytes",
		"records_per_second", "mib_per_second", "consumed_records_per_second", "consumed_mib_per_second",
	}
	for _, kind := range []string{"response", "service", "end_to_end"} {
		for _, name := range latencyNames {
			header = append(header, kind+"_"+name)
		}
	}
	return append(header, "cpu_cores", "cores_available", "peak_resident_bytes", "valid", "invalid_reasons", "bound_by", "evidence", "errors")
}

func processRow(p result.ProcessRow, h result.HostRow) []string {
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	i := func(v int64) string { return strconv.FormatInt(v, 10) }
	known := func(v *int64) string {
		if v == nil {
			return ""
		}
		return i(*v)
	}
	n := p.Records
	row := []string{
		p.Host, h.Role, strings.Join(h.Tags, " "), strconv.Itoa(p.Process), p.RunID, p.Command, string(p.State), strconv.FormatBool(p.Counted), p.Note,
		f(p.FromSeconds), f(p.ToSeconds), known(p.StartLateUS), known(h.ClockOffsetUS), known(h.ClockBoundUS),
		i(n.Offered), i(n.Acknowledged), i(n.Failed), i(n.Unknown), i(n.Unsent), i(n.Consumed), i(p.Bytes), i(p.ConsumedBytes),
		f(p.RecordsPerSecond), f(p.MiBPerSecond), f(p.ConsumedPerSecond), f(p.ConsumedMiB),
	}
	for _, l := range []*result.Latency{&p.Response, &p.Service, p.EndToEnd} {
		row = append(row, latencyCells(l)...)
	}
	row = append(row, f(p.CPUCores), f(p.CoresAvailable), i(p.PeakResidentBytes), strconv.FormatBool(p.Valid), strings.Join(p.Invalid, "; "),
		string(p.BoundBy.Limit), p.BoundBy.Evidence, errorCounts(p.Errors))
	return row
}

// latencyCells are empty but for the count where nothing was measured: 0 would be a
// latency.
func latencyCells(l *result.Latency) []string {
	l = cmp.Or(l, &result.Latency{})
	cells := make([]string, len(latencyNames))
	cells[0], cells[len(cells)-1] = strconv.FormatInt(l.Count, 10), strconv.FormatInt(l.OutOfRange, 10)
	if l.Ranked() > 0 {
		for k, us := range []result.Micros{l.Mean, l.Min, l.P50, l.P90, l.P95, l.P99, l.P999, l.P9999, l.Max} {
			cells[k+1] = csvMicros(us)
		}
	}
	return cells
}

// errorCounts writes how many records failed with which code: "NOT_LEADER=3 TIMEOUT=1".
func errorCounts(errs result.Errors) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(errs)) {
		parts = append(parts, fmt.Sprintf("%s=%d", code, errs[code]))
	}
	return strings.Join(parts, " ")
}
