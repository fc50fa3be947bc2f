package report

import (
	"io"
	"slices"

	"github.com/kt-bench/kt/internal/doc"
)

// Table writes rows of text for people, in columns that are flush left. leave are the columns that a narrow terminal has
// no room for, by their heads, the first to go first.
func Table(w io.Writer, heads []string, rows [][]string, leave []string, o Options) error {
	table := doc.Table{Columns: doc.Heads(doc.Words, heads...)}
	for i := range table.Columns {
		if at := slices.Index(leave, heads[i]); at >= 0 {
			table.Columns[i].Leave = len(leave) - at
		}
	}
	for _, row := range rows {
		table.Rows = append(table.Rows, doc.Row{Cells: doc.Of(row...)})
	}
	t := doc.NewWriter(o.terminal())
	t.Line("")
	t.Table(&table)
	_, err := w.Write(t.Bytes())
	return err
}
