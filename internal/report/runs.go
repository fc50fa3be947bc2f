package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/theme"
)

// RunsSchema is the version of the document that RunsFormats["json"] writes. It changes when a field changes its
// meaning or goes away, not when one is added.
const RunsSchema = 1

// RunsFormat writes a list of runs.
type RunsFormat func(w io.Writer, runs []history.Run, o Options) error

// RunsFormats are the formats of a list of runs by name.
var RunsFormats = map[string]RunsFormat{"text": runsText, "json": runsJSON, "csv": runsCSV}

// runsText writes a table for people.
func runsText(w io.Writer, runs []history.Run, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		g := &grid{
			heads: []string{"run", "when (UTC)", "what", "topic", "at", "records/s", "p99", "bound by", "valid", "ended", "tags", "size", "file"},
			left:  map[int]bool{2: true, 3: true, 4: true, 7: true, 8: true, 9: true, 10: true, 12: true}, // and no time is cut
			names: map[int]bool{3: true, 4: true},
			leave: []string{"file", "size", "at", "ended", "tags", "what", "bound by", "p99"},
		}
		for i := range runs {
			t.run(g, &runs[i])
		}
		t.draw(g)
		for i := range runs {
			t.unread(&runs[i])
		}
	})
}

// unread writes under the table why a run cannot be read.
func (t *text) unread(r *history.Run) {
	if r.Problem == "" {
		return
	}
	mark := string(t.th.Glyphs.Alert) + " "
	for _, line := range wrapText(r.Reference+" ("+r.Name+history.Ext+") cannot be read: "+r.Problem, t.wrapAt()-6) {
		t.line("    " + t.th.Paint(warn, mark+line))
		mark = "  "
	}
}

// run adds the row of a run.
func (t *text) run(g *grid, r *history.Run) {
	none := string(t.th.Glyphs.Missing)
	rate, p99, style := none, none, plain
	if r.RecordsPerSecond != nil {
		rate = theme.PerSecond(*r.RecordsPerSecond)
	}
	if r.P99US != nil {
		p99 = theme.Duration(micros(*r.P99US))
	}
	if r.Problem != "" || r.Valid != nil && !*r.Valid {
		style = warn
	}
	at, topic := cmp.Or(r.Server, none), cmp.Or(r.Topic, none)
	if t.width > 0 { // so that there is room for what limited the run
		topic = middle(topic, min(t.width/6, maxName), t.th)
	}
	if r.Embedded() {
		at = "inside kt"
	}
	g.add(style, r.Reference, r.StartedAt.UTC().Format("2006-01-02 15:04"), cmp.Or(runKind(r), none), topic, at, rate, p99,
		cmp.Or(r.BoundBy, none), runValid(r, none), cmp.Or(r.Ended, none), cmp.Or(strings.Join(r.Tags, ","), none), theme.Bytes(r.Bytes), r.Name)
}

// runKind returns what a run did.
func runKind(r *history.Run) string {
	if r.Processes > 0 {
		return fmt.Sprintf("%s, %s", r.Command, theme.Plural(r.Processes, "process", "processes"))
	}
	return string(r.Command)
}

// runValid returns whether a run is valid.
func runValid(r *history.Run, none string) string {
	switch {
	case r.AtWork:
		return "at work"
	case r.Valid == nil:
		return none
	case *r.Valid:
		return "yes"
	}
	return "no"
}

// runsJSON writes the runs for programs.
func runsJSON(w io.Writer, runs []history.Run, _ Options) error {
	runs = append([]history.Run{}, runs...)
	for i := range runs {
		runs[i].StartedAt = runs[i].StartedAt.UTC()
	}
	return Indented(w, struct {
		Schema int           `json:"schema"`
		Runs   []history.Run `json:"runs"`
	}{RunsSchema, runs})
}

// runsHeader names the columns of runsCSV.
var runsHeader = []string{
	"reference", "name", "started_at", "command", "processes", "topic", "server", "records_per_second", "headline", "p99_us", "bound_by", "valid",
	"ended", "tags", "bytes", "at_work", "problem",
}

// runsCSV writes a line a run. A field is empty where nothing is known.
func runsCSV(w io.Writer, runs []history.Run, _ Options) error {
	rows := [][]string{runsHeader}
	for i := range runs {
		r := &runs[i]
		rate, p99, valid := "", "", ""
		if r.RecordsPerSecond != nil {
			rate = strconv.FormatFloat(*r.RecordsPerSecond, 'f', 3, 64)
		}
		if r.P99US != nil {
			p99 = csvMicros(*r.P99US)
		}
		if r.Valid != nil {
			valid = strconv.FormatBool(*r.Valid)
		}
		rows = append(rows, []string{
			r.Reference, r.Name, r.StartedAt.UTC().Format(time.RFC3339), string(r.Command), strconv.Itoa(r.Processes), r.Topic, r.Server, rate, r.Headline,
			p99, r.BoundBy, valid, r.Ended, strings.Join(r.Tags, " "), strconv.FormatInt(r.Bytes, 10), strconv.FormatBool(r.AtWork), r.Problem,
		})
	}
	return writeCSV(w, rows)
}
