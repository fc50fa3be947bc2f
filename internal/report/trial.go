package report

import (
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// trialDoc fills in what a trial says.
func trialDoc(all *doc.Document, d *study.Document) {
	table := shiftTable("control", "changed")
	table.Columns = append(table.Columns, doc.Column{Head: "seen from", Data: "seen", Leave: 2})
	tones := map[study.Change]doc.Tone{study.Raised: doc.Loud, study.Lowered: doc.Loud, study.Steadier: doc.Good, study.Rougher: doc.Bad}
	for _, e := range d.Effects {
		row := shiftRow(&e.Compared, tones[e.Verdict])
		seen := doc.Cell{Data: figure(e.Seen)}
		if e.Seen > 0 {
			seen.Text = theme.Percent(e.Seen)
		}
		row.Cells = append(row.Cells, seen)
		table.Rows = append(table.Rows, row)
	}
	all.Command, all.Subject, all.Line, all.Question = "kt trial", d.Study.Trial.String(), d.Study.Loads[0].String(), "Does "+d.Changed.Name+" help?"
	all.Tags = append(all.Tags, plural(d.Control.Runs, "run")+" without it", plural(d.Changed.Runs, "run")+" with it")
	all.Answer = []doc.Note{{Text: d.Sentence}}
	all.Sections = []doc.Section{
		{ID: "effects", Tables: []doc.Table{table}}, {ID: "sides", Tables: []doc.Table{sideTable([2]string{"without", "with"}, &d.Control, &d.Changed)}}, filesOf(&d.Control, &d.Changed),
	}
}
