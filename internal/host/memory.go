package host

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
)

// Memory returns the numbers of proc/meminfo, in bytes: "MemTotal", "MemAvailable", "SwapFree" …
func (f FS) Memory() (map[string]int64, error) {
	text, err := f.Text("proc/meminfo")
	if err != nil {
		return nil, err
	}
	all := make(map[string]int64)
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		fields := strings.Fields(value)
		if !ok || len(fields) == 0 {
			continue
		}
		n, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("proc/meminfo: %s: %q is no size", name, fields[0])
		}
		if len(fields) > 1 { // "kB", which are KiB; counts have no unit
			n *= 1024
		}
		all[name] = n
	}
	return all, nil
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
