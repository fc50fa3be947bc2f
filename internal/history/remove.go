package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
)

// ledgerExt ends the name of the ledger that a verified load leaves beside its run file.
const ledgerExt = ".ledger"

// Size returns the bytes of a run file and of its ledger.
func Size(path string) (bytes int64) {
	for _, file := range []string{path, ledgerOf(path)} {
		if info, err := os.Stat(file); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func ledgerOf(path string) string { return strings.TrimSuffix(path, Ext) + ledgerExt }

// Remove removes a run file and its ledger. A run at work is not removed.
func Remove(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, input.Cause(err))
	}
	defer result.Release(f)
	if !result.TryClaim(f) {
		return fmt.Errorf("remove %s: the run is still at work; stop it first", nameOf(path))
	}
	if err := os.Remove(ledgerOf(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", ledgerOf(path), input.Cause(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, input.Cause(err))
	}
	return nil
}

// FindKept is Find for a run that is to be removed. It finds only runs of the folder: a path has to be that of a file in it.
func (f Folder) FindKept(paths []string, name string) (string, error) {
	elsewhere := fmt.Errorf("%s: kt removes only runs that it keeps, in %s", name, f.Dir)
	if !strings.ContainsRune(name, filepath.Separator) {
		path, err := Find(paths, name)
		if _, here := os.Lstat(name); here == nil && errors.Is(err, fs.ErrNotExist) {
			return "", elsewhere
		}
		return path, err
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil || dir != filepath.Clean(f.Dir) {
		return "", elsewhere
	}
	for _, path := range paths {
		if filepath.Base(path) == filepath.Base(name) {
			return path, nil
		}
	}
	return "", &UnknownError{Name: name}
}
