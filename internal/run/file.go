package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
)

// File is a run file that was created and is still empty. A nil File is none.
type File struct {
	path string
	file *os.File
	kept bool // something was written to it that someone may want
}

// CreateFile creates a run file. The error of one that exists is fs.ErrExist: it is never
// overwritten.
func CreateFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	result.Claim(f)
	return &File{path: path, file: f}, nil
}

// CreateFileIn creates a run file in a folder, which it makes if it has to, and names it
// after a time and what stem says.
func CreateFileIn(dir, stem string, at time.Time) (*File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	stem = fmt.Sprintf("%s-%.220s", at.UTC().Format("20060102-150405"), stem) // a name has 255 at most
	for n := 1; ; n++ {
		path := filepath.Join(dir, stem+".ktr")
		if n > 1 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.ktr", stem, n))
		}
		if f, err := CreateFile(path); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// Path returns where the file is; "" when there is none.
func (f *File) Path() string {
	if f == nil {
		return ""
	}
	return f.path
}

// Fill writes all of the file and closes it.
func (f *File) Fill(from io.WriterTo) error {
	if f == nil {
		return nil
	}
	_, err := from.WriteTo(f.file)
	if err == nil {
		f.kept = true
		err = f.file.Close()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, input.Cause(err))
	}
	return nil
}

// replace replaces the file, which was written and closed, by one that is made of it.
func (f *File) replace(make func(w io.Writer, file io.Reader) error) error {
	old, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read
	return input.Replace(f.path, 0o644, func(w io.Writer) error { return make(w, old) })
}

// Discard removes the file, unless a run or a Fill has completed it.
func (f *File) Discard() {
	if f == nil || f.kept {
		return
	}
	_ = f.file.Close()    // it is empty,
	_ = os.Remove(f.path) // and nobody has seen it
}
