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

func numaNodes() *Setting {
	return &Setting{
		ID: "numa.nodes", Group: CPU, Title: "NUMA nodes used by the broker", Valid: figure,
		Roles: []Role{Broker}, Severity: Informational, Confidence: Documented, Want: "<= 1",
		Why: "half of the page cache is on another node. Reads of it cross the link between the nodes",
		Detail: "Intel found that one broker does not scale well beyond one node, and runs one on each. A broker that is alone on its " +
			"machine needs all of the page cache, so it is only a note.",
		Reads:   []string{"/sys/devices/system/node/node*", "/proc/PID/status"},
		Sources: []string{"Intel: Kafka optimisation guide"},
		Risk:    "a broker on one node uses the page cache of that node only",
		Check: func(m *Machine, want Rule) Reading {
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
		},
	}
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

func numaBalancing() *Setting {
	return &Setting{
		ID: "kernel.numa_balancing", Group: CPU, Title: "memory migration to the node of its threads", Valid: wholeNumber(2),
		Roles: []Role{Broker}, Severity: Informational, Confidence: Folklore, Applies: true,
		Why: "threads stop at pages that the kernel unmapped. It does so to see their users",
		Detail: "TuneD's network-latency and its database profiles set 0. There is no measurement for Kafka; its memory is mostly page " +
			"cache, which the kernel does not move. For throughput kt does not judge it.",
		Reads:   []string{"/proc/sys/kernel/numa_balancing"},
		Sources: []string{"TuneD network-latency, oracle, mssql (0)", "kernel documentation: sysctl/kernel"},
		Risk:    "threads and their memory may stay on different nodes",
		Check:   numberCheck("kernel.numa_balancing", Info, true),
	}
}
