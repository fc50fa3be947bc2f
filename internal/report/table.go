package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
)

// col is a column of a table with a row for each T.
type col[T any] struct {
	doc.Column
	of func(x *T) doc.Cell
}

// tableOf fills a table: a row for each of all, which finish may change; nil: none.
func tableOf[T any](t doc.Table, all []T, finish func(x *T, row *doc.Row), cols ...col[T]) doc.Table {
	for _, c := range cols {
		t.Columns = append(t.Columns, c.Column)
	}
	for i := range all {
		row := doc.Row{}
		for _, c := range cols {
			row.Cells = append(row.Cells, c.of(&all[i]))
		}
		if finish != nil {
			finish(&all[i], &row)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// ListDoc returns a document of one table.
func ListDoc(command, subject string, columns []doc.Column, rows [][]string) *doc.Document {
	t := doc.Table{ID: "list", Caption: subject, Data: true, Columns: columns}
	for _, row := range rows {
		t.Rows = append(t.Rows, doc.Row{Cells: doc.Of(row...)})
	}
	return ofTable(command, subject, t)
}

// ofTable returns a document of one table.
func ofTable(command, subject string, t doc.Table) *doc.Document {
	return &doc.Document{Command: command, Subject: subject, Sections: []doc.Section{{ID: t.ID, Tables: []doc.Table{t}}}}
}

func text(s string) doc.Cell { return doc.Cell{Text: s} }
func data(s string) doc.Cell { return doc.Cell{Data: s} }

// same is a cell that people and programs read alike.
func same(s string) doc.Cell { return doc.Cell{Text: s, Data: s} }

// known is a cell of words; "": a dash for people, and nothing for programs.
func known(s string) doc.Cell {
	if s == "" {
		return text(doc.Unknown)
	}
	return same(s)
}

func countCell(n int64) doc.Cell {
	return doc.Cell{Text: theme.Count(n), Data: strconv.FormatInt(n, 10)}
}

func microsCell[T ~int64](us T) doc.Cell {
	return doc.Cell{Text: theme.Duration(micros(us)), Data: strconv.FormatInt(int64(us), 10)}
}

// threeDigits, exact and figure write numbers for programs.
func threeDigits(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
func exact(v float64) string       { return strconv.FormatFloat(v, 'f', -1, 64) }

// figure writes a number; "": it is not known.
func figure(v float64) string {
	if !study.Share(v).IsKnown() {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// facts are rows while they are made.
type facts []doc.Fact

// add adds a fact, unless it has no text.
func (f *facts) add(name string, tone doc.Tone, text string) {
	if text != "" {
		*f = append(*f, doc.Fact{Name: name, Text: text, Tone: tone})
	}
}

// listed returns a fact for each text that is not empty, with the name before the first.
func listed(name string, texts ...string) (f facts) {
	for _, text := range texts {
		if f.add(name, doc.Plain, text); text != "" {
			name = ""
		}
	}
	return f
}

// joined returns words with commas between them.
func joined[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// plural is a number of things.
func plural[N int | int64](n N, thing string) string { return theme.Plural(n, thing, thing+"s") }

// either is the word that goes with a number: of one, or of several.
func either[N int | int64](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

func micros[T ~int64](us T) time.Duration { return time.Duration(us) * time.Microsecond }

// millis returns a time that did happen.
func millis(ms *int64) time.Duration { return time.Duration(*ms) * time.Millisecond }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
