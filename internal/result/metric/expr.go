package metric

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// Expr is what a run has to keep (--limit), or what ends it early (--abort-on).
type Expr struct {
	Metric *Metric
	Op     Op
	Than   float64       // in the unit of the metric
	Over   time.Duration // each whole stretch of this length is judged; 0: the whole run is
	For    float64       // percent of the stretches that have to hold; 0: all

	text string // as it was given
}

// String returns the expression as it was given.
func (e Expr) String() string { return e.text }

// MarshalText and UnmarshalText make a document have it as it was given.
func (e Expr) MarshalText() ([]byte, error) { return []byte(e.text), nil }

// UnmarshalText reads an expression.
func (e *Expr) UnmarshalText(text []byte) (err error) {
	*e, err = Parse(string(text))
	return err
}

// Op is a comparison.
type Op string

// Bounds of an expression.
const (
	maxText = 200
	maxOver = 24 * time.Hour
)

// Parse reads an expression, of a metric, a value in its unit, and maybe a stretch of whole seconds and a share of the stretches. Spaces
// may stand between its parts.
func Parse(text string) (Expr, error) {
	e, err := parse(text)
	if err != nil {
		return Expr{}, fmt.Errorf("%q: %w", text, err)
	}
	e.text = strings.TrimSpace(text)
	return e, nil
}

// grammar matches an expression with one space where it has several.
var grammar = regexp.MustCompile(`^ ?(.*?) ?(<=|>=|==|!=|<|>) ?(.*?)(?: (over)(?: (.*?))??(?: (for)(?: (.*))?)?)? ?$`)

func parse(text string) (e Expr, err error) {
	m := grammar.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	switch comparison := strings.IndexAny(text, "<>=!"); {
	case comparison < 0 || len(text) > maxText:
		return e, errors.New("write a metric, a comparison and a value, as in 'p99<20ms' or 'rate>=50k over 10s for 95%'")
	case m == nil || strings.ContainsAny(m[1], "=!"):
		return e, errors.New("write one of the comparisons <, <=, >, >=, == and !=")
	}
	if e.Metric, err = Find(m[1]); err != nil {
		return e, err
	}
	value, length, percent := m[3], m[5], m[7]
	switch e.Op = Op(m[2]); {
	case strings.ContainsAny(value+length+percent, "<>=!"):
		return e, errors.New("it has more than one comparison: give each limit a flag of its own; a variable holds one, kt.yaml a list")
	case slices.Contains(strings.Fields(value), "for"):
		return e, errors.New("'for' is a share of stretches: write their length before it, as in 'over 10s for 95%'")
	}
	unit := units[e.Metric.Unit]
	if e.Than, err = unit.parse(value); errors.Is(err, plan.ErrBits) {
		return e, err
	} else if err != nil || !(e.Than >= 0 && e.Than <= unit.most) {
		return e, fmt.Errorf("%q is no value of %s: write %s", value, e.Metric.Name, unit.wants)
	}
	if m[4] == "" {
		return e, nil
	}
	e.Over, err = plan.ParseDuration(length)
	if err != nil || e.Over < time.Second || e.Over > maxOver || e.Over%time.Second != 0 {
		return e, fmt.Errorf("over %q: write whole seconds up to a day (10s, 1m)", length)
	}
	if m[6] == "" {
		return e, nil
	}
	if e.For, err = parsePercent(percent); err != nil {
		err = fmt.Errorf("for %q: write a share of the stretches, above 0 and up to 100%% (95%%)", percent)
	}
	return e, err
}

// Value returns the value of the metric. ok is false if the figures have none.
func (e *Expr) Value(f *Figures) (v float64, ok bool) {
	v, ok = e.Metric.Value(f)
	if ok && (e.Metric.verified() && !f.Verify.Complete() || e.Metric.Name == ConsumerLag && f.Window.LagUnknown > 0) && e.Holds(v) && !e.Holds(math.Inf(1)) { // v is the least: with more, it may not hold
		return 0, false
	}
	return v, ok
}

