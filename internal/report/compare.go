package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// CompareFormats are the formats of a comparison by name.
var CompareFormats = map[string]DocumentFormat[study.CompareDocument]{
	"text":     CompareText,
	"json":     asJSON[study.CompareDocument],
	"csv":      CompareCSV,
	"markdown": CompareMarkdown,
}

// CompareCSV writes a row for each metric.
func CompareCSV(w io.Writer, d *study.CompareDocument, _ Options) error {
	rows := [][]string{{"metric", "a", "b", "shift", "low", "high", "p", "verdict", "runs_a", "runs_b"}}
	for _, c := range d.Metrics {
		rows = append(rows, slices.Concat([]string{unitOf[c.Metric]}, ofShift(&c), []string{string(c.Verdict), strconv.Itoa(c.A.N), strconv.Itoa(c.B.N)}))
	}
	return writeCSV(w, rows)
}

// ofShift writes the numbers of a row. "" is what is not known.
func ofShift(c *study.Compared) (row []string) {
	for _, v := range []float64{c.A.Median, c.B.Median, float64(c.Shift), float64(c.Low), float64(c.High), c.P} {
		if row = append(row, ""); study.Share(v).IsKnown() {
			row[len(row)-1] = strconv.FormatFloat(v, 'g', 6, 64)
		}
	}
	return row
}

// CompareMarkdown writes the differences and the metrics, for a wiki or a ticket.
func CompareMarkdown(w io.Writer, d *study.CompareDocument, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## B against A\n\nA: %s (%s)\nB: %s (%s)\n\n", cell(d.A.Name), strings.Join(SideSays(&d.A), ", "), cell(d.B.Name), strings.Join(SideSays(&d.B), ", "))
	if len(d.Differs) > 0 {
		b.WriteString("| differs | A | B |\n| --- | --- | --- |\n")
	}
	for _, f := range d.Differs {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(f.What), cell(strings.Join(f.A, ", ")), cell(strings.Join(f.B, ", ")))
	}
	for _, text := range d.Beside {
		fmt.Fprintf(&b, "\n- %s", cell(text))
	}
	b.WriteString("\n\n| metric | A | B | shift | interval | verdict |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range d.Metrics {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Metric, strings.Join(ShiftCells(&c), " | "), c.Verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ShiftCells writes both medians of a metric, the shift and its interval: "", there is none.
func ShiftCells(c *study.Compared) []string {
	interval := ""
	if c.Coverage > 0 && c.Shift.IsKnown() {
		interval = theme.Signed(c.Low) + " to " + theme.Signed(c.High)
	}
	return []string{Figure(c.Metric, c.A.Median), Figure(c.Metric, c.B.Median), theme.Signed(c.Shift), interval}
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
			t.line("  " + t.th.Paint(muted, "no setting and no fact of the environments differs"))
		} else {
			g := &grid{heads: []string{"differs", "A", "B"}, left: map[int]bool{1: true, 2: true}}
			for _, f := range d.Differs {
				g.add(plain, f.What, strings.Join(f.A, ", "), strings.Join(f.B, ", "))
			}
			t.draw(g)
		}
		for _, text := range d.Beside {
			t.alert("beside the load, " + text)
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
	t.line(fmt.Sprintf("  %s  %s, %s", letter, s.Name, strings.Join(SideSays(s), ", ")))
}

// SideSays returns how many runs a side has, and what is to be known of them.
func SideSays(s *study.SideDoc) []string {
	says := []string{plural(s.Runs, "run")}
	if s.Invalid > 0 {
		says = append(says, fmt.Sprintf("%d not valid", s.Invalid))
	}
	if s.ClientBound > 0 {
		says = append(says, fmt.Sprintf("kt was the limit of %d (more was not offered)", s.ClientBound))
	}
	if s.Failed > 0 {
		says = append(says, plural(s.Failed, "record")+" failed or unknown")
	}
	return slices.Concat(says, s.FailedMetrics, s.Notes)
}

// compared is the table of the metrics.
func (t *text) compared(d *study.CompareDocument) *grid {
	g := &grid{heads: []string{"metric", "A", "B", "shift", "interval", "verdict"}, left: map[int]bool{5: true}}
	styles := map[study.Change]theme.Style{study.Better: good, study.Lesser: bad, study.Same: plain, study.TooFew: muted}
	for _, c := range d.Metrics {
		g.add(styles[c.Verdict], append(append([]string{c.Metric.String()}, ShiftCells(&c)...), string(c.Verdict))...)
	}
	return g
}
