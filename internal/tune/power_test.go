package tune

import "testing"

func TestFrequency(t *testing.T) {
	const (
		p0     = "sys/devices/system/cpu/cpufreq/policy0/"
		p1     = "sys/devices/system/cpu/cpufreq/policy1/"
		words  = "\n" + p0 + "scaling_available_governors = performance powersave\n" + p1 + "scaling_available_governors = performance powersave"
		prefer = "\n" + p0 + "energy_performance_available_preferences = default performance power"
	)
	virtual := func(m *Machine) { m.Virtual = "kvm" }
	lookAt(t, []row{
		{"fast", "cpu.governor", "performance", p0 + "scaling_governor = performance\n" + p1 + "scaling_governor = performance" + words, "", nil, "ok performance (performance)"},
		{
			"one slow", "cpu.governor", "performance", p0 + "scaling_governor = performance\n" + p1 + "scaling_governor = powersave" + words, "", nil,
			"warn 1 performance, 1 powersave (performance) | /sys/devices/system/cpu/cpufreq/policy1/scaling_governor: powersave → performance, kept",
		},
		{
			"both slow", "cpu.governor", "performance", p0 + "scaling_governor = powersave\n" + p1 + "scaling_governor = powersave" + words, "", nil,
			"warn powersave (performance) | /sys/devices/system/cpu/cpufreq/policy0/scaling_governor: powersave → performance, kept | /sys/devices/system/cpu/cpufreq/policy1/scaling_governor: powersave → performance, kept",
		},
		{"left alone", "cpu.governor", "leave", p0 + "scaling_governor = powersave" + words, "", nil, "info powersave (left alone)"},
		{"a driver that has no such word", "cpu.governor", "performance", p0 + "scaling_governor = userspace", "", nil, "warn userspace (performance) | …"},
		{"a virtual machine", "cpu.governor", "performance", "", "", virtual, "not_applicable | …"},
		{"nothing in it", "cpu.governor", "performance", p0 + "scaling_governor = ", "", nil, "unknown | /sys/devices/system/cpu/cpufreq/policy0/scaling_governor"},

		{
			"the CPU prefers power", "cpu.epp", "performance", p0 + "energy_performance_preference = balance_performance" + prefer, "", nil,
			"info balance_performance (performance) | /sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference: balance_performance → performance, kept",
		},
		{"the CPU prefers performance", "cpu.epp", "performance", p0 + "energy_performance_preference = performance" + prefer, "", nil, "ok performance (performance)"},
		{"what the CPU prefers is left alone", "cpu.epp", "leave", p0 + "energy_performance_preference = power" + prefer, "", nil, "info power (left alone)"},

		{"boost of cpufreq", "cpu.boost", "on", "sys/devices/system/cpu/cpufreq/boost = 1", "", nil, "ok on (on)"},
		{"no boost of intel_pstate", "cpu.boost", "on", "sys/devices/system/cpu/intel_pstate/no_turbo = 1", "", nil, "info off (on)"},
		{"boost of intel_pstate", "cpu.boost", "on", "sys/devices/system/cpu/intel_pstate/no_turbo = 0", "", nil, "ok on (on)"},
		{"boost of a virtual machine", "cpu.boost", "on", "", "", virtual, "not_applicable | …"},
	})
}

// Under the governor performance a driver refuses every other preference, so that
// undoing from the end has to come to the governor first.
func TestThePreferenceIsSetBeforeTheGovernor(t *testing.T) {
	at := make(map[string]int)
	for i, s := range Catalogue() {
		at[s.ID] = i
	}
	if at["cpu.epp"] >= at["cpu.governor"] {
		t.Errorf("cpu.epp is setting %d and cpu.governor %d: the preference has to come first", at["cpu.epp"], at["cpu.governor"])
	}
}

// A limit above fs.nr_open cannot be set.
func TestOpenFilesOfAllAreRaisedBeforeThoseOfTheBroker(t *testing.T) {
	at := make(map[string]int)
	for i, s := range Catalogue() {
		at[s.ID] = i
	}
	if at["fs.nr_open"] >= at["limits.nofile"] {
		t.Errorf("fs.nr_open is setting %d and limits.nofile %d: fs.nr_open has to come first", at["fs.nr_open"], at["limits.nofile"])
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

		{"all of it", "cpu.min_perf_pct", ">=100", pct + " = 100", "", nil, "ok 100 (≥ 100)"},
		{"a part", "cpu.min_perf_pct", ">=100", pct + " = 18", "", nil, "info 18 (≥ 100) | $ echo 100 > /sys/devices/system/cpu/intel_pstate/min_perf_pct"},

		{"a quiet laptop", "cpu.platform_profile", "performance", platform + " = balanced\n" + platform + "_choices = quiet balanced performance", "", nil, "info balanced (performance) | $ echo performance > /sys/firmware/acpi/platform_profile"},
		{"a loud one", "cpu.platform_profile", "performance", platform + " = performance", "", nil, "ok performance (performance)"},
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
