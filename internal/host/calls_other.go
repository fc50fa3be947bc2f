//go:build !linux

package host

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

func (c systemCalls) Space(path string) (Space, error) {
	at, err := c.locate(path)
	if err != nil {
		return Space{}, err
	}
	defer func() { _ = at.Close() }() // nothing was written
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(at.Fd()), &s); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: at.Name(), Err: err}
	}
	return Space{
		Total:     times(s.Blocks, int64(s.Bsize)),
		Free:      times(s.Bavail, int64(s.Bsize)),
		Files:     int64(min(s.Files, math.MaxInt64)),
		FreeFiles: int64(min(s.Ffree, math.MaxInt64)),
		Magic:     int64(s.Type),
	}, nil
}
