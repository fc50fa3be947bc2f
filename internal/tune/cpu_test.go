package tune

import (
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

func TestCPUs(t *testing.T) {
	cpus := func(n float64, logical int) func(*Machine) {
		return func(m *Machine) { m.CPUs, m.Logical = n, logical }
	}
	lookAt(t, []row{
		{"few of many", "cpu.count", "", "", "", cpus(2.5, 64), "info 2.5 (≥ 4) | 64"},

		{"busy", "cpu.load", "", "proc/loadavg = 20.00 0.60 0.70 1/1000 99", "", cpus(8, 8), "info 2.5 (≤ 1) | 20.00"},
		{"no CPUs are known", "cpu.load", "", "proc/loadavg = 0.50 0.60", "", nil, "unknown | …"},

		{"on", "cpu.smt", "", "sys/devices/system/cpu/smt/active = 1", "", nil, "info on"},

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
		{"much", "cpu.steal", "", "", "", stolen(500, 600, 2*time.Second), "warn 10 % (≤ 1 %) | 2s"},
		{"since the start", "cpu.steal", "", "", "", stolen(550, 550, 0), "warn 5 % (≤ 1 %) | …"},
		{"a counter that fell", "cpu.steal", "", "", "", stolen(500, 400, 2*time.Second), "unknown | /proc/stat"},

		{"often stopped", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2", Cores: 2, Periods: 1000, Throttled: 150, ThrottledUS: 4200000}), "warn 15 % (≤ 1 %) | 2 4.20s"},
		{"no limit", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v2"}), "not_applicable | …"},
		{"a limit without periods", "cpu.throttling", "", "", "", group(host.Cgroup{Layout: "v1", Cores: 2}), "unknown | …"},
	})
}

func TestFrequency(t *testing.T) {
	const (
		p0     = "sys/devices/system/cpu/cpufreq/policy0/"
		p1     = "sys/devices/system/cpu/cpufreq/policy1/"
		words  = "\n" + p0 + "scaling_available_governors = performance powersave\n" + p1 + "scaling_available_governors = performance powersave"
		prefer = "\n" + p0 + "energy_performance_available_preferences = default performance power"
	)
	virtual := func(m *Machine) { m.Virtual = "kvm" }
	lookAt(t, []row{
		{
			"both slow", "cpu.governor", "performance", p0 + "scaling_governor = powersave\n" + p1 + "scaling_governor = powersave" + words, "", nil,
			"warn powersave (performance) | /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave → performance, kept | /sys/devices/system/cpu/cpufreq/policy1/scaling_governor: powersave → performance, kept",
		},
		{"a driver that has no such word", "cpu.governor", "performance", p0 + "scaling_governor = userspace", "", nil, "warn userspace (performance) | …"},
		{"a virtual machine", "cpu.governor", "performance", "", "", virtual, "not_applicable | …"},

		{
			"the CPU prefers power", "cpu.epp", "performance", p0 + "energy_performance_preference = balance_performance" + prefer, "", nil,
			"info balance_performance (performance) | /sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference: balance_performance → performance, kept",
		},

		{"boost of cpufreq", "cpu.boost", "on", "sys/devices/system/cpu/cpufreq/boost = 1", "", nil, "ok on (on)"},
		{"no boost of intel_pstate", "cpu.boost", "on", "sys/devices/system/cpu/intel_pstate/no_turbo = 1", "", nil, "info off (on)"},
	})
}

// Under the governor performance a driver refuses every other preference, so that undoing from the end has to come to
// the governor first. A limit above fs.nr_open cannot be set.
func TestChangesAreMadeInOrder(t *testing.T) {
	ids := IDs()
	for first, then := range map[string]string{"cpu.epp": "cpu.governor", "fs.nr_open": "limits.nofile"} {
		if slices.Index(ids, first) >= slices.Index(ids, then) {
			t.Errorf("%s is set after %s: it has to come first", first, then)
		}
	}
}

func TestPowerPreferences(t *testing.T) {
	const (
		bias     = "sys/devices/system/cpu/cpu0/power/energy_perf_bias = "
		pct      = "sys/devices/system/cpu/intel_pstate/min_perf_pct"
		platform = "sys/firmware/acpi/platform_profile"
	)
	lookAt(t, []row{
		{"performance", "cpu.energy_bias", "0", bias + "0", "", nil, "ok 0 (0)"},
		{"normal", "cpu.energy_bias", "0", bias + "6", "", nil, "info 6 (0) | $ for f in /sys/devices/system/cpu/cpu*/power/energy_perf_bias;"},
		{"left alone", "cpu.energy_bias", "leave", bias + "6", "", nil, "info 6 (left alone)"},

		{"a part", "cpu.min_perf_pct", ">=100", pct + " = 18", "", nil, "info 18 (≥ 100) | $ echo 100 > /sys/devices/system/cpu/intel_pstate/min_perf_pct"},

		{"a quiet laptop", "cpu.platform_profile", "performance", platform + " = balanced\n" + platform + "_choices = quiet balanced performance", "", nil, "info balanced (performance) | $ echo performance > /sys/firmware/acpi/platform_profile"},
		{"a hidden one", "cpu.platform_profile", "performance", platform + " = performance", platform, nil, "unknown | …"},
	})
}

func TestIdleStates(t *testing.T) {
	const dir = "sys/devices/system/cpu/cpu0/cpuidle/"
	const states = dir + "state0/latency = 0\n" + dir + "state0/name = POLL\n" + dir + "state1/latency = 2\n" + dir + "state1/name = C1\n" + dir + "state1/disable = 0\n" +
		dir + "state2/latency = 133\n" + dir + "state2/name = C6\n" + dir + "state2/disable = "
	lookAt(t, []row{
		{"deep", "cpu.idle_states", "<=10", states + "0", "", nil, "warn 133 µs (≤ 10 µs) | C6 | $ tuned-adm profile latency-performance, or"},
		{"the deep one is disabled", "cpu.idle_states", "<=10", states + "1", "", nil, "ok 2 µs (≤ 10 µs) | C1"},
		{"left alone", "cpu.idle_states", "leave", states + "0", "", nil, "info 133 µs (left alone) | C6"},
		{"a virtual machine", "cpu.idle_states", "<=10", "", "", func(m *Machine) { m.Virtual = "xen" }, "not_applicable | …"},
	})
}

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
		{"a broker on one", "numa.nodes", "", two + "\n" + `proc/7/status = Name: java\nMems_allowed_list:	1`, "", broker(6), "ok 1 (≤ 1) | 1"},
		{"a broker that may not be looked at", "numa.nodes", "", two + "\nproc/7/status = x", "proc/7/status", broker(6), "unknown | …"},
	})
}

