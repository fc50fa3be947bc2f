package probe

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoDirect is a file system that cannot go round the page cache.
var errNoDirect = errors.New("no direct I/O here")

// nameless opens a new file that no folder names, so that its space comes back
// whatever ends kt.
func nameless(dir string, direct bool) (*os.File, error) {
	f, err := openNameless(dir, direct)
	if errors.Is(err, errors.ErrUnsupported) {
		f, err = openUnlinked(dir, direct)
	}
	if err != nil || !direct {
		return f, err
	}
	if err := uncached(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// openUnlinked is for file systems without nameless files: the name lasts from one
// call to the next.
func openUnlinked(dir string, direct bool) (*os.File, error) {
	name := filepath.Join(dir, fmt.Sprintf(".kt-probe-%d-%08x", os.Getpid(), rand.Uint32()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|directFlag(direct), 0o600)
	if err != nil {
		// Linux makes the file before it finds that it cannot be opened like this.
		if direct && errors.Is(err, syscall.EINVAL) {
			_ = os.Remove(name)
			return nil, errNoDirect
		}
		return nil, err
	}
	if err := os.Remove(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// files are open files that are closed together.
type files []*os.File

// newFiles opens n nameless files, or none.
func newFiles(dir string, n int, direct bool) (files, error) {
	var all files
	for range n {
		f, err := nameless(dir, direct)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// close gives the space back. What a nameless file held is lost by intention, so
// there is no error to tell.
func (all files) close() {
	for _, f := range all {
		_ = f.Close()
	}
}

// explain says what to do about an error that ends a test.
func explain(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // the file has no name that could be looked at
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write in %s: %w: kt has given back what it took; free some, or probe with a smaller size", dir, err)
	case errors.Is(err, syscall.EMFILE):
		return fmt.Errorf("open files in %s: %w: raise the limit of open files", dir, err)
	}
	return fmt.Errorf("probe %s: %w", dir, err)
}

// space is the size of a file system.
type space struct {
	total, free int64 // bytes; free: for users other than root
	readOnly    bool
	kind        string // of those that say little about a disk: "tmpfs", "overlay", "nfs" …
	network     bool
	unlogged    string // of those that leave files without a name out of their log: "btrfs", "zfs"
}

func readSpace(dir string) (s space, err error) {
	var of unix.Statfs_t
	if err := unix.Statfs(dir, &of); err != nil {
		return s, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := s.about(&of)
	s.total, s.free = int64(of.Blocks)*block, int64(of.Bavail)*block
	return s, nil
}

// deviceOf is the number of the device that a directory is on.
func deviceOf(dir string) (major, minor int, err error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("stat %s: %w", dir, err)
	}
	return int(unix.Major(uint64(s.Dev))), int(unix.Minor(uint64(s.Dev))), nil
}
