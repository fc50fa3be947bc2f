package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// TuneOptions are the options of a format.
type TuneOptions struct {
	Theme   *theme.Theme
	Verbose bool // whole reasons, for everything that is shown
	All     bool // every check, also one that passes or does not apply
	Quiet   bool // only failures and warnings
	Strict  bool // warnings count
	Width   int  // of the terminal, in columns; 0: there is none, so sentences take 100 and nothing is cut

	// Again are the flags that look at the same machine in the same way, with a space
	// before each; "" for none.
	Again string
	Root  string // the flag that names another root, in the same way
}

// TuneFormat writes the findings of the checks of a machine.
type TuneFormat func(w io.Writer, r *tune.Report, o TuneOptions) error

// TuneFormats are the formats by name.
var TuneFormats = map[string]TuneFormat{
	"text":     TuneText,
	"json":     TuneJSON,
	"csv":      TuneCSV,
	"markdown": TuneMarkdown,
}

// TuneJSON writes the whole document.
func TuneJSON(w io.Writer, r *tune.Report, o TuneOptions) error {
	return Indented(w, r.Document(r.Fit(o.Strict)))
}

// Indented writes a value as JSON for people and programs.
func Indented(w io.Writer, v any) error { return theme.JSON(w, v, "  ") }

// TuneCSV writes a line for each check.
func TuneCSV(w io.Writer, r *tune.Report, _ TuneOptions) error {
	rows := [][]string{{"id", "group", "verdict", "current", "persisted", "persisted_in", "wanted", "severity", "confidence", "note", "why", "source", "command"}}
	for _, d := range r.Document(true).Checks {
		row := []string{
			d.ID, string(d.Group), string(d.Verdict), d.Current, d.Persisted, d.PersistedIn, d.Wanted,
			string(d.Severity), string(d.Confidence), d.Note, d.Why, d.Source, d.Command,
		}
		rows = append(rows, row)
	}
	return writeCSV(w, rows)
}

// TuneMarkdown writes a table for each group, for a wiki or a ticket.
func TuneMarkdown(w io.Writer, r *tune.Report, o TuneOptions) error {
	return buffered(w, func(b *bytes.Buffer) {
		about := append(aboutMachine(r.Machine), aboutRole(r.Machine)...)
		b.WriteString("# kt tune: " + cell(about[0]) + "\n\n" + cell(strings.Join(about[1:], ", ")) + ". " + verdictLine(r, o.Strict, tune.Verdicts) + "\n")
		for _, g := range tune.Groups {
			found := inGroup(r, g, o)
			if len(found) == 0 {
				continue
			}
			b.WriteString("\n## " + groupTitles[g] + "\n\n| check | verdict | current | wanted | why |\n|---|---|---|---|---|\n")
			for _, f := range found {
				b.WriteString("| `" + f.ID + "` | " + strings.ReplaceAll(string(f.Verdict), "_", " ") + " | " + cell(f.Current) + " | " + cell(f.Wanted) + " | " + cell(reason(f, o.Verbose)) + " |\n")
			}
		}
	})
}

// cell is text as a cell of a Markdown table. What a machine's files hold is not
// Markdown: nothing in it may end the cell or begin a tag.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(theme.Clean(s))
}
