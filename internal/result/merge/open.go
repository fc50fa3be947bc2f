package merge

import (
	"bytes"
	"context"
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

// maxPiped bounds a run that comes from a pipe. It is held in memory, because it is read more than once.
const maxPiped = 256 * input.MiB

// Open opens a run file or a collection.
func Open(path string) (*File, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &File{ReaderAt: f, file: f}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		r.AtWork = result.Claimed(f) // before its size: a file without a claim does not grow
		if info, err = f.Stat(); err == nil {
			r.Size = info.Size()
		}
	default:
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
func (f *File) IsPage() bool { return result.IsPage(f) }

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

// Offer opens a file and adds it under a name. copied reports whether it is a copy of a file that a process of another host was
// writing. Only a file that cannot be opened is an error: one that cannot be read costs no other, and its error is among those
// of Unreadable and Lost.
func (s *Set) Offer(name, path string, copied bool) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	s.open = append(s.open, f)
	if f.AtWork {
		s.AtWork = append(s.AtWork, path)
	}
	if err := s.Add(name, f, f.Size, f.AtWork || copied); err != nil {
		s.Unreadable = append(s.Unreadable, fmt.Errorf("%s: %w", name, err))
	}
	return nil
}

// Files merges run files of one run, by its name or epoch as Select has it. The caller closes the set, also after an error.
func Files(ctx context.Context, paths []string, run string) (s *Set, r result.Result, err error) {
	s = NewSet()
	for _, path := range paths {
		if err := s.Offer(filepath.Base(path), path, false); err != nil {
			return s, r, err
		}
	}
	if err := s.Select(run); err != nil {
		return s, r, errors.Join(append(s.Unreadable, err)...)
	}
	r, err = s.Result(context.WithoutCancel(ctx))
	return s, r, err
}

// Close closes the files that were offered.
func (s *Set) Close() {
	for _, f := range s.open {
		f.Close()
	}
}