// Holds reports whether a value is as the expression says.
func (e *Expr) Holds(v float64) bool {
	compared := cmp.Compare(v, e.Than)
	if e.Op == "!=" {
		return compared != 0
	}
	return strings.Contains(string(e.Op), []string{"<", "=", ">"}[compared+1])
}

// Failed is the value of a percentile that falls among records that were not served. It keeps no limit, whatever Holds says.
const Failed = float64(stats.Never / time.Microsecond)

// Worse reports whether value a is further from holding than b.
func (e *Expr) Worse(a, b float64) bool {
	if a == Failed || b == Failed {
		return b != Failed
	}
	switch e.Op {
	case "<", "<=":
		return a > b
	case ">", ">=":
		return a < b
	}
	return !e.Holds(a) && e.Holds(b)
}

// Enough reports whether enough stretches hold.
func (e *Expr) Enough(held, of int64) bool {
	return float64(held)*100 >= cmp.Or(e.For, 100)*float64(of)
}

// Check returns an error if no run of a plan can be judged by the expression.
func (e *Expr) Check(p *plan.Plan) error {
	if lacks := e.Metric.Lacks(p); lacks != "" {
		return errors.New(lacks)
	}
	if e.Over == 0 {
		return nil
	}
	if e.Metric.AtEnd {
		return fmt.Errorf("%s is known when the run is over: leave 'over' out", e.Metric.Name)
	}
	if length := measured(p); length > 0 && e.Over > length {
		return fmt.Errorf("the run is measured for %v: give a longer --duration, or a shorter 'over'", length.Round(time.Millisecond))
	}
	return nil
}

// maxWatched bounds the stretch of a condition: its seconds are held in memory.
const maxWatched = time.Minute

// checkAbort returns an error if the expression cannot end a run of a plan.
func (e *Expr) checkAbort(p *plan.Plan, elsewhere bool) error {
	switch {
	case elsewhere && strings.HasPrefix(e.Metric.Name, sendDelay):
		return errors.New("other hosts report their send delay when the run is over: give it as --limit")
	case e.Metric.AtEnd:
		return fmt.Errorf("%s is known when the run is over: give it as --limit", e.Metric.Name)
	case e.For > 0:
		return errors.New("it is judged each second: leave 'for' out")
	case e.Over > maxWatched:
		return fmt.Errorf("the last %v are kept at most: give a shorter 'over'", maxWatched)
	}
	return e.Check(p)
}

// measured returns for how long a plan is measured; 0: that is not known.
func measured(p *plan.Plan) time.Duration {
	seconds := p.Load.Duration.Std().Seconds()
	rate := p.Load.Rate.RecordsPerSecond(p.Payload.MeanBytes())
	if n := float64(p.Load.Records); n > 0 && rate > 0 && (seconds == 0 || n/rate < seconds) {
		seconds = n / rate
	}
	if seconds == 0 {
		return 0
	}
	seconds -= p.Load.Warmup.Duration.Std().Seconds()
	if rate > 0 {
		seconds -= float64(p.Load.Warmup.Records) / rate
	}
	const shortest = 1e-3 // 0 would mean that it is not known
	return time.Duration(min(max(seconds, shortest), maxOver.Seconds()) * float64(time.Second))
}

// CheckAll returns an error for each expression of the flags --limit and --abort-on that is none, or
// that no run of a plan can be judged by. Without a plan the expressions are only read. elsewhere reports whether other hosts make the run.
func CheckAll(limits, aborts []string, p *plan.Plan, elsewhere bool) error {
	var errs []error
	check := func(flag string, texts []string, judge func(*Expr, *plan.Plan) error) {
		for _, text := range texts {
			e, err := Parse(text)
			if err != nil {
				errs = append(errs, plan.About(flag, fmt.Errorf("--%s %w", flag, err)))
				continue
			}
			if p == nil {
				continue
			}
			if err := judge(&e, p); err != nil {
				errs = append(errs, plan.About(flag, fmt.Errorf("--%s %q cannot be judged: %w", flag, text, err)))
			}
		}
	}
	check("limit", limits, (*Expr).Check)
	check("abort-on", aborts, func(e *Expr, p *plan.Plan) error { return e.checkAbort(p, elsewhere) })
	return errors.Join(errs...)
}
