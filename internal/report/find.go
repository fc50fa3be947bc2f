package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// FindFormats are the formats of a search by name.
var FindFormats = map[string]DocumentFormat[study.FindDocument]{
	"text":     FindText,
	"json":     asJSON[study.FindDocument],
	"csv":      FindCSV,
	"markdown": FindMarkdown,
}

// FindCSV writes a row for each trial.
func FindCSV(w io.Writer, d *study.FindDocument, _ Options) error {
	rows := [][]string{{"trial", "step", "rate", "outcome", "records_per_second", "reasons"}}
	for i, t := range d.Trials {
		rows = append(rows, []string{
			strconv.Itoa(i + 1), string(t.Kind), strconv.FormatFloat(t.Rate, 'f', -1, 64), string(t.Outcome),
			strconv.FormatFloat(t.Achieved, 'f', -1, 64), strings.Join(t.Reasons, "; "),
		})
	}
	return writeCSV(w, rows)
}

// FindMarkdown writes the sentence and the tables, for a wiki or a ticket.
func FindMarkdown(w io.Writer, d *study.FindDocument, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## The highest rate that holds\n\n%s\n\n| trial | rate | outcome | reasons |\n| --- | --- | --- | --- |\n", cell(d.Sentence))
	for _, t := range d.Trials {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.Kind, RateOf(t.Rate), t.Outcome, cell(strings.Join(t.Reasons, "; ")))
	}
	if len(d.Curve) > 0 {
		b.WriteString("\n| of the peak | rate | p50 ms | p99 ms | p99.9 ms |\n| --- | --- | --- | --- | --- |\n")
	}
	ms := func(us float64) string { return strconv.FormatFloat(us/1000, 'f', 2, 64) }
	for _, c := range d.Curve {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", theme.Percent(c.Share), RateOf(c.Rate), ms(c.Latency.P50), ms(c.Latency.P99), ms(c.Latency.P999))
	}
	_, err := io.WriteString(w, b.String())
	return err
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

// FindText writes what a search says for people.
func FindText(w io.Writer, d *study.FindDocument, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.findHead(d)
		for _, line := range wrapText(d.Sentence, t.wrapAt()-2) {
			t.line("  " + t.th.Paint(strong, line))
		}
		t.line("")
		t.draw(t.trials(d.Trials, true))
		if len(d.Curve) > 0 {
			t.line("")
			t.line("  " + t.th.Paint(strong, "latency below the peak"))
			t.draw(t.curve(d))
		}
		t.line("")
		t.again("kt study report " + d.ID)
	})
}

func (t *text) findHead(d *study.FindDocument) {
	t.heading("kt find "+string(t.th.Glyphs.Arrow)+" "+d.Study.Heading(), []string{d.ID, theme.Plural(len(d.Trials), "trial", "trials")})
}

// trials is the table of trials, with the reasons below those that did not pass if they are wanted.
func (t *text) trials(trials []study.Trial, reasons bool) *grid {
	g := &grid{heads: []string{"trial", "rate", "reached", "outcome"}, left: map[int]bool{3: true}}
	styles := map[study.Outcome]theme.Style{study.Passed: good, study.Failed: plain, study.Invalid: muted}
	for _, one := range trials {
		g.add(styles[one.Outcome], string(one.Kind), RateOf(one.Rate), Rounded(one.Achieved), string(one.Outcome))
		if reasons && len(one.Reasons) > 0 {
			g.note(muted, strings.Join(one.Reasons, "; "))
		}
	}
	return g
}

// curve is the table of latencies, with a bar for the p99.
func (t *text) curve(d *study.FindDocument) *grid {
	g := &grid{heads: []string{"of the peak", "rate", "p50", "p99", "p99.9", "", ""}, left: map[int]bool{5: true, 6: true}}
	most := 0.0
	for _, c := range d.Curve {
		most = max(most, c.Latency.P99)
	}
	for _, c := range d.Curve {
		style, knee := plain, ""
		if c.Knee {
			style, knee = good, "knee"
		}
		latency := func(us float64) string { return theme.Duration(micros(int64(us))) }
		g.add(style, theme.Percent(c.Share), RateOf(c.Rate), latency(c.Latency.P50), latency(c.Latency.P99), latency(c.Latency.P999), t.bar(c.Latency.P99, most), knee)
	}
	return g
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
