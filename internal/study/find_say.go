package study

import (
	"fmt"

	"github.com/kt-bench/kt/internal/theme"
)

// say returns what a search found in a sentence.
func (d *FindDocument) say() string {
	rate := func(r float64) string { return theme.Count(int64(r)) + " records/s" }
	p := d.Peak
	switch {
	case p.RecordsPerSecond == 0 && !d.Over:
		return fmt.Sprintf("the search is not over: kt study resume %s goes on", d.ID)
	case p.RecordsPerSecond == 0 && d.Limit.Evidence != "":
		return fmt.Sprintf("no rate was found that holds; limit %s: %s", d.Limit.Limit, d.Limit.Evidence)
	case p.RecordsPerSecond == 0:
		return "no rate was found that holds"
	case p.ClientBound:
		return fmt.Sprintf("at least %s hold; kt could not offer more (limit %s: %s)", rate(p.Low), d.Limit.Limit, d.Limit.Evidence)
	case p.High == 0:
		return fmt.Sprintf("%s hold, the highest rate that was tried", rate(p.Low))
	}
	text := fmt.Sprintf("%s hold, %s do not", rate(p.Low), rate(p.High))
	if d.Limit.Evidence != "" {
		text += fmt.Sprintf("; limit %s: %s", d.Limit.Limit, d.Limit.Evidence)
	}
	return text
}
