package tune

import "testing"

func TestNodes(t *testing.T) {
	const (
		one     = "sys/devices/system/node/node0/cpulist = 0-3"
		two     = one + "\nsys/devices/system/node/node1/cpulist = 4-7"
		empty   = one + "\nsys/devices/system/node/node1/cpulist = \nsys/devices/system/node/node1/meminfo = Node 1 MemTotal: 0 kB"
		memory  = one + "\nsys/devices/system/node/node1/cpulist = \nsys/devices/system/node/node1/meminfo = Node 1 MemTotal: 1024 kB"
		command = " | $ numactl -m 0 -N 0 before the broker's command, and one broker for each node"
	)
	lookAt(t, []row{
		{"one", "numa.nodes", "", one, "", nil, "ok 1 (≤ 1)"},
		{"two", "numa.nodes", "", two, "", nil, "info 2 (≤ 1) | $ numactl -m 0 -N"},
		{"a second with neither CPUs nor memory", "numa.nodes", "", empty, "", nil, "ok 1 (≤ 1)"},
		{"a second with memory alone", "numa.nodes", "", memory, "", nil, "info 2 (≤ 1) | $ numactl -m 0 -N"},
		{"a broker on both", "numa.nodes", "", two + "\n" + `proc/7/status = Name: java\nMems_allowed_list:	0-1`, "", broker(6), "info 2 (≤ 1) | $ numactl -m 0 -N"},
		{"a broker on one", "numa.nodes", "", two + "\n" + `proc/7/status = Name: java\nMems_allowed_list:	1`, "", broker(6), "ok 1 (≤ 1) | 1"},
		{"a broker that may not be looked at", "numa.nodes", "", two + "\nproc/7/status = x", "proc/7/status", broker(6), "unknown | …"},

		{"memory moves", "kernel.numa_balancing", "0", "proc/sys/kernel/numa_balancing = 1", "", nil, "info 1 (0) | /proc/sys/kernel/numa_balancing: 1 → 0, kept"},
		{"memory stays", "kernel.numa_balancing", "0", "proc/sys/kernel/numa_balancing = 0", "", nil, "ok 0 (0)"},
		{"left alone", "kernel.numa_balancing", "leave", "proc/sys/kernel/numa_balancing = 1", "", nil, "info 1 (left alone)"},
	})
}
