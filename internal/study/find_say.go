package study

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// say returns what a search found in a sentence.
func (d *FindDocument) say() string {
	rate := func(r float64) string { return theme.Plural(r, "record/s", "records/s") }
	p, why := d.Peak, strings.Join(d.Limit.Reasons, "; ")
	limit := ""
	if l := d.Limit.Limit; l != verdict.None && l != verdict.Unknown && d.Limit.Evidence != "" && !strings.Contains(why, d.Limit.Evidence) {
		limit = fmt.Sprintf("; limited by %s: %s", l, d.Limit.Evidence)
	}
	switch {
	case p.RecordsPerSecond == 0 && !d.Over:
		return fmt.Sprintf("the search is not over; go on with: kt study resume %s", d.ID)
	case p.RecordsPerSecond == 0 && d.Limit.Rate > 0:
		return fmt.Sprintf("no rate was found that holds; at %s: %s%s", rate(d.Limit.Rate), why, limit)
	case p.RecordsPerSecond == 0:
		return "no rate was found that holds" + limit
	case p.ClientBound:
		return fmt.Sprintf("at least %s hold; %s: at %s, %s%s", rate(p.Low), d.Limit.unknown(), rate(p.High), why, limit)
	case p.High == 0:
		return fmt.Sprintf("%s hold, and no higher rate was tried", rate(p.Low))
	}
	return fmt.Sprintf("%s hold, but not %s: %s%s", rate(p.Low), rate(p.High), why, limit)
}

// unknown returns why a rate that was tried is not judged.
func (l *FindLimit) unknown() string {
	switch {
	case l.Limit == verdict.Throttle:
		return "the brokers throttled higher rates"
	case ofClient(l.Limit):
		return "kt could not offer more"
	}
	return "more was not measured"
}
