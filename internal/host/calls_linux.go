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
	// Blocks are counted in fragments, which differ from Bsize in FUSE.
	size := int64(s.Frsize)
	if size == 0 {
		size = int64(s.Bsize)
	}
	return Space{
		Total:     times(s.Blocks, size),
		Free:      times(s.Bavail, size),
		Files:     int64(min(s.Files, math.MaxInt64)),
		FreeFiles: int64(min(s.Ffree, math.MaxInt64)),
		Magic:     int64(uint32(s.Type)), // signed, and 32 bits wide, on some machines
	}, nil
}
