package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
)

// This file has how files are read that the command line names.

// readSettings reads a file that is written by hand.
func readSettings(path string) ([]byte, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// runInput is a run file or a collection that is read.
type runInput struct {
	io.ReaderAt
	size   int64
	atWork bool // a process is still writing it
	file   *os.File
}

// maxPiped bounds what is read of a run from a pipe. It is held in memory, for it is read more than
// once.
const maxPiped = 256 * input.MiB

// openRun opens a run file or a collection, which the caller closes.
func openRun(path string) (*runInput, error) {
	f, err := input.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := &runInput{ReaderAt: f, file: f}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		r.atWork = result.Claimed(f) // before its size: what nobody has claimed does not grow
		info, err = f.Stat()
	}
	if err == nil {
		r.size = info.Size()
	}
	if err == nil && !info.Mode().IsRegular() {
		var data []byte
		data, err = input.ReadAll(f, maxPiped)
		r.ReaderAt, r.size = bytes.NewReader(data), int64(len(data))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, input.Cause(err)), f.Close())
	}
	return r, nil
}

func (r *runInput) close() { _ = r.file.Close() } // it was only read

// notADirectory returns an error where a run file is wanted and a directory is named: it says which
// file may be meant.
func notADirectory(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil // what is wrong then is found by reading it
	}
	files, err := runFilesIn(path)
	if err != nil {
		return fmt.Errorf("%w: name a run file", err)
	}
	newest, at := "", time.Time{}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			newest, at = name, info.ModTime()
		}
	}
	return fmt.Errorf("%s: it is a directory: name a run file, as %s, or merge all of them with: kt collect %s", path, config.Quoted(newest), config.Quoted(path))
}

// runFilesIn returns the run files of a directory.
func runFilesIn(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.ktr"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no .ktr file in it", dir)
	}
	return files, nil
}
