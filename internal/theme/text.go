package theme

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/secret"
)

// Clean returns text that a terminal can only show: one line, without escape sequences,
// control characters (C1 too), or the marks that hide text or turn its direction. What it
// replaces stays visible, as a question mark, and takes as many characters as before. Everything
// that kt did not write itself goes through here on its way out: what users, files, peers, brokers
// and commands gave. So secrets are taken out here too (secret.Scrub). Of more than maxLine bytes it keeps the first ones.
func Clean(s string) string { return strings.Map(CleanRune, Clip(secret.Scrub(s), maxLine)) }

const (
	maxLine = 8 << 10
	maxName = 255 // of a host in DNS; no name in Kafka, RabbitMQ or Pulsar that people gave is longer
)

// Name returns a name that another program gave, or its begin if it is longer than names are.
func Name(s string) string { return Clip(s, maxName) }

// Clip returns a text, or of one that has more than most bytes the first ones, and a mark of that.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

// CleanRune is Clean for one character.
func CleanRune(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || unicode.Is(unicode.Zs, r):
		return ' '
	case !unicode.IsPrint(r):
		return '?'
	}
	return r
}

// Marked returns a copy of the theme whose colour sequences carry a random mark. Clean keeps
// marked sequences and replaces all others. Data that was there before the mark was drawn
// cannot hold it.
func (t *Theme) Marked() *Theme {
	m := *t
	if !t.Colored() {
		return &m
	}
	m.mark = rand.Text()
	for c := range m.fg {
		m.fg[c], m.bg[c] = m.marked(t.fg[c]), m.marked(t.bg[c])
	}
	m.bold, m.reset = m.marked(t.bold), m.marked(t.reset)
	return &m
}

func (t *Theme) marked(sequence string) string {
	if sequence == "" {
		return ""
	}
	return t.mark + sequence
}

// Clean returns a line in which the sequences that a Marked theme wrote work, and
// everything else is clean.
func (t *Theme) Clean(line string) string {
	return t.split(line, func(sequence string) string { return sequence })
}

// Width returns how many characters of a line a terminal shows, whatever a Marked theme painted.
func (t *Theme) Width(line string) int {
	return utf8.RuneCountInString(t.split(line, func(string) string { return "" }))
}

// split cleans what lies between the theme's own sequences, and writes these as own has them.
func (t *Theme) split(line string, own func(sequence string) string) string {
	if t.mark == "" {
		return Clean(line)
	}
	var b strings.Builder
	for i, piece := range strings.Split(line, t.mark) {
		end := 0
		if i > 0 {
			end = strings.IndexByte(piece, 'm') + 1 // as every sequence that sets a style
			b.WriteString(own(piece[:end]))
		}
		b.WriteString(Clean(piece[end:]))
	}
	return b.String()
}

// JSON writes a value as JSON in one line, or indented. What Clean would replace is written as
// \u and its number: so programs get every character as it was, and terminals only text.
func JSON(w io.Writer, v any, indent string) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(secret.ScrubJSON(b.String())))
	return err
}

// escaped returns a JSON document without characters that do not print, but for the ends of its lines.
func escaped(doc string) string {
	bad := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	if !strings.ContainsFunc(doc, bad) {
		return doc
	}
	var b strings.Builder
	for _, r := range doc {
		switch high, low := utf16.EncodeRune(r); {
		case !bad(r):
			b.WriteRune(r)
		case high == unicode.ReplacementChar: // one unit
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

// Quoted returns a value as a shell takes it.
func Quoted(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./,:=@%+-", r)
	}
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// Listed joins texts, of which there is at least one: "14, 16 and 18".
func Listed(texts []string) string {
	last := len(texts) - 1
	return strings.TrimPrefix(strings.Join(texts[:last], ", ")+" and "+texts[last], " and ")
}

// Problems returns the lines of an error: one for each joined error, at any depth, though each once. Line breaks within an error
// are removed, so that a broker's text or a file's name cannot look like a second error.
func Problems(err error) []string {
	if err == nil || strings.TrimSpace(err.Error()) == "" { // joined errors without a text are line breaks
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var texts, all []string
		for _, one := range many.Unwrap() {
			texts = append(texts, one.Error())
			for _, line := range Problems(one) { // a bad property that both clients have is found twice
				if !slices.Contains(all, line) {
					all = append(all, line)
				}
			}
		}
		if err.Error() == strings.Join(texts, "\n") { // as errors.Join writes it
			return all
		}
	}
	inner := errors.Unwrap(err)
	if inner == nil {
		return []string{Clean(err.Error())}
	}
	all := Problems(inner)
	before, after, found := strings.Cut(err.Error(), inner.Error())
	if !found || len(all) == 0 {
		return []string{Clean(err.Error())}
	}
	all[0] = Clean(before) + all[0]
	all[len(all)-1] += Clean(after)
	return all
}
