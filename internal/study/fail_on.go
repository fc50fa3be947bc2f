package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/theme"
)

// FailOn is what a comparison must not show: a shift of a metric, or what no run of B may be.
type FailOn struct {
	Text   string
	Metric Metric // of a shift; "": Text is what no run may be
	Above  bool   // the shift must not be above Limit; else not below
	Limit  Share
}

// ParseFailOn reads a shift, as "rate<-3%" or "p99>10%", or an expression, as "errors>0".
func ParseFailOn(text string) (FailOn, error) {
	f := FailOn{Text: strings.TrimSpace(text)}
	percent, isShift := strings.CutSuffix(f.Text, "%")
	at := strings.IndexAny(percent, "<>")
	if !isShift || at < 0 || strings.Contains(percent, " for ") {
		_, err := metric.Parse(f.Text)
		return f, err
	}
	m, err := metric.Find(strings.TrimSpace(percent[:at]))
	if err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	limit, err := plan.ParseNumber(strings.TrimSpace(percent[at+1:]))
	if err != nil {
		return f, fmt.Errorf("%q: write a metric and its shift, as in 'rate<-3%%' or 'p99>10%%'", text)
	}
	f.Metric, f.Above, f.Limit = Metric(m.Name), percent[at] == '>', Share(limit/100)
	return f, nil
}

// Expressions returns what no run may be.
func Expressions(limits []FailOn) (texts []string) {
	for _, f := range limits {
		if f.Metric == "" {
			texts = append(texts, f.Text)
		}
	}
	return texts
}

// enough is how many runs a side can be told from others at all. Four against four give p = 0.029, which Holm's
// correction for five metrics makes 0.14; five against five give 0.008, which stays below 0.05 for six.
const enough = 5

// Judge adds a failure for each limit that a comparison passes. A shift that may be noise is none, unless
// there are too few runs to ever tell: then the shift itself decides.
func (d *CompareDocument) Judge(limits []FailOn) {
	for _, f := range limits {
		i := slices.IndexFunc(d.Metrics, func(c Compared) bool { return c.Metric == f.Metric })
		switch {
		case f.Metric == "":
			d.Failures = append(d.Failures, f.seen(d.b)...)
			continue
		case i < 0:
			d.Failures = append(d.Failures, fmt.Sprintf("%s was not measured in every run, or failed in one", f.Metric))
			continue
		}
		c, over := &d.Metrics[i], map[bool]string{true: "above", false: "below"}[f.Above]
		if passed := f.Above && c.Shift > f.Limit || !f.Above && c.Shift < f.Limit; passed && (c.isTold() || min(c.A.N, c.B.N) < enough) {
			d.Failures = append(d.Failures, fmt.Sprintf("%s is %s, %s %s", c.Metric, shift(c.Shift), over, theme.Percent(float64(f.Limit))))
		}
	}
}

// seen returns a failure if a run is what it must not be, or if that is not known of one.
func (f FailOn) seen(s *Side) (failures []string) {
	n, first := 0, ""
	for _, one := range s.runs {
		for _, l := range one.SLO {
			if l.Expression == f.Text && (l.Held || l.Value == nil) {
				n, first = n+1, cmp.Or(first, cmp.Or(l.Shown(), l.Note)+" in "+one.File)
			}
		}
	}
	if n > 0 {
		failures = []string{fmt.Sprintf("%s of %d of %s of B: %s", f.Text, n, theme.Plural(len(s.runs), "run", "runs"), first)}
	}
	return failures
}
