package tune

import (
	"fmt"
	"path"
	"strings"
)

// nodes are the NUMA nodes that have memory or CPUs, by their numbers.
func (m *Machine) nodes() []string {
	var all []string
	for _, dir := range m.Glob("sys/devices/system/node/node[0-9]*") {
		// A node may have memory alone; one without either is only a place for some.
		cpus, err := m.Text(path.Join(dir, "cpulist"))
		if err == nil && cpus == "" && !m.hasMemory(dir) {
			continue
		}
		all = append(all, strings.TrimPrefix(path.Base(dir), "node"))
	}
	return all
}

// hasMemory reads a node's own meminfo: "Node 1 MemTotal:  0 kB".
func (m *Machine) hasMemory(dir string) bool {
	text, _ := m.Text(path.Join(dir, "meminfo")) // without one there is no memory
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 4 && f[2] == "MemTotal:" {
			return f[3] != "0"
		}
	}
	return false
}

func checkNumaNodes(m *Machine, want Rule) Reading {
	nodes := m.nodes()
	if len(nodes) == 0 {
		return Absent("no NUMA nodes")
	}
	r := judge(float64(len(nodes)), "", want, Info)
	if len(nodes) == 1 {
		return r
	}
	r.Command = "numactl -m 0 -N 0 before the broker's command, and one broker for each node"
	if m.Process == nil {
		return r
	}
	allowed, err := m.statusField(m.Process.PID, "Mems_allowed_list")
	if err != nil {
		return Denied(err)
	}
	if allowed != "" && !strings.ContainsAny(allowed, ",-") {
		r = judge(1, "", want, Info)
		r.Note = "the broker may use the memory of node " + allowed + " only"
	}
	return r
}

// statusField is a field of a process's status file; "" where it has none.
func (m *Machine) statusField(pid int, name string) (string, error) {
	text, err := m.Text(fmt.Sprintf("proc/%d/status", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}
