package report

import (
	"io"

	"github.com/kt-bench/kt/internal/doc"
)

// formatsOf returns the formats of what has a document, but for the page.
func formatsOf[D any](of func(d *D) *doc.Document) map[string]DocumentFormat[D] {
	return map[string]DocumentFormat[D]{
		"text":     func(w io.Writer, d *D, o Options) error { return of(d).Text(w, o.terminal()) },
		"json":     asJSON[D],
		"csv":      func(w io.Writer, d *D, _ Options) error { return of(d).CSV(w) },
		"markdown": func(w io.Writer, d *D, _ Options) error { return of(d).Markdown(w) },
	}
}

// terminal returns the options of a document.
func (o Options) terminal() doc.Options {
	return doc.Options{Theme: o.Theme, Width: o.Width, Verbose: o.Verbose, Full: o.Full}
}
