package tune

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

func TestCPUs(t *testing.T) {
	cpus := func(n float64, logical int) func(*Machine) {
		return func(m *Machine) { m.CPUs, m.Logical = n, logical }
	}
	lookAt(t, []row{
		{"enough", "cpu.count", "", "", "", cpus(16, 16), "ok 16 (≥ 4)"},
		{"few of many", "cpu.count", "", "", "", cpus(2.5, 64), "info 2.5 (≥ 4) | the machine has 64"},
		{"not known", "cpu.count", "", "", "", nil, "unknown | the number of CPUs is not known"},

		{"idle", "cpu.load", "", "proc/loadavg = 0.50 0.60 0.70 1/1000 99", "", cpus(8, 8), "ok 0.06 (≤ 1) | 0.50 in total"},
		{"busy", "cpu.load", "", "proc/loadavg = 20.00 0.60 0.70 1/1000 99", "", cpus(8, 8), "info 2.5 (≤ 1) | 20.00 in total"},
		{"garbage", "cpu.load", "", "proc/loadavg = high", "", cpus(8, 8), "unknown | the load, or the number of CPUs, is not known"},
		{"no CPUs are known", "cpu.load", "", "proc/loadavg = 0.50 0.60", "", nil, "unknown | the load, or the number of CPUs, is not known"},
		{"no load", "cpu.load", "", "", "", cpus(8, 8), "not_applicable | this machine does not have it"},

		{"on", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 1", "", nil, "info on"},
		{"off", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 0", "", nil, "info off"},
		{"may not be read", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 0", "sys/devices/system/cpu/smt/active", nil, "unknown | needs root"},

		{
			"two of three", "cpu.mitigations", "",
			"sys/devices/system/cpu/vulnerabilities/l1tf = Not affected\nsys/devices/system/cpu/vulnerabilities/mds = Mitigation: Clear CPU buffers\nsys/devices/system/cpu/vulnerabilities/srbds = Vulnerable: No microcode",
			"", nil, "info 1 worked around | open: srbds",
		},
		{"no list", "cpu.mitigations", "", "", "", nil, "not_applicable | the kernel does not list them"},
		{
			"a list that may not be read", "cpu.mitigations", "", "sys/devices/system/cpu/vulnerabilities/mds = Vulnerable", "sys/devices/system/cpu/vulnerabilities/mds", nil,
			"unknown | needs root",
		},
	})
}

func TestTimeThatOthersTake(t *testing.T) {
	stolen := func(before, after int64, over time.Duration) func(*Machine) {
		return func(m *Machine) {
			m.Interval = over
			m.Before.CPU = map[string]int64{"steal": before, "total": 10000}
			m.After.CPU = map[string]int64{"steal": after, "total": 11000}
		}
	}
	group := func(g host.Cgroup) func(*Machine) { return func(m *Machine) { m.Cgroup = g } }
	lookAt(t, []row{
		{"none", "cpu.steal", "", "", "", stolen(500, 500, 2*time.Second), "ok 0 % (≤ 1 %) | in 2.00s"},
		{"some", "cpu.steal", "", "", "", stolen(500, 530, 2*time.Second), "warn 3 % (≤ 1 %) | in 2.00s"},
		{"much", "cpu.steal", "", "", "", stolen(500, 600, 2*time.Second), "warn 10 % (≤ 1 %) | in 2.00s; measurements here mean nothing"},
		{"since the start", "cpu.steal", "", "", "", stolen(550, 550, 0), "warn 5 % (≤ 1 %) | since boot"},
		{"a counter that fell", "cpu.steal", "", "", "", stolen(500, 400, 2*time.Second), "unknown | /proc/stat does not report it"},
		{"not told", "cpu.steal", "", "", "", nil, "unknown | /proc/stat does not report it"},

		{"never stopped", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2", Cores: 2.5, Periods: 1000}), "ok 0 % (≤ 1 %) | the limit is 2.5 CPUs"},
		{
			"often stopped", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2", Cores: 2, Periods: 1000, Throttled: 150, ThrottledUS: 4200000}),
			"warn 15 % (≤ 1 %) | the limit is 2 CPUs; stopped for 4.20s in total",
		},
		{"no limit", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2"}), "not_applicable | no CPU limit"},
		{
			"a limit without periods", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v1", Cores: 2}),
			"unknown | the control group's cpu.stat counts no periods",
		},
		{"no groups", "cpu.throttling", "", "", "", nil, "not_applicable | no control groups are known"},
	})
}
