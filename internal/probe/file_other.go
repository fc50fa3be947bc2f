//go:build !linux

package probe

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func openNameless(string, bool) (*os.File, error) { return nil, errors.ErrUnsupported }

func directFlag(bool) int { return 0 }

// uncached keeps what is written out of the page cache, as far as macOS does.
func uncached(f *os.File) error {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1); err != nil {
		return errNoDirect
	}
	return nil
}

func alignment(_ *os.File, logicalBlock int64) int64 { return max(4096, logicalBlock) }

func allocate(*os.File, int64) error { return nil }

func settle(f *os.File) error { return f.Sync() }

// dataSync is fsync that reaches the medium: on macOS the file's Sync sees to it.
func dataSync(f *os.File) error { return f.Sync() }

func forget(*os.File) {}

func giveWay() {}

// space is the size of a file system.
type space struct {
	total, free int64 // bytes; free: for users other than root
	readOnly    bool
	kind        string // of those that say little about a disk
	network     bool
	unlogged    string // unknown here
}

func readSpace(dir string) (space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return space{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := int64(s.Bsize)
	out := space{
		total: int64(s.Blocks) * block, free: int64(s.Bavail) * block,
		readOnly: s.Flags&unix.MNT_RDONLY != 0,
	}
	if s.Flags&unix.MNT_LOCAL == 0 {
		out.kind, out.network = "network", true
	}
	return out, nil
}

func deviceOf(dir string) (major, minor int, err error) {
	var s unix.Stat_t
	if err := unix.Stat(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("stat %s: %w", dir, err)
	}
	return int(unix.Major(uint64(s.Dev))), int(unix.Minor(uint64(s.Dev))), nil
}
