//go:build !linux

package host

import (
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func (c systemCalls) Space(path string) (Space, error) {
	name := filepath.Join(c.root, path)
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	return Space{
		Total:     times(s.Blocks, int64(s.Bsize)),
		Free:      times(s.Bavail, int64(s.Bsize)),
		Files:     int64(min(s.Files, math.MaxInt64)),
		FreeFiles: int64(min(s.Ffree, math.MaxInt64)),
		Magic:     int64(s.Type),
	}, nil
}
