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
		{"few of many", "cpu.count", "", "", "", cpus(2.5, 64), "info 2.5 (≥ 4) | 64"},

		{"idle", "cpu.load", "", "proc/loadavg = 0.50 0.60 0.70 1/1000 99", "", cpus(8, 8), "ok 0.06 (≤ 1) | 0.50"},
		{"busy", "cpu.load", "", "proc/loadavg = 20.00 0.60 0.70 1/1000 99", "", cpus(8, 8), "info 2.5 (≤ 1) | 20.00"},
		{"no CPUs are known", "cpu.load", "", "proc/loadavg = 0.50 0.60", "", nil, "unknown | …"},
		{"no load", "cpu.load", "", "", "", cpus(8, 8), "not_applicable | …"},

		{"on", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 1", "", nil, "info on"},
		{"off", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 0", "", nil, "info off"},

		{
			"two of three", "cpu.mitigations", "", "sys/devices/system/cpu/vulnerabilities/l1tf = Not affected\nsys/devices/system/cpu/vulnerabilities/mds = Mitigation: Clear CPU buffers\nsys/devices/system/cpu/vulnerabilities/srbds = Vulnerable: No microcode", "", nil,
			"info 1 worked around | …",
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
		{"none", "cpu.steal", "", "", "", stolen(500, 500, 2*time.Second), "ok 0 % (≤ 1 %) | 2s"},
		{"some", "cpu.steal", "", "", "", stolen(500, 530, 2*time.Second), "warn 3 % (≤ 1 %) | 2s"},
		{"much", "cpu.steal", "", "", "", stolen(500, 600, 2*time.Second), "warn 10 % (≤ 1 %) | 2s"},
		{"since the start", "cpu.steal", "", "", "", stolen(550, 550, 0), "warn 5 % (≤ 1 %) | …"},
		{"a counter that fell", "cpu.steal", "", "", "", stolen(500, 400, 2*time.Second), "unknown | /proc/stat"},

		{"never stopped", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2", Cores: 2.5, Periods: 1000}), "ok 0 % (≤ 1 %) | 2.5"},
		{"often stopped", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2", Cores: 2, Periods: 1000, Throttled: 150, ThrottledUS: 4200000}), "warn 15 % (≤ 1 %) | 2 4.20s"},
		{"no limit", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2"}), "not_applicable | …"},
		{"a limit without periods", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v1", Cores: 2}), "unknown | …"},
	})
}
