package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// FindFormats are the formats of a search by name.
var FindFormats = formatsOf(FindDoc)

// FindDoc returns what a search says.
func FindDoc(d *study.FindDocument) *doc.Document {
	all := &doc.Document{
		Command: "kt find", Subject: d.Study.Heading(), Tags: []string{d.ID, theme.Plural(len(d.Trials), "trial", "trials")},
		Title: "The highest rate that holds", Answer: []doc.Note{{Text: d.Sentence}}, Again: "kt study report " + d.ID,
		Sections: []doc.Section{
			{ID: "trials", Tables: []doc.Table{trialTable(d.Trials)}},
			{ID: "latencies", Title: "latency below the peak", Tables: []doc.Table{curveTable(d)}},
		},
	}
	if !d.Over {
		all.Alerts = []string{"The search was cut off. Go on with: kt study resume " + d.ID}
	}
	return all
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
func curveTable(d *study.FindDocument) doc.Table {
	t := doc.Table{ID: "curve-table", Caption: "Latency at shares of the peak", Columns: []doc.Column{
		{Head: "of the peak"}, {Head: "rate"}, {Head: "p50"}, {Head: "p99", Bars: true}, {Head: "p99.9"}, {Head: "knee", Kind: doc.Words},
	}}
	most := 0.0
	for _, c := range d.Curve {
		most = max(most, c.Latency.P99)
	}
	latency := func(us float64) string { return theme.Duration(micros(int64(us))) }
	for _, c := range d.Curve {
		row := doc.Row{Cells: doc.Of(theme.Percent(c.Share), RateOf(c.Rate), latency(c.Latency.P50), latency(c.Latency.P99), latency(c.Latency.P999), "")}
		if row.Cells[3].Bar = c.Latency.P99 / max(most, 1); c.Knee {
			row.Tone, row.Cells[5].Text = doc.Good, "knee"
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// bar draws a value as a share of the largest one.
func (t *text) bar(value, most float64) string {
	if most == 0 {
		return ""
	}
	full := "█"
	if t.th.ASCII() {
		full = "#"
	}
	return strings.Repeat(full, int(value/most*barWidth+0.5))
}

// FindPlan writes what a search would do.
func FindPlan(w io.Writer, d *study.Forecast, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		f := d.Study.Find
		t.line("")
		t.heading("kt find "+string(t.th.Glyphs.Arrow)+" "+d.Study.Heading(), nil)
		if len(f.Ladder) > 0 {
			t.line(fmt.Sprintf("  %s of %s each, until one does not hold", theme.Plural(len(f.Ladder), "rate", "rates"), f.Trial))
		} else {
			t.line(fmt.Sprintf("  unlimited, then rates of %s each until the peak is known to %s,", f.Trial, theme.Percent(f.Precision)))
			t.line(fmt.Sprintf("  a longer run that confirms it, and %d rates below it", len(f.Curve)))
		}
		t.takes(d)
		t.line("")
	})
}
