package host

import (
	"errors"
	"fmt"
	"iter"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// cpuRange is the CPUs from one to another.
type cpuRange struct{ from, to int }

// parseCPUs returns the ranges of a list of CPUs as the kernel writes them: "0-3,8" are two, of 5 CPUs. The ranges must ascend and
// not overlap. Of "0-31:2/4", a part of groups, which is only ever written by people, it knows nothing.
func parseCPUs(list string) (ranges []cpuRange, count int, err error) {
	next := 0
	if list = strings.TrimSpace(list); list == "" {
		return nil, 0, nil
	}
	for r := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.ParseUint(from, 10, 31)
		b, err2 := strconv.ParseUint(to, 10, 31)
		if err != nil || err2 != nil || int(a) < next || b < a {
			return nil, 0, fmt.Errorf("%q is not a list of CPUs such as 0-3,8", list)
		}
		ranges = append(ranges, cpuRange{int(a), int(b)})
		next, count = int(b)+1, count+int(b-a)+1
	}
	return ranges, count, nil
}

// OnlineCPUs counts the machine's CPUs that are switched on.
func (f FS) OnlineCPUs() (int, error) {
	const name = "sys/devices/system/cpu/online"
	list, err := f.Text(name)
	return countCPUs(name, list, err)
}

// AllowedCPUs counts the CPUs that a process may run on, as its cpuset and
// taskset leave them; 0 is kt itself. Some of them may be switched off.
func (f FS) AllowedCPUs(pid int) (int, error) {
	list, err := f.status(pid, "Cpus_allowed_list")
	return countCPUs(procFile(pid, "status"), strings.Join(list, ""), err)
}

func countCPUs(name, list string, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	_, n, err := parseCPUs(list)
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
	return Counters{
		CPU: f.CPUTimes(), VM: f.namedNumbers("proc/vmstat"), TCP: f.tcpCounters(), Soft: f.softCounters(), NIC: f.nicCounters(),
	}
}

// rows returns the words of each line of a file that has some.
func rows(text string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) > 0 && !yield(words) {
				return
			}
		}
	}
}

