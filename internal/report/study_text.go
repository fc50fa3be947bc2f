package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyText writes what a study says for people.
func StudyText(w io.Writer, d *study.Document, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.documentHead(d)
		t.line("")
		t.draw(t.studyCells(d))
		if d.Faulty() {
			t.line("")
			t.line("  " + t.th.Paint(strong, "faults"))
			t.draw(t.studyFaults(d))
		}
		for i := range d.Answers {
			t.line("")
			t.answer(d, &d.Answers[i])
		}
		if len(d.Published) > 0 {
			t.line("")
			t.line("  " + t.th.Paint(strong, "beside published figures"))
			t.draw(t.published(d))
			t.environments(d)
		}
		t.line("")
		t.again("kt study report " + d.ID)
	})
}

func (t *text) documentHead(d *study.Document) {
	t.studyHead(d.Study, d.NotEqual, d.Embedded(), d.ID, fmt.Sprintf("%d of %s", d.Runs, theme.Plural(d.Wanted, "run", "runs")))
}

// studyHead writes what a study asks, and what is not equal between the systems in it.
func (t *text) studyHead(s *study.Study, notEqual []string, embedded bool, about ...string) {
	t.heading("kt study "+string(t.th.Glyphs.Arrow)+" "+s.Name, about)
	t.paragraph(s.About)
	for _, sentence := range notEqual {
		t.paragraph("not equal: " + sentence)
	}
	if embedded {
		t.alert(result.EmbeddedNotice)
	}
}

// paragraph writes muted text below a heading.
func (t *text) paragraph(s string) {
	for _, line := range wrapText(s, t.wrapAt()-2) {
		t.line("  " + t.th.Paint(muted, line))
	}
}

// studyCells is the table of the cells, with a row for each load.
func (t *text) studyCells(d *study.Document) *grid {
	g := &grid{
		heads: append(LoadHeads(d), "records/s", "from", "to", "MiB/s", "p50", "p99", "p99.9", "rough", "CPU", "runs", "limit"),
		left:  map[int]bool{},
		leave: []string{"p99.9", "p50", "MiB/s", "CPU", "rough"},
	}
	beside := len(d.Study.Loads) > 1
	g.left[len(g.heads)-1] = true
	for i := range d.Cells {
		c := &d.Cells[i]
		at := studyAt(d, c)
		if c.LeftOut != "" {
			g.add(muted, append(at, make([]string, len(g.heads)-len(at))...)...)
			g.note(warn, "left out: "+c.LeftOut)
			continue
		}
		t.studyRow(g, at, &c.CellFigures, beside)
		for j := range c.Beside {
			t.studyRow(g, make([]string, len(at)), &c.Beside[j], beside)
		}
	}
	return g
}

// LoadHeads are the heads of what tells the rows of a table with a row for each load apart.
func LoadHeads(d *study.Document) []string {
	heads := studyHeads(d)
	if len(d.Study.Loads) > 1 {
		heads = append(heads, "load")
	}
	return heads
}

func (t *text) studyRow(g *grid, at []string, c *study.CellFigures, beside bool) {
	if beside {
		at = append(at, c.Load)
	}
	none := string(t.th.Glyphs.Missing)
	if c.Throughput.N == 0 {
		for len(at) < len(g.heads) {
			at = append(at, none)
		}
		g.add(muted, at...)
		return
	}
	of := func(m study.Metric) string {
		if c.Of(m).N == 0 {
			return none
		}
		return Figure(m, c.Of(m).Median)
	}
	style := plain
	if c.ClientBound || c.Invalid > 0 {
		style = muted
	}
	r := c.Throughput
	g.add(style, append(at, Rounded(r.Median), Rounded(r.Low), Rounded(r.High),
		of(study.Bytes), of(study.P50), of(study.P99), of(study.P999), of(study.Roughness), of(study.CPU), fmt.Sprint(r.N), LimitsOf(c))...)
	if len(c.FailedMetrics) > 0 {
		g.note(warn, strings.Join(c.FailedMetrics, ", "))
	}
}

// studyFaults is the table of what the runs saw of faults, with a row for each load.
func (t *text) studyFaults(d *study.Document) *grid {
	g := &grid{heads: append(LoadHeads(d), "failed", "lost", "not checked", "no acks for", "rate back after", "in sync after")}
	none := string(t.th.Glyphs.Missing)
	add := func(at []string, c *study.CellFigures) {
		if len(d.Study.Loads) > 1 {
			at = append(at, c.Load)
		}
		for _, s := range []study.Spread{c.Failed, c.Lost, c.Unchecked} {
			at = append(at, OverRuns(s, c, none, theme.PerSecond))
		}
		for _, s := range []study.Spread{c.Gap, c.Recovered, c.InSync} {
			at = append(at, OverRuns(s, c, none, func(v float64) string { return theme.Duration(time.Duration(v) * time.Millisecond) }))
		}
		g.add(plain, at...)
	}
	for i := range d.Cells {
		c := &d.Cells[i]
		at := studyAt(d, c)
		if len(c.Runs) > 0 {
			add(at, &c.CellFigures)
		}
		for j := range c.Beside {
			add(make([]string, len(at)), &c.Beside[j])
		}
	}
	return g
}

