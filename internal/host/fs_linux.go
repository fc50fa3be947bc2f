package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// pathOnly opens a place without reading from it, which needs no right to read.
const pathOnly = unix.O_PATH

// openBelow opens what is below a folder. The root of a process, "proc/1/root", is a link that
// only the kernel can follow; it counts as a root of its own.
func openBelow(dir, name string, flag int) (*os.File, error) {
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer func() { _ = unix.Close(root) }() // nothing was written
	rest := name
	if inner, within, err := openProcessRoot(root, name); err == nil {
		defer func() { _ = unix.Close(inner) }()
		root, rest = inner, within
	}
	fd, err := openIn(root, rest, flag)
	// Kernels before 5.6 have no openat2, and some containers forbid it.
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return openStrictly(dir, name, flag&^unix.O_PATH|unix.O_NONBLOCK)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(dir, filepath.FromSlash(name))), nil
}

func openIn(root int, name string, flag int) (int, error) {
	how := &unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_IN_ROOT}
	for tries := 0; ; tries++ {
		fd, err := unix.Openat2(root, name, how)
		// EAGAIN: something on the way was renamed meanwhile, and the kernel cannot tell
		// whether ".." led out.
		if again := errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN); !again || tries == 100 {
			return fd, err
		}
	}
}

// openProcessRoot opens the root of a process for a name such as "proc/17/root/etc/passwd", and returns what is within: "etc/passwd".
// The folder of the process must be one of the kernel's: elsewhere such a link is anybody's.
func openProcessRoot(root int, name string) (fd int, within string, err error) {
	parts := strings.SplitN(name, "/", 4)
	if len(parts) < 3 || parts[0] != "proc" || parts[2] != "root" {
		return -1, "", unix.EINVAL
	}
	if _, err := strconv.ParseUint(parts[1], 10, 32); err != nil {
		return -1, "", err
	}
	process, err := openIn(root, path.Join(parts[:2]...), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, "", err
	}
	defer func() { _ = unix.Close(process) }() // nothing was written
	var s unix.Statfs_t
	if err := unix.Fstatfs(process, &s); err != nil || s.Type != unix.PROC_SUPER_MAGIC {
		return -1, "", cmp.Or(err, error(unix.EXDEV))
	}
	fd, err = unix.Openat(process, "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, strings.Join(append(parts[3:], "."), "/"), err
}

// open checks the kind of a file first: opening waits for the other end of a pipe, and starts some devices.
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