// CPUTimes returns the jiffies of all CPUs since the machine started, as in Counters, with all
// time as "total"; nil where they cannot be read. Guests' time is not added to it: the
// kernel counts it as user time too.
func (f FS) CPUTimes() map[string]int64 {
	text, _ := f.Text("proc/stat")
	for words := range rows(text) {
		if words[0] != "cpu" {
			continue
		}
		times := make(map[string]int64)
		addNumbers(times, strings.Fields("user nice system idle iowait irq softirq steal guest guest_nice"), words[1:])
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

// namedNumbers reads lines of a name and a number; nil where the file cannot be read.
func (f FS) namedNumbers(file string) map[string]int64 {
	text, err := f.Text(file)
	if err != nil {
		return nil
	}
	numbers := make(map[string]int64)
	for words := range rows(text) {
		if len(words) == 2 {
			addNumbers(numbers, words[:1], words[1:])
		}
	}
	return numbers
}

// tcpCounters reads pairs of lines: the names, then their values.
//
//	Tcp: ActiveOpens PassiveOpens
//	Tcp: 12 7
func (f FS) tcpCounters() (counters map[string]int64) {
	for _, file := range []string{"proc/net/snmp", "proc/net/netstat"} {
		text, err := f.Text(file)
		if err == nil && counters == nil {
			counters = make(map[string]int64)
		}
		names := make(map[string][]string)
		for words := range rows(text) {
			if words[0] == "Tcp:" || words[0] == "TcpExt:" {
				addNumbers(counters, names[words[0]], words[1:])
				names[words[0]] = words[1:]
			}
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
	for columns := range rows(text) {
		for i, name := range []string{"processed", "dropped", "squeezed"}[:min(3, len(columns))] {
			if n, err := strconv.ParseUint(columns[i], 16, 32); err == nil {
				sums[name] += int64(n)
			}
		}
	}
	return sums
}

func (f FS) nicCounters() (all map[string]map[string]int64) {
	for _, file := range f.Glob(classNet + "/*/statistics/*") {
		n, err := f.Number(file)
		if err != nil {
			continue
		}
		if all == nil {
			all = make(map[string]map[string]int64)
		}
		nic := strings.Split(file, "/")[3]
		if all[nic] == nil {
			all[nic] = make(map[string]int64)
		}
		all[nic][path.Base(file)] = n
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
	for words := range rows(text) {
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

// Others measures how much others use of the CPUs that kt may use. Others are all processes but this one and the sink.
type Others struct {
	read   func() (busyTimes, error)
	before busyTimes
	quota  float64 // the share of the time of the CPUs that the cgroup allows; 1: all of it
}

// busyTimes are counters in CPU seconds, of the CPUs that kt may run on.
type busyTimes struct {
	all  float64 // also of idle CPUs
	busy float64 // of processes, and time that a hypervisor gave to other machines
	ours float64 // of this process and the sink
}

// NewOthers begins to measure. sink is the process of the sink.
func NewOthers(sink int) (*Others, error) {
	cpus, err := allowedTimes()
	if err != nil {
		return nil, err
	}
	o := &Others{read: func() (busyTimes, error) { return readTimes(sink) }, quota: 1}
	if limit, err := System().Cgroup(0); err == nil && limit.Cores > 0 { // elsewhere no limit is known
		o.quota = min(1, limit.Cores/float64(len(cpus)))
	}
	o.before, err = o.read()
	return o, err
}

// Share returns the share of the CPU time that kt could have had since NewOthers, and that others used. With a quota kt cannot
// use all the time of the CPUs. Others then take nothing from kt while they only use the rest.
func (o *Others) Share() (float64, error) {
	now, err := o.read()
	if err != nil {
		return 0, err
	}
	all := now.all - o.before.all
	if all <= 0 {
		return 0, errors.New("the counters of the CPUs stand still")
	}
	others := (now.busy - o.before.busy) - (now.ours - o.before.ours)
	allowed := all * o.quota
	return min(1, max(0, (others-(all-allowed))/allowed)), nil
}

// readTimes reads the counters. Interrupts are left out of busy: those of a load belong to no process, so they would count
// as those of others.
func readTimes(sink int) (t busyTimes, err error) {
	own, err := ProcessCPU()
	if err != nil {
		return t, err
	}
	child, err := (&process.Process{Pid: int32(sink)}).Times()
	if err != nil {
		return t, err
	}
	cpus, err := allowedTimes()
	for _, c := range cpus {
		busy := c.User + c.Nice + c.System + c.Steal
		t.busy += busy
		t.all += busy + c.Idle + c.Iowait + c.Irq + c.Softirq
	}
	t.ours = own + child.User + child.System
	return t, err
}

// allowedTimes returns the times of the CPUs that kt may run on, as cpusets and taskset leave them. Only Linux tells these.
func allowedTimes() ([]cpu.TimesStat, error) {
	cpus, err := cpu.Times(true)
	if err == nil && runtime.GOOS == "linux" {
		var list []string
		if list, err = System().status(0, "Cpus_allowed_list"); err == nil {
			cpus, err = timesOf(cpus, strings.Join(list, ""))
		}
	}
	if err == nil && len(cpus) == 0 {
		err = errors.New("no CPU times")
	}
	return cpus, err
}

// timesOf returns the times of the CPUs in a list such as 0-3,8.
func timesOf(cpus []cpu.TimesStat, list string) (in []cpu.TimesStat, err error) {
	ranges, _, err := parseCPUs(list)
	for _, r := range ranges {
		for _, c := range cpus {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.CPU, "cpu")); err == nil && r.from <= n && n <= r.to {
				in = append(in, c)
			}
		}
	}
	return in, err
}
