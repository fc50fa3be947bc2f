package page

import (
	"fmt"
	"io"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// Whole writes the page of a study of parts: the systems side by side, and then each part.
func Whole(w io.Writer, d *study.WholeDocument, _ report.Options) error {
	doc := Document{
		Title: "kt study ▸ " + d.Study.Name, Foot: madeAgain(d.ID),
		Head:     studyHead(d.Study, d.NotEqual, d.Embedded(), d.ID, theme.Plural(len(d.Parts), "part", "parts")),
		Sections: []Section{{ID: "side-by-side", Title: "Side by side", Wide: true, Blocks: []Block{sideBySide(d)}}},
	}
	for i := range d.Parts {
		doc.Sections = append(doc.Sections, partSections(&d.Parts[i])...)
	}
	return doc.Write(w)
}

// sideBySide has a row for each part, and one for what was published.
func sideBySide(d *study.WholeDocument) Table {
	t := Table{ID: "side-by-side-table", Caption: "What each part found of each system", Heads: texts(report.SideHeads(d)...)}
	for _, row := range report.SideBySide(d) {
		t.Rows = append(t.Rows, cells(row...))
	}
	return t
}

// partSections are the sections of a part, told apart from those of the others by its name.
func partSections(p *study.PartDoc) (sections []Section) {
	about := ""
	if p.Find != nil {
		sections, about = findPage(p.Find).Sections, p.Find.Study.About
	} else {
		sections, about = studySections(p.Study), p.Study.Study.About
	}
	sections[0].Blocks = append([]Block{Sentence(about)}, sections[0].Blocks...)
	for i := range sections {
		s := &sections[i]
		s.ID, s.Title = p.Name+"-"+s.ID, fmt.Sprintf("%s: %s", p.Name, s.Title)
		for j, block := range s.Blocks {
			switch b := block.(type) {
			case Table:
				b.ID = p.Name + "-" + b.ID
				s.Blocks[j] = b
			case *Plot:
				b.ID = p.Name + "-" + b.ID
			}
		}
	}
	return sections
}
