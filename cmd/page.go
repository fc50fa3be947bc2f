package cmd

import (
	"errors"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
)

// html is the form of output of pages.
const html = "html"

// format returns the function that writes a result in a form.
func format(name string) report.Format {
	if name == html {
		return page.Run
	}
	return report.Formats[name]
}

// document writes a document in a form, or in JSON the value that it is of.
func (e *Env) document(form string, l config.Look, d *doc.Document, v any) error {
	if form == html {
		if err := e.checkOutput(form); err != nil {
			return usageError(err)
		}
		return page.Doc(e.Stdout, d)
	}
	return report.Write(e.Stdout, form, d, v, e.reportOptions(l, false))
}

// checkOutput refuses to write a page to a terminal.
func (e *Env) checkOutput(form string) error {
	if form == html && e.StdoutTTY {
		return errors.New("--output html: a page is nothing to read on a terminal: write it to a file with > page.html")
	}
	return nil
}

// pageFile creates the file of --html. With quiet, nobody is told where it is.
func (e *Env) pageFile(path string, quiet bool) (*page.File, error) {
	f, err := page.Create(path, func() {
		if !quiet {
			e.say("page %s", path)
		}
	})
	return f, usageError(err)
}
