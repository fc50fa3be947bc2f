package report

import (
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// trialDoc fills in what a trial says.
func trialDoc(all *doc.Document, d *study.Document) {
	table := shiftTable("control", "changed")
	table.Head("seen from|2")
	tones := map[study.Change]doc.Tone{study.Raised: doc.Loud, study.Lowered: doc.Loud, study.Steadier: doc.Good, study.Rougher: doc.Bad}
	for _, e := range d.Effects {
		seen := ""
		if e.Seen > 0 {
			seen = theme.Percent(e.Seen)
		}
		addShift(table, &e.Compared, tones[e.Verdict], seen)
	}
	all.List = d.Effects
	all.Command, all.Subject, all.Line, all.Question = "kt trial", d.Study.Trial.String(), d.Study.Loads[0].String(), "Does "+d.Changed.Name+" help?"
	all.Tags = append(all.Tags, plural(d.Control.Runs, "run")+" without it", plural(d.Changed.Runs, "run")+" with it")
	all.Answer = []doc.Note{{Text: d.Sentence}}
	all.Sections = []doc.Section{
		{ID: "effects", Blocks: []doc.Block{table}}, {ID: "sides", Blocks: []doc.Block{sideTable([2]string{"without", "with"}, &d.Control, &d.Changed)}}, filesOf(&d.Control, &d.Changed),
	}
}
