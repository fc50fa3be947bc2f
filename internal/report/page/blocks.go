package page

import (
	"bytes"
	"embed"
	"html/template"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

//go:embed assets
var assets embed.FS

// templates are those of the blocks. They escape what they are given.
var templates = template.Must(template.New("").Funcs(template.FuncMap{"clean": theme.Clean, "class": class, "words": words}).ParseFS(assets, "assets/*.html"))

// render returns a block in HTML.
func render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err //nolint:gosec // the template has escaped it
}

// words returns a command with its words marked: a line of it breaks between words, and not after the hyphens of a flag.
func words(command string) template.HTML {
	marked := strings.Split(template.HTMLEscapeString(theme.Clean(command)), " ")
	for i, word := range marked {
		if word != "" {
			marked[i] = "<span>" + word + "</span>"
		}
	}
	return template.HTML(strings.Join(marked, " ")) //nolint:gosec // it was escaped
}

// Block is a part of a section.
type Block interface{ html() (template.HTML, error) }

// Section is a part of a page with a heading.
type Section struct {
	ID, Title string
	Wide      bool // its blocks are below each other
	Blocks    []Block
}

func (s Section) html() (template.HTML, error) {
	parts, err := all(s.Blocks)
	if err != nil || len(parts) == 0 {
		return "", err
	}
	return render("section", struct {
		Section
		Parts []template.HTML
	}{s, parts})
}

func all(blocks []Block) (parts []template.HTML, err error) {
	for _, b := range blocks {
		part, err := b.html()
		if err != nil {
			return nil, err
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// Head is the top of a page: the sentence that a reader in a hurry needs.
type Head struct {
	Command, Subject string // "kt produce" and its topic
	Badges           []Badge
	About            []string
	Alerts           []string // to be read before any figure
	Line             string   // the command line
	Bound, Evidence  string   // "Bound by broker acks", and its numbers
	Calm             bool     // there is no limit
	Remarks          []string
}

// Badge is a verdict in a few words: "valid".
type Badge struct {
	Text string
	Good bool
}

func (h Head) html() (template.HTML, error) { return render("head", h) }

// Tile is one figure.
type Tile struct {
	Name, Value, Unit string
	Notes             []string
	Class             string // "bad": trouble; "": none
}

// Tiles are the figures of a page in a row.
type Tiles []Tile

func (t Tiles) html() (template.HTML, error) { return render("tiles", t) }

// Table is a table. Cells of a column are numbers or texts.
type Table struct {
	ID      string
	Caption string
	Note    string // below it; "": none
	Heads   []Column
	Rows    [][]Cell
}

// Column is the head of a column.
type Column struct {
	Name string
	Text bool // of words: aligned left
}

// Cell is one cell.
type Cell struct {
	Text  string
	Note  string  // after the text, in small letters
	Shift *Shift  // drawn before the text; nil: none
	Bar   float64 // the share of the widest bar of the column, 0 to 1; 0: no bar
	Class string  // "bad", "warn", "good", "muted" or ""
}

// Percent is the length of the bar.
func (c Cell) Percent() int { return int(min(max(c.Bar, 0), 1)*100 + 0.5) }

// Words reports whether all columns are of words.
func (t Table) Words() bool {
	return !slices.ContainsFunc(t.Heads, func(c Column) bool { return !c.Text })
}

// class returns the classes of a cell: those of a table of words have no class for that.
func class(words, text bool, own string) string {
	if text && !words {
		return strings.TrimSpace("text " + own)
	}
	return own
}

func (t Table) html() (template.HTML, error) {
	if len(t.Rows) == 0 {
		return "", nil
	}
	return render("table", t)
}

// cells are texts as cells.
func cells(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = text
	}
	return row
}

// columns returns heads by their names. A name that begins with < is of a column of words.
func columns(names ...string) []Column {
	heads := make([]Column, len(names))
	for i, name := range names {
		heads[i].Name, heads[i].Text = strings.CutPrefix(name, "<")
	}
	return heads
}

// bars gives the cells of a column bars by their values.
func bars(rows [][]Cell, column int, values []float64) {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	for i, v := range values {
		if top > 0 {
			rows[i][column].Bar = v / top
		}
	}
}

// Facts are names with their values.
type Facts struct {
	Title string
	Rows  [][2]string
}

// add adds a fact, unless its value is empty.
func (f *Facts) add(name, value string) {
	if value != "" {
		f.Rows = append(f.Rows, [2]string{name, value})
	}
}

func (f Facts) html() (template.HTML, error) {
	if len(f.Rows) == 0 {
		return "", nil
	}
	return render("facts", f)
}

// Events is the list of events; their numbers are those of the marks.
type Events struct {
	Marks   []Mark
	LeftOut int64
}

func (e Events) html() (template.HTML, error) {
	if len(e.Marks) == 0 {
		return "", nil
	}
	return render("events", e)
}

// Notes are sentences.
type Notes []Note

// Note is a sentence with a name before it.
type Note struct{ Name, Text, Class string }

func (n Notes) html() (template.HTML, error) {
	if len(n) == 0 {
		return "", nil
	}
	return render("notes", n)
}

// Details are blocks that a reader opens.
type Details struct {
	Summary string
	Blocks  []Block
}

func (d Details) html() (template.HTML, error) {
	parts, err := all(d.Blocks)
	if err != nil || len(parts) == 0 {
		return "", err
	}
	return render("details", struct {
		Details
		Parts []template.HTML
	}{d, parts})
}
