package report

import (
	"io"

	"github.com/kt-bench/kt/internal/doc"
)

// terminal returns the options of a document.
func (o Options) terminal() doc.Options {
	return doc.Options{Theme: o.Theme, Width: o.Width, Verbose: o.Verbose, Full: o.Full}
}

// Write writes a document in a form, or in JSON or YAML the value that it is of.
func Write(w io.Writer, form string, d *doc.Document, v any, o Options) error {
	switch form {
	case "json":
		return Indented(w, v)
	case "yaml":
		return asYAML(w, func(w io.Writer) error { return Indented(w, v) })
	case "csv":
		return d.CSV(w)
	case "markdown":
		return d.Markdown(w)
	}
	return d.Text(w, o.terminal())
}
