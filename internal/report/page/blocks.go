package page

import (
	"bytes"
	"embed"
	"html/template"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

//go:embed assets
var assets embed.FS

// templates are those of the blocks. They escape what they are given.
var templates = template.Must(template.New("").Funcs(template.FuncMap{"clean": theme.Clean, "class": class, "uplot": uplot, "words": words}).ParseFS(assets, "assets/*.html"))

// uplot returns the name and the version of the charts' library.
func uplot() string {
	name, _, _ := strings.Cut(asset("VERSION"), ",")
	return name
}

// render returns data in HTML, by the template of a name; "": there is nothing to show.
func render(name string, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name, data)
	return template.HTML(bytes.TrimSpace(b.Bytes())), err //nolint:gosec // the template has escaped it
}

// words returns a command with its words marked: a line of it breaks between words, and not after the hyphens of a flag.
func words(command string) template.HTML {
	marked := strings.Split(escaped(command), " ")
	for i, word := range marked {
		if word != "" {
			marked[i] = "<span>" + word + "</span>"
		}
	}
	return template.HTML(strings.Join(marked, " ")) //nolint:gosec // it was escaped
}

// Block is a part of a section. Its template writes nothing if the block is empty.
type Block interface{ HTML() (template.HTML, error) }

// Blocks are some blocks.
type Blocks []Block

// Parts returns the HTML of the blocks that are not empty.
func (all Blocks) Parts() (parts []template.HTML, err error) {
	for _, b := range all {
		part, err := b.HTML()
		if err != nil {
			return nil, err
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// Section is a part of a page with a heading.
type Section struct {
	ID, Title string
	Wide      bool // its blocks are below each other
	Blocks    Blocks
}

// HTML returns the section.
func (s Section) HTML() (template.HTML, error) { return render("section", s) }

// Head is the top of a page: the sentence that a reader in a hurry needs.
type Head struct {
	Command, Subject string // "kt produce" and its topic
	Badges           []Badge
	About            []string
	Alerts           []string // to be read before any figure
	Line             string   // the command line
	Remarks          []string
}

// Badge is a verdict in a few words: "valid".
type Badge struct{ Text, Class string }

// HTML returns the block.
func (h Head) HTML() (template.HTML, error) { return render("head", h) }

// Tile is one figure.
type Tile struct {
	Name, Value, Unit string
	Notes             []string
	Class             string // "bad": trouble; "": none
}

// Tiles are the figures of a page in a row.
type Tiles []Tile

// HTML returns the block.
func (t Tiles) HTML() (template.HTML, error) { return render("tiles", t) }

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

// HTML returns the block.
func (t Table) HTML() (template.HTML, error) { return render("table", t) }

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

// HTML returns the block.
func (f Facts) HTML() (template.HTML, error) { return render("facts", f) }

// Events is the list of events; their numbers are those of the marks.
type Events struct {
	Marks   []Mark
	LeftOut string // the others, counted
}

// HTML returns the block.
func (e Events) HTML() (template.HTML, error) { return render("events", e) }

func eventsOf(e *doc.Events) Events {
	of := Events{LeftOut: e.LeftOut}
	for _, row := range e.Rows {
		of.Marks = append(of.Marks, Mark{Number: row.Number, Class: row.Tone, Text: row.Text, At: row.At})
	}
	return of
}

// Code is lines to be copied.
type Code string

// HTML returns the block.
func (c Code) HTML() (template.HTML, error) {
	lines := strings.Split(strings.TrimRight(string(c), "\n"), "\n")
	return render("code", lines)
}

// Notes are sentences.
type Notes []Note

// Note is a sentence with a name before it.
type Note struct{ Name, Text, Class string }

// HTML returns the block.
func (n Notes) HTML() (template.HTML, error) { return render("notes", n) }

// Details are blocks that a reader opens.
type Details struct {
	Summary string
	Blocks  Blocks
}

// HTML returns the block.
func (d Details) HTML() (template.HTML, error) { return render("details", d) }
