package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/history"
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
	t := doc.Table{ID: "runs", Caption: "Runs, the newest first", Data: true, Columns: []doc.Column{
		{Head: "run", Data: "reference", Kind: doc.Whole},
		{Head: "when (UTC)", Data: "started_at", Kind: doc.Whole},
		{Head: "what", Kind: doc.Words, Leave: 3},
		{Data: "command", Kind: doc.Words},
		{Data: "processes"},
		{Head: "topic", Data: "topic", Kind: doc.Name},
		{Head: "at", Data: "server", Kind: doc.Name, Leave: 6},
		{Head: "records/s", Data: "records_per_second"},
		{Data: "headline", Kind: doc.Words},
		{Head: "p99", Data: "p99_us", Leave: 1},
		{Head: "bound by", Data: "bound_by", Kind: doc.Words, Leave: 2},
		{Head: "valid", Data: "valid", Kind: doc.Whole},
		{Head: "ended", Data: "ended", Kind: doc.Words, Leave: 5},
		{Head: "tags", Data: "tags", Kind: doc.Words, Leave: 4},
		{Head: "size", Data: "bytes", Leave: 7},
		{Data: "at_work"},
		{Head: "file", Data: "name", Kind: doc.Words, Leave: 8},
		{Data: "problem"},
	}}
	for i := range d.Runs {
		t.Rows = append(t.Rows, runRow(&d.Runs[i]))
	}
	return &doc.Document{Command: "kt runs", Subject: plural(len(d.Runs), "run"), Sections: []doc.Section{{ID: "runs", Tables: []doc.Table{t}}}}
}

// runRow is the row of a run.
func runRow(r *history.Run) doc.Row {
	row := doc.Row{NoteTone: doc.Warn}
	rate, p99, valid, at := known(""), known(""), known(""), known(r.Server)
	if r.RecordsPerSecond != nil {
		rate = doc.Cell{Text: theme.PerSecond(*r.RecordsPerSecond), Data: threeDigits(*r.RecordsPerSecond)}
	}
	if r.P99US != nil {
		p99 = doc.Cell{Text: theme.Duration(micros(*r.P99US)), Data: csvMicros(*r.P99US)}
	}
	if r.Valid != nil {
		valid = doc.Cell{Text: map[bool]string{true: "yes", false: "no"}[*r.Valid], Data: strconv.FormatBool(*r.Valid)}
	}
	if r.AtWork {
		valid.Text = "at work"
	}
	if r.Embedded() {
		at.Text = "inside kt"
	}
	if r.Problem != "" {
		row.Note = r.Name + history.Ext + " cannot be read: " + r.Problem
	}
	if r.Problem != "" || r.Valid != nil && !*r.Valid {
		row.Tone = doc.Warn
	}
	what := string(r.Command)
	if r.Processes > 0 {
		what = fmt.Sprintf("%s, %s", r.Command, theme.Plural(r.Processes, "process", "processes"))
	}
	tags := known(strings.Join(r.Tags, ","))
	if len(r.Tags) > 0 {
		tags.Data = strings.Join(r.Tags, " ")
	}
	size := doc.Cell{Text: theme.Bytes(r.Bytes), Data: strconv.FormatInt(r.Bytes, 10)}
	row.Cells = []doc.Cell{
		{Text: r.Reference},
		{Text: r.StartedAt.Format("2006-01-02 15:04"), Data: r.StartedAt.Format(time.RFC3339)},
		known(what),
		{Text: string(r.Command)},
		{Data: strconv.Itoa(r.Processes)},
		known(r.Topic), at, rate,
		{Text: r.Headline},
		p99, known(r.BoundBy), valid, known(r.Ended), tags, size,
		{Data: strconv.FormatBool(r.AtWork)},
		{Text: r.Name},
		{Data: r.Problem},
	}
	return row
}
