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

// CompareFormat writes a comparison of two sets of runs.
type CompareFormat func(w io.Writer, d *study.CompareDocument, o Options) error

// CompareFormats are the formats of a comparison by name.
var CompareFormats = map[string]CompareFormat{
	"text":     CompareText,
	"json":     func(w io.Writer, d *study.CompareDocument, _ Options) error { return Indented(w, d) },
	"csv":      CompareCSV,
	"markdown": CompareMarkdown,
}

// CompareCSV writes a row for each metric.
func CompareCSV(w io.Writer, d *study.CompareDocument, _ Options) error {
	rows := [][]string{{"metric", "a", "b", "shift", "low", "high", "p", "verdict", "runs_a", "runs_b"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	for _, c := range d.Metrics {
		rows = append(rows, []string{
			unitOf[c.Metric], number(c.A.Median), number(c.B.Median), number(c.Shift), number(c.Low), number(c.High), number(c.P), string(c.Verdict),
			strconv.Itoa(c.A.N), strconv.Itoa(c.B.N),
		})
	}
	return writeCSV(w, rows)
}

// CompareMarkdown writes the differences and the metrics, for a wiki or a ticket.
func CompareMarkdown(w io.Writer, d *study.CompareDocument, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## B against A\n\nA: %s (%s)\nB: %s (%s)\n\n", cell(d.A.Name), plural(d.A.Runs, "run"), cell(d.B.Name), plural(d.B.Runs, "run"))
	if len(d.Differs) > 0 {
		b.WriteString("| differs | A | B |\n| --- | --- | --- |\n")
	}
	for _, f := range d.Differs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(f.What), cell(strings.Join(f.A, ", ")), cell(strings.Join(f.B, ", ")))
	}
	b.WriteString("\n| metric | A | B | shift | interval | verdict |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range d.Metrics {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.Metric, Figure(c.Metric, c.A.Median), Figure(c.Metric, c.B.Median), Signed(c.Shift), ShiftInterval(&c), c.Verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Signed writes a shift with its sign.
func Signed(share float64) string {
	if share > 0 {
		return "+" + theme.Percent(share)
	}
	return theme.Percent(share)
}

// ShiftInterval writes the interval of a shift; "": there are too few runs for one.
func ShiftInterval(c *study.Compared) string {
	if c.Coverage == 0 {
		return ""
	}
	return Signed(c.Low) + " to " + Signed(c.High)
}

// CompareText writes a comparison for people.
func CompareText(w io.Writer, d *study.CompareDocument, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.heading("kt compare "+string(t.th.Glyphs.Arrow)+" B against A", nil)
		t.side("A", &d.A)
		t.side("B", &d.B)
		t.line("")
		if len(d.Differs) == 0 {
			t.line("  " + t.th.Paint(muted, "settings and environments are alike"))
		} else {
			g := &grid{heads: []string{"differs", "A", "B"}, left: map[int]bool{1: true, 2: true}}
			for _, f := range d.Differs {
				g.add(plain, f.What, strings.Join(f.A, ", "), strings.Join(f.B, ", "))
			}
			t.draw(g)
		}
		t.line("")
		t.draw(t.compared(d))
		t.line("")
		for i := range d.Metrics {
			for _, line := range wrapText(d.Metrics[i].Sentence, t.wrapAt()-2) {
				t.line("  " + line)
			}
		}
		if d.Queueing {
			t.line("  " + t.th.Paint(muted, "latency is mostly queueing: a run had no target rate"))
		}
		for _, f := range d.Failures {
			t.line("  " + t.th.Paint(bad, "--fail-on: "+f))
		}
		t.line("")
	})
}

// side writes the runs of a side, and what is to be known of them.
func (t *text) side(letter string, s *study.SideDoc) {
	text := fmt.Sprintf("  %s  %s, %s", letter, s.Name, plural(s.Runs, "run"))
	if s.Invalid > 0 {
		text += fmt.Sprintf(", %d not valid", s.Invalid)
	}
	if s.ClientBound > 0 {
		text += fmt.Sprintf(", kt was the limit of %d (more was not offered)", s.ClientBound)
	}
	if s.Failed > 0 {
		text += ", " + plural(s.Failed, "record") + " failed or unknown"
	}
	t.line(strings.Join(append([]string{text}, s.FailedMetrics...), ", "))
}

// compared is the table of the metrics.
func (t *text) compared(d *study.CompareDocument) *grid {
	g := &grid{heads: []string{"metric", "A", "B", "shift", "interval", "verdict"}, left: map[int]bool{5: true}}
	styles := map[study.Change]theme.Style{study.Better: good, study.Lesser: bad, study.Same: plain, study.TooFew: muted}
	for _, c := range d.Metrics {
		g.add(styles[c.Verdict], c.Metric.String(), Figure(c.Metric, c.A.Median), Figure(c.Metric, c.B.Median), Signed(c.Shift), ShiftInterval(&c), string(c.Verdict))
	}
	return g
}
