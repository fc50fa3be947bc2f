package report

import (
	"iter"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// printable is text of a machine's file that cannot move the cursor, or worse.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}

// colors are the escape sequences that the theme writes.
var colors = regexp.MustCompile("\x1b\\[[0-9;]*m")

// safe is text without any other escape sequence or control character.
func (t *text) safe(s string) string {
	if !t.th.Colored() {
		return printable(s)
	}
	var b strings.Builder
	end := 0
	for _, at := range colors.FindAllStringIndex(s, -1) {
		b.WriteString(printable(s[end:at[0]]) + s[at[0]:at[1]])
		end = at[1]
	}
	return b.String() + printable(s[end:])
}

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

// padLeft fills it up on its left.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(s), 0)) + s
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

// splitLines are the lines of a text, without their ends.
func splitLines(s string) iter.Seq[string] {
	return strings.SplitSeq(strings.TrimRight(s, "\n"), "\n")
}

// cut shortens text to so many characters, and shows that it did.
func cut(s string, width int, th *theme.Theme) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:max(width-1, 0)]) + string(th.Glyphs.Ellipsis)
}
