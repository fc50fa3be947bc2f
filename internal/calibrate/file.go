package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
)

// FileName is the name of the file in the folder of kt's state.
const FileName = "ceilings.json"

// maxFile bounds a file, and so the number of shapes.
const maxFile = 4 << 20

// Save keeps a document in a file, in the place of an earlier one of its shape. The file is replaced as a whole.
func Save(path string, d Document) error {
	all, err := read(path)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(old Document) bool { return old.Shape == d.Shape && sameMachine(&old.Host, &d.Host) })
	text, err := json.MarshalIndent(append(all, d), "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return input.ReplaceText(path, 0o600, append(text, '\n'))
}

// Check returns an error if Save could not keep a document in a file: a measurement that cannot be saved takes as long as
// any other.
func Check(path string) error {
	if _, err := read(path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), FileName)
	if err != nil {
		return err
	}
	return errors.Join(fresh.Close(), os.Remove(fresh.Name()))
}

// Find returns the ceiling of a shape of load on a machine, with one version of kt, nil if none was saved. An error is of a
// file that cannot be read.
func Find(path, shape, version string, machine host.Facts) (*result.Ceiling, error) {
	all, err := read(path)
	for i := range all {
		if d := &all[i]; d.Schema == Schema && d.Shape == shape && d.KTVersion == version && sameMachine(&d.Host, &machine) {
			return &d.Ceiling, nil
		}
	}
	return nil, err
}

// read returns the documents of a file, none if there is no file. Its errors name the file.
func read(path string) (all []Document, err error) {
	text, err := input.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: it is damaged (%w): remove it, and run kt calibrate --save again", path, err)
	}
	return all, nil
}

// sameMachine reports whether two hosts can offer the same: a ceiling does not hold for another machine, nor for the same
// one with other limits.
func sameMachine(a, b *host.Facts) bool {
	return a.Hostname == b.Hostname && a.CPUModel == b.CPUModel && a.LogicalCPUs == b.LogicalCPUs &&
		a.GOMAXPROCS == b.GOMAXPROCS && a.CPULimitCores == b.CPULimitCores && a.Kernel == b.Kernel
}
