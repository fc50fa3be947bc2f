package host

import (
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

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
	Magic            int64 // f_type of statfs(2); of other systems than Linux -1: a network, 0: not known
}

// Ethernet is the state of a NIC as ethtool shows it. 0 is unknown.
type Ethernet struct {
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
	size, kind := unitAndKind(&s)
	return Space{
		Total:     times(s.Blocks, size),
		Free:      times(s.Bavail, size),
		Files:     int64(min(s.Files, math.MaxInt64)),
		FreeFiles: int64(min(s.Ffree, math.MaxInt64)),
		Magic:     kind,
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

const classNet = "sys/class/net"

// NICs returns the interfaces whose bytes leave the machine, each byte
// counted once. Where there is hardware, those are the interfaces with a device
// behind them: a bridge, a bond, a VLAN or a container's veth would count the
// same bytes again. A container sees no hardware, so there every interface
// counts that is not loopback. It is nil where the tree does not say.
func (f FS) NICs() []string {
	entries, err := fs.ReadDir(f.tree, classNet)
	if err != nil {
		return nil
	}
	var nics, others []string
	for _, e := range entries {
		const loopback = 772 // ARPHRD_LOOPBACK, for the name need not be lo
		name := e.Name()
		kind, _ := f.Number(path.Join(classNet, name, "type"))
		switch {
		case kind == loopback:
		case f.Exists(path.Join(classNet, name, "device")):
			nics = append(nics, name)
		case f.Exists(path.Join(classNet, name, "operstate")): // bonding_masters is a file among the folders
			others = append(others, name)
		}
	}
	if len(nics) > 0 {
		return nics
	}
	return others
}

// networkSpeed returns the sum of the speeds of those interfaces that are up, in bits a second; 0, not known, as soon as that of one
// is not known: a sum without it would make a network look full that is not.
func (f FS) networkSpeed(interfaces []string) int64 {
	var sum int64
	for _, name := range interfaces {
		if state, err := f.Text(path.Join(classNet, name, "operstate")); err != nil || state != "up" {
			continue
		}
		megabits, err := f.Number(path.Join(classNet, name, "speed"))
		if err != nil || megabits <= 0 { // -1: the driver does not know
			return 0
		}
		sum += megabits * 1_000_000
	}
	return sum
}

// featureGroups are names of the ethtool program, and how the kernel's features that each stands for begin.
var featureGroups = map[string]string{
	"rx-checksumming":              "rx-checksum",
	"tx-checksumming":              "tx-checksum-",
	"scatter-gather":               "tx-scatter-gather",
	"generic-segmentation-offload": "tx-generic-segmentation",
	"generic-receive-offload":      "rx-gro",
	"large-receive-offload":        "rx-lro",
	"ntuple-filters":               "rx-ntuple-filter",
	"receive-hashing":              "rx-hashing",
}

// groupFeatures adds the names of the ethtool program to the kernel's own. A group is on when one of its features is.
func groupFeatures(active map[string]bool) map[string]bool {
	all := make(map[string]bool, len(active)+len(featureGroups)+1)
	for name, on := range active {
		all[name] = on
		// tx-tcp-segmentation, tx-tcp6-segmentation and the like
		if strings.HasPrefix(name, "tx-tcp") && strings.HasSuffix(name, "-segmentation") {
			all["tcp-segmentation-offload"] = all["tcp-segmentation-offload"] || on
		}
	}
	for group, prefix := range featureGroups {
		for name, on := range active {
			// rx-gro is one feature; rx-gro-hw and rx-gro-list are others.
			if name == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(name, prefix) {
				all[group] = all[group] || on
			}
		}
	}
	return all
}

// Clock is the accuracy of this machine's clock. A time measured from a stamp of another
// machine can be wrong by the errors of both clocks.
type Clock struct {
	Synchronised bool  `json:"synchronised"`
	ErrorUS      int64 `json:"error_us"` // at most, by the kernel's own estimate; without a meaning when it is not synchronised
}

// Error is ErrorUS as a duration.
func (c Clock) Error() time.Duration { return time.Duration(c.ErrorUS) * time.Microsecond }
