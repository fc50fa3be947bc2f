package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// wholeDoc fills in what a study of parts says: the systems side by side, and then each part.
func wholeDoc(all *doc.Document, d *study.Document) {
	all.Tags = append(all.Tags, plural(len(d.Parts), "part"))
	all.Sections = []doc.Section{{ID: "side-by-side", Title: "Side by side", Blocks: []doc.Block{systemTable(d)}}}
	list := []any{}
	for i := range d.Parts {
		p := &d.Parts[i]
		part := StudyDoc(cmp.Or(p.Find, p.Study))
		part.Remarks = nil // the whole has them
		all.Add(p.Name, part)
		for _, row := range reflect.ValueOf(part.List).Seq2() {
			list = append(list, inPart{p.Name, row.Interface()})
		}
	}
	all.List = list
}

// inPart is an element of the list of a part.
type inPart struct {
	part string
	of   any
}

// MarshalJSON writes the element with the name of its part.
func (p inPart) MarshalJSON() ([]byte, error) {
	name, _ := json.Marshal(p.part) // a text has a form
	of, err := json.Marshal(p.of)
	return slices.Concat([]byte(`{"part":`), name, []byte(`,`), bytes.TrimPrefix(of, []byte(`{`))), err
}

// systemTable has what each part found of each system.
func systemTable(d *study.Document) *doc.Table {
	t := doc.NewTable("side-by-side-table", "What each part found of each system", "part|words", "system|words", "found|words", "published|words")
	for i := range d.SideBySide {
		s := &d.SideBySide[i]
		published, sources := publishedOf(s)
		t.Add(s.Part, s.System, foundOf(s), cmp.Or(published, none)).Note = sources
	}
	return t
}

// foundOf writes what a part found of a system.
func foundOf(s *study.SystemBest) string {
	var text string
	switch c := s.Cell; {
	case s.Peak != nil:
		text = peakOf(s)
	case s.By == "":
		text = faultsOf(c)
	case s.By.IsLatency():
		text = "p50 " + Figure(metric.P50, c.Of(metric.P50).Median) + ", p99 " + Figure(metric.P99, c.Of(metric.P99).Median)
	default:
		text = Rounded(c.Of(metric.Rate).Median) + " records/s"
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
func peakOf(s *study.SystemBest) string {
	switch p := s.Peak; {
	case p.RecordsPerSecond == 0 && !s.Over:
		return none
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

// publishedOf writes the figures that published tests have of a system, and which tests these are.
func publishedOf(s *study.SystemBest) (text, sources string) {
	var texts, from []string
	for _, p := range s.Published {
		one := theme.Number(p.MBSecond) + " MB/s"
		if p.P99 > 0 {
			one = fmt.Sprintf("p99 %s at %s MB/s", theme.Duration(micros(int64(p.P99))), theme.Number(p.AtSecond))
		}
		texts, from = append(texts, one+" ("+p.Of+")"), append(from, strings.TrimSuffix("published by "+p.Account+": "+p.Link, ": "))
	}
	return strings.Join(texts, "; "), strings.Join(slices.Compact(from), "; ")
}
