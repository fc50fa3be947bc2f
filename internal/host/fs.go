package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
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
