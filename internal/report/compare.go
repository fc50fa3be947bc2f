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
	differs := DifferTable("A", "B")
	for _, f := range d.Differs {
		differs.Add(f.What, strings.Join(f.A, ", "), strings.Join(f.B, ", "))
	}
	metrics := shiftTable("A", "B")
	tones := map[study.Change]doc.Tone{study.Better: doc.Good, study.Lesser: doc.Bad, study.TooFew: doc.Muted}
	for i := range d.Metrics {
		c := &d.Metrics[i]
		addShift(metrics, c, tones[c.Verdict])
		all.Answer = append(all.Answer, doc.Note{Name: string(c.Verdict), Text: c.Sentence, Tone: tones[c.Verdict]})
	}
	for _, f := range d.Failures {
		all.Alerts = append(all.Alerts, "--fail-on: "+f)
	}
	if n := d.A.Invalid + d.B.Invalid; n > 0 {
		all.Alerts = append(all.Alerts, either(n, "1 run is", strconv.Itoa(n)+" runs are")+" not valid")
	}
	if d.Queueing {
		all.Remarks = []string{"latency is mostly queueing: a run had no target rate"}
	}
	all.List = d.Metrics
	all.Sections = []doc.Section{
		doubtsOf(&d.Doubted), {ID: "sides", Blocks: []doc.Block{sideTable([]string{"A", "B"}, &d.A, &d.B)}}, {ID: "metrics", Blocks: []doc.Block{metrics}}, {ID: "differs", Blocks: []doc.Block{differs}}, filesOf(&d.A, &d.B),
	}
	return all
}

// DifferTable is the table of what differs between some runs, without rows.
func DifferTable(names ...string) *doc.Table {
	t := doc.NewTable("facts", "Settings and facts of the environments that differ", "differs|words")
	t.Empty = "No setting and no fact of the environments differs."
	for _, name := range names {
		t.Head(name + "|words")
	}
	return t
}

// filesOf are the names of the runs of both sides.
func filesOf(sides ...*study.Side) doc.Section {
	details := doc.Details{Summary: "Files", For: doc.InPage | doc.InDetails}
	for _, s := range sides {
		f := &doc.Facts{Title: s.Name}
		for i, name := range s.Files {
			f.Add(fmt.Sprintf("run %d", i+1), doc.Plain, name)
		}
		details.Blocks = append(details.Blocks, f)
	}
	return doc.Section{ID: "files", Title: "Files", For: doc.InPage | doc.InDetails, Blocks: []doc.Block{details}}
}

// sideTable has how many runs some sides have, and what is to be known of them.
func sideTable(names []string, sides ...*study.Side) *doc.Table {
	t := doc.NewTable("side-table", "Runs", "side|words", "runs|name", "has|sentence")
	for i, s := range sides {
		says := []string{plural(s.Runs, "run")}
		if s.Invalid > 0 {
			says = append(says, fmt.Sprintf("%d not valid", s.Invalid))
		}
		if s.ClientBound > 0 {
			says = append(says, fmt.Sprintf("kt or its host was the limit of %d (the brokers may do more)", s.ClientBound))
		}
		if s.Failed > 0 {
			says = append(says, plural(s.Failed, "record")+" failed or unknown")
		}
		t.Add(names[i], s.Name, strings.Join(slices.Concat(says, s.FailedMetrics, s.Notes), ", "))
	}
	return t
}

// shiftTable is the table of metrics of two sides, without rows.
func shiftTable(a, b string) *doc.Table {
	return doc.NewTable("shifts", "Medians of both sides and how they differ, and the shift of a typical run with its interval",
		"metric|words", a, b, "medians|2", "shift", "interval|1", "verdict|words")
}

// addShift adds the row of a metric.
func addShift(t *doc.Table, c *study.Compared, tone doc.Tone, more ...any) {
	t.Add(append([]any{c.Metric, Figure(c.Metric, c.A.Median), Figure(c.Metric, c.B.Median), theme.Signed(c.Medians), shiftOf(c), c.Verdict}, more...)...).Tone = tone
}

// shiftOf are the cells of a shift and its interval.
func shiftOf(c *study.Compared) []doc.Cell {
	interval, shift := "", doc.Cell{Text: theme.Signed(c.Shift)}
	if c.Shift.IsKnown() {
		interval = pick(c.Coverage > 0, theme.Signed(c.Low)+" to "+theme.Signed(c.High), "")
		shift.Shift = &doc.Shift{Value: float64(c.Shift), Low: float64(c.Low), High: float64(c.High), Interval: c.Coverage > 0}
	}
	return []doc.Cell{shift, {Text: interval}}
}
