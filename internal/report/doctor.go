package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/result"
)

// DoctorSchema is the version of the document that DoctorJSON writes. It changes when a
// field changes its meaning or goes away, not when one is added.
const DoctorSchema = 1

// DoctorRow is one check of a cluster.
type DoctorRow struct {
	Name    string           `json:"name"`
	About   string           `json:"about"`
	State   string           `json:"state"` // pass, warning, failure or unknown
	Text    string           `json:"text"`
	Advice  string           `json:"advice"`
	Figures map[string]int64 `json:"figures,omitempty"`
}

// DoctorDocument is the document of DoctorJSON.
type DoctorDocument struct {
	Schema  int            `json:"schema"`
	Healthy bool           `json:"healthy"` // no check failed, and none was interrupted
	Exit    int            `json:"-"`       // the exit code
	Cluster result.Cluster `json:"cluster"`
	Checks  []DoctorRow    `json:"checks"`
}

// DoctorJSON writes the checks for programs.
func DoctorJSON(w io.Writer, d DoctorDocument) error {
	d.Schema = DoctorSchema
	return Indented(w, d)
}

// Doctor writes the checks for people, a line each. Only a terminal breaks them.
func Doctor(w io.Writer, d DoctorDocument, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		name := 0
		counts := make(map[string]int)
		for _, c := range d.Checks {
			name = max(name, utf8.RuneCountInString(c.Name))
			counts[c.State]++
		}
		for _, c := range d.Checks {
			t.check(c, name)
		}
		style, found := good, []string{plural(counts["failure"], "failure"), plural(counts["warning"], "warning")}
		if n := counts["unknown"]; n > 0 {
			found = append(found, fmt.Sprintf("%d unknown", n))
		}
		ending := strings.Join(found, ", ")
		if !d.Healthy {
			style, ending = bad, fmt.Sprintf("%s (exit code %d)", ending, d.Exit)
		}
		t.line("")
		t.line("  " + t.th.Paint(style, ending))
	})
}

// check writes one check. name is the width of that column.
func (t *text) check(c DoctorRow, name int) {
	glyph, style := t.th.Glyphs.Hollow, muted
	switch c.State {
	case "pass":
		glyph, style = t.th.Glyphs.Pass, good
	case "warning":
		glyph, style = t.th.Glyphs.Alert, warn
	case "failure":
		glyph, style = t.th.Glyphs.Cross, bad
	}
	parts := slices.DeleteFunc([]string{c.About, c.Text, c.Advice}, func(part string) bool { return part == "" })
	line := strings.Join(parts, ": ")
	lines := []string{line}
	column := 2 + 2 + len("warning") + 2 + name + 2
	if t.width > 0 {
		lines = wrapText(line, max(t.wrapAt()-column, leastWhy))
	}
	for i, line := range lines {
		if i > 0 {
			t.line(strings.Repeat(" ", column) + t.th.Paint(plain, line))
			continue
		}
		state := string(glyph) + " " + pad(c.State, len("warning"))
		t.line("  " + t.th.Paint(style, state) + "  " + t.th.Paint(strong, pad(c.Name, name)) + "  " + t.th.Paint(plain, line))
	}
}
