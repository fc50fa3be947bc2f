package report

import (
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
	all.List = d.Trials
	all.Sections = []doc.Section{
		{ID: "plots", Title: "By rate", For: doc.InPage, Columns: true, Blocks: []doc.Block{curvePlot(d), reachedPlot(d)}},
		{ID: "trials", Blocks: []doc.Block{trialTable(d.Trials)}},
		{ID: "latencies", Title: "Latency below the peak", Blocks: []doc.Block{curveTable(d)}},
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
func trialTable(trials []study.Trial) *doc.Table {
	t := doc.NewTable("trial-table", "Trials in their order", "trial|words", "rate", "reached", "outcome|words")
	tones := map[study.Outcome]doc.Tone{study.Passed: doc.Good, study.Invalid: doc.Muted}
	for _, one := range trials {
		row := t.Add(one.Kind, RateOf(one.Rate), Rounded(one.Achieved), one.Outcome)
		row.Tone, row.Note = tones[one.Outcome], strings.Join(one.Reasons, "; ")
	}
	return t
}

// curveTable has the latency at shares of the peak.
func curveTable(d *study.Document) *doc.Table {
	t := doc.NewTable("curve-table", "Latency at shares of the peak; up to the knee the p99 is at most twice that of the lowest rate",
		"of the peak", "rate", "p50", "p99|bars", "p99.9", "knee|words")
	for _, c := range d.Curve {
		row := t.Add(theme.Percent(c.Share), RateOf(c.Rate), Figure(metric.P50, c.Of(metric.P50)), doc.Cell{Text: Figure(metric.P99, c.Of(metric.P99)), Bar: c.Of(metric.P99)},
			Figure(metric.P999, c.Of(metric.P999)), "")
		if c.Knee {
			row.Tone, row.Cells[5].Text = doc.Good, "knee"
		}
	}
	return t
}
