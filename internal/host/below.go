package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// below is a folder as a file system that no link leads out of: an absolute link in it starts
// at the folder, and ".." ends there.
type below string

var _ interface {
	fs.StatFS
	fs.ReadLinkFS
} = below("")

// Open opens a regular file or a folder, and nothing else.
func (b below) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return OpenBelow(string(b), name, os.O_RDONLY)
}

// Stat follows links.
func (b below) Stat(name string) (fs.FileInfo, error) {
	at, err := openBelow(string(b), name, pathOnly)
	if err != nil {
		return nil, err
	}
	defer func() { _ = at.Close() }() // nothing was written
	return at.Stat()
}

// Lstat does not follow a link at the end of the name. It refuses absolute links before that.
func (b below) Lstat(name string) (fs.FileInfo, error) {
	root, err := os.OpenRoot(string(b))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	return root.Lstat(name)
}

// ReadLink returns where a link points to, as it is written there.
func (b below) ReadLink(name string) (string, error) {
	folder, err := openBelow(string(b), path.Dir(name), pathOnly)
	if err != nil {
		return "", err
	}
	defer func() { _ = folder.Close() }() // nothing was written
	to := make([]byte, 4096)              // PATH_MAX, which no link exceeds
	n, err := unix.Readlinkat(int(folder.Fd()), path.Base(name), to)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(to[:n]), nil
}

// OpenBelow opens a regular file or a folder below dir. Links are followed as if dir were the
// root of everything, so that none leads out of it. A pipe is refused without waiting for its
// other end. The flag must not make a file.
func OpenBelow(dir, name string, flag int) (*os.File, error) {
	f, err := openBelow(dir, name, flag|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, err
	}
	if err := settle(f); err != nil {
		_ = f.Close() // the first error is the one that tells why
		return nil, err
	}
	return f, nil
}

// settle checks that a file which was opened with O_NONBLOCK is a regular one or a folder, and
// lets reads of it wait again.
func settle(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s: %w", f.Name(), errNotRegular)
	}
	return unix.SetNonblock(int(f.Fd()), false)
}

// openStrictly is for systems without openat2: it refuses absolute links, too.
func openStrictly(dir, name string, flag int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	return root.OpenFile(filepath.FromSlash(name), flag, 0)
}
