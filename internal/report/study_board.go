package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
)

// StudyBoard is a study while it goes on.
type StudyBoard struct {
	Document *study.Document

	Turn  study.Turn // the run of now
	Turns int        // 0: not known
	Now   string     // what the run of now says of itself; "": nothing yet
	Took  time.Duration
	Made  int // runs, in the time that they took
}

// StudyBoardText returns what there is to be seen of a study that goes on, for a terminal of a size: its first table, around the run of now.
func StudyBoardText(s *StudyBoard, o Options, height int) string {
	d := StudyDoc(s.Document)
	t := doc.NewWriter(o.terminal())
	t.Head(d)
	t.Line("")
	var table *doc.Table
	for _, section := range d.Sections {
		if table == nil && len(section.Blocks) > 0 {
			table, _ = section.Blocks[0].(*doc.Table)
		}
	}
	for i := range table.Rows {
		table.Rows[i].Note = "" // there is no room for it
	}
	at := s.mark(table, o.Theme.ASCII())
	first, last := visible(len(table.Rows), at, height-bytes.Count(t.Bytes(), []byte("\n"))-4)
	hidden := len(table.Rows) - (last - first)
	table.Rows = table.Rows[first:last]
	t.Table(table)
	if hidden > 0 {
		t.Line("  " + t.Paint(doc.Muted, fmt.Sprintf("%d more rows", hidden)))
	}
	t.Line("")
	t.Line("  " + t.Paint(doc.Loud, t.Cut(s.now(), 2)))
	return strings.TrimSuffix(t.String(), "\n")
}

// mark shows in a table of cells which runs of each are made, and returns the row of the run of now. Another table grows at its end.
func (s *StudyBoard) mark(t *doc.Table, ascii bool) int {
	runs := slices.IndexFunc(t.Columns, func(c doc.Column) bool { return c.Head == "runs" })
	if runs < 0 {
		return len(t.Rows) - 1
	}
	made, left, now := "●", "○", 0
	if ascii {
		made, left = "#", "."
	}
	loads := len(t.Rows) / max(1, len(s.Document.Cells))
	for i := range s.Document.Cells {
		c := &s.Document.Cells[i]
		for j := range loads {
			row := &t.Rows[i*loads+j]
			row.Cells[runs].Text = strings.Repeat(made, len(c.Runs)) + strings.Repeat(left, max(0, s.Document.Study.Repeats-len(c.Runs)))
			if s.isAt(c) {
				now, row.Tone = i*loads, doc.Loud
			}
		}
	}
	return now
}

// visible returns which of n rows are shown where there is room for some: those around one.
func visible(n, around, room int) (first, last int) {
	room = max(1, min(n, room))
	first = max(0, min(around-room/2, n-room))
	return first, min(n, first+room)
}

// isAt reports whether the run of now is of a cell.
func (s *StudyBoard) isAt(c *study.CellDoc) bool {
	return s.Turn.Number > 0 && !slices.ContainsFunc(s.Turn.Cell.At, func(f study.Flag) bool { return c.At[f.Name] != f.Value })
}

// now says which run goes on, and how much time is left.
func (s *StudyBoard) now() string {
	if s.Turn.Number == 0 {
		return "preparing"
	}
	left := ""
	if s.Turns > 0 && s.Made > 0 {
		left = ", about " + (s.Took / time.Duration(s.Made) * time.Duration(s.Turns-s.Turn.Number+1)).Round(time.Second).String() + " left"
	}
	return strings.TrimSpace(turnText(s.Turn, s.Turns, left, " (to warm up)") + "  " + s.Now)
}
