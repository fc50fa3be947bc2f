package page

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/theme"
)

// File is a file for a page. Until the page is written it has another name, so nobody finds a part of it. A nil
// File is none.
type File struct {
	path    string
	file    *os.File
	written func() // is called when it is complete
}

// Create creates the file before a run is made, so that a run is never made whose page cannot be written. path is
// --html; "": no page is wanted.
func Create(path string, written func()) (*File, error) {
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
	return &File{path, f, written}, nil
}

// Write writes the page, and gives the file its name and no other. runs are the files from which the page can be
// written again.
func (f *File) Write(page func(io.Writer) error, runs ...string) error {
	if f == nil {
		return nil
	}
	err := page(f.file)
	if err = cmp.Or(err, f.file.Close()); err == nil {
		// It replaces no file that has come there since the run began, where the file system can tell: one without hard links cannot.
		if err = os.Link(f.file.Name(), f.path); err == nil {
			err = os.Remove(f.file.Name())
		} else if !errors.Is(err, fs.ErrExist) {
			err = os.Rename(f.file.Name(), f.path)
		}
	}
	if err == nil {
		f.written()
		return nil
	}
	again := ""
	for _, run := range runs {
		if run != "" {
			again += " " + theme.Quoted(run)
		}
	}
	if again != "" {
		again = "; to write the page elsewhere: kt report" + again + " --html FILE"
	}
	return fmt.Errorf("write %s: %w%s", f.path, input.Cause(err), again)
}

// Discard removes the file, unless it was written.
func (f *File) Discard() {
	if f != nil {
		_ = f.file.Close()           // it is closed,
		_ = os.Remove(f.file.Name()) // and has another name, or nobody has seen it
	}
}
