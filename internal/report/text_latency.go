package report

import (
	"strings"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// latency writes the percentiles of what it names, in brackets beside them or, where a
// narrow terminal has no room for that, below them.
func (t *text) latency(label string, l result.Latency, what string) {
	if l.Ranked() == 0 {
		t.row(label, muted, "not measured")
	} else {
		t.distribution(label, l, what)
	}
	if l.OutOfRange > 0 {
		t.row("", warn, theme.Count(l.OutOfRange)+" took longer than an hour and "+either(l.OutOfRange, "is", "are")+" not in these figures")
	}
}

func (t *text) distribution(label string, l result.Latency, what string) {
	figures, what := t.percentiles(l), t.measured("("+what+")")
	if t.width > 0 && labelled+utf8.RuneCountInString(figures+"   "+what) > t.limit() {
		t.row(label, plain, figures)
		if t.verbose || l.Count > 0 && strings.Contains(what, "queueing") { // its label says the rest
			t.row("", muted, what)
		}
	} else {
		t.row(label, plain, figures+"   "+t.th.Paint(muted, what))
	}
}

// quantile is one of a latency, if anything was measured.
func (t *text) quantile(l result.Latency, us result.Micros) string {
	if l.Ranked() == 0 {
		return string(t.th.Glyphs.Missing)
	}
	return theme.Duration(us.Duration())
}

// percentiles are those of a latency that there is room for.
func (t *text) percentiles(l result.Latency) string {
	var figures []string
	var widths []int
	for _, p := range []struct {
		name string
		us   result.Micros
	}{{"p50", l.P50}, {"p90", l.P90}, {"p99", l.P99}, {"p99.9", l.P999}, {"p99.99", l.P9999}, {"max", l.Max}} {
		figure := p.name + " " + theme.Duration(p.us.Duration())
		figures, widths = append(figures, figure), append(widths, utf8.RuneCountInString(figure))
	}
	gap := 3
	if t.width > 0 {
		gap = fit(widths, []int{4, 3, 1}, t.limit()-labelled, 3, 2) // p99.99 goes first, then p99.9 and p90
	}
	var shown []string
	for i, figure := range figures {
		if widths[i] != leftOut {
			shown = append(shown, figure)
		}
	}
	return strings.Join(shown, strings.Repeat(" ", gap))
}
