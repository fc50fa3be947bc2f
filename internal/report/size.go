package report

import (
	"fmt"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// SizeDoc returns how many brokers carry a workload: a row a resource.
func SizeDoc(s *study.SizeDocument) *doc.Document {
	t := doc.NewTable("resource-table", "What each resource needs; one of the brokers may be down", "resource|words", "need", "one broker gives", "used at most", "brokers", "from", "to", "law|words", "held-out error")
	for _, r := range s.Rows {
		held := none
		if r.Error != nil {
			held = theme.Percent(float64(*r.Error))
		}
		row := t.Add(r.Resource, amountOf(r.Need, r.Unit), amountOf(r.Gives, r.Unit), pick(r.Reached > 0, theme.Percent(float64(r.Reached)), none),
			pick(r.Brokers == 0, "none is enough", countOf(r.Brokers)), pick(r.Brokers == 0, none, countOf(r.Low)), countOf(r.High), r.Law, held)
		row.Tone = pick(r.Resource == s.Decides, doc.Loud, doc.Plain)
	}
	return &doc.Document{
		Command: "kt size", Subject: s.Workload + ", scale " + scaleText(s.Scale), Tags: []string{s.Find, plural(s.Measured, "broker") + " measured"},
		Question: "How many brokers carry this workload?", Answer: []doc.Note{{Text: s.Sentence}}, Remarks: s.Remarks, List: s.Rows,
		Sections: []doc.Section{{ID: "resources", Blocks: []doc.Block{t}}},
	}
}

// amountOf writes an amount of a resource with its unit.
func amountOf(n float64, unit string) string {
	return pick(unit == "bytes/s", theme.Bytes(int64(n))+"/s", pick(unit == "scale", "scale "+theme.Number(n), theme.Number(n)+" "+unit))
}

// countOf writes a number of brokers; 0: no number is enough.
func countOf(n int) string { return pick(n == 0, none, fmt.Sprint(n)) }
