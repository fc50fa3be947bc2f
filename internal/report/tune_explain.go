package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

// Explain writes all that kt knows of a setting, and what it found on this machine
// when r has it.
func Explain(w io.Writer, s *tune.Setting, profiles []*tune.Profile, f *tune.Finding, th *theme.Theme) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, th, 0)
		t.line("")
		t.line("  " + t.th.Paint(strong, s.ID) + "  " + t.th.Paint(muted, s.Title))
		t.line("")
		if f != nil {
			t.here(*f)
		}
		for i, p := range profiles {
			label := ""
			if i == 0 {
				label = "wanted"
			}
			t.row(label, plain, pad(p.Name, 12)+wantedBy(p, s))
		}
		t.sentence("why", plain, s.Why)
		t.sentence("", plain, s.Detail)
		t.row("severity", plain, fmt.Sprintf("%s; the value is %s", s.Severity, confidences[s.Confidence]))
		t.sentence("roles", plain, joinRoles(s.Roles))
		t.sentence("reads", plain, strings.Join(s.Reads, ", "))
		for i, source := range s.Sources {
			t.sentence([]string{"sources", ""}[min(i, 1)], plain, source)
		}
		t.sentence("change", plain, changeOf(s))
	})
}

// here writes the finding on this machine.
func (t *text) here(f tune.Finding) {
	glyph, style := t.look(f.Verdict)
	current := f.Current
	if current == "" {
		current = string(t.th.Glyphs.Missing)
	}
	t.row("here", plain, current+"  "+t.th.Paint(style, string(glyph)+" "+strings.ReplaceAll(string(f.Verdict), "_", " ")))
	if f.Persisted != "" {
		t.row("after boot", plain, f.Persisted+"  ("+f.PersistedIn+")")
	}
	if f.Note != "" {
		t.sentence("note", plain, f.Note)
	}
	for i, c := range f.Changes {
		t.row([]string{"kt sets", ""}[min(i, 1)], plain, c.Describe())
	}
	if f.Command != "" {
		for i, line := range strings.Split(f.Command, "\n") {
			t.row([]string{"command", ""}[min(i, 1)], plain, line)
		}
	}
	t.line("")
}

// confidences are how well a value is founded, in words.
var confidences = map[tune.Confidence]string{
	tune.Documented: "documented by Kafka or a vendor",
	tune.Measured:   "backed by a published measurement",
	tune.Folklore:   "a common or an own proposal, not measured",
}

func wantedBy(p *tune.Profile, s *tune.Setting) string {
	if r := p.Rule(s); !r.Leave() {
		return r.String()
	}
	if p.Names(s) {
		return "left alone"
	}
	return "see below"
}

func joinRoles(roles []tune.Role) string {
	var names []string
	for _, r := range roles {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// changeOf is who changes a setting.
func changeOf(s *tune.Setting) string {
	what := "kt only checks it"
	if s.Applies {
		what = "kt tune --apply sets it"
	}
	if s.Risk != "" {
		what += "; risk: " + s.Risk
	}
	return what
}

// TuneList writes a line for each setting.
func TuneList(w io.Writer, settings []*tune.Setting, th *theme.Theme) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, th, 0)
		width := 0
		for _, s := range settings {
			width = max(width, len(s.ID))
		}
		for _, s := range settings {
			t.line(pad(s.ID, width) + "  " + pad(string(s.Group), 7) + "  " + s.Title)
		}
	})
}

// capital makes the first letter a capital, unless the word is a name that is
// written otherwise, as dirty_ratio.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if s == "" || strings.ContainsAny(word, "_.") || word[0] < 'a' || word[0] > 'z' {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
