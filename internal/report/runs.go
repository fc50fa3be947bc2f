package report

import (
	"cmp"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// RunsSchema is the version of a RunsDocument. It changes when a field changes its
// meaning or goes away, not when one is added.
const RunsSchema = 1

// RunsDocument is a list of runs.
type RunsDocument struct {
	Schema int           `json:"schema"`
	Runs   []history.Run `json:"runs"`
}

// NewRuns returns a list of runs, with their times in UTC.
func NewRuns(runs []history.Run) *RunsDocument {
	runs = append([]history.Run{}, runs...)
	for i := range runs {
		runs[i].StartedAt = runs[i].StartedAt.UTC()
	}
	return &RunsDocument{RunsSchema, runs}
}

// RunsDoc returns a table of runs.
func RunsDoc(d *RunsDocument) *doc.Document {
	t := doc.NewTable("runs", "Runs, the newest first", "run|whole", "when (UTC)|whole", "what|words|3", "topic|name", "at|name|6", "records/s", "p99|1",
		"limit|words|2", "valid|whole", "ended|words|5", "tags|words|4", "size|7", "file|words|8")
	for i := range d.Runs {
		r := &d.Runs[i]
		what, at, rate, p99, limit, valid := string(r.Command), r.Server, "", "", "", ""
		if r.Processes > 0 {
			what += ", " + theme.Plural(r.Processes, "process", "processes")
		}
		if r.Embedded() {
			at = "inside kt"
		}
		if r.RecordsPerSecond != nil {
			rate = theme.PerSecond(*r.RecordsPerSecond)
		}
		if r.P99US != nil {
			p99 = theme.Duration(micros(*r.P99US))
		}
		if r.BoundBy != "" {
			limit = verdict.Limit(r.BoundBy).String()
		}
		if r.Valid != nil {
			valid = map[bool]string{true: "yes", false: "no"}[*r.Valid]
		}
		if r.AtWork {
			valid = "at work"
		}
		texts := []string{what, r.Topic, at, rate, p99, limit, valid, r.Ended, strings.Join(r.Tags, ",")}
		for i, text := range texts {
			texts[i] = cmp.Or(text, none)
		}
		row := t.Add(r.Reference, r.StartedAt.Format("2006-01-02 15:04"), texts, theme.Bytes(r.Bytes), r.Name)
		if row.NoteTone = doc.Warn; r.Problem != "" {
			row.Note = r.Name + history.Ext + " cannot be read: " + r.Problem
		}
		if r.Problem != "" || r.Valid != nil && !*r.Valid {
			row.Tone = doc.Warn
		}
	}
	return OfTable("kt runs", plural(len(d.Runs), "run"), t, d.Runs)
}
