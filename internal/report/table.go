package report

import (
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/theme"
)

// OfTable returns a document of one table. CSV has a row for each of a list.
func OfTable(command, subject string, t *doc.Table, list any) *doc.Document {
	return &doc.Document{Command: command, Subject: subject, Sections: []doc.Section{{ID: t.ID, Blocks: []doc.Block{t}}}, List: list}
}

// none stands for what is not known.
const none = doc.Unknown

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
