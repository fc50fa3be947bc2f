//go:build !linux

package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// open does not wait for the other end of a pipe.
func (f FS) open(name string) (fs.File, error) {
	if filepath.Clean(f.root) != "/" {
		return f.tree.Open(name)
	}
	return os.OpenFile(filepath.Join(f.root, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
