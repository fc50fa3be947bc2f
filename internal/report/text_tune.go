package report

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/result"
)

// tuneChecks writes a line a host with the failures and warnings of kt tune.
func (t *text) tuneChecks(checks []result.TuneCheck) {
	label := "kt tune"
	for i := range checks {
		of := ""
		if len(checks) > 1 {
			of = t.name(checks[i].Host) + ": "
		}
		t.row(label, muted, of+tuneLine(&checks[i]))
		label = ""
	}
}

// tuneLine returns what kt tune says of a host, in one line.
func tuneLine(c *result.TuneCheck) string {
	var ids, counts []string
	for _, f := range c.Findings {
		if f.Verdict != result.TuneInfo {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return fmt.Sprintf("%s without a warning", plural(c.Checks, "check"))
	}
	if n := c.Count(result.TuneFail); n > 0 {
		counts = append(counts, plural(n, "failure"))
	}
	if n := c.Count(result.TuneWarn); n > 0 {
		counts = append(counts, plural(n, "warning"))
	}
	return fmt.Sprintf("%s of the host: %s; more with kt tune --check", strings.Join(counts, ", "), strings.Join(ids, ", "))
}
