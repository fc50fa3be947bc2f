package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// FS is the file tree of a machine, rooted anywhere. Names in it are relative to
// the root: "proc/cpuinfo".
type FS struct {
	tree fs.FS
	root string // the folder on this machine that it is, "" for none
}

// NewFS returns the machine whose files are in tree.
func NewFS(tree fs.FS) FS { return FS{tree: tree} }

// Rooted returns the machine whose files are in a folder: a fixture, or another
// machine's root that is mounted here. No link in the folder leads out of it.
func Rooted(dir string) FS {
	if filepath.Clean(dir) == "/" { // nothing is outside, and the kernel's own links in /proc are followed
		return FS{os.DirFS(dir), dir}
	}
	return FS{below(dir), dir}
}

// System returns the file tree of the machine that kt runs on.
func System() FS { return Rooted("/") }

// Root returns the folder that the tree is, for what only a path can be asked; "" when
// it is no folder.
func (f FS) Root() string { return f.root }

// Read returns the content of a file.
func (f FS) Read(name string) ([]byte, error) { return fs.ReadFile(f.tree, name) }

// Text returns the content of a file without the space around it.
func (f FS) Text(name string) (string, error) {
	b, err := fs.ReadFile(f.tree, name)
	return strings.TrimSpace(string(b)), err
}

// Number returns the whole number that is all a file holds.
func (f FS) Number(name string) (int64, error) {
	s, err := f.Text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", name, s)
	}
	return n, nil
}

// Chosen returns the word in brackets in a file that lists what may be chosen, as
// "always [madvise] never"; a file of a single word is that word.
func (f FS) Chosen(name string) (string, error) {
	s, err := f.Text(name)
	if err != nil {
		return "", err
	}
	if _, after, ok := strings.Cut(s, "["); ok {
		if word, _, ok := strings.Cut(after, "]"); ok {
			return word, nil
		}
	}
	if strings.ContainsAny(s, " \t\n") || s == "" {
		return "", fmt.Errorf("%s: %q has no choice in brackets", name, s)
	}
	return s, nil
}

// Exists reports whether there is a file or folder of this name that can be seen.
func (f FS) Exists(name string) bool {
	_, err := fs.Stat(f.tree, name)
	return err == nil
}

// Names returns the names in a folder, sorted; none where there is no such folder.
func (f FS) Names(dir string) ([]string, error) {
	entries, err := fs.ReadDir(f.tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Glob returns the names of the files that match a pattern of [path.Match], sorted.
// A folder that may not be read has no matches.
func (f FS) Glob(pattern string) []string {
	names, _ := fs.Glob(f.tree, pattern) // a bad pattern is kt's own mistake, and matches nothing
	return names
}

// Link returns where a symbolic link points to, as it is written there.
func (f FS) Link(name string) (string, error) { return fs.ReadLink(f.tree, name) }

// Rel returns a path of the machine as the name of a file in its tree: "/proc" is "proc".
func Rel(p string) string {
	if p = strings.TrimPrefix(path.Clean("/"+p), "/"); p == "" {
		return "."
	}
	return p
}

// below is a folder as a file system that no link leads out of: an absolute link in it starts at the folder.
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
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fmt.Errorf("%s: %w", f.Name(), errNotRegular)
	}
	if err == nil {
		err = unix.SetNonblock(int(f.Fd()), false) // reads of it wait again
	}
	if err != nil {
		_ = f.Close() // the first error is the one that tells why
		return nil, err
	}
	return f, nil
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

// ReadRegular reads a file that somebody else may have chosen: only a regular one,
// up to a size in bytes, so that neither a pipe nor a device can hold kt up or fill
// its memory. owner is the user that it belongs to, -1 where the tree does not tell.
func (f FS) ReadRegular(name string, most int64) (content []byte, owner int, err error) {
	file, err := f.open(name)
	if err != nil {
		return nil, -1, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, -1, err
	}
	if !info.Mode().IsRegular() {
		return nil, -1, fmt.Errorf("%s: %w", name, errNotRegular)
	}
	owner = -1
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		owner = int(s.Uid)
	}
	content, err = io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("%s: it is larger than %d bytes, which no file of this kind is", name, most)
	}
	return content, owner, err
}

var errNotRegular = errors.New("it is no regular file")
