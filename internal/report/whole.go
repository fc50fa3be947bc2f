package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// WholeFormats are the formats of a study of parts by name. There is no CSV: each part has other columns.
var WholeFormats = map[string]DocumentFormat[study.WholeDocument]{
	"text":     WholeText,
	"json":     asJSON[study.WholeDocument],
	"markdown": WholeMarkdown,
}

// WholeText writes what a study of parts says for people.
func WholeText(w io.Writer, d *study.WholeDocument, o Options) error {
	err := buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		t.studyHead(d.Study, d.NotEqual, d.Embedded(), d.ID, theme.Plural(len(d.Parts), "part", "parts"))
		if len(d.Standings) > 0 {
			t.line("")
			t.draw(systemTable(d))
		}
	})
	for i := range d.Parts {
		if err != nil {
			break
		}
		if p := &d.Parts[i]; p.Find != nil {
			err = docText(w, FindDoc(p.Find), o)
		} else {
			err = StudyText(w, p.Study, o)
		}
	}
	return err
}

// systemTable is the table of what each part found of each system, with a row for each.
func systemTable(d *study.WholeDocument) *grid {
	g := &grid{heads: []string{"part", "system", "found", "published"}, left: map[int]bool{0: true, 1: true, 2: true, 3: true}}
	part := ""
	for i := range d.Standings {
		s := &d.Standings[i]
		name := s.Part
		if name == part {
			name = ""
		}
		part = s.Part
		published, _ := publishedOf(s)
		g.add(plain, name, string(s.System), foundOf(s), published)
	}
	return g
}

// WholeMarkdown writes the systems side by side, and then each part, for a wiki or a ticket.
func WholeMarkdown(w io.Writer, d *study.WholeDocument, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", cell(d.Study.Name), cell(d.Study.About))
	for _, sentence := range d.NotEqual {
		fmt.Fprintf(&b, "- Not equal: %s.\n", cell(sentence))
	}
	if rows := SideBySide(d); len(rows) > 0 {
		heads := SideHeads(d)
		fmt.Fprintf(&b, "\n| %s |\n|%s\n", strings.Join(heads, " | "), strings.Repeat(" --- |", len(heads)))
		for _, row := range rows {
			for i := range row {
				row[i] = cell(row[i])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		}
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	for i := range d.Parts {
		if err != nil {
			break
		}
		if p := &d.Parts[i]; p.Find != nil {
			_, err = fmt.Fprintf(w, "\n# %s: %s\n\n", cell(p.Name), cell(p.Find.Study.About))
			err = cmp.Or(err, FindDoc(p.Find).Markdown(w))
		} else {
			_, err = io.WriteString(w, "\n")
			err = cmp.Or(err, StudyMarkdown(w, p.Study, o))
		}
	}
	return err
}

// SideHeads are the heads of SideBySide.
func SideHeads(d *study.WholeDocument) []string {
	heads := []string{"part"}
	for _, s := range d.Systems {
		heads = append(heads, string(s))
	}
	return heads
}

// SideBySide has a row for each part, with what it found of each system, and below it what an account has published.
func SideBySide(d *study.WholeDocument) (rows [][]string) {
	var parts []string
	for _, s := range d.Standings {
		if !slices.Contains(parts, s.Part) {
			parts = append(parts, s.Part)
		}
	}
	for _, part := range parts {
		row, published, account := []string{part}, []string{""}, ""
		for _, system := range d.Systems {
			i := slices.IndexFunc(d.Standings, func(s study.Standing) bool { return s.Part == part && s.System == system })
			if i < 0 {
				row, published = append(row, "–"), append(published, "–")
				continue
			}
			texts, source := publishedOf(&d.Standings[i])
			row, published, account = append(row, foundOf(&d.Standings[i])), append(published, cmp.Or(texts, "–")), cmp.Or(account, source)
		}
		rows = append(rows, row)
		if account != "" {
			published[0] = "published by " + account
			rows = append(rows, published)
		}
	}
	return rows
}

// foundOf writes what a part found of a system.
func foundOf(s *study.Standing) string {
	var text string
	switch c := s.Cell; {
	case s.Peak != nil:
		text = peakOf(s)
	case s.By == "":
		text = faultsOf(c)
	case s.By.IsLatency():
		text = "p50 " + Figure(study.P50, c.Latency.P50.Median) + ", p99 " + Figure(study.P99, c.Latency.P99.Median)
	default:
		text = Rounded(c.Throughput.Median) + " records/s"
	}
	if s.At != "" {
		text += " with " + s.At
	}
	if !s.Over {
		text += " (not over)"
	}
	return text
}

// peakOf writes the highest rate that holds.
func peakOf(s *study.Standing) string {
	switch p := s.Peak; {
	case p.RecordsPerSecond == 0 && !s.Over:
		return "–"
	case p.RecordsPerSecond == 0:
		return "no rate holds"
	case p.ClientBound:
		return "at least " + Rounded(p.RecordsPerSecond) + " records/s"
	}
	return Rounded(s.Peak.RecordsPerSecond) + " records/s"
}

// faultsOf writes what runs saw of faults.
func faultsOf(c *study.CellFigures) string {
	texts := []string{theme.Count(int64(c.Failed.Median)) + " failed"}
	if c.Lost.N > 0 {
		texts = append(texts, theme.Count(int64(c.Lost.Median))+" lost")
	}
	if c.Unchecked.Median > 0 {
		texts = append(texts, theme.Count(int64(c.Unchecked.Median))+" not checked")
	}
	if c.Gap.N > 0 {
		texts = append(texts, "none taken for "+theme.Duration(time.Duration(c.Gap.Median)*time.Millisecond))
	}
	return strings.Join(texts, ", ")
}

// publishedOf writes the figures that accounts have published of a system, and who they are.
func publishedOf(s *study.Standing) (text, source string) {
	var texts []string
	for _, p := range s.Published {
		source = p.Source + "/" + p.Case
		one := theme.Number(p.MBSecond) + " MB/s"
		if p.P99 > 0 {
			one = fmt.Sprintf("p99 %s at %s MB/s", theme.Duration(micros(int64(p.P99))), theme.Number(p.AtSecond))
		}
		texts = append(texts, one+" ("+p.Of+")")
	}
	return strings.Join(texts, "; "), source
}