func TestClockSource(t *testing.T) {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source := func(current, available string) string {
		return dir + "current_clocksource = " + current + "\n" + dir + "available_clocksource = " + available
	}
	lookAt(t, []row{
		{"tsc", "clock.source", "", source("tsc", "tsc hpet acpi_pm"), "", nil, "ok tsc (kvm-clock)"},
		{"slow, with a fast one", "clock.source", "", source("hpet", "tsc hpet acpi_pm"), "", nil, "warn hpet (kvm-clock) | $ echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"slow, with none better", "clock.source", "", source("xen", "xen jiffies"), "", nil, "warn xen (kvm-clock) | …"},
		{"one that kt does not know", "clock.source", "", source("timebase", "timebase"), "", nil, "info timebase (kvm-clock) | …"},
		{"only tsc will do", "clock.source", "tsc", source("kvm-clock", "kvm-clock tsc"), "", nil, "info kvm-clock (tsc) | $ echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"the others may not be read", "clock.source", "", source("hpet", "tsc"), dir + "available_clocksource", nil, "warn hpet (kvm-clock) | …"},
	})
}

func TestSynchronisation(t *testing.T) {
	clock := func(synchronised bool, us int64) func(*Machine) {
		return func(m *Machine) { m.Calls = silent{&host.Clock{Synchronised: synchronised, ErrorUS: us}} }
	}
	lookAt(t, []row{
		{"in step, without the flag", "clock.synchronised", "", "", "", clock(false, 1500), "ok yes (yes) | …"},
		{"out of step", "clock.synchronised", "", "", "", clock(false, 16000000), "warn no (yes) | $ systemctl enable --now chronyd,"},
		{"nobody to ask", "clock.synchronised", "", "", "", func(m *Machine) { m.Calls = nil }, "unknown | …"},

		{"nearly right", "clock.error", "", "", "", clock(true, 420), "ok 420µs (≤ 1000 µs)"},
		{"without a bound", "clock.error", "", "", "", clock(false, 16000000), "not_applicable | …"},
	})
}
