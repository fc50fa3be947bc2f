package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

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

// runColumns are those of a table of runs.
var runColumns = []col[history.Run]{
	{doc.Column{Head: "run", Data: "reference", Kind: doc.Whole}, func(r *history.Run) doc.Cell { return text(r.Reference) }},
	{doc.Column{Head: "when (UTC)", Data: "started_at", Kind: doc.Whole}, func(r *history.Run) doc.Cell {
		return doc.Cell{Text: r.StartedAt.Format("2006-01-02 15:04"), Data: r.StartedAt.Format(time.RFC3339)}
	}},
	{doc.Column{Head: "what", Kind: doc.Words, Leave: 3}, func(r *history.Run) doc.Cell {
		if r.Processes > 0 {
			return text(fmt.Sprintf("%s, %s", r.Command, theme.Plural(r.Processes, "process", "processes")))
		}
		return known(string(r.Command))
	}},
	{doc.Column{Data: "command", Kind: doc.Words}, func(r *history.Run) doc.Cell { return text(string(r.Command)) }},
	{doc.Column{Data: "processes"}, func(r *history.Run) doc.Cell { return data(strconv.Itoa(r.Processes)) }},
	{doc.Column{Head: "topic", Data: "topic", Kind: doc.Name}, func(r *history.Run) doc.Cell { return known(r.Topic) }},
	{doc.Column{Head: "at", Data: "server", Kind: doc.Name, Leave: 6}, func(r *history.Run) doc.Cell {
		at := known(r.Server)
		if r.Embedded() {
			at.Text = "inside kt"
		}
		return at
	}},
	{doc.Column{Head: "records/s", Data: "records_per_second"}, func(r *history.Run) doc.Cell {
		if r.RecordsPerSecond == nil {
			return known("")
		}
		return doc.Cell{Text: theme.PerSecond(*r.RecordsPerSecond), Data: threeDigits(*r.RecordsPerSecond)}
	}},
	{doc.Column{Data: "headline", Kind: doc.Words}, func(r *history.Run) doc.Cell { return text(r.Headline) }},
	{doc.Column{Head: "p99", Data: "p99_us", Leave: 1}, func(r *history.Run) doc.Cell {
		if r.P99US == nil {
			return known("")
		}
		return doc.Cell{Text: theme.Duration(micros(*r.P99US)), Data: csvMicros(*r.P99US)}
	}},
	{doc.Column{Head: "limit", Data: "bound_by", Kind: doc.Words, Leave: 2}, func(r *history.Run) doc.Cell {
		c := known(r.BoundBy)
		if r.BoundBy != "" {
			c.Text = verdict.Limit(r.BoundBy).String()
		}
		return c
	}},
	{doc.Column{Head: "valid", Data: "valid", Kind: doc.Whole}, func(r *history.Run) doc.Cell {
		valid := known("")
		if r.Valid != nil {
			valid = doc.Cell{Text: map[bool]string{true: "yes", false: "no"}[*r.Valid], Data: strconv.FormatBool(*r.Valid)}
		}
		if r.AtWork {
			valid.Text = "at work"
		}
		return valid
	}},
	{doc.Column{Head: "ended", Data: "ended", Kind: doc.Words, Leave: 5}, func(r *history.Run) doc.Cell { return known(r.Ended) }},
	{doc.Column{Head: "tags", Data: "tags", Kind: doc.Words, Leave: 4}, func(r *history.Run) doc.Cell {
		tags := known(strings.Join(r.Tags, ","))
		tags.Data = strings.Join(r.Tags, " ")
		return tags
	}},
	{doc.Column{Head: "size", Data: "bytes", Leave: 7}, func(r *history.Run) doc.Cell {
		return doc.Cell{Text: theme.Bytes(r.Bytes), Data: strconv.FormatInt(r.Bytes, 10)}
	}},
	{doc.Column{Data: "at_work"}, func(r *history.Run) doc.Cell { return data(strconv.FormatBool(r.AtWork)) }},
	{doc.Column{Head: "file", Data: "name", Kind: doc.Words, Leave: 8}, func(r *history.Run) doc.Cell { return text(r.Name) }},
	{doc.Column{Data: "problem"}, func(r *history.Run) doc.Cell { return data(r.Problem) }},
}

// RunsDoc returns a table of runs.
func RunsDoc(d *RunsDocument) *doc.Document {
	return ofTable("kt runs", plural(len(d.Runs), "run"), tableOf(doc.Table{ID: "runs", Caption: "Runs, the newest first", Data: true}, d.Runs, func(r *history.Run, row *doc.Row) {
		row.NoteTone = doc.Warn
		if r.Problem != "" {
			row.Note = r.Name + history.Ext + " cannot be read: " + r.Problem
		}
		if r.Problem != "" || r.Valid != nil && !*r.Valid {
			row.Tone = doc.Warn
		}
	}, runColumns...))
}
