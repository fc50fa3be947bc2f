package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/study"
)

// optimumDoc fills in what a search for the best settings says. While it goes on, what was tried is first.
func optimumDoc(all *doc.Document, d *study.Document) {
	s, o := d.Study.Optimum, d.Optimum
	all.Command, all.Subject, all.Line = "kt optimize", forText(s), d.Study.Loads[0].String()
	runs, list := 0, []triedRow{}
	for i, t := range o.Tried {
		runs, list = runs+t.Runs, append(list, triedRow{study.Cell{At: t.At}.Values(), slices.Contains(o.Pareto, i), t})
	}
	all.Tags, all.List = append(all.Tags, plural(len(o.Tried), "cell"), plural(runs, "run")), list
	all.Answer = []doc.Note{{Text: d.Sentence}}
	if o.Tune != nil && o.Tune.Sentence != "" {
		all.Answer = append(all.Answer, doc.Note{Name: "kt tune", Text: o.Tune.Sentence})
	}
	if b := &o.Best; b.Limit != verdict.None && b.Limit != verdict.Unknown && b.Evidence != "" {
		all.Remarks = append(all.Remarks, fmt.Sprintf("At the best: %s: %s.", b.Limit, b.Evidence))
	}

	all.Sections = append(all.Sections,
		doc.Section{ID: string(study.Ablate), Captions: true, Blocks: []doc.Block{effectTable(d)}},
		doc.Section{ID: string(study.Prove), Captions: true, Blocks: []doc.Block{proofTable(o)}},
	)
	if d.Over && len(o.Best.Changes) > 0 {
		title := pick(o.Best.Better, "The settings to copy", "The settings that seem best, not shown to be better")
		all.Sections = append(all.Sections, doc.Section{ID: "settings", Title: title, Blocks: []doc.Block{
			doc.Code(o.Best.Properties), doc.Code(strings.ReplaceAll(o.Best.Flags, " --", " \\\n  --") + "\n"), doc.Details{Summary: "As YAML", For: doc.InPage | doc.InMarkdown, Blocks: []doc.Block{doc.Code(o.Best.YAML)}},
		}})
	}
	all.Sections = append(all.Sections, doc.Section{
		ID: "trade-offs", Title: fmt.Sprintf("%s and %s of all that was tried", o.Axes[0], o.Axes[1]), Captions: true, Blocks: []doc.Block{tradeOffs(d), frontTable(d)},
	})
	table := triedTable(d)
	tried := doc.Section{ID: "tried", Title: "All that was tried", Captions: true, Blocks: []doc.Block{table}}
	switch {
	case d.Over && len(o.Effects) > 0:
		const most = 8
		short := *table
		if short.For = doc.InText; len(table.Rows) > most {
			short.Rows, short.Note = table.Rows[:most], fmt.Sprintf("%d more: --output markdown or html has them", len(table.Rows)-most)
		}
		tried.Blocks = []doc.Block{&short, doc.Details{Summary: tried.Title, For: doc.InPage | doc.InMarkdown, Blocks: tried.Blocks}}
	case !d.Over && runs > 0:
		all.Question += " So far: " + s.Named(o.Best.At) + "."
	}
	all.Sections = slices.Insert(all.Sections, pick(d.Over, len(all.Sections), 0), tried)
	if a := o.Best.Against; len(a) > 0 && a[0].Best.Runs > 0 {
		names, sides := []string{"best"}, []*study.Side{&a[0].Best}
		for i := range a {
			names, sides = append(names, a[i].Name), append(sides, &a[i].Other)
		}
		all.Sections = append(all.Sections, doc.Section{ID: "sides", Title: "Runs of the proof", Blocks: []doc.Block{sideTable(names, sides...)}}, filesOf(sides...))
	}
}

// forText says what a search for the best settings is for.
func forText(o *study.Optimum) string {
	text := "for " + string(o.By)
	for _, limit := range o.SLO {
		text += ", " + limit.String()
	}
	return text
}

// triedRow is a cell that was tried, as CSV has it.
type triedRow struct {
	At    map[string]string `json:"settings"`
	Front bool              `json:"pareto"`
	study.Tried
}

// isOf says which of the settings that a search compares a cell has; "": none.
func isOf(d *study.Document, at []study.Flag) string {
	var names []string
	for i, known := range [][]study.Flag{d.Optimum.Best.At, d.Study.Optimum.Present, d.Study.Optimum.Defaults} {
		if !slices.ContainsFunc(at, func(f study.Flag) bool { return !slices.Contains(known, f) }) {
			names = append(names, []string{"best", "present", "default"}[i])
		}
	}
	return strings.Join(names, ", ")
}

