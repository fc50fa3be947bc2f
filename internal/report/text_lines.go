package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// line writes a line of the summary. It is the one way into it, and cleans what users, peers,
// brokers and files gave.
func (t *text) line(s string) {
	s = t.th.Clean(s)
	if t.th.ASCII() {
		s = strings.Map(ascii, comparisons.Replace(s))
	}
	t.WriteString(strings.TrimRight(s, " ") + "\n")
}

// lineWidth is where lines are broken: a report fits a terminal of 100 columns.
const lineWidth = 100

// labelled is how much of a row its label takes, with the margin.
const labelled = margin + 12 + 1

// wrapAt returns where sentences are broken.
func (t *text) wrapAt() int {
	if t.width == 0 {
		return lineWidth
	}
	return min(max(t.width, 60), lineWidth)
}

// short returns a name of a peer's that may be cut at its end.
func (t *text) short(s string) string { return cut(s, maxName, t.th) }

// limit returns how wide what is no sentence may get: a wide terminal has room for more of it.
func (t *text) limit() int { return max(t.width, t.wrapAt()) }

// cut cuts text that begins in a column, so that it fits a terminal; in a file or a pipe it is whole.
func (t *text) cut(s string, column int) string {
	if t.width == 0 {
		return s
	}
	return cut(s, t.limit()-column, t.th)
}

// measured is text of as many characters as a terminal will show of it.
func (t *text) measured(s string) string {
	if t.width > 0 && t.th.ASCII() {
		return comparisons.Replace(s)
	}
	return s
}

// whole writes a label and what belongs to it, on one line.
func (t *text) whole(label string, s theme.Style, value string) {
	t.line(strings.Repeat(" ", margin) + t.th.Paint(muted, fmt.Sprintf("%-12s", label)) + " " + t.th.Paint(s, value))
}

// row writes the same, on as many lines as a terminal needs. Elsewhere it is one line, which
// is easier to search.
func (t *text) row(label string, s theme.Style, value string) {
	if t.width == 0 {
		t.whole(label, s, value)
		return
	}
	room := t.limit() - labelled
	head, rest := t.breakLine(t.measured(value), room)
	for ; rest != ""; head, rest = t.breakLine(rest, room) {
		t.whole(label, s, t.word(head, room))
		label = ""
	}
	t.whole(label, s, t.word(head, room))
}

// word cuts the long name of a topic or host that a terminal has no room for.
func (t *text) word(s string, room int) string {
	if t.width == 0 || strings.ContainsRune(s, ' ') {
		return s
	}
	return middle(s, room, t.th)
}

// breakLine takes from text what fits a line of so many characters, up to a space; a
// longer word is a line of its own. The spaces within the line stay, colours count for
// nothing.
func (t *text) breakLine(s string, width int) (head, rest string) {
	if t.th.Width(s) <= width {
		return s, ""
	}
	runes, end := 0, -1
	for i, r := range s {
		if r == ' ' {
			if runes > width && end > 0 {
				break
			}
			end = i
		}
		runes++
	}
	if end < 0 {
		return s, ""
	}
	return strings.TrimRight(s[:end], " "), strings.TrimLeft(s[end:], " ")
}

// sentence writes a row that may take several lines.
func (t *text) sentence(label string, s theme.Style, value string) {
	line := ""
	for word := range strings.FieldsSeq(t.measured(value)) {
		word = t.word(word, t.wrapAt()-labelled)
		if line != "" && len(line)+1+len(word) > t.wrapAt()-labelled {
			t.whole(label, s, line)
			label, line = "", ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	t.whole(label, s, line)
}

// caption writes a remark about a table.
func (t *text) caption(s string) {
	for _, line := range wrapText(t.measured(s), t.wrapAt()-margin) {
		t.line(strings.Repeat(" ", margin) + t.th.Paint(muted, line))
	}
}

// again writes the command that reads the result again.
func (t *text) again(command string) { t.later("read again", command) }

// later writes a command for later, on one line to be copied.
func (t *text) later(label, command string) {
	if t.width > 0 && labelled+utf8.RuneCountInString(command) > t.limit() {
		t.whole(label, muted, "")
		t.line(strings.Repeat(" ", margin) + t.th.Paint(muted, command))
		return
	}
	t.whole(label, muted, command)
}

func (t *text) sep() string { return " " + string(t.th.Glyphs.Separator) + " " }

// wrap joins words to lines of at most so many characters.
func (t *text) wrap(words []string, width int) []string {
	lines := []string{""}
	for i, word := range words {
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last = word
		case len([]rune(*last+t.sep()+word)) > width:
			lines = append(lines, word)
		default:
			*last += t.sep() + word
		}
	}
	return lines
}
