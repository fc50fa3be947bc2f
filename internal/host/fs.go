package host

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// FS is the file tree of a machine, rooted anywhere. Names in it are relative to
// the root: "proc/cpuinfo".
type FS struct{ tree fs.FS }

// NewFS is the machine whose files are in tree.
func NewFS(tree fs.FS) FS { return FS{tree} }

// System is the file tree of the machine that kt runs on.
func System() FS { return NewFS(os.DirFS("/")) }

// text is the content of a file without the space around it.
func (f FS) text(name string) (string, error) {
	b, err := fs.ReadFile(f.tree, name)
	return strings.TrimSpace(string(b)), err
}

// number is the whole number that is all a file holds.
func (f FS) number(name string) (int64, error) {
	s, err := f.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", name, s)
	}
	return n, nil
}

func (f FS) exists(name string) bool {
	_, err := fs.Stat(f.tree, name)
	return err == nil
}
