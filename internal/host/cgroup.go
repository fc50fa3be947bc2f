package host

import (
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Cgroup is the limits of the control groups around a process, and their effects since the
// groups were made. 0: no limit, or none that can be seen.
type Cgroup struct {
	Layout             string            // "v1", "v2" or "hybrid"
	Paths              map[string]string // by controller, "" is version 2
	Cores              float64           // the tightest limit of its group and those around it, as are Memory and Pids
	Memory             int64             // bytes
	Pids               int64             // processes and threads
	Periods, Throttled int64             // of the CPU limit that held it up the most; cpu.stat
	ThrottledUS        int64             // of the same limit: how long, in µs
	OOMKills           int64             // in its own group

	// IO are the limits on devices of all these groups, as io.max has them: "8:16
	// wbps=1048576". Those of version 1 are written the same way, one limit a line.
	IO []string
}

// Cgroup looks at a process; 0 is kt itself. Parts of the way up to the root are
// missing where a container sees only its own: a group that cannot be seen sets no limit
// here. It fails only when the process's list of groups cannot be read.
func (f FS) Cgroup(pid int) (Cgroup, error) {
	c := Cgroup{Paths: make(map[string]string)}
	name := procFile(pid, "cgroup")
	text, err := f.Text(name)
	if err != nil {
		return c, gone(err)
	}
	groups, err := parseCgroups(text)
	if err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	for _, g := range groups {
		switch version := map[bool]string{true: "v2", false: "v1"}[g.v2()]; c.Layout {
		case "", version:
			c.Layout = version
		default:
			c.Layout = "hybrid"
		}
		if g.v2() {
			c.Paths[""] = g.path
		}
		for _, controller := range g.controllers {
			c.Paths[controller] = g.path
		}
		if g.v2() || slices.ContainsFunc(g.controllers, func(name string) bool { return slices.Contains([]string{"cpu", "memory", "pids", "blkio"}, name) }) {
			f.readGroup(&c, f.mounted(g))
		}
	}
	return c, nil
}

// group is a line of a cgroup file.
type group struct {
	controllers []string // none: version 2
	path        string
}

func (g group) v2() bool { return len(g.controllers) == 0 }

// parseCgroups reads lines of hierarchy:controllers:/path, up to one that is none.
func parseCgroups(text string) ([]group, error) {
	var groups []group
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		part := strings.SplitN(line, ":", 3)
		if len(part) != 3 {
			return groups, fmt.Errorf("%q is not hierarchy:controllers:path", line)
		}
		g := group{path: part[2]}
		if part[1] != "" {
			g.controllers = strings.Split(part[1], ",")
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// mounted returns the folders of a group and those around it, the innermost first. Version 1 has a folder for each controller.
func (f FS) mounted(g group) (dirs []string) {
	const root = "sys/fs/cgroup"
	candidates := []string{path.Join(root, "unified"), root}
	if !g.v2() {
		candidates = nil
		for _, name := range append(g.controllers, strings.Join(g.controllers, ",")) {
			candidates = append(candidates, path.Join(root, name))
		}
	}
	base := candidates[len(candidates)-1]
	if i := slices.IndexFunc(candidates, f.Exists); i >= 0 {
		base = candidates[i]
	}
	// Cleaning keeps a path in "..", as a namespace shows it, within the tree.
	for p := path.Clean("/" + g.path); ; p = path.Dir(p) {
		if dirs = append(dirs, path.Join(base, p)); p == "/" {
			return dirs
		}
	}
}

// throttles are version 1's files of limits on devices, and what io.max calls them.
var throttles = []struct{ file, name string }{
	{"blkio.throttle.read_bps_device", "rbps"},
	{"blkio.throttle.write_bps_device", "wbps"},
	{"blkio.throttle.read_iops_device", "riops"},
	{"blkio.throttle.write_iops_device", "wiops"},
}

// readGroup reads the files of both versions. Where there is no limit they have "max", -1 or, of memory, the largest number of
// whole pages. Kills count in the innermost group that can be seen: those around it count other groups' processes too.
func (f FS) readGroup(c *Cgroup, dirs []string) {
	counted := false
	for _, dir := range dirs {
		read := func(name string) string {
			text, _ := f.Text(path.Join(dir, name))
			return text
		}
		quota, period, _ := strings.Cut(read("cpu.max"), " ")
		tighten(&c.Cores, cores(quota, period))
		tighten(&c.Cores, cores(read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")))
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			if n, err := strconv.ParseInt(read(name), 10, 64); err == nil && n <= math.MaxInt64/2 {
				tighten(&c.Memory, n)
			}
		}
		pids, _ := f.Number(path.Join(dir, "pids.max"))
		tighten(&c.Pids, pids)
		stat := f.namedNumbers(path.Join(dir, "cpu.stat"))
		us := stat["throttled_usec"] + stat["throttled_time"]/1000 // version 1 has nanoseconds
		// Several limits may hold it up at the same time, so that they cannot be added.
		if us > c.ThrottledUS || us == c.ThrottledUS && stat["nr_periods"] > c.Periods {
			c.Periods, c.Throttled, c.ThrottledUS = stat["nr_periods"], stat["nr_throttled"], us
		}
		if text := read("io.max"); text != "" {
			c.IO = append(c.IO, strings.Split(text, "\n")...)
		}
		for _, t := range throttles {
			for line := range strings.Lines(read(t.file)) {
				if device, limit, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
					c.IO = append(c.IO, device+" "+t.name+"="+limit)
				}
			}
		}
		for _, name := range []string{"memory.events", "memory.oom_control"} {
			if events := f.namedNumbers(path.Join(dir, name)); events != nil && !counted {
				counted = true
				c.OOMKills += events["oom_kill"]
			}
		}
	}
}

// tighten lowers a limit, of which 0 is none, to another one.
func tighten[N int64 | float64](limit *N, to N) {
	if to > 0 && (*limit == 0 || to < *limit) {
		*limit = to
	}
}

// cores returns a quota over its period, both in microseconds; 0 for none.
func cores(quota, period string) float64 {
	q, err := strconv.ParseInt(quota, 10, 64)
	p, periodErr := strconv.ParseInt(period, 10, 64)
	if err != nil || periodErr != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// Memory returns the numbers of proc/meminfo, in bytes: "MemTotal", "MemAvailable", "SwapFree" …
func (f FS) Memory() (map[string]int64, error) {
	text, err := f.Text("proc/meminfo")
	if err != nil {
		return nil, err
	}
	all := make(map[string]int64)
	for words := range rows(text) {
		name, isNamed := strings.CutSuffix(words[0], ":")
		if !isNamed || len(words) < 2 {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("proc/meminfo: %s: %q is no size", name, words[1])
		}
		if len(words) > 2 { // "kB", which are KiB; counts have no unit
			n *= 1024
		}
		all[name] = n
	}
	return all, nil
}

// Flushing returns how many dirty bytes the kernel leaves in memory, and for how long; 0: not known.
func (f FS) Flushing() (limit int64, age time.Duration) {
	centiseconds, _ := f.Number("proc/sys/vm/dirty_expire_centisecs")
	pages := f.namedNumbers("proc/vmstat")["nr_dirty_background_threshold"]
	return pages * int64(os.Getpagesize()), time.Duration(centiseconds) * 10 * time.Millisecond
}

// AddressLimit returns the bytes of address space that this process may have (ulimit -v); 0: any.
func AddressLimit() uint64 {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &l); err != nil || l.Cur >= math.MaxInt64 {
		return 0
	}
	return l.Cur
}

// UsableMemory returns the bytes that this process may use: those of the machine, or of its cgroup if that has fewer; 0: not known.
func (f FS) UsableMemory() int64 {
	all, _ := f.Memory()
	usable := all["MemTotal"]
	if c, err := f.Cgroup(0); err == nil && c.Memory > 0 && (usable == 0 || c.Memory < usable) {
		usable = c.Memory
	}
	return usable
}
