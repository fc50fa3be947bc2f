package host

import (
	"fmt"
	"path"
	"slices"
	"strings"
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
	versions := make(map[bool]bool)
	for _, g := range groups {
		versions[g.v2()] = true
		for _, controller := range g.controllers {
			c.Paths[controller] = g.path
		}
		if g.v2() {
			c.Paths[""] = g.path
			f.readV2(&c, f.mounted(g, ""))
			continue
		}
		for _, controller := range g.controllers {
			f.readV1(&c, controller, f.mounted(g, controller))
		}
	}
	switch {
	case versions[true] && versions[false]:
		c.Layout = "hybrid"
	case versions[true]:
		c.Layout = "v2"
	case versions[false]:
		c.Layout = "v1"
	}
	return c, nil
}

// group is a line of a cgroup file.
type group struct {
	controllers []string // none: version 2
	path        string
}

func (g group) v2() bool { return len(g.controllers) == 0 }

// parseCgroups reads lines of hierarchy:controllers:/path. Of a line that is none
// the error shows the text; those before it are returned with it.
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

// mounted returns the folders of a group and those around it, the innermost first.
// Version 1 has a folder for each controller, or for those that are mounted
// together; version 2 has the root for itself, or a folder in it beside them.
func (f FS) mounted(g group, controller string) []string {
	candidates := []string{path.Join(cgroupRoot, "unified"), cgroupRoot}
	if !g.v2() {
		candidates = []string{path.Join(cgroupRoot, controller), path.Join(cgroupRoot, strings.Join(g.controllers, ","))}
	}
	base := candidates[len(candidates)-1]
	if i := slices.IndexFunc(candidates, f.Exists); i >= 0 {
		base = candidates[i]
	}
	dirs := upwards(g.path)
	for i := range dirs {
		dirs[i] = path.Join(base, dirs[i])
	}
	return dirs
}

func (f FS) readV2(c *Cgroup, dirs []string) {
	for _, dir := range dirs {
		c.limitCores(f.cpuMax(dir))
		c.limitMemory(f.memoryLimit(path.Join(dir, "memory.max")))
		c.limitPids(f.pidsMax(dir))
		c.throttled(f.cpuStat(dir))
		if text, err := f.Text(path.Join(dir, "io.max")); err == nil && text != "" {
			c.IO = append(c.IO, strings.Split(text, "\n")...)
		}
	}
	c.OOMKills += f.kills(dirs, "memory.events")
}

// throttles are version 1's files of limits on devices, and what io.max calls them.
var throttles = []struct{ file, name string }{
	{"blkio.throttle.read_bps_device", "rbps"},
	{"blkio.throttle.write_bps_device", "wbps"},
	{"blkio.throttle.read_iops_device", "riops"},
	{"blkio.throttle.write_iops_device", "wiops"},
}

func (f FS) readV1(c *Cgroup, controller string, dirs []string) {
	for _, dir := range dirs {
		switch controller {
		case "cpu":
			c.limitCores(f.cpuQuota(dir))
			c.throttled(f.cpuStat(dir))
		case "memory":
			c.limitMemory(f.memoryLimit(path.Join(dir, "memory.limit_in_bytes")))
		case "pids":
			c.limitPids(f.pidsMax(dir))
		case "blkio":
			c.IO = append(c.IO, f.throttles(dir)...)
		}
	}
	if controller == "memory" {
		c.OOMKills += f.kills(dirs, "memory.oom_control")
	}
}

func (f FS) throttles(dir string) []string {
	var all []string
	for _, t := range throttles {
		text, err := f.Text(path.Join(dir, t.file))
		if err != nil {
			continue
		}
		for line := range strings.Lines(text) {
			if device, limit, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				all = append(all, device+" "+t.name+"="+limit)
			}
		}
	}
	return all
}

// cpuStat is the effect of a group's CPU limit.
type cpuStat struct{ periods, throttled, us int64 }

func (f FS) cpuStat(dir string) cpuStat {
	text, err := f.Text(path.Join(dir, "cpu.stat"))
	if err != nil {
		return cpuStat{}
	}
	n := namedNumbers(text)
	s := cpuStat{n["nr_periods"], n["nr_throttled"], n["throttled_usec"]}
	if ns, ok := n["throttled_time"]; ok { // version 1
		s.us = ns / 1000
	}
	return s
}

// throttled takes the numbers of the limit that held the process up the most: they
// cannot be added, for several limits may hold it up at the same time.
func (c *Cgroup) throttled(s cpuStat) {
	if s.us > c.ThrottledUS || s.us == c.ThrottledUS && s.periods > c.Periods {
		c.Periods, c.Throttled, c.ThrottledUS = s.periods, s.throttled, s.us
	}
}

// kills counts in the innermost group that can be seen: those around it count other
// groups' processes too.
func (f FS) kills(dirs []string, file string) int64 {
	for _, dir := range dirs {
		if text, err := f.Text(path.Join(dir, file)); err == nil {
			return namedNumbers(text)["oom_kill"]
		}
	}
	return 0
}

func (c *Cgroup) limitCores(cores float64) {
	if cores > 0 && (c.Cores == 0 || cores < c.Cores) {
		c.Cores = cores
	}
}

func (c *Cgroup) limitMemory(bytes int64) {
	if bytes > 0 && (c.Memory == 0 || bytes < c.Memory) {
		c.Memory = bytes
	}
}

func (c *Cgroup) limitPids(n int64) {
	if n > 0 && (c.Pids == 0 || n < c.Pids) {
		c.Pids = n
	}
}
