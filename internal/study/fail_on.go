package study

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// FailOn is a shift of a metric that a comparison must not show.
type FailOn struct {
	Metric Metric
	Above  bool // the shift must not be above Limit; else not below
	Limit  Share
}

// ParseFailOn reads "throughput<-3%" or "p99>10%".
func ParseFailOn(text string) (FailOn, error) {
	at := strings.IndexAny(text, "<>")
	if at < 0 {
		return FailOn{}, failOnError(text)
	}
	f := FailOn{Metric: Metric(strings.ReplaceAll(strings.TrimSpace(text[:at]), ".", "")), Above: text[at] == '>'}
	percent, ok := strings.CutSuffix(strings.TrimSpace(text[at+1:]), "%")
	limit, err := plan.ParseNumber(percent)
	if !ok || err != nil || !slices.Contains(comparedMetrics, f.Metric) {
		return FailOn{}, failOnError(text)
	}
	f.Limit = Share(limit / 100)
	return f, nil
}

func failOnError(text string) error {
	return fmt.Errorf("%q: write a metric and its shift, as in 'throughput<-3%%' or 'p99>10%%'; metrics: %s", text, strings.Trim(fmt.Sprintf("%q", comparedMetrics), "[]"))
}

// enough is how many runs a side can be told from others at all. Four against four give p = 0.029, which Holm's
// correction for five metrics makes 0.14; five against five give 0.008, which stays below 0.05 for six.
const enough = 5

// Judge adds a failure for each limit that a comparison passes. A shift that may be noise is none, unless
// there are too few runs to ever tell: then the shift itself decides.
func (d *CompareDocument) Judge(limits []FailOn) {
	for _, f := range limits {
		i := slices.IndexFunc(d.Metrics, func(c Compared) bool { return c.Metric == f.Metric })
		if i < 0 {
			d.Failures = append(d.Failures, fmt.Sprintf("%s was not measured in every run, or failed in one", f.Metric))
			continue
		}
		c := &d.Metrics[i]
		passed := f.Above && c.Shift > f.Limit || !f.Above && c.Shift < f.Limit
		told := c.Verdict == Better || c.Verdict == Lesser || min(c.A.N, c.B.N) < enough
		if passed && told {
			over := map[bool]string{true: "above", false: "below"}[f.Above]
			d.Failures = append(d.Failures, fmt.Sprintf("%s is %s, %s %s", c.Metric, shift(c.Shift), over, theme.Percent(float64(f.Limit))))
		}
	}
}
