package cmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
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

// pageFile is a file for a page. Until the page is written it has another name, so nobody finds a part of it. A nil
// pageFile is none.
type pageFile struct {
	path string
	file *os.File
	tell func() // says where the page is
}

// newPageFile creates the file before a run is made, so that a run is never made whose page cannot be written. path is
// --html; "": no page is wanted. With quiet, nobody is told where it is.
func newPageFile(env *Env, path string, quiet bool) (*pageFile, error) {
	if path == "" {
		return nil, nil
	}
	switch _, err := os.Lstat(path); {
	case err == nil:
		return nil, fmt.Errorf("--html %s: it exists, and kt does not overwrite results: name another file or remove it", path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--html %s: %w", path, input.Cause(err))
	}
	dir, name := filepath.Split(path)
	f, err := os.OpenFile(fmt.Sprintf("%s.%.200s-%.8s", dir, name, rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--html %s: %w", path, input.Cause(err))
	}
	tell := func() {
		if !quiet {
			env.say("page %s", path)
		}
	}
	return &pageFile{path, f, tell}, nil
}

// writeRun writes the page of a result. run is its run file; "": there is none.
func (f *pageFile) writeRun(res result.Result, o report.Options, run ...string) error {
	return f.write(func(w io.Writer) error { return page.Run(w, res, o) }, run...)
}

// write writes the page, gives the file its name, and says where it is. runs are the files from which the page can be
// written again.
func (f *pageFile) write(page func(io.Writer) error, runs ...string) error {
	if f == nil {
		return nil
	}
	err := page(f.file)
	if err == nil {
		err = f.file.Close()
	}
	if err == nil {
		err = f.name()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w%s", f.path, input.Cause(err), again(runs))
	}
	f.tell()
	return nil
}

// again returns how to write the page of runs at another place; "": it cannot be written again.
func again(runs []string) string {
	command := ""
	for _, run := range runs {
		if run != "" {
			command += " " + theme.Quoted(run)
		}
	}
	if command == "" {
		return ""
	}
	return "; to write the page elsewhere: kt report" + command + " --html FILE"
}

// name gives the file its name, and leaves it no other. It replaces no file that has come there since the run began, where the file system can
// tell: one without hard links cannot.
func (f *pageFile) name() error {
	err := os.Link(f.file.Name(), f.path)
	switch {
	case err == nil:
		return os.Remove(f.file.Name())
	case errors.Is(err, fs.ErrExist):
		return err
	}
	return os.Rename(f.file.Name(), f.path)
}

// discard removes the file, unless it was written.
func (f *pageFile) discard() {
	if f != nil {
		_ = f.file.Close()           // it is closed,
		_ = os.Remove(f.file.Name()) // and has another name, or nobody has seen it
	}
}
