package report

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestALineSaysWhatKtTuneHasAgainstAHost(t *testing.T) {
	of := func(verdicts ...string) *result.TuneCheck {
		c := &result.TuneCheck{Checks: 9}
		for i, v := range verdicts {
			c.Findings = append(c.Findings, result.TuneFinding{ID: string(rune('a' + i)), Verdict: v})
		}
		return c
	}
	for _, r := range []struct {
		check *result.TuneCheck
		want  string
	}{
		{of(), "9 checks without a warning"},
		{of("info"), "9 checks without a warning"},
		{of("warn", "info"), "1 warning of the host: a; more with kt tune --check"},
		{of("fail", "warn", "warn"), "1 failure, 2 warnings of the host: a, b, c; more with kt tune --check"},
	} {
		must.Match(t, r.want, tuneLine(r.check), "it says")
	}
}
