//go:build !linux

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pathOnly opens a place without reading from it.
const pathOnly = os.O_RDONLY | syscall.O_NONBLOCK

func openBelow(dir, name string, flag int) (*os.File, error) { return openStrictly(dir, name, flag) }

// unitAndKind returns the unit of a file system's sizes, and whether it is over the network.
func unitAndKind(s *unix.Statfs_t) (unit, kind int64) {
	if s.Flags&unix.MNT_LOCAL == 0 {
		kind = -1
	}
	return int64(s.Bsize), kind
}

// FlushInput drops nothing: only Linux is asked.
func FlushInput(uintptr) {}

// ReadClock does not know: only Linux is asked.
func ReadClock() *Clock { return nil }

// Ethernet does not know: only Linux is asked.
func (systemCalls) Ethernet(nic string) (Ethernet, error) {
	return Ethernet{}, fmt.Errorf("%s: ethtool: %w", nic, errors.ErrUnsupported)
}

// open does not wait for the other end of a pipe.
func (f FS) open(name string) (fs.File, error) {
	if filepath.Clean(f.root) != "/" {
		return f.tree.Open(name)
	}
	return os.OpenFile(filepath.Join(f.root, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}

// Sleeper sleeps for one goroutine, as time.Sleep does: only Linux has a timer that is more precise.
type Sleeper struct{}

// NewSleeper returns a sleeper.
func NewSleeper() *Sleeper { return &Sleeper{} }

// Sleep waits for d.
func (*Sleeper) Sleep(d time.Duration) { time.Sleep(d) }

// Close does nothing: there is no timer to free.
func (*Sleeper) Close() error { return nil }