// triedTable has all cells that were run, the best first.
func triedTable(d *study.Document) *doc.Table {
	s, o := d.Study.Optimum, d.Optimum
	t := doc.NewTable("tried-table", "All that was tried, the best first: medians; kept: runs that keep the limits; front: nothing is better in both "+string(o.Axes[0])+" and "+string(o.Axes[1]), "is|whole")
	var shown []study.Metric
	for _, m := range []study.Metric{s.By, metric.Rate, o.Axes[1], o.Axes[0]} {
		if !slices.Contains(shown, m) {
			shown = append(shown, m)
			t.Head(string(m) + pick(m == s.By || m == o.Axes[1], "", "|2"))
		}
	}
	t.Head("runs", "kept", "front|whole|1", "limit|words|3", "changed|sentence")
	for i := range o.Tried {
		one := &o.Tried[i]
		var texts []string
		for _, m := range shown {
			texts = append(texts, medianOf(&one.CellFigures, m))
		}
		is := isOf(d, one.At)
		t.Add(is, texts, one.Runs, one.Kept, pick(slices.Contains(o.Pareto, i), "yes", ""), limitsOf(&one.CellFigures), s.Named(one.At)).Tone = pick(strings.HasPrefix(is, "best"), doc.Good, pick(one.Keeps(), doc.Plain, doc.Muted))
	}
	return t
}

// frontTable has what the line of the picture joins.
func frontTable(d *study.Document) *doc.Table {
	s, o := d.Study.Optimum, d.Optimum
	x, y := o.Axes[0], o.Axes[1]
	t := doc.NewTable("front-table", fmt.Sprintf("Nothing that was tried is better than these in both %s and %s", x, y), string(x)+"|whole", string(y)+"|bars", "runs", "is|whole", "changed|sentence")
	for _, i := range o.Pareto {
		f := &o.Tried[i].CellFigures
		t.Add(medianOf(f, x), doc.Cell{Text: medianOf(f, y), Bar: f.Measures[y].Median}, o.Tried[i].Runs, isOf(d, o.Tried[i].At), s.Named(o.Tried[i].At))
	}
	return t
}

// effectTable has what each changed value brings, as far as it was taken back.
func effectTable(d *study.Document) *doc.Table {
	t := doc.NewTable("effect-table", fmt.Sprintf("What each setting brings: %s with it, and in runs in which it alone is as it was", d.Study.Optimum.By),
		"setting|words", "value|words", "before|words", "without", "with", "brings", "interval|1", "how sure|words")
	said := map[study.Brings]string{study.BringsGain: "gain", study.BringsLimits: "keeps a limit", study.BringsUnsure: "not told", study.BringsNothing: "nothing: taken back"}
	tones := map[study.Brings]doc.Tone{study.BringsGain: doc.Good, study.BringsLimits: doc.Good, study.BringsNothing: doc.Muted}
	for _, e := range d.Optimum.Effects {
		cells := []doc.Cell{{Text: none}, {Text: none}, {Text: none}, {}}
		if e.By != nil {
			cells = append([]doc.Cell{{Text: Figure(e.By.Metric, e.By.A.Median)}, {Text: Figure(e.By.Metric, e.By.B.Median)}}, shiftOf(e.By)...)
		}
		if e.By != nil || d.Over {
			t.Add(e.Setting, e.Value, e.Before, cells, said[e.Brings]).Tone = tones[e.Brings]
		}
	}
	return t
}

// proofTable compares the best settings with each of the others.
func proofTable(o *study.OptimumDoc) *doc.Table {
	t := shiftTable("other", "best")
	t.ID, t.Caption = "proof-table", "Proof: the best settings against others, in turns; medians, and the shift of a typical run with its interval"
	t.Columns = slices.Insert(t.Columns, 0, doc.Column{Head: "against", Kind: doc.Words})
	tones := map[study.Change]doc.Tone{study.Better: doc.Good, study.Lesser: doc.Bad, study.TooFew: doc.Muted}
	for _, a := range o.Best.Against {
		for i := range a.Effects {
			addShift(t, &a.Effects[i], tones[a.Effects[i].Verdict])
			row := &t.Rows[len(t.Rows)-1]
			row.Cells = slices.Insert(row.Cells, 0, doc.Cell{Text: pick(i == 0, a.Name, "")})
		}
	}
	return t
}

// tradeOffs has all that was tried by both axes.
func tradeOffs(d *study.Document) *doc.Chart {
	o := d.Optimum
	x, y := o.Axes[0], o.Axes[1]
	p := &doc.Chart{ID: "trade-off-plot", About: "medians; nothing that was tried is better in both than what the line joins", XUnit: scaleOf(x), Unit: scaleOf(y), Log: y.Of().Unit == metric.Time}
	p.Title = fmt.Sprintf("%s by %s", y, x)
	groups := []doc.Series{{Name: "tried", Class: "muted"}, {Name: "breaks a limit", Class: "bad"}, {Name: "front", Class: "flow", Joined: true}}
	for i := range o.Tried {
		t := &o.Tried[i]
		is, front := isOf(d, t.At), slices.Contains(o.Pareto, i)
		if t.Measures[x].N*t.Measures[y].N > 0 {
			g := &groups[pick(front, 2, pick(t.Keeps(), 0, 1))]
			g.Points = append(g.Points, doc.Point{X: t.Measures[x].Median, Y: t.Measures[y].Median, Strong: strings.HasPrefix(is, "best"), Label: is, Shape: pick(t.Keeps(), doc.Circle, doc.Cross)})
		}
	}
	p.Series = slices.DeleteFunc(groups, func(g doc.Series) bool { return len(g.Points) == 0 })
	for _, e := range d.Study.Optimum.SLO {
		if e.Metric.Name == string(y) {
			p.Rules = append(p.Rules, doc.Rule{Name: e.String(), At: e.Than})
		}
	}
	return p
}
