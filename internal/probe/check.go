package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

// Plan is the work of a probe that has not begun.
type Plan struct {
	Tests       []string // in the order in which they run
	Directories []*place
	Duration    time.Duration // at most, roughly
}

// mustStay returns the bytes of a file system that have to be free at any time: a tenth, and beside a broker next to nothing.
func mustStay(m Mode, total int64) int64 {
	if m == Live {
		return 4 * leastSize
	}
	return total / 10
}

// Check finds every reason not to begin, and writes nothing. The error joins all
// of them, each with the directory and what to do.
func Check(o Options) (Plan, error) {
	o, t, err := o.resolved()
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{Tests: o.Tests}
	if len(o.Dirs) == 0 {
		return plan, errors.New("no directory to probe: name one or more")
	}
	var all []error
	if o.Size != 0 && o.Size < leastSize {
		all = append(all, fmt.Errorf("--size %s: too small to measure; use 16 MiB or more", theme.Bytes(o.Size)))
	}
	wanted := make(map[[2]int]int64) // on each file system
	for i, dir := range o.Dirs {
		p, err := checkDir(o, t, dir)
		if slices.ContainsFunc(o.Dirs[:i], func(other string) bool { return same(dir, other) }) {
			err = errors.Join(err, fmt.Errorf("%s is given twice", dir))
		}
		if err == nil && (o.Size == 0 || o.Size >= leastSize) {
			wanted[p.device] += p.SizeBytes
			err = checkSpace(o.Mode, p, wanted[p.device])
		}
		if err == nil {
			err = checkFiles(o, p)
		}
		all = append(all, err)
		plan.Directories = append(plan.Directories, p)
	}
	for _, test := range allTests { // without the time in which files are laid out
		times := len(o.Dirs)
		if test.name == testParallel {
			times = 1
		}
		if slices.Contains(o.Tests, test.name) {
			plan.Duration += test.lasts(t, o) * time.Duration(times)
		}
	}
	return plan, errors.Join(all...)
}

// checkDir checks the directory itself; checkSpace checks the room in it.
func checkDir(o Options, t timing, dir string) (*place, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = fmt.Errorf("%s: no such directory; create it or give another", dir)
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s: not a directory; give its directory", dir)
	}
	if err != nil {
		return nil, err
	}
	p, err := readPlace(host.System(), dir)
	if err != nil {
		return nil, err
	}
	p.SizeBytes = o.Size
	switch {
	case p.SizeBytes != 0:
	case o.Mode == Live:
		p.SizeBytes = t.size
	default:
		p.SizeBytes = min(t.size, p.FreeBytes/10) / mib * mib
	}
	if p.doubtful != "" && !o.Force {
		err = fmt.Errorf("%s is on %s: --force probes it anyway", dir, p.doubtful)
	}
	return p, errors.Join(err, checkBrokers(o, dir))
}

// doubtful names a file system that says little about the disks of this machine, by its magic number of statfs(2), and says why;
// "" for others.
func doubtful(magic int64) (kind, why string) {
	switch kind = host.FileSystems[magic]; kind {
	case "tmpfs", "ramfs":
		return kind, "in memory, not on a disk"
	case "overlay":
		return kind, "the layers of a container: a broker's data belongs on a volume"
	case "zfs": // goes round memory only from version 2.3 on, and not always
		return kind, "a file system that may keep direct and synced writes in memory for some seconds"
	case "nfs", "cifs", "smb3", "9p", "ceph", "afs", "network", "fuse": // fuse may be a local one: it is not the kernel's own in any case
		return kind, "a file system over the network or in a program, not on a disk of this machine"
	}
	return "", ""
}

// unlogged names a file system whose fdatasync writes the data of a file without a name, and does not log it: after a crash no one
// could open it.
func unlogged(magic int64) string {
	if kind := host.FileSystems[magic]; kind == "btrfs" || kind == "zfs" {
		return kind
	}
	return ""
}

