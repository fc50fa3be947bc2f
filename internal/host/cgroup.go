package host

import (
	"math"
	"path"
	"strconv"
	"strings"
)

const cgroupRoot = "sys/fs/cgroup"

// upwards returns a cgroup's path and those of the ones around it: /a/b, /a, /.
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

// pidsMax reads a limit on processes and threads, alike in both versions; 0 for none.
func (f FS) pidsMax(dir string) int64 {
	n, err := f.Number(path.Join(dir, "pids.max")) // "max": no limit
	if err != nil {
		return 0
	}
	return n
}
