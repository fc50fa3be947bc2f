package report

import (
	"fmt"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// StudyProgress returns a line about a study that goes on.
func StudyProgress(p study.Progress) string {
	switch p.Kind {
	case study.Preparing:
		return "preparing " + p.Name
	case study.Skipped:
		return fmt.Sprintf("%s is left out: %s", p.Turn.Cell, p.Reason)
	case study.Begun:
		return turnText(p.Turn, p.Turns, "", ", to warm up: it does not count")
	}
	var parts []string
	for i := range p.Results {
		r := &p.Results[i]
		text := Rounded(r.Of(metric.Rate)) + " records/s"
		if r.Load != "" {
			text = r.Load + " " + text
		}
		if r.Of(metric.P99) > 0 {
			text += ", p99 " + theme.Duration(micros(int64(r.Of(metric.P99))))
		}
		if !r.Valid {
			text += ", not valid"
		}
		parts = append(parts, text+", limit "+r.Limit.String())
	}
	return "  " + strings.Join(parts, "; ")
}

// turnText says which run goes on: "run 3 of 9, 10s left: acks=1". turns is 0 if it is not known.
func turnText(t study.Turn, turns int, left, warmsUp string) string {
	text := fmt.Sprintf("run %d", t.Number)
	if turns > 0 {
		text += fmt.Sprintf(" of %d", turns)
	}
	text += left
	if at := t.Cell.String(); at != "" {
		text += ": " + at
	}
	if t.Repeat == 0 {
		text += warmsUp
	}
	return text
}

// StudyListDoc returns the studies that kt has, and those that were made.
func StudyListDoc(shipped []*study.Study, made []*study.Folder) *doc.Document {
	questions := doc.NewTable("studies", "Studies that kt has", "study|whole", "question|sentence")
	for _, s := range shipped {
		questions.Add(s.Name, s.About)
	}
	done := doc.NewTable("made", "Studies that were made here", "made here|whole", "runs|sentence")
	for _, f := range made {
		runs, wanted, err := f.Count()
		text := fmt.Sprintf("%d of %d", runs, wanted)
		if err != nil {
			text = err.Error()
		}
		done.Add(f.ID, text)
	}
	return &doc.Document{Command: "kt study", Subject: plural(len(shipped), "question"), Sections: []doc.Section{{ID: "studies", Blocks: []doc.Block{questions, done}}}}
}
