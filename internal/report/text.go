package report

import (
	"bytes"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/theme"
)

// newText begins a summary. th may be nil, for one without colours.
func newText(b *bytes.Buffer, th *theme.Theme, width int) text {
	if th == nil {
		th = theme.New(theme.Options{})
	}
	return text{Buffer: b, th: th.Marked(), width: width}
}

// text is a summary while it is written.
type text struct {
	*bytes.Buffer
	th    *theme.Theme // marked: line tells what it paints from what is data
	width int          // of the terminal; 0: none is known

	verbose bool
}

var (
	plain  = theme.Style{}
	strong = theme.Style{FG: theme.Text, Bold: true}
	muted  = theme.Style{FG: theme.Muted}
	bad    = theme.Style{FG: theme.Bad, Bold: true}
	good   = theme.Style{FG: theme.Good}
	warn   = theme.Style{FG: theme.Warn, Bold: true}
)

// heading writes the command of a run and its tags, which are below it where a narrow terminal has no room.
func (t *text) heading(what string, tags []string) {
	used := 2 + utf8.RuneCountInString(what) + 2
	longest := 0
	for _, tag := range tags {
		longest = max(longest, utf8.RuneCountInString(tag))
	}
	if t.width > 0 && used+longest > t.wrapAt() {
		for _, line := range wrapText(what, t.wrapAt()-2) {
			t.line("  " + t.th.Paint(strong, line))
		}
		what, used = "", margin
	}
	for i, about := range t.wrap(tags, t.wrapAt()-used) {
		if i > 0 {
			what = ""
		}
		t.line("  " + t.th.Paint(strong, pad(what, used-4)) + "  " + t.th.Paint(muted, about))
	}
}

// alert writes a warning under the title.
func (t *text) alert(s string) {
	mark := string(t.th.Glyphs.Alert) + " "
	for _, line := range wrapText(s, t.wrapAt()-4) {
		t.line("  " + t.th.Paint(warn, mark+line))
		mark = "  "
	}
}
