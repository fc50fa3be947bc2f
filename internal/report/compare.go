package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// CompareDoc returns what a comparison says.
func CompareDoc(d *study.CompareDocument) *doc.Document {
	all := &doc.Document{Command: "kt compare", Subject: "B against A", Foot: "This page does not hold the runs: keep their files."}
	differs := doc.Table{
		ID: "facts", Caption: "Settings and facts of the environments that differ", Empty: "No setting and no fact of the environments differs.",
		Columns: []doc.Column{{Head: "differs", Kind: doc.Words}, {Head: "A", Kind: doc.Words}, {Head: "B", Kind: doc.Words}},
	}
	for _, f := range d.Differs {
		differs.Rows = append(differs.Rows, doc.Row{Cells: doc.Of(f.What, strings.Join(f.A, ", "), strings.Join(f.B, ", "))})
	}
	metrics := shiftTable("A", "B")
	tones := map[study.Change]doc.Tone{study.Better: doc.Good, study.Lesser: doc.Bad, study.TooFew: doc.Muted}
	for i := range d.Metrics {
		c := &d.Metrics[i]
		metrics.Rows = append(metrics.Rows, shiftRow(c, tones[c.Verdict]))
		all.Answer = append(all.Answer, doc.Note{Name: string(c.Verdict), Text: c.Sentence, Tone: tones[c.Verdict]})
	}
	for _, f := range d.Failures {
		all.Alerts = append(all.Alerts, "--fail-on: "+f)
	}
	if n := d.A.Invalid + d.B.Invalid; n > 0 {
		all.Alerts = append(all.Alerts, either(n, "1 run is", strconv.Itoa(n)+" runs are")+" not valid")
	}
	for _, text := range d.Beside {
		all.Alerts = append(all.Alerts, "beside the load, "+text)
	}
	if d.Queueing {
		all.Remarks = []string{"latency is mostly queueing: a run had no target rate"}
	}
	all.Sections = []doc.Section{
		{ID: "sides", Tables: []doc.Table{sideTable([2]string{"A", "B"}, &d.A, &d.B)}}, {ID: "metrics", Tables: []doc.Table{metrics}}, {ID: "differs", Tables: []doc.Table{differs}}, filesOf(&d.A, &d.B),
	}
	return all
}

// filesOf are the names of the runs of both sides.
func filesOf(sides ...*study.SideDoc) doc.Section {
	details := doc.Details{Summary: "Files", For: doc.InPage | doc.InDetails}
	for _, s := range sides {
		f := doc.Facts{Title: s.Name}
		for i, name := range s.Files {
			f.Rows = append(f.Rows, doc.Fact{Name: fmt.Sprintf("run %d", i+1), Text: name})
		}
		details.Blocks = append(details.Blocks, f)
	}
	return doc.Section{ID: "files", Title: "Files", For: doc.InPage | doc.InDetails, Blocks: []doc.Block{details}}
}

// sideTable has the runs of two sides, and what is to be known of them.
func sideTable(names [2]string, sides ...*study.SideDoc) doc.Table {
	t := doc.Table{ID: "side-table", Caption: "Runs", Columns: []doc.Column{{Head: "side", Kind: doc.Words}, {Head: "runs", Kind: doc.Name}, {Head: "has", Kind: doc.Sentence}}}
	for i, s := range sides {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(names[i], s.Name, strings.Join(sideSays(s), ", "))})
	}
	return t
}

// sideSays returns how many runs a side has, and what is to be known of them.
func sideSays(s *study.SideDoc) []string {
	says := []string{plural(s.Runs, "run")}
	if s.Invalid > 0 {
		says = append(says, fmt.Sprintf("%d not valid", s.Invalid))
	}
	if s.ClientBound > 0 {
		says = append(says, fmt.Sprintf("kt was the limit of %d (the brokers may do more)", s.ClientBound))
	}
	if s.Failed > 0 {
		says = append(says, plural(s.Failed, "record")+" failed or unknown")
	}
	return slices.Concat(says, s.FailedMetrics, s.Notes)
}

// shiftTable is the table of metrics of two sides, without rows.
func shiftTable(a, b string) doc.Table {
	return doc.Table{
		ID: "shifts", Caption: "Medians of both sides and how they differ, and the shift of a typical run with its interval", Data: true,
		Columns: []doc.Column{
			{Head: "metric", Data: "metric", Kind: doc.Words},
			{Head: a, Data: strings.ToLower(a)},
			{Head: b, Data: strings.ToLower(b)},
			{Head: "medians", Data: "medians", Leave: 2},
			{Head: "shift", Data: "shift"},
			{Head: "interval", Leave: 1},
			{Data: "low"},
			{Data: "high"},
			{Data: "p"},
			{Head: "verdict", Data: "verdict", Kind: doc.Words},
			{Data: "runs_a"},
			{Data: "runs_b"},
		},
	}
}

// shiftRow is the row of a metric.
func shiftRow(c *study.Compared, tone doc.Tone) doc.Row {
	interval, shift := "", doc.Cell{Text: theme.Signed(c.Shift), Data: figure(float64(c.Shift))}
	if c.Coverage > 0 && c.Shift.IsKnown() {
		interval = theme.Signed(c.Low) + " to " + theme.Signed(c.High)
	}
	if c.Shift.IsKnown() {
		shift.Shift = &doc.Shift{Value: float64(c.Shift), Low: float64(c.Low), High: float64(c.High), Interval: c.Coverage > 0}
	}
	return doc.Row{Tone: tone, Cells: []doc.Cell{
		{Text: string(c.Metric), Data: string(c.Metric)},
		{Text: Figure(c.Metric, c.A.Median), Data: figure(c.A.Median)},
		{Text: Figure(c.Metric, c.B.Median), Data: figure(c.B.Median)},
		{Text: theme.Signed(c.Medians), Data: figure(float64(c.Medians))},
		shift,
		{Text: interval},
		{Data: figure(float64(c.Low))},
		{Data: figure(float64(c.High))},
		{Data: figure(c.P)},
		{Text: string(c.Verdict)},
		{Data: strconv.Itoa(c.A.N)},
		{Data: strconv.Itoa(c.B.N)},
	}}
}
