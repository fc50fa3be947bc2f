package report

import (
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// findDoc fills in what a search says.
func findDoc(all *doc.Document, d *study.Document) {
	all.Command, all.Subject, all.Answer = "kt find", d.Study.Heading(), []doc.Note{{Text: d.Sentence}}
	all.Tags = append(all.Tags, plural(len(d.Trials), "trial"))
	all.Sections = []doc.Section{
		{ID: "plots", Title: "By rate", For: doc.InPage, Columns: true, Blocks: []doc.Block{curvePlot(d), reachedPlot(d)}},
		{ID: "trials", Tables: []doc.Table{trialTable(d.Trials)}},
		{ID: "latencies", Title: "Latency below the peak", Tables: []doc.Table{curveTable(d)}},
	}
	if !d.Over {
		all.Alerts = []string{"The search was cut off. Go on with: kt study resume " + d.ID}
	}
}

// RateOf writes a target; 0 is no limit.
func RateOf(r float64) string {
	if r == 0 {
		return "unlimited"
	}
	return Rounded(r)
}

// Rounded writes a measured number of records as a whole one, the same in each table.
func Rounded(v float64) string { return theme.PerSecond(v) }

// trialTable has a row for each trial.
func trialTable(trials []study.Trial) doc.Table {
	t := doc.Table{ID: "trial-table", Caption: "Trials in their order", Data: true, Columns: []doc.Column{
		{Data: "trial"},
		{Head: "trial", Data: "step", Kind: doc.Words},
		{Head: "rate", Data: "rate"},
		{Head: "reached", Data: "records_per_second"},
		{Head: "outcome", Data: "outcome", Kind: doc.Words},
		{Data: "reasons"},
	}}
	tones := map[study.Outcome]doc.Tone{study.Passed: doc.Good, study.Invalid: doc.Muted}
	for i, one := range trials {
		reasons, exact := strings.Join(one.Reasons, "; "), func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
		t.Rows = append(t.Rows, doc.Row{Tone: tones[one.Outcome], Note: reasons, Cells: []doc.Cell{
			{Data: strconv.Itoa(i + 1)},
			{Text: string(one.Kind)},
			{Text: RateOf(one.Rate), Data: exact(one.Rate)},
			{Text: Rounded(one.Achieved), Data: exact(one.Achieved)},
			{Text: string(one.Outcome)},
			{Data: reasons},
		}})
	}
	return t
}

// curveTable has the latency at shares of the peak.
func curveTable(d *study.Document) doc.Table {
	t := doc.Table{ID: "curve-table", Caption: "Latency at shares of the peak; up to the knee the p99 is at most twice that of the lowest rate", Columns: []doc.Column{
		{Head: "of the peak"}, {Head: "rate"}, {Head: "p50"}, {Head: "p99", Bars: true}, {Head: "p99.9"}, {Head: "knee", Kind: doc.Words},
	}}
	most := 0.0
	for _, c := range d.Curve {
		most = max(most, c.Of(metric.P99))
	}
	latency := func(us float64) string { return theme.Duration(micros(int64(us))) }
	for _, c := range d.Curve {
		row := doc.Row{Cells: doc.Of(theme.Percent(c.Share), RateOf(c.Rate), latency(c.Of(metric.P50)), latency(c.Of(metric.P99)), latency(c.Of(metric.P999)), "")}
		if row.Cells[3].Bar = c.Of(metric.P99) / max(most, 1); c.Knee {
			row.Tone, row.Cells[5].Text = doc.Good, "knee"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