// OverRuns writes the median of an effect with its range, and in how many runs it was seen if not in all. none stands
// for an effect that was seen in no run.
func OverRuns(s study.Spread, c *study.CellFigures, none string, write func(float64) string) string {
	if s.N == 0 {
		return none
	}
	text := write(s.Median)
	if s.Low < s.High {
		text += " (" + write(s.Low) + " – " + write(s.High) + ")"
	}
	if runs := c.Failed.N; s.N < runs {
		text += fmt.Sprintf(", %d of %d runs", s.N, runs)
	}
	return text
}

// Question returns what an answer is about.
func Question(d *study.Document, a *study.Answer) string {
	text := "best " + a.Factor + " by " + a.By.String()
	if a.Best == "" {
		text = a.By.String() + " by " + a.Factor
	}
	for _, f := range d.Study.Factors {
		if v, ok := a.At[f.Name]; ok {
			text += ", " + f.Name + "=" + v
		}
	}
	return text
}

// answer writes an answer with a chart of what it compares.
func (t *text) answer(d *study.Document, a *study.Answer) {
	t.line("  " + t.th.Paint(strong, Question(d, a)))
	t.bars(d, a)
	for _, line := range wrapText(a.Sentence, t.wrapAt()-margin) {
		t.line(strings.Repeat(" ", margin) + line)
	}
}

// barWidth is the length of the longest bar in columns.
const barWidth = 40

// bars draws a bar for each value of a factor, as long as its median.
func (t *text) bars(d *study.Document, a *study.Answer) {
	g := &grid{heads: []string{a.Factor, "", a.By.String(), "interval"}, left: map[int]bool{1: true, 3: true}}
	values := d.Along(a)
	most := 0.0
	for _, v := range values {
		most = max(most, v.Spread.Median)
	}
	for _, v := range values {
		if v.Spread.N == 0 || most == 0 {
			continue
		}
		style := theme.Style{FG: theme.Muted}
		switch {
		case v.Value == a.Best:
			style = theme.Style{FG: theme.Good, Bold: true}
		case v.LikeBest:
			style = good
		}
		g.add(style, v.Value, t.bar(v.Spread.Median, most), Figure(a.By, v.Spread.Median), Figure(a.By, v.Spread.Low)+" – "+Figure(a.By, v.Spread.High))
	}
	t.draw(g)
}

// Figure writes a value of a metric for people.
func Figure(m study.Metric, v float64) string {
	switch m {
	case study.Throughput:
		return Rounded(v)
	case study.Bytes, study.CPU:
		return fmt.Sprintf("%.2f", v)
	case study.Roughness:
		return theme.Percent(v)
	}
	return theme.Duration(micros(int64(v)))
}

// published is the table of figures that others have measured.
func (t *text) published(d *study.Document) *grid {
	g := &grid{heads: []string{"case", "at", "published", "here", "ratio"}, left: map[int]bool{1: true}}
	for _, p := range d.Published {
		here, ratio := string(t.th.Glyphs.Missing), string(t.th.Glyphs.Missing)
		if p.EnvironmentHere != "" {
			here = Rounded(p.Here)
		}
		if p.EnvironmentHere != "" && len(p.Differs) == 0 {
			ratio = theme.Ratio(p.Ratio)
		}
		g.add(plain, p.Source+"/"+p.Case, p.String(), Rounded(p.RecordsPerSecond), here, ratio)
	}
	return g
}

// environments says where published figures come from, and where those beside them do.
func (t *text) environments(d *study.Document) {
	var said []string
	for _, p := range d.Published {
		text := p.Source + "/" + p.Case + ": " + p.Environment
		if p.EnvironmentHere != "" {
			text += "; here: " + p.EnvironmentHere
		}
		if len(p.Differs) > 0 {
			text += "; no ratio, because the load differs: " + strings.Join(p.Differs, "; ")
		}
		if p.EnvironmentHere != "" && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	for _, text := range said {
		t.paragraph(text)
	}
}

// StudyList writes the studies that kt has, and those that were made.
func StudyList(w io.Writer, shipped []*study.Study, made []*study.Folder, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		g := &grid{heads: []string{"study", "question"}, left: map[int]bool{1: true}}
		for _, s := range shipped {
			g.add(plain, s.Name, s.About)
		}
		t.draw(g)
		if len(made) == 0 {
			return
		}
		t.line("")
		g = &grid{heads: []string{"made here", "runs"}}
		for _, f := range made {
			done, wanted, err := f.Count()
			text := fmt.Sprintf("%d of %d", done, wanted)
			if err != nil {
				text = err.Error()
			}
			g.add(plain, f.ID, text)
		}
		t.draw(g)
	})
}
