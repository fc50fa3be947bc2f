// Package doc is what a command reports, as a value: the sentences that it is made for, facts and tables. Renderers write it for a
// terminal and for a ticket (here), and for a browser (report/page). So a table has the same rows in all.
package doc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
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
	Question         string    // below the heading
	Answer           []Note    // what the document is made for
	Remarks          []string  // of less weight than the answer
	Sections         []Section // facts and tables
	List             any       // what CSV has a row for each of: a list in the JSON; nil: the JSON is one row
	Again            string    // the command that writes it again; "": none
	Foot             string    // of a page: what else is to be kept
	Check            string    // the command that looks for what was lost; "": none
}

// CommandLine returns the command line that made it, in a form that a shell takes.
func (d *Document) CommandLine() string {
	quoted := make([]string, len(d.Args))
	for i, arg := range d.Args {
		quoted[i] = theme.Quoted(arg)
	}
	return strings.Join(quoted, " ")
}

// Output is some of the outputs of a document. 0 is all.
type Output uint8

// The outputs in which a part may be missing.
const (
	InText    Output = 1 << iota // on a terminal
	InDetails                    // on a terminal, with --verbose
	InMarkdown
	InPage
)

// In reports whether a part that is for some outputs is in one of others.
func (o Output) In(others Output) bool { return o == 0 || o&others != 0 }

// Note is a sentence, with a word before it in a page.
type Note struct {
	Name, Text string
	Tone       Tone
}

// Section is a part of a document.
type Section struct {
	ID, Title string
	For       Output
	Captions  bool // a terminal writes the captions of the tables, and not the title
	Columns   bool // a page has its blocks beside each other
	Blocks    []Block
}

// Block is a part of a section: *Facts, *Table, *Chart, Code, Tiles, Events or Details.
type Block any

// Heading returns the title of a section: the caption of its first table where it has none.
func (s *Section) Heading() string {
	for _, block := range s.Blocks {
		if t, ok := block.(*Table); ok && s.Title == "" {
			return t.Caption
		}
	}
	return s.Title
}

// Parts returns the sections that an output has, each with the blocks that it has of it.
func (d *Document) Parts(o Output) (parts []Section) {
	for _, s := range d.Sections {
		if s.Blocks = shown(s.Blocks, o); s.For.In(o) && len(s.Blocks) > 0 {
			parts = append(parts, s)
		}
	}
	return parts
}

// shown returns the blocks that an output has and that are not empty. Only a page has pictures, and details that are closed.
func shown(all []Block, o Output) (blocks []Block) {
	for _, block := range all {
		is := o == InPage
		switch b := block.(type) {
		case Details:
			b.Blocks = shown(b.Blocks, o)
			if block = b; !is && b.For.In(o) {
				blocks = append(blocks, b.Blocks...)
			}
			is = is && b.For.In(o) && len(b.Blocks) > 0
		case *Facts:
			one := &Facts{Title: b.Title, Rows: slices.DeleteFunc(slices.Clone(b.Rows), func(f Fact) bool { return !f.For.In(o) })}
			block, is = one, len(one.Rows) > 0
		case *Table:
			is = b.For.In(o) && (len(b.Rows) > 0 || b.Empty != "")
		case Code:
			is = b != ""
		case Events:
			is = is && len(b.Rows) > 0
		case *Chart:
			is = is && (b.Heat != nil || slices.ContainsFunc(b.Series, func(s Series) bool { return len(s.Points)+len(s.Values) > 0 }))
		}
		if is {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// Facts are names with their values. A page shows those with a title in columns.
type Facts struct {
	Title string
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

// Add adds a fact, unless it has no text.
func (f *Facts) Add(name string, tone Tone, text string) {
	if text != "" {
		f.Rows = append(f.Rows, Fact{Name: name, Text: text, Tone: tone})
	}
}

// If adds a fact on a condition, unless it has no text.
func (f *Facts) If(is bool, name string, tone Tone, text string) {
	if is {
		f.Add(name, tone, text)
	}
}

// List adds a fact for each text that is not empty, with the name before the first.
func (f *Facts) List(name string, texts ...string) {
	for _, text := range texts {
		if f.Add(name, Plain, text); text != "" {
			name = ""
		}
	}
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
}

// NewTable returns a table without rows, with columns as Head has them.
func NewTable(id, caption string, columns ...string) *Table {
	t := &Table{ID: id, Caption: caption}
	t.Head(columns...)
	return t
}

// Head adds columns. Each is its head, and then between bars what else it is: "role|words|1" is of words and has 1 as its Leave.
func (t *Table) Head(columns ...string) {
	for _, text := range columns {
		parts := strings.Split(text, "|")
		c := Column{Head: parts[0]}
		for _, option := range parts[1:] {
			switch option {
			case "bars":
				c.Bars = true
			case "page":
				c.For = InPage
			default:
				if kind, ok := kinds[option]; ok {
					c.Kind = kind
				} else {
					c.Leave, _ = strconv.Atoi(option) // the only other ones
				}
			}
		}
		t.Columns = append(t.Columns, c)
	}
}

// Add adds a row of cells, texts or numbers, or of lists of them.
func (t *Table) Add(cells ...any) *Row {
	var row Row
	for _, cell := range cells {
		switch c := cell.(type) {
		case Cell:
			row.Cells = append(row.Cells, c)
		case []Cell:
			row.Cells = append(row.Cells, c...)
		case []string:
			for _, text := range c {
				row.Cells = append(row.Cells, Cell{Text: text})
			}
		default:
			row.Cells = append(row.Cells, Cell{Text: fmt.Sprint(c)})
		}
	}
	t.Rows = append(t.Rows, row)
	return &t.Rows[len(t.Rows)-1]
}

// Share returns the share that a bar is of the largest of its column.
func (t *Table) Share(column int, bar float64) float64 {
	most := math.SmallestNonzeroFloat64
	for _, row := range t.Rows {
		most = max(most, row.Cells[column].Bar)
	}
	return bar / most
}

// Column is one column.
type Column struct {
	Head  string
	For   Output
	Kind  Kind
	Leave int  // a narrow terminal leaves it out: the largest first; 0: never
	Bars  bool // a terminal draws its bars too
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

var kinds = map[string]Kind{"": Number, "words": Words, "name": Name, "sentence": Sentence, "whole": Whole}

// Row is one row.
type Row struct {
	Cells    []Cell
	Tone     Tone
	Note     string // below it on a terminal, and in a column of its own elsewhere; "": none
	NoteTone Tone   // Plain: as Muted
}

// Cell is one cell.
type Cell struct {
	Text  string
	Note  string  // after the text, in small letters of a page
	Tone  Tone    // Plain: that of the row
	Bar   float64 // drawn as a bar, beside the largest of the column; 0: none
	Shift *Shift  // drawn in a page; nil: none
}

// Unknown is the text of a cell without a value.
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

// Add adds a document as a part: its answer, and its sections, told apart from those of other parts by its name.
func (d *Document) Add(name string, part *Document) {
	about := new(Facts)
	for _, text := range part.Alerts {
		about.Add("warning", Warn, text)
	}
	for _, n := range part.Answer {
		about.Add("answer", n.Tone, n.Text)
	}
	for _, text := range part.Remarks {
		about.Add("note", Muted, text)
	}
	answer := Section{ID: "answer", Title: cmp.Or(part.Question, part.Subject), Blocks: []Block{about}}
	for _, s := range slices.Insert(slices.Clone(part.Sections), 0, answer) {
		s.ID, s.Title = name+"-"+s.ID, name+": "+s.Heading()
		rename(name, s.Blocks)
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
