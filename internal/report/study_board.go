package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

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

// StudyBoardText returns what there is to be seen of a study that goes on, for a terminal of a size.
func StudyBoardText(s *StudyBoard, o Options, height int) string {
	var b bytes.Buffer
	t := newText(&b, o.Theme, o.Width)
	room := func() int { return height - strings.Count(b.String(), "\n") - 4 }
	switch {
	case s.Document.FindDoc != nil:
		t.docHead(FindDoc(s.Document))
		t.line("")
		trials := trialTable(s.Document.Trials)
		for i := range trials.Rows {
			trials.Rows[i].Note = "" // there is no room for reasons
		}
		if hidden := len(trials.Rows) - max(1, room()); hidden > 0 {
			t.line("  " + t.th.Paint(muted, plural(hidden, "earlier trial")))
			trials.Rows = trials.Rows[hidden:]
		}
		t.draw(t.gridOf(&trials))
	case s.Document.TrialDoc != nil:
		d := TrialDoc(s.Document)
		t.docHead(d)
		t.docSection(d.Sections[0])
	default:
		t.documentHead(s.Document)
		t.line("")
		t.boardCells(s, room())
	}
	t.line("")
	t.line("  " + t.th.Paint(strong, cut(s.now(), t.wrapAt()-2, t.th)))
	return strings.TrimSuffix(b.String(), "\n")
}

// boardCells draws the cells of a study around that of now, in some rows.
func (t *text) boardCells(s *StudyBoard, room int) {
	d := s.Document
	g := &grid{heads: append(studyHeads(d), "runs", "records/s", "p99", "limit"), leave: []string{"limit"}}
	g.left = map[int]bool{len(g.heads) - 4: true, len(g.heads) - 1: true}
	first, last := visible(len(d.Cells), s.cell(), room)
	for i := first; i < last; i++ {
		t.boardRow(g, s, i)
	}
	t.draw(g)
	if hidden := len(d.Cells) - (last - first); hidden > 0 {
		t.line("  " + t.th.Paint(muted, fmt.Sprintf("%d more cells", hidden)))
	}
}

// visible returns which of n rows are shown where there is room for some: those around one.
func visible(n, around, room int) (first, last int) {
	room = max(1, min(n, room))
	first = max(0, min(around-room/2, n-room))
	return first, first + room
}

// cell returns the position of the cell of now.
func (s *StudyBoard) cell() int {
	for i, c := range s.Document.Cells {
		if s.isAt(&c) {
			return i
		}
	}
	return 0
}

// isAt reports whether the run of now is of a cell.
func (s *StudyBoard) isAt(c *study.CellDoc) bool {
	for _, f := range s.Turn.Cell.At {
		if c.At[f.Name] != f.Value {
			return false
		}
	}
	return s.Turn.Number > 0
}

// boardRow adds a cell: a mark for each of its runs, and the medians of those that were made.
func (t *text) boardRow(g *grid, s *StudyBoard, i int) {
	c, done, left := &s.Document.Cells[i], "●", "○"
	if t.th.ASCII() {
		done, left = "#", "."
	}
	row := studyAt(s.Document, c)
	if c.LeftOut != "" {
		g.add(muted, append(row, "left out", "", "", c.LeftOut)...)
		return
	}
	style := plain
	if s.isAt(c) {
		style = strong
	}
	marks := strings.Repeat(done, len(c.Runs)) + strings.Repeat(left, max(0, s.Document.Study.Repeats-len(c.Runs)))
	rate, p99, limit := "", "", ""
	if c.Throughput.N > 0 {
		rate, limit = Figure(study.Throughput, c.Throughput.Median), LimitsOf(&c.CellFigures)
	}
	if c.Latency.P99.N > 0 {
		p99 = Figure(study.P99, c.Latency.P99.Median)
	}
	g.add(style, append(row, marks, rate, p99, limit)...)
}

// now says which run goes on, and how much time is left.
func (s *StudyBoard) now() string {
	if s.Turn.Number == 0 {
		return "preparing"
	}
	text := fmt.Sprintf("run %d", s.Turn.Number)
	if s.Turns > 0 {
		text += fmt.Sprintf(" of %d", s.Turns)
		if s.Made > 0 {
			left := s.Took / time.Duration(s.Made) * time.Duration(s.Turns-s.Turn.Number+1)
			text += ", about " + left.Round(time.Second).String() + " left"
		}
	}
	if at := s.Turn.Cell.String(); at != "" {
		text += ": " + at
	}
	if s.Turn.Repeat == 0 {
		text += " (to warm up)"
	}
	if s.Now != "" {
		text += "  " + s.Now
	}
	return text
}
