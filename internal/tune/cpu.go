package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

func cpuCount(m *Machine) (Reading, error) {
	if m.CPUs <= 0 {
		return Reading{}, errors.New("the number of CPUs is not known")
	}
	f := numeral(m.CPUs)
	if m.CPUs < float64(m.Logical) {
		f.Note = fmt.Sprintf("the machine has %d", m.Logical)
	}
	return f, nil
}

func loadAverage(m *Machine) (Reading, error) {
	text, err := m.Text("proc/loadavg")
	if err != nil {
		return Reading{}, err
	}
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || !(load >= 0 && load < 1e9) || m.Logical <= 0 {
		return Reading{}, errors.New("the load, or the number of CPUs, is not known")
	}
	f := numeral(load / float64(m.Logical))
	f.Note = first + " in total"
	return f, nil
}

func stolenTime(m *Machine) (Reading, error) {
	s := m.shareOf(m.Before.CPU, m.After.CPU, "steal", "total", 1)
	if !s.seen || s.of <= 0 || s.n < 0 {
		return Reading{}, errors.New("/proc/stat does not report it")
	}
	f := numeral(s.percent)
	f.Note = s.when
	if s.percent > 5 {
		f.Note += "; measurements here mean nothing"
	}
	return f, nil
}

func throttledPeriods(m *Machine) (Reading, error) {
	g := m.Cgroup
	switch {
	case g.Layout == "":
		return Reading{}, none("no control groups are known")
	case g.Cores <= 0 && g.Throttled <= 0:
		return Reading{}, none("no CPU limit")
	case g.Periods <= 0:
		return Reading{}, errors.New("the control group's cpu.stat counts no periods")
	}
	f := numeral(100 * float64(g.Throttled) / float64(g.Periods))
	if g.Cores > 0 {
		f.Note = fmt.Sprintf("the limit is %s CPUs", strconv.FormatFloat(g.Cores, 'f', -1, 64))
	}
	if g.ThrottledUS > 0 {
		f.addNote("stopped for %s in total", theme.Duration(time.Duration(g.ThrottledUS)*time.Microsecond))
	}
	return f, nil
}

func mitigations(m *Machine) (Reading, error) {
	files := m.Glob("sys/devices/system/cpu/vulnerabilities/*")
	texts, err := m.texts(files)
	if err != nil {
		return Reading{}, err
	}
	if len(files) == 0 {
		return Reading{}, fs.ErrNotExist
	}
	worked := 0
	var open []string
	for i, text := range texts {
		if strings.HasPrefix(text, "Mitigation") {
			worked++
		} else if strings.HasPrefix(text, "Vulnerable") {
			open = append(open, path.Base(files[i]))
		}
	}
	r := Reading{Verdict: Info, Current: fmt.Sprintf("%d worked around", worked)}
	if len(open) > 0 {
		r.Note = "open: " + strings.Join(open, ", ")
	}
	return r, nil
}

func boost(m *Machine) (Reading, error) {
	n, err := m.Number("sys/devices/system/cpu/cpufreq/boost")
	if err != nil {
		n, err = m.Number("sys/devices/system/cpu/intel_pstate/no_turbo")
		n = 1 - n
	}
	if n == 1 {
		return Reading{Current: "on"}, err
	}
	return Reading{Current: "off"}, err
}

func wakeUpTime(m *Machine) (Reading, error) {
	states := m.Glob("sys/devices/system/cpu/cpu0/cpuidle/state*/latency")
	if len(states) == 0 {
		return Reading{}, fs.ErrNotExist
	}
	longest, deepest := int64(0), ""
	for _, s := range states {
		latency, err := m.Number(s)
		if err != nil {
			return Reading{}, err
		}
		disabled, _ := m.Number(path.Join(path.Dir(s), "disable")) // older kernels do not have it
		if disabled == 0 && latency >= longest {
			longest = latency
			deepest, _ = m.Text(path.Join(path.Dir(s), "name")) // only for the note
		}
	}
	f := numeral(float64(longest))
	f.Note = deepest
	return f, nil
}

// nodes are the NUMA nodes that have memory or CPUs: one with neither is only a place for some.
func (m *Machine) nodes() (all []string) {
	for _, dir := range m.Glob("sys/devices/system/node/node[0-9]*") {
		cpus, err := m.Text(path.Join(dir, "cpulist"))
		memory, _ := m.Text(path.Join(dir, "meminfo")) // "Node 1 MemTotal:  0 kB"
		_, total, _ := strings.Cut(memory, "MemTotal:")
		if n := strings.Fields(total); err != nil || cpus != "" || len(n) > 0 && n[0] != "0" {
			all = append(all, strings.TrimPrefix(path.Base(dir), "node"))
		}
	}
	return all
}

func numaNodes(m *Machine) (Reading, error) {
	n := len(m.nodes())
	if n == 0 {
		return Reading{}, none("no NUMA nodes")
	}
	if n == 1 || m.Process == nil {
		return numeral(float64(n)), nil
	}
	text, err := m.Text(fmt.Sprintf("proc/%d/status", m.Process.PID))
	_, after, _ := strings.Cut(text, "\nMems_allowed_list:")
	allowed, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	if err != nil || allowed == "" || strings.ContainsAny(allowed, ",-") {
		return numeral(float64(n)), err
	}
	return Reading{Current: "1", Note: "the broker may use the memory of node " + allowed + " only"}, nil
}

// unsynchronised is the error at which the kernel itself gives up: it adds 500 µs
// each second that nobody sets the clock.
const unsynchronised = 16 * time.Second

// clockError is how wrong the clock may be, at least [unsynchronised] where nobody sets it, and the kernel's own flag.
func (m *Machine) clockError() (most time.Duration, flag bool, err error) {
	if m.Calls == nil || m.Calls.Clock() == nil {
		return 0, false, errors.New("the kernel does not report it")
	}
	c := m.Calls.Clock()
	if c.ErrorUS < 0 {
		return unsynchronised, c.Synchronised, nil
	}
	return c.Error(), c.Synchronised, nil
}

func clockSynchronised(m *Machine) (Reading, error) {
	most, flag, err := m.clockError()
	switch {
	case most >= unsynchronised:
		return Reading{Current: "no"}, err
	case !flag:
		return Reading{Current: "yes", Note: "the kernel's flag says no, its error limit yes: typical of chrony without rtcsync"}, err
	}
	return Reading{Current: "yes"}, err
}

func clockError(m *Machine) (Reading, error) {
	most, _, err := m.clockError()
	if most >= unsynchronised {
		err = none("the clock is not synchronised")
	}
	f := numeral(float64(most.Microseconds()))
	f.shown = theme.Duration(most)
	return f, err
}
