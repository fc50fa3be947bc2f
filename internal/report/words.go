package report

import (
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// comparisons are signs that need two characters in ASCII to say the same.
var comparisons = strings.NewReplacer("≤", "<=", "≥", ">=", "→", "->", "±", "+/-")

// ascii replaces kt's own characters by ASCII ones. Others stay: they are in
// names that the user gave, of files above all.
func ascii(r rune) rune {
	if a := theme.Fold(r); a != '?' {
		return a
	}
	return r
}

// pad fills text up with space on its right to a width in characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0))
}

// wrapText breaks text into lines of at most so many characters, at spaces; a longer
// word is a line of its own.
func wrapText(s string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// cut shortens text to so many characters, and shows that it did.
func cut(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(width-1, 0)]) + string(th.Glyphs.Ellipsis)
}

// cell is text as a cell of a Markdown table. What a machine's files hold is not
// Markdown: nothing in it may end the cell or begin a tag.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'").Replace(theme.Clean(s))
}
