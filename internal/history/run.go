package history

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// Ext ends the name of a run file.
const Ext = ".ktr"

// Run is one run file of a folder, with the figures by which people know a run again.
type Run struct {
	Reference string `json:"reference"` // last, last~1, …: by its place among all runs of the folder

	Name  string `json:"name"`  // of the file, without Ext
	Path  string `json:"path"`  // of the file
	Bytes int64  `json:"bytes"` // of the file

	Changed time.Time `json:"changed_at"` // the last change of the file
	AtWork  bool      `json:"at_work"`    // a process still writes it, so it has no figures yet
	Problem string    `json:"problem"`    // why the file cannot be read; "": it can

	RunID     string       `json:"run_id"`
	StartedAt time.Time    `json:"started_at"` // of a file that cannot be read: by its name, or its last change
	Command   plan.Command `json:"command"`
	Processes int          `json:"processes"` // of a merged run; 0: it is of one process
	Topic     string       `json:"topic"`     // of several the expression of the plan
	Server    string       `json:"server"`    // the first broker; "": the one inside kt
	Tags      []string     `json:"tags"`

	RecordsPerSecond *float64       `json:"records_per_second"` // nil: it has no figures, or was too short for a rate
	Headline         string         `json:"headline"`           // the figure to quote, as in the result
	P99US            *result.Micros `json:"p99_us"`             // of the headline latency; nil: the headline is none, or it failed
	BoundBy          string         `json:"bound_by"`
	Valid            *bool          `json:"valid"` // nil: it has no figures
	Ended            string         `json:"ended"`
}

// Embedded reports whether the run was made on the broker inside kt.
func (r *Run) Embedded() bool { return r.RunID != "" && r.Server == "" && r.Problem == "" }

// read returns the row of a file. It never fails: a file that cannot be read is a row that says so.
func read(path string, info os.FileInfo) Run {
	r := rowOf(path, info)
	f, err := merge.Open(path)
	if err != nil {
		r.Problem = strings.TrimPrefix(err.Error(), path+": ") // which stands beside it
		return r
	}
	defer f.Close()
	if r.AtWork = f.AtWork; r.AtWork {
		line, err := result.NewLines(io.NewSectionReader(f, 0, result.MaxLine), 1).Next(false)
		switch {
		case errors.Is(err, io.EOF): // the run still connects
		case err != nil:
			r.Problem = err.Error()
		default:
			r.about(line.Header)
		}
		return r
	}
	r.Bytes = f.Size
	res, err := merge.Read(f, f.Size)
	if err != nil {
		r.Problem = strings.TrimPrefix(err.Error(), path+": ")
		return r
	}
	r.figures(&res)
	return r
}

// rowOf returns what is known of a run by its file alone.
func rowOf(path string, info os.FileInfo) Run {
	return Run{
		Name: strings.TrimSuffix(info.Name(), Ext), Path: path, Bytes: info.Size(), Changed: info.ModTime().UTC(),
		StartedAt: began(info), Tags: []string{},
	}
}

// about fills in what the header of a run says.
func (r *Run) about(h *result.Header) {
	r.RunID, r.StartedAt, r.Command, r.Tags = h.RunID, h.StartedAt, h.Plan.Command, append([]string{}, h.Tags...)
	r.Topic = cmp.Or(h.Plan.Topic.Name, h.Environment.Topic.Name, h.Plan.Read.Include)
	if h.Plan.Command == plan.Workload {
		r.Topic = cmp.Or(h.Part, new(result.Part)).Run
	}
	switch {
	case h.Embedded:
	case len(h.Plan.Servers()) > 0:
		r.Server = h.Plan.Servers()[0]
	case len(h.Environment.Cluster.Brokers) > 0:
		r.Server = h.Environment.Cluster.Brokers[0].Addr
	}
}

// figures fills in what a result says.
func (r *Run) figures(res *result.Result) {
	r.about(&res.Header)
	if n := len(res.Processes); n > 0 {
		r.Processes = n
	}
	if rate, ok := res.Quoted(); ok {
		r.RecordsPerSecond = &rate.Records
	}
	r.Valid = &res.Valid
	r.Headline, r.BoundBy, r.Ended = res.Headline, string(res.BoundBy.Limit), res.Ended
	if _, l := res.HeadlineLatency(); l.Count > 0 && l.P99 != result.Failed && res.Headline != "throughput" {
		r.P99US = &l.P99
	}
}

// stamp is how the name of a run file begins: when the run began, in UTC.
const stamp = "20060102-150405"

// began returns when a run began by the name of its file, or else by the file's last change.
func began(info os.FileInfo) time.Time {
	if name := info.Name(); len(name) > len(stamp) {
		if at, err := time.Parse(stamp, name[:len(stamp)]); err == nil {
			return at
		}
	}
	return info.ModTime().UTC()
}
