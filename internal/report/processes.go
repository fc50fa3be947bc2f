package report

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/kt-bench/kt/internal/result"
)

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
	return flat(w, rows, func(v any) (json.RawMessage, error) { return json.Marshal(v) })
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