// checkBrokers refuses to take a disk's time from a broker: always in its directories, and without force on its disks.
func checkBrokers(o Options, dir string) error {
	if o.Mode == Live {
		return nil
	}
	for _, used := range o.Brokers {
		if within(dir, used) || within(used, dir) {
			return fmt.Errorf("%s is in use by a broker (%s): stop the broker, or use --mode live", dir, used)
		}
	}
	if o.Force {
		return nil
	}
	for _, used := range o.Brokers { // one reason is enough
		major, minor, err := deviceOf(dir)
		usedMajor, usedMinor, usedErr := deviceOf(used)
		if err == nil && usedErr == nil && major == usedMajor && minor == usedMinor {
			return fmt.Errorf("%s is on the file system of %s, which a broker uses: "+
				"stop the broker, or use --mode live or --force", dir, used)
		}
		if disk := sharedDisk(dir, used); disk != "" {
			return fmt.Errorf("%s is on %s, as is %s, which a broker uses: "+
				"stop the broker, or use --mode live or --force", dir, disk, used)
		}
	}
	return nil
}

// sharedDisk returns a disk that the kernel knows below both directories, below partitions, volumes and RAIDs, or "".
func sharedDisk(a, b string) string {
	storageA, _, _ := storageOf(host.System(), a)
	storageB, _, _ := storageOf(host.System(), b)
	for _, d := range storageA.Disks {
		if slices.ContainsFunc(storageB.Disks, func(other host.Disk) bool { return other.Name == d.Name }) {
			return d.Name
		}
	}
	return ""
}

// checkSpace refuses a directory without room. wanted is the sum over all directories of its file system.
func checkSpace(m Mode, p *place, wanted int64) error {
	left := mustStay(m, p.TotalBytes)
	switch {
	case p.SizeBytes < leastSize:
		return fmt.Errorf("%s: a tenth of the %s of free space is too little to measure: free some space, or give a --size",
			p.Path, theme.Bytes(p.FreeBytes))
	case p.FreeBytes-wanted < left:
		return fmt.Errorf("%s: a size of %s is too large: of %s of free space, %s must stay free; free some space, or give a smaller --size",
			p.Path, theme.Bytes(wanted), theme.Bytes(p.FreeBytes), theme.Bytes(left))
	}
	return nil
}

// checkFiles opens what the tests open, and writes nothing to it.
func checkFiles(o Options, p *place) error {
	f, err := nameless(p.Path, false)
	if err != nil {
		return explain(p.Path, err)
	}
	files{f}.close()
	if !slices.Contains(o.Tests, testDD) || o.Size != 0 && o.Size < leastSize {
		return nil // nothing to write, or not that size
	}
	var errs []error
	align := int64(1)
	if slices.Contains(o.Direct, true) {
		f, err := nameless(p.Path, true)
		switch {
		case errors.Is(err, errNoDirect):
			return fmt.Errorf("%s: its file system has no direct I/O, which --dd needs: use --direct no", p.Path)
		case err != nil:
			return explain(p.Path, err)
		}
		storage, _, _ := storageOf(host.System(), p.Path) // whatever has no disk has no block either
		largest := int64(0)
		for _, d := range storage.Disks {
			block, _ := host.System().Number(d.Queue("logical_block_size"))
			largest = max(largest, block)
		}
		align = alignment(f, largest)
		files{f}.close()
	}
	for _, block := range o.Blocks {
		switch {
		case block < 1 || block > p.SizeBytes:
			errs = append(errs, fmt.Errorf("%s: a block of %s does not fit in a size of %s: give a smaller block or a larger size",
				p.Path, theme.Bytes(block), theme.Bytes(p.SizeBytes)))
		case block%align != 0:
			errs = append(errs, fmt.Errorf("%s: direct writes there are multiples of %d bytes, and a block of %d is not: "+
				"give another block, or use --direct no", p.Path, align, block))
		}
	}
	return errors.Join(errs...)
}

// resolve returns a path without symbolic links, as far as it leads anywhere. The kernel follows
// the links of /proc: /proc/42/root reads as "/", which is true only for process 42.
func resolve(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	dir = filepath.Clean(dir)
	if strings.HasPrefix(dir, "/proc/") {
		return dir
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// same reports whether two paths are one directory, maybe by two mounts.
func same(a, b string) bool {
	if resolve(a) == resolve(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// within reports whether a path is another one or below it.
func within(dir, above string) bool {
	for at := resolve(dir); ; at = filepath.Dir(at) {
		if same(at, above) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
