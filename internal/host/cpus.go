package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
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

// Counters are the kernel's counters since the machine started. A map is
// nil where its source could not be read.
type Counters struct {
	CPU  map[string]int64            // jiffies of all CPUs: "user", "steal", "total" …
	VM   map[string]int64            // proc/vmstat: "pswpout", "oom_kill", "nr_dirty" …
	TCP  map[string]int64            // proc/net/snmp and netstat: "RetransSegs", "OutSegs", "ListenOverflows", "ListenDrops" …
	Soft map[string]int64            // proc/net/softnet_stat, all CPUs: "processed", "dropped", "squeezed"
	NIC  map[string]map[string]int64 // by interface: its files in statistics/: "rx_dropped", "rx_missed_errors" …
}

// Counters reads them, and leaves out text that is no number. Those of the network are of
// the network namespace that kt is in.
func (f FS) Counters() Counters {
	var vm map[string]int64
	if text, err := f.Text("proc/vmstat"); err == nil {
		vm = namedNumbers(text)
	}
	return Counters{
		CPU:  f.CPUTimes(),
		VM:   vm,
		TCP:  f.tcpCounters(),
		Soft: f.softCounters(),
		NIC:  f.nicCounters(),
	}
}

// cpuTimes are the columns of the line "cpu" in proc/stat.
var cpuTimes = []string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}

// CPUTimes returns the jiffies of all CPUs since the machine started, as in Counters, with all
// time as "total"; nil where they cannot be read. Guests' time is not added to it: the
// kernel counts it as user time too.
func (f FS) CPUTimes() map[string]int64 {
	text, err := f.Text("proc/stat")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "cpu" {
			continue
		}
		times := make(map[string]int64)
		addNumbers(times, cpuTimes, fields[1:])
		total := int64(0)
		for name, n := range times {
			if !strings.HasPrefix(name, "guest") {
				total += n
			}
		}
		times["total"] = total
		return times
	}
	return nil
}

// namedNumbers reads lines of a name and a number. Every kernel file of this form
// is read with it.
func namedNumbers(text string) map[string]int64 {
	numbers := make(map[string]int64)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			addNumbers(numbers, []string{name}, []string{strings.TrimSpace(value)})
		}
	}
	return numbers
}

// tcpCounters reads pairs of lines: the names, then their values.
//
//	Tcp: ActiveOpens PassiveOpens
//	Tcp: 12 7
func (f FS) tcpCounters() map[string]int64 {
	var counters map[string]int64
	for _, name := range []string{"proc/net/snmp", "proc/net/netstat"} {
		text, err := f.Text(name)
		if err != nil {
			continue
		}
		if counters == nil {
			counters = make(map[string]int64)
		}
		names := make(map[string][]string)
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			if len(fields) == 0 || fields[0] != "Tcp:" && fields[0] != "TcpExt:" {
				continue
			}
			if heading, ok := names[fields[0]]; ok {
				addNumbers(counters, heading, fields[1:])
			}
			names[fields[0]] = fields[1:]
		}
	}
	return counters
}

// softCounters adds up the CPUs, of which each has a line of hexadecimal columns.
func (f FS) softCounters() map[string]int64 {
	text, err := f.Text("proc/net/softnet_stat")
	if err != nil {
		return nil
	}
	sums := make(map[string]int64)
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		for i, name := range []string{"processed", "dropped", "squeezed"} {
			if i >= len(columns) {
				break
			}
			if n, err := strconv.ParseUint(columns[i], 16, 32); err == nil {
				sums[name] += int64(n)
			}
		}
	}
	return sums
}

func (f FS) nicCounters() map[string]map[string]int64 {
	nics, err := f.Names(classNet)
	if err != nil || nics == nil {
		return nil
	}
	all := make(map[string]map[string]int64)
	for _, nic := range nics {
		dir := path.Join(classNet, nic, "statistics")
		files, _ := f.Names(dir) // none: bonding_masters is a file among the folders
		counters := make(map[string]int64)
		for _, file := range files {
			if n, err := f.Number(path.Join(dir, file)); err == nil {
				counters[file] = n
			}
		}
		if len(counters) > 0 {
			all[nic] = counters
		}
	}
	return all
}

// addNumbers sets names to numbers, pairwise.
func addNumbers(to map[string]int64, names, numbers []string) {
	for i := range min(len(names), len(numbers)) {
		if n, err := strconv.ParseInt(numbers[i], 10, 64); err == nil {
			to[names[i]] = n
		}
	}
}

// ParsePressure returns an average in the text of a file of /proc/pressure, in percent: "some" or "full", and "avg60".
func ParsePressure(text, threads, average string) (float64, error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, average+"=") })
		if i < 1 || words[0] != threads {
			continue
		}
		v := words[i][len(average)+1:]
		if n, err := strconv.ParseFloat(v, 64); err == nil && n >= 0 && n <= 100 {
			return n, nil
		}
		return 0, fmt.Errorf("%q is no percentage", v)
	}
	return 0, fmt.Errorf("it has no “%s %s”", threads, average)
}
