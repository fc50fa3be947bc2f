package report

import (
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
		g.rows = append(g.rows, []gridCell{{LimitValue(l, string(t.th.Glyphs.Missing)), plain}, {l.Expression, plain}, {heldWord(l), style}})
		switch {
		case l.Note != "":
			g.note(warn, l.Note)
		case l.Stretches > 0:
			g.note(muted, stretches(l))
		}
	}
	t.draw(g)
}

// LimitValue returns the value of a limit for people, or a sign that there is none.
func LimitValue(l *result.Limit, missing string) string {
	if l.Value == nil {
		return missing
	}
	return l.Shown()
}

func heldWord(l *result.Limit) string {
	if l.Held {
		return "yes"
	}
	return "NO"
}

// stretches returns how many stretches held. The value beside it is that of the worst one.
func stretches(l *result.Limit) string {
	return "the worst of " + theme.Plural(l.Stretches, "stretch", "stretches") + ", " + theme.Count(l.StretchesHeld) + " held"
}
