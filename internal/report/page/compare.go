package page

import "html/template"

// differs is a table of what differs, or a sentence if there is no row.
func differs(heads []string, rows [][]Cell) Block {
	if len(rows) == 0 {
		return Sentence("No setting and no fact of the environments differs.")
	}
	return Table{ID: "facts", Caption: "Settings and facts of the environments that differ", Heads: texts(heads...), Rows: rows}
}

// Sentence is an answer.
type Sentence string

// HTML returns the block.
func (s Sentence) HTML() (template.HTML, error) { return render("sentence", string(s)) }
