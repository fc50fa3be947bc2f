package metric

import (
	"errors"
	"fmt"

	"github.com/kt-bench/kt/internal/plan"
)

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
