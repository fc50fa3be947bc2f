package page

import "html/template"

// Sentence is an answer.
type Sentence string

// HTML returns the block.
func (s Sentence) HTML() (template.HTML, error) { return render("sentence", string(s)) }
