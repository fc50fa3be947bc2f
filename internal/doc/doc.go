// Package doc is what a command reports, as a value: the sentences that it is made for, facts and tables. Renderers write it for a
// terminal, for a ticket and for a spreadsheet (here), and for a browser (report/page). So a table has the same rows in all.
package doc

import (
	"cmp"
	"slices"
)

// Document is a report.
type Document struct {
	Command, Subject string    // "kt trial", and what it is of
	Tags             []string  // how much there is: "3 runs"
	About            []string  // when and where it was made
	Args             []string  // the command line that made it
	Line             string    // the load; "": there is none, or several
	Badges           []Note    // of a page: the verdicts in a word each
	Alerts           []string  // to be read before any figure
	Title            string    // of Markdown; "": the question, or the command and its subject
	Question         string    // below the heading
	Answer           []Note    // what the document is made for
	Remarks          []string  // of less weight than the answer
	Sections         []Section // facts and tables
	Again            string    // the command that writes it again; "": none
	Foot             string    // of a page: what else is to be kept
	Check            string    // the command that looks for what was lost; "": none
}

// Output is some of the outputs of a document. 0 is all.
type Output uint8

// The outputs in which a part may be missing.
const (
	InText    Output = 1 << iota // on a terminal
	InDetails                    // on a terminal, with --verbose
	InMarkdown
	InPage
	everywhere = ^Output(0) // tables without rows too
)

// In reports whether a part that is for some outputs is in one of others.
func (o Output) In(others Output) bool { return o == 0 || o&others != 0 }

// Note is a sentence, with a word before it in a page.
type Note struct {
	Name, Text string
	Tone       Tone
}

// Section is a part of a document: its facts, then its tables, and then what else it has.
type Section struct {
	ID, Title string
	For       Output
	Captions  bool // a terminal writes the captions of the tables, and not the title
	Columns   bool // a page has its blocks beside each other
	Facts     []Fact
	Tables    []Table
	Blocks    []Block
}

// Block is a part of a section: Facts, *Table, *Chart, Code, Tiles, Events or Details. A page has others of its own.
type Block any

// All returns the parts of a section in their order.
func (s *Section) All() []Block {
	var all []Block
	if len(s.Facts) > 0 {
		all = append(all, Facts{Rows: s.Facts})
	}
	for i := range s.Tables {
		all = append(all, &s.Tables[i])
	}
	return append(all, s.Blocks...)
}

