package host

import "errors"

// Cgroup is what the control groups around a process allow it, and what they have
// denied it since they were made. 0: no limit, or none that can be seen.
type Cgroup struct {
	Layout             string            // "v1", "v2" or "hybrid"
	Paths              map[string]string // by controller, "" is version 2
	Cores              float64
	Memory             int64 // bytes
	Pids               int64
	Periods, Throttled int64 // of the CPU limit; cpu.stat
	ThrottledUS        int64
	OOMKills           int64
	IO                 []string // lines of io.max, or of version 1's throttles, as the kernel has them
}

// Cgroup looks at a process; 0 is kt itself.
func (f FS) Cgroup(pid int) (Cgroup, error) { return Cgroup{}, errors.ErrUnsupported }
