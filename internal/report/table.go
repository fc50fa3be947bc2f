package report

import "github.com/kt-bench/kt/internal/doc"

// ListDoc returns a document of one table.
func ListDoc(command, subject string, columns []doc.Column, rows [][]string) *doc.Document {
	t := doc.Table{ID: "list", Caption: subject, Data: true, Columns: columns}
	for _, row := range rows {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(row...)})
	}
	return &doc.Document{Command: command, Subject: subject, Sections: []doc.Section{{ID: "list", Tables: []doc.Table{t}}}}
}