// flat returns the blocks that an output has, with those of details in their place, and of facts those that it has.
func flat(all []Block, o Output) (blocks []Block) {
	for _, block := range all {
		switch b := block.(type) {
		case Details:
			if b.For.In(o) {
				blocks = append(blocks, flat(b.Blocks, o)...)
			}
		case Facts:
			if b = b.Of(o); len(b.Rows) > 0 {
				blocks = append(blocks, b)
			}
		case *Table:
			if b.For.In(o) && (len(b.Rows) > 0 || b.Empty != "" || o == everywhere) {
				blocks = append(blocks, b)
			}
		case Code:
			if b != "" {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

// Of returns the facts that an output has.
func (f Facts) Of(o Output) Facts {
	f.Rows = slices.DeleteFunc(slices.Clone(f.Rows), func(one Fact) bool { return !f.For.In(o) || !one.For.In(o) })
	return f
}

// Facts are names with their values. A page shows those with a title in columns.
type Facts struct {
	Title string
	For   Output
	Rows  []Fact
}

// Fact is a name with its value. A fact without a name goes on with the one before it.
type Fact struct {
	Name, Text string
	Shorter    []string // the same for narrower terminals, the longest first
	Remark     string   // about the text; a narrow terminal leaves it out
	Tone       Tone
	For        Output
}

// Details are blocks that a reader of a page opens.
type Details struct {
	Summary string
	For     Output
	Blocks  []Block
}

// Code is lines to be copied: commands, or a part of a file.
type Code string

// Tiles are the figures of a page in a row.
type Tiles []Tile

// Tile is one figure.
type Tile struct {
	Name, Value, Unit string
	Notes             []string
	Tone              Tone
}

// Events are what happened, in a page. Their numbers are those of the marks in charts.
type Events struct {
	Rows    []Event
	LeftOut string // the others, counted
}

// Event is one of them.
type Event struct {
	At     float64 `json:"at"` // seconds of the run
	Number int     `json:"number"`
	Class  string  `json:"class"` // how bad it is: "neutral", "better", "worse" or "worst"
	Text   string  `json:"text"`
}

// Table is a table.
type Table struct {
	ID, Caption string
	Bare        bool // a terminal writes no caption
	For         Output
	Columns     []Column
	Rows        []Row
	Note        string // below it: what it leaves out
	Empty       string // a sentence where there is no row; "": then there is no table
	Data        bool   // the one that CSV writes
}

// Column is one column. A head without data is for people alone, and data without a head for programs.
type Column struct {
	Head, Data string
	For        Output // where people see it
	Kind       Kind
	Leave      int  // a narrow terminal leaves it out: the largest first; 0: never
	Bars       bool // a terminal draws its bars too
}

// Kind is what the cells of a column are.
type Kind int

// The kinds of cells.
const (
	Number   Kind = iota
	Words         // flush left
	Name          // words that may be cut in their middle
	Sentence      // of the last column: a terminal breaks it into lines, below the row where there is no room beside it
	Whole         // words that are never cut
)

// Row is one row.
type Row struct {
	Cells    []Cell
	Tone     Tone
	Note     string // below it on a terminal, and in a column of its own elsewhere; "": none
	NoteTone Tone   // Plain: as Muted
}

// Cell is one cell.
type Cell struct {
	Text  string  // for people
	Data  string  // for programs; "": not known, or of words as Text
	Note  string  // after the text, in small letters of a page
	Tone  Tone    // Plain: that of the row
	Bar   float64 // its share of the largest of the column, drawn as a bar; 0: none
	Shift *Shift  // drawn in a page; nil: none
}

// Unknown is the text of a cell without a value. Programs get nothing.
const Unknown = "–"

// Shift is a difference with its interval, as shares: 0.1 is 10 %.
type Shift struct {
	Value, Low, High float64
	Interval         bool // Low and High are known
}

// Tone is how a row or a sentence is to be taken.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Warn  Tone = "warn"
	Bad   Tone = "bad"
	Muted Tone = "muted"
	Loud  Tone = "loud"
)

// Of returns cells of texts.
func Of(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	return cells
}

// Heads returns columns of a kind.
func Heads(kind Kind, names ...string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i] = Column{Head: name, Kind: kind}
	}
	return columns
}

// Bars gives the cells of a column bars by their values.
func (t *Table) Bars(column int, values []float64) {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	for i, v := range values {
		if top > 0 {
			t.Rows[i].Cells[column].Bar = v / top
		}
	}
}

// Add adds a document as a part: its answer, and its sections, told apart from those of other parts by its name.
func (d *Document) Add(name string, part *Document) {
	about := Section{ID: name + "-answer", Title: name + ": " + cmp.Or(part.Question, part.Subject)}
	add := func(kind, text string, tone Tone) {
		about.Facts = append(about.Facts, Fact{Name: kind, Text: text, Tone: tone})
	}
	for _, text := range part.Alerts {
		add("warning", text, Warn)
	}
	for _, n := range part.Answer {
		add("answer", n.Text, n.Tone)
	}
	for _, text := range part.Remarks {
		add("note", text, Muted)
	}
	d.Sections = append(d.Sections, about)
	for _, s := range part.Sections {
		if s.Title == "" && len(s.Tables) > 0 {
			s.Title = s.Tables[0].Caption
		}
		s.ID, s.Title = name+"-"+s.ID, name+": "+s.Title
		rename(name, s.All())
		d.Sections = append(d.Sections, s)
	}
}

// rename tells the blocks of a part apart from those of others.
func rename(part string, all []Block) {
	for _, block := range all {
		switch b := block.(type) {
		case *Table:
			b.ID = part + "-" + b.ID
		case *Chart:
			b.ID = part + "-" + b.ID
		case Details:
			rename(part, b.Blocks)
		}
	}
}
