package result

import (
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Watch looks for the first condition of --abort-on that comes true. The zero value has none.
type Watch struct{ conditions []condition }

// condition is an expression, with the seconds that it is judged by.
type condition struct {
	text   string
	expr   metric.Expr
	recent []span // seconds, the newest of those that it is over
}

// NewWatch returns a watch for conditions that were checked. It leaves out others.
func NewWatch(texts []string) *Watch {
	w := new(Watch)
	for _, text := range texts {
		if expr, err := metric.Parse(text); err == nil {
			w.conditions = append(w.conditions, condition{text: text, expr: expr})
		}
	}
	return w
}

// Look judges the newest second of a fold, which has got its windows. It returns the condition that came true
// and what it was, "" if there is none.
func (t *Watch) Look(f *Fold, windows []stats.Window) string {
	if len(t.conditions) == 0 || len(windows) == 0 || !f.steady.is {
		return ""
	}
	w := windows[len(windows)-1] // the measured one
	w.Outage = f.MeasuredGap(&w)
	for i := range t.conditions {
		c := &t.conditions[i]
		second := span{window: c.expr.Metric.Keep(&f.header.Plan, &w), length: w.End - w.Start, lag: f.consumerLag.lag}
		figures, whole := c.figures(f, second)
		if !whole {
			continue
		}
		if v, ok := c.expr.Value(figures); ok && c.expr.Holds(v) {
			return fmt.Sprintf("%s: %s at %s", c.text, c.expr.Metric.Unit.Show(v), theme.Duration(w.End))
		}
	}
	return ""
}

// figures returns what a condition is judged by: with "over" the last seconds, else the newest one, with the counts
// of the run so far. whole is false while the seconds do not suffice.
func (c *condition) figures(f *Fold, second span) (figures *metric.Figures, whole bool) {
	if c.expr.Over == 0 {
		if k := c.expr.Metric.Kind; k == metric.Count || k == metric.Longest {
			second.window = f.total[stats.Measured].Counts()
		}
		return f.figures(&second), true
	}
	if n := len(c.recent); n > 0 && c.recent[n-1].endsBefore(&second.window) {
		c.recent = nil
	}
	c.recent = append(c.recent, second)
	length := second.length
	for i := len(c.recent) - 2; i >= 0; i-- {
		if length+slack >= c.expr.Over {
			c.recent = slices.Delete(c.recent, 0, i+1)
			break
		}
		length += c.recent[i].length
	}
	var sum span
	for i := range c.recent {
		sum.add(&c.recent[i].window, false, c.recent[i].lag)
	}
	return f.figures(&sum), sum.long(c.expr.Over)
}
