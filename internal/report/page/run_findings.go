package page

import (
	"cmp"
	"slices"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
)

// limits is the table of what the run had to keep.
func (p *runPage) limits() []Block {
	t := Table{ID: "kept", Caption: "What the run had to keep", Heads: slices.Concat(texts("limit"), numbers("value"), texts("held", "note"))}
	for i := range p.r.Limits {
		l := &p.r.Limits[i]
		value, note, held := report.LimitWords(l)
		row := cells(l.Expression, cmp.Or(value, "–"), held, note)
		row[2].Class = "bad"
		if l.Held {
			row[2].Class = "good"
		}
		t.Rows = append(t.Rows, row)
	}
	return []Block{t}
}

// tune is what kt tune found on the machines when the run began, failures first.
func (p *runPage) tune() []Block {
	t := Table{ID: "findings", Caption: "What kt tune found when the run began", Heads: texts("host", "verdict", "check", "is", "wanted", "why")}
	order := []string{result.TuneFail, result.TuneWarn, result.TuneInfo}
	classes := map[string]string{result.TuneFail: "bad", result.TuneWarn: "warn"}
	for i := range p.r.Tune {
		c := &p.r.Tune[i]
		findings := slices.Clone(c.Findings)
		slices.SortStableFunc(findings, func(a, b result.TuneFinding) int {
			return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
		})
		for _, f := range findings {
			row := cells(c.Host, f.Verdict, f.Title, f.Current, f.Wanted, f.Why)
			row[1].Class, row[2].Note = classes[f.Verdict], f.ID
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return []Block{t, Notes{{"now", "kt tune --check says how this machine is now; kt tune --apply changes it, and can undo that.", ""}}}
}
