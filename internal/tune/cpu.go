package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

func mitigations(m place) Reading {
	files := m.Glob("sys/devices/system/cpu/vulnerabilities/*")
	texts, err := m.texts(files)
	if err != nil {
		return m.unreadable(err)
	}
	if len(files) == 0 {
		return m.unreadable(fs.ErrNotExist)
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
	return r
}

func boost(m place) Reading {
	n, err := m.Number("sys/devices/system/cpu/cpufreq/boost")
	if err != nil {
		n, err = m.Number("sys/devices/system/cpu/intel_pstate/no_turbo")
		n = 1 - n
	}
	if err != nil {
		return m.unreadable(err)
	}
	return Reading{Current: map[bool]string{true: "on", false: "off"}[n == 1]}
}

func wakeUpTime(m place) Reading {
	states := m.Glob("sys/devices/system/cpu/cpu0/cpuidle/state*/latency")
	if len(states) == 0 {
		return m.unreadable(fs.ErrNotExist)
	}
	longest, deepest := int64(0), ""
	for _, s := range states {
		latency, err := m.Number(s)
		if err != nil {
			return m.unreadable(err)
		}
		disabled, _ := m.Number(path.Join(path.Dir(s), "disable")) // older kernels do not have it
		if disabled == 0 && latency >= longest {
			longest = latency
			deepest, _ = m.Text(path.Join(path.Dir(s), "name")) // only for the note
		}
	}
	return Reading{Current: strconv.FormatInt(longest, 10), Note: deepest}
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

func numaNodes(m place) Reading {
	n := len(m.nodes())
	if n == 0 {
		return Absent("no NUMA nodes")
	}
	text, err := m.Text(m.names("proc/PID/status"))
	_, after, _ := strings.Cut(text, "\nMems_allowed_list:")
	allowed, _, _ := strings.Cut(strings.TrimSpace(after), "\n")
	switch {
	case n > 1 && m.Process != nil && err != nil:
		return m.unreadable(err)
	case n == 1, m.Process == nil, allowed == "", strings.ContainsAny(allowed, ",-"):
		return Reading{Current: strconv.Itoa(n)}
	}
	return Reading{Current: "1", Note: "the broker may use the memory of node " + allowed + " only"}
}

// clockError is by how many µs the clock may be wrong, and the kernel's own flag. Where nobody sets it, it is the error at which the
// kernel itself gives up: it adds 500 µs each second.
func (m *Machine) clockError(what string) (int64, error) {
	if m.Calls == nil || m.Calls.Clock() == nil {
		return 0, errors.New("the kernel does not report it")
	}
	c := m.Calls.Clock()
	switch {
	case what == "flag":
		return map[bool]int64{true: 1}[c.Synchronised], nil
	case c.ErrorUS < 0:
		return 16e6, nil
	}
	return c.Error().Microseconds(), nil
}

// load is the mean of the last minute, as it is written: "0.50".
func (m *Machine) load() (string, error) {
	text, err := m.Text("proc/loadavg")
	first, _, _ := strings.Cut(text, " ")
	if load, wrong := strconv.ParseFloat(first, 64); err == nil && (wrong != nil || !(load >= 0 && load < 1e9) || m.Logical <= 0) {
		return "", errors.New("the load, or the number of CPUs, is not known")
	}
	return first, err
}
