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

// TrialFormats are the formats of a trial by name.
var TrialFormats = map[string]DocumentFormat[study.TrialDocument]{
	"text":     TrialText,
	"json":     asJSON[study.TrialDocument],
	"csv":      TrialCSV,
	"markdown": TrialMarkdown,
}

// TrialCSV writes a row for each metric.
func TrialCSV(w io.Writer, d *study.TrialDocument, _ Options) error {
	rows := [][]string{{"metric", "control", "changed", "shift", "low", "high", "p", "verdict", "seen", "runs"}}
	for _, e := range d.Effects {
		seen := strconv.FormatFloat(e.Seen, 'g', 6, 64)
		rows = append(rows, slices.Concat([]string{unitOf[e.Metric]}, ofShift(&e.Compared), []string{string(e.Verdict), seen, strconv.Itoa(e.B.N)}))
	}
	return writeCSV(w, rows)
}

// TrialMarkdown writes the sentence and the effects, for a wiki or a ticket.
func TrialMarkdown(w io.Writer, d *study.TrialDocument, _ Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Does %s help?\n\n%s\n\n| metric | control | changed | shift | interval | verdict |\n| --- | --- | --- | --- | --- | --- |\n",
		cell(d.Changed.Name), cell(d.Sentence))
	for _, e := range d.Effects {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e.Metric, strings.Join(ShiftCells(&e.Compared), " | "), e.Verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// TrialText writes what a trial says for people.
func TrialText(w io.Writer, d *study.TrialDocument, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.trialHead(d.Study, d.ID, sides(d)...)
		for _, line := range wrapText(d.Sentence, t.wrapAt()-2) {
			t.line("  " + t.th.Paint(strong, line))
		}
		t.line("")
		t.draw(t.effects(d))
		t.line("")
		t.again("kt study report " + d.ID)
	})
}

// effects is the table of what the change does.
func (t *text) effects(d *study.TrialDocument) *grid {
	g := &grid{heads: []string{"metric", "control", "changed", "shift", "interval", "seen from", "verdict"}, left: map[int]bool{6: true}, leave: []string{"seen from", "interval"}}
	styles := map[study.Change]theme.Style{study.Unchanged: plain, study.Raised: strong, study.Lowered: strong, study.Steadier: good, study.Rougher: bad}
	for _, e := range d.Effects {
		seen := ""
		if e.Seen > 0 {
			seen = theme.Percent(e.Seen)
		}
		g.add(styles[e.Verdict], append(append([]string{e.Metric.String()}, ShiftCells(&e.Compared)...), seen, string(e.Verdict))...)
	}
	return g
}

func sides(d *study.TrialDocument) []string {
	of := func(s *study.SideDoc, what string) string {
		return strings.Join(append([]string{plural(s.Runs, "run") + what}, s.FailedMetrics...), ", ")
	}
	return []string{of(&d.Control, " without it"), of(&d.Changed, " with it")}
}

func (t *text) trialHead(s *study.Study, id string, sides ...string) {
	t.heading("kt trial "+string(t.th.Glyphs.Arrow)+" "+s.Trial.String(), append([]string{id}, sides...))
	t.paragraph(s.Loads[0].String())
}

// TrialPlan writes what a trial would do.
func TrialPlan(w io.Writer, f *study.Forecast, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t, s := newText(b, o.Theme, o.Width), f.Study
		t.line("")
		t.trialHead(s, "")
		t.line(fmt.Sprintf("  to warm up %s, then runs without the change and with it in turns:", plural(s.Discard, "run")))
		looks := s.Trial.Looks
		if len(looks) == 1 {
			t.line("  " + plural(looks[0], "run") + " a side")
		} else {
			t.line(fmt.Sprintf("  kt looks after %d and %d a side whether the answer is clear, and ends after %d", looks[0], looks[1], looks[2]))
		}
		t.takes(f)
		t.line("")
	})
}
