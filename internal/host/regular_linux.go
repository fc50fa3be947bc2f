package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// open checks the kind of a file before it opens it: opening waits for the other end of a
// pipe, and starts some devices.
func (f FS) open(name string) (fs.File, error) {
	if filepath.Clean(f.root) != "/" {
		return f.tree.Open(name)
	}
	at := filepath.Join(f.root, filepath.FromSlash(name))
	fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // it is only a place, and holds nothing
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: at, Err: err}
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	return os.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
}
