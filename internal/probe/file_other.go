//go:build !linux

package probe

import (
	"errors"
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
