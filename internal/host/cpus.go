package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CPUs counts the CPUs in a list as the kernel writes them: "0-3,8" are 5, "" is
// none. The ranges must ascend and not overlap. Of "0-31:2/4", a part of groups,
// which is only ever written by people, it knows nothing.
func CPUs(list string) (count int, err error) {
	ranges, err := parseCPUs(list)
	for _, r := range ranges {
		count += r.to - r.from + 1
	}
	return count, err
}

// cpuRange is the CPUs from one to another.
type cpuRange struct{ from, to int }

// parseCPUs returns the ranges of a list as CPUs takes it; none with an error.
func parseCPUs(list string) (ranges []cpuRange, err error) {
	next := 0
	list = strings.TrimSpace(list)
	if list == "" {
		return nil, nil
	}
	for r := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 31)
		b, err2 := strconv.ParseUint(to, 10, 31)
		if err != nil || err2 != nil || int(a) < next || b < a {
			return nil, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", list)
		}
		ranges = append(ranges, cpuRange{int(a), int(b)})
		next = int(b) + 1
	}
	return ranges, nil
}

// OnlineCPUs counts the machine's CPUs that are switched on.
func (f FS) OnlineCPUs() (int, error) {
	const name = "sys/devices/system/cpu/online"
	list, err := f.Text(name)
	if err != nil {
		return 0, err
	}
	return countCPUs(name, list)
}

// AllowedCPUs counts the CPUs that a process may run on, as its cpuset and
// taskset leave them; 0 is kt itself. Some of them may be switched off.
func (f FS) AllowedCPUs(pid int) (int, error) {
	list, err := f.status(pid, "Cpus_allowed_list")
	if err != nil {
		return 0, err
	}
	return countCPUs(procFile(pid, "status"), list)
}

func countCPUs(name, list string) (int, error) {
	n, err := CPUs(list)
	if err == nil && n == 0 {
		err = errors.New("no CPU is named")
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
