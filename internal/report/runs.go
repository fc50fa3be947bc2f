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
	"github.com/kt-bench/kt/internal/result"
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
			heads: []string{"run", "when", "what", "topic", "at", "records/s", "p99", "bound by", "valid", "tags", "size", "file"},
			left:  map[int]bool{1: true, 2: true, 3: true, 4: true, 7: true, 8: true, 9: true, 11: true},
			names: map[int]bool{3: true, 4: true},
			leave: []string{"file", "size", "at", "tags", "what"},
		}
		for i := range runs {
			t.run(g, &runs[i], o.Zone)
		}
		t.draw(g)
	})
}

// run adds the row of a run.
func (t *text) run(g *grid, r *history.Run, zone *time.Location) {
	none := string(t.th.Glyphs.Missing)
	if zone == nil {
		zone = time.UTC
	}
	rate, p99, style := none, none, plain
	if r.RecordsPerSecond != nil {
		rate = theme.Count(int64(*r.RecordsPerSecond + 0.5))
	}
	if r.P99US != nil {
		p99 = theme.Duration(micros(*r.P99US))
	}
	if r.Problem != "" || r.Valid != nil && !*r.Valid {
		style = warn
	}
	at := cmp.Or(r.Server, "inside kt")
	if r.Problem != "" {
		at = none
	}
	g.add(style, r.Reference, r.StartedAt.In(zone).Format("2006-01-02 15:04"), cmp.Or(runKind(r), none), cmp.Or(r.Topic, none), at, rate, p99,
		cmp.Or(r.BoundBy, none), runState(r, none), cmp.Or(strings.Join(r.Tags, ","), none), theme.Bytes(r.Bytes), r.Name)
	if r.Problem != "" {
		g.note(warn, r.Name+history.Ext+" cannot be read: "+r.Problem)
	}
}

// runKind returns what a run did.
func runKind(r *history.Run) string {
	if r.Processes > 0 {
		return fmt.Sprintf("%s, %s", r.Command, theme.Plural(r.Processes, "process", "processes"))
	}
	return string(r.Command)
}

// runState returns whether a run is valid, and how it ended if not by itself.
func runState(r *history.Run, none string) string {
	state := none
	switch {
	case r.AtWork:
		return "at work"
	case r.Valid != nil && *r.Valid:
		state = "yes"
	case r.Valid != nil:
		state = "no"
	}
	if r.Ended != "" && r.Ended != result.Completed {
		state += ", " + r.Ended
	}
	return state
}

// runsJSON writes the runs for programs.
func runsJSON(w io.Writer, runs []history.Run, _ Options) error {
	return Indented(w, struct {
		Schema int           `json:"schema"`
		Runs   []history.Run `json:"runs"`
	}{RunsSchema, append([]history.Run{}, runs...)})
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
			p99 = strconv.FormatInt(*r.P99US, 10)
		}
		if r.Valid != nil {
			valid = strconv.FormatBool(*r.Valid)
		}
		rows = append(rows, []string{
			r.Reference, r.Name, r.StartedAt.Format(time.RFC3339), string(r.Command), strconv.Itoa(r.Processes), r.Topic, r.Server, rate, r.Headline,
			p99, r.BoundBy, valid, r.Ended, strings.Join(r.Tags, " "), strconv.FormatInt(r.Bytes, 10), strconv.FormatBool(r.AtWork), r.Problem,
		})
	}
	return writeCSV(w, rows)
}
