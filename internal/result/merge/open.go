package merge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
)

// File is an open run file or collection.
type File struct {
	io.ReaderAt
	Size   int64
	AtWork bool // a process is still writing it
	file   *os.File
}

// maxPiped bounds a run that comes from a pipe. It is held in memory, because it is read more than
// once.
const maxPiped = 256 * input.MiB

// Open opens a run file or a collection.
func Open(path string) (*File, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &File{ReaderAt: f, file: f}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		r.AtWork = result.Claimed(f) // before its size: a file without a claim does not grow
		info, err = f.Stat()
	}
	if err == nil {
		r.Size = info.Size()
	}
	if err == nil && !info.Mode().IsRegular() {
		var data []byte
		data, err = input.ReadAll(f, maxPiped)
		r.ReaderAt, r.Size = bytes.NewReader(data), int64(len(data))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, input.Cause(err)), f.Close())
	}
	return r, nil
}

// IsCollection reports whether the file holds several runs.
func (f *File) IsCollection() bool { return isCollection(f, f.Size) }

// IsPage reports whether the file is a page that kt made.
func (f *File) IsPage() bool { return result.IsPage(f, f.Size) }

// Close closes the file.
func (f *File) Close() { _ = f.file.Close() } // it was only read

// FilesIn returns the run files of a directory, sorted.
func FilesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, input.Cause(err))
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".ktr") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no .ktr file in it", dir)
	}
	return files, nil
}

// Files is a Set with its open files. They stay open until Close.
type Files struct {
	*Set
	AtWork []string // paths of files that a process is still writing
	open   []*File
}

// NewFiles returns an empty set.
func NewFiles() *Files { return &Files{Set: NewSet()} }

// OfferFile opens a file and offers it under a name. Only a file that cannot be opened is an error.
func (f *Files) OfferFile(name, path string) error {
	return f.offerOpen(name, path, func(one *File) bool {
		if one.AtWork {
			f.AtWork = append(f.AtWork, path)
		}
		return one.AtWork
	})
}

// OfferCopy is OfferFile for the copy of a file of another host. atWork reports whether a process there was writing
// the original.
func (f *Files) OfferCopy(name, path string, atWork bool) error {
	return f.offerOpen(name, path, func(*File) bool { return atWork })
}

func (f *Files) offerOpen(name, path string, atWork func(*File) bool) error {
	one, err := Open(path)
	if err == nil {
		f.open = append(f.open, one)
		f.offer(name, one, one.Size, atWork(one))
	}
	return err
}

// Close closes the files.
func (f *Files) Close() {
	for _, one := range f.open {
		one.Close()
	}
}
