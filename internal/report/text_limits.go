package report

import (
	"cmp"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// limits writes a row for each --limit of the run, the value first.
func (t *text) limits(r result.Result) {
	if len(r.Limits) == 0 {
		return
	}
	t.line("")
	g := &grid{heads: []string{"value", "--limit", "held"}, left: map[int]bool{1: true, 2: true}}
	for i := range r.Limits {
		l := &r.Limits[i]
		style := bad
		if l.Held {
			style = good
		}
		value, note, held := LimitWords(l)
		g.rows = append(g.rows, []gridCell{{cmp.Or(value, string(t.th.Glyphs.Missing)), plain}, {l.Expression, plain}, {held, style}})
		switch {
		case value == "":
			g.note(warn, note)
		case note != "":
			g.note(muted, note)
		}
	}
	t.draw(g)
}

// LimitWords returns the cells of a limit in a table: its value, a note, and yes or NO for held. A limit without a
// value has a note with the reason. The note of a limit over stretches says how many of them held.
func LimitWords(l *result.Limit) (value, note, held string) {
	note, held = l.Note, "NO"
	if l.Held {
		held = "yes"
	}
	if l.Stretches > 0 && l.Value != nil {
		note = strings.TrimSuffix("the worst of "+theme.Plural(l.Stretches, "stretch", "stretches")+", "+theme.Count(l.StretchesHeld)+" held; "+note, "; ")
	}
	if n := l.StretchesEmpty; n > 0 {
		note += "; nothing was due in " + theme.Plural(n, "other stretch", "other stretches")
	}
	return l.Shown(), note, held
}

// limitText returns the value of a limit and its note in one.
func limitText(l *result.Limit) string {
	value, note, _ := LimitWords(l)
	return strings.Trim(value+": "+note, ": ")
}
