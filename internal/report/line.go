package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Line writes a run on one line: its rate, its latency, its errors, its limit, and whether it is valid.
func Line(w io.Writer, r result.Result, _ Options) error {
	rate, valid := noRate, "valid"
	if of, ok := r.Quoted(); ok {
		rate = theme.PerSecond(of.Records) + " records/s"
	}
	if !r.Valid {
		valid = "NOT VALID: " + strings.Join(invalid(&r), "; ")
	}
	_, l := Headline(&r)
	_, err := fmt.Fprintln(w, theme.Clean(fmt.Sprintf("%s  p50 %s  p99 %s  errors %s  limit %s  %s", rate, latencyOf(&l, l.P50), latencyOf(&l, l.P99),
		theme.Count(r.Records.Errors()), r.BoundBy.Limit, valid)))
	return err
}
