package host

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// cgroupLimits are the tightest limits on kt's cgroup and those around it; 0 is
// no limit.
type cgroupLimits struct {
	cores  float64
	memory int64 // bytes
}

const cgroupRoot = "sys/fs/cgroup"

// cgroup reads the limits of the process that reads, under version 2 of cgroups
// and version 1. Parts of the way up to the root are missing where a container
// sees only its own: what cannot be seen sets no limit here.
func (f FS) cgroup() (cgroupLimits, error) {
	var l cgroupLimits
	text, err := f.Text("proc/self/cgroup")
	if err != nil {
		return l, err
	}
	for line := range strings.Lines(text) { // hierarchy:controllers:/path
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			return l, fmt.Errorf("proc/self/cgroup: %q is not hierarchy:controllers:path", line)
		}
		dirs := upwards(part[2])
		if part[0] == "0" && part[1] == "" { // version 2
			for _, dir := range dirs {
				l.limitCores(f.cpuMax(path.Join(cgroupRoot, dir)))
				l.limitMemory(f.memoryLimit(path.Join(cgroupRoot, dir, "memory.max")))
			}
			continue
		}
		for controller := range strings.SplitSeq(part[1], ",") {
			for _, dir := range dirs {
				at := path.Join(cgroupRoot, controller, dir)
				switch controller {
				case "cpu":
					l.limitCores(f.cpuQuota(at))
				case "memory":
					l.limitMemory(f.memoryLimit(path.Join(at, "memory.limit_in_bytes")))
				}
			}
		}
	}
	return l, nil
}

// upwards is a cgroup's path and those of the ones around it: /a/b, /a, /.
func upwards(p string) []string {
	// Cleaning keeps a path in "..", as a namespace shows it, within the tree.
	p = path.Clean("/" + p)
	dirs := []string{p}
	for p != "/" {
		p = path.Dir(p)
		dirs = append(dirs, p)
	}
	return dirs
}

func (l *cgroupLimits) limitCores(cores float64) {
	if cores > 0 && (l.cores == 0 || cores < l.cores) {
		l.cores = cores
	}
}

func (l *cgroupLimits) limitMemory(bytes int64) {
	if bytes > 0 && (l.memory == 0 || bytes < l.memory) {
		l.memory = bytes
	}
}

// cpuMax reads version 2's "quota period" in microseconds; 0 for none.
func (f FS) cpuMax(dir string) float64 {
	text, err := f.Text(path.Join(dir, "cpu.max"))
	if err != nil {
		return 0
	}
	quota, period, ok := strings.Cut(text, " ")
	if !ok {
		return 0
	}
	q, err := strconv.ParseInt(quota, 10, 64) // "max": no limit
	if err != nil {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

// cpuQuota reads version 1's two files; 0 for none.
func (f FS) cpuQuota(dir string) float64 {
	quota, err := f.Number(path.Join(dir, "cpu.cfs_quota_us")) // -1: no limit
	if err != nil {
		return 0
	}
	period, err := f.Number(path.Join(dir, "cpu.cfs_period_us"))
	if err != nil || period <= 0 {
		return 0
	}
	return float64(quota) / float64(period)
}

// memoryLimit reads a limit in bytes; 0 for none.
func (f FS) memoryLimit(name string) int64 {
	n, err := f.Number(name) // "max" of version 2 is not a number: no limit
	if err != nil || n > math.MaxInt64/2 {
		return 0 // version 1 says "no limit" with the largest number of whole pages
	}
	return n
}
