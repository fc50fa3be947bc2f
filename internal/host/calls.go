package host

import (
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Calls asks the system for facts that no file holds. A fixture has answers of its own.
type Calls interface {
	Space(path string) (Space, error)      // of the file system that a path is in
	Clock() *Clock                         // nil: the kernel does not tell
	Ethernet(nic string) (Ethernet, error) // errors.ErrUnsupported where the driver has none
	Root() bool                            // kt runs as root
}

// Space is the size of a file system, in bytes and files.
type Space struct {
	Total, Free      int64 // Free: for users other than root
	Files, FreeFiles int64 // 0 where files need no place of their own, as in btrfs
	Magic            int64 // f_type of statfs(2)
}

// Ethernet is the state of a NIC as ethtool shows it. 0 is unknown.
type Ethernet struct {
	Driver                string
	RXRing, RXRingMax     int
	Channels, ChannelsMax int              // combined, or the larger of receive and send
	Features              map[string]bool  // "tcp-segmentation-offload", "generic-receive-offload" …, and the kernel's own names
	Stats                 map[string]int64 // the driver's own: "bw_in_allowance_exceeded" …
}

// SystemCalls returns the answers of the machine that kt runs on, with paths below
// root. NICs are those of the network namespace that kt is in. Each answer
// takes well under a millisecond, but for a file system whose server does not answer.
func SystemCalls(root string) Calls { return systemCalls{root} }

type systemCalls struct{ root string }

// Clock returns the clock of the running kernel. A root without that kernel's boot id is a copy of
// another machine's files, and says nothing of a clock.
func (c systemCalls) Clock() *Clock {
	const bootID = "proc/sys/kernel/random/boot_id"
	if filepath.Clean(c.root) == "/" {
		return ReadClock()
	}
	id, err := Rooted(c.root).Text(bootID)
	if own, _ := System().Text(bootID); err != nil || id != own {
		return nil
	}
	return ReadClock()
}

// locate opens a place below the root, which no link leads out of.
func (c systemCalls) locate(p string) (*os.File, error) {
	if filepath.Clean(c.root) == "/" {
		return os.OpenFile(filepath.Join("/", p), pathOnly, 0)
	}
	return openBelow(c.root, Rel(p), pathOnly)
}

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
	size := blockSize(&s)
	return Space{
		Total:     times(s.Blocks, size),
		Free:      times(s.Bavail, size),
		Files:     int64(min(s.Files, math.MaxInt64)),
		FreeFiles: int64(min(s.Ffree, math.MaxInt64)),
		Magic:     int64(uint32(s.Type)), // signed, and 32 bits wide, on some machines
	}, nil
}

// Foreground reports whether this process is in the foreground of a terminal, and may change it or read from it.
func Foreground(terminal uintptr) bool {
	group, err := unix.IoctlGetInt(int(terminal), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func (systemCalls) Root() bool { return os.Geteuid() == 0 }

// times returns the bytes of blocks of a size, at most the largest int64.
func times(blocks uint64, size int64) int64 {
	if size <= 0 || blocks > math.MaxInt64/uint64(size) {
		return math.MaxInt64
	}
	return int64(blocks) * size
}
