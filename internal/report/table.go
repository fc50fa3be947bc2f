package report

import (
	"bytes"
	"io"
)

// Table writes rows of text for people, in columns that are flush left. leave are the columns that a narrow terminal has
// no room for, by their heads, the first to go first.
func Table(w io.Writer, heads []string, rows [][]string, leave []string, o Options) error {
	return buffered(w, func(b *bytes.Buffer) {
		t := newText(b, o.Theme, o.Width)
		t.line("")
		g := &grid{heads: heads, left: make(map[int]bool), leave: leave}
		for i := range heads {
			g.left[i] = true
		}
		for _, row := range rows {
			g.add(plain, row...)
		}
		t.draw(g)
	})
}
