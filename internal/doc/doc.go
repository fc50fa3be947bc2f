// Package doc is what a command reports, as a value: the sentences that it is made for, and tables. Renderers write it for a
// terminal (report), for a ticket and for a spreadsheet (here), and for a browser (report/page). So a table has the same rows in all.
package doc

// Document is a report.
type Document struct {
	Command, Subject string    // "kt trial", and what it is of
	Tags             []string  // how much there is: "3 runs"
	Line             string    // the load; "": there is none, or several
	Alerts           []string  // to be read before any figure
	Title            string    // of Markdown: the question
	Answer           []Note    // what the document is made for
	Remarks          []string  // of less weight than the answer
	Sections         []Section // tables
	Again            string    // the command that writes it again; "": none
}

// Note is a sentence, with a word before it in a page.
type Note struct {
	Name, Text string
	Tone       Tone
}

// Section is a part of a document: its facts, and then its tables.
type Section struct {
	ID, Title string
	Facts     []Fact
	Tables    []Table
}

// Fact is a name with its value. A fact without a name goes on with the one before it.
type Fact struct {
	Name, Text string
	Tone       Tone
}

// Table is a table.
type Table struct {
	ID, Caption string
	Columns     []Column
	Rows        []Row
	Empty       string // a sentence where there is no row; "": then there is no table
	Data        bool   // the one that CSV writes
}

// Column is one column. A head without data is for people alone, and data without a head for programs.
type Column struct {
	Head, Data string
	Kind       Kind
	Leave      int // a narrow terminal leaves it out: the largest first; 0: never
}

// Kind is what the cells of a column are.
type Kind int

const (
	Number Kind = iota
	Words       // flush left
	Name        // words that may be cut in their middle
)

// Row is one row.
type Row struct {
	Cells []Cell
	Tone  Tone
	Note  string // below it on a terminal, and in a column of its own elsewhere; "": none
}

// Cell is one cell.
type Cell struct {
	Text  string  // for people
	Data  string  // for programs; "": not known, or of words as Text
	Bar   float64 // its share of the largest of the column, drawn as a bar; 0: none
	Shift *Shift  // drawn in a page; nil: none
}

// Shift is a difference with its interval, as shares: 0.1 is 10 %.
type Shift struct {
	Value, Low, High float64
	Interval         bool // Low and High are known
}

// Tone is how a row or a sentence is to be taken.
type Tone string

const (
	Plain Tone = ""
	Good  Tone = "good"
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
