package tune

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

func governor() *Setting {
	return &Setting{
		ID: "cpu.governor", Group: CPU, Title: "frequency governor of the CPU",
		Roles: []Role{Broker, Client}, Severity: Warning, Confidence: Documented, Applies: true,
		Valid: oneOf("performance", "powersave", "schedutil", "ondemand", "conservative", "userspace"),
		Why:   "short requests wait for a slow CPU. It needs time to speed up again",
		Detail: "TuneD's profiles for throughput and latency, Intel and Redpanda set performance. The OpenMessaging Benchmark runs with " +
			"TuneD's latency-performance. The powersave of intel_pstate and amd_pstate follows the load, unlike the old governor " +
			"that stays at the lowest frequency; cpu.epp sets how fast. A virtual machine has no governor, only its host.",
		Reads: []string{"/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"},
		Sources: []string{
			"TuneD throughput-performance, latency-performance", "Intel: Kafka optimisation guide", "Redpanda: rpk redpanda tune",
			"OpenMessaging Benchmark: driver-kafka",
		},
		Risk:  "more power and heat; a laptop's battery empties faster",
		Check: policyCheck("cpu.governor", "scaling_governor", "scaling_available_governors", Warn),
	}
}

func preference() *Setting {
	return &Setting{
		ID: "cpu.epp", Group: CPU, Title: "energy preference of the CPU",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented, Applies: true,
		Valid: oneOf("performance", "balance_performance", "default", "balance_power", "power"),
		Why:   "the CPU speeds up later, and slows down sooner than the load needs",
		Detail: "The preference of CPUs that choose their frequency themselves (intel_pstate and amd_pstate). TuneD's " +
			"throughput-performance sets performance. With the governor performance the driver accepts only performance, so kt sets " +
			"this before the governor.",
		Reads:   []string{"/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference"},
		Sources: []string{"TuneD throughput-performance", "kernel documentation: intel_pstate, amd-pstate"},
		Risk:    "more power and heat",
		Check:   policyCheck("cpu.epp", "energy_performance_preference", "energy_performance_available_preferences", Info),
	}
}

const policies = "sys/devices/system/cpu/cpufreq/policy*/"

// noFrequency is the reading of a machine that lets the kernel choose no frequency.
func (m *Machine) noFrequency() Reading {
	if m.Virtual != "" {
		return Absent("a virtual machine: its host chooses the frequency")
	}
	return Absent("the kernel does not choose this machine's frequency")
}

// policyCheck is the check of a file that each frequency policy has: commonly one
// for each CPU. words is the file beside it that lists what may be chosen.
func policyCheck(id, file, words string, bad Verdict) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		files := m.Glob(policies + file)
		if len(files) == 0 {
			return m.noFrequency()
		}
		values, err := m.texts(files)
		if err != nil {
			return Denied(err)
		}
		r := Compare("", want, bad)
		r.Verdict = OK
		if want.Leave() {
			r.Verdict = Info
		}
		for i, name := range files {
			if want.Holds(values[i]) {
				continue
			}
			r.Verdict = bad
			list, _ := m.Text(path.Join(path.Dir(name), words)) // without it there is nothing to choose from
			if target := offered(want, strings.Fields(list)); target != "" {
				r.Changes = append(r.Changes, sysfsChange(id, name, values[i], target))
			} else {
				r.Note = "the driver does not offer " + want.String()
			}
		}
		r.Current = tally(values)
		return r
	}
}

// texts are the contents of files, all of them or none.
func (m *Machine) texts(files []string) ([]string, error) {
	texts := make([]string, len(files))
	for i, f := range files {
		text, err := m.Text(f)
		if err != nil {
			return nil, err
		}
		if texts[i] = strings.Join(strings.Fields(text), " "); text == "" {
			return nil, fmt.Errorf("/%s is empty", f)
		}
	}
	return texts, nil
}

// tally says which values there are: "powersave", or "6 performance, 2 powersave".
func tally(values []string) string {
	count := make(map[string]int)
	var distinct []string
	for _, v := range values {
		if count[v]++; count[v] == 1 {
			distinct = append(distinct, v)
		}
	}
	if len(distinct) == 1 {
		return distinct[0]
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for i, v := range distinct {
		distinct[i] = fmt.Sprintf("%d %s", count[v], v)
	}
	return strings.Join(distinct, ", ")
}

// writtenCheck is the check of one file of the tree that a person has to write: command
// says how, with %s for what to write, and absent why some machines do not have it.
func writtenCheck(file, command, absent string) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		text, err := m.Text(file)
		if err != nil {
			return lacking(err, absent)
		}
		r := Compare(text, want, Info)
		if r.Verdict == Info && !want.Leave() {
			r.Command = fmt.Sprintf(command, want.Target(text))
		}
		return r
	}
}

func energyBias() *Setting {
	return &Setting{
		ID: "cpu.energy_bias", Group: CPU, Title: "energy preference of older Intel CPUs",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented,
		Valid: wholeNumber(15),
		Why:   "the CPU speeds up later, and slows down sooner than the load needs",
		Detail: "From 0, performance, to 15, power. TuneD sets performance in both of its profiles. With Secure Boot the kernel may " +
			"refuse it, so it is a manual step.",
		Reads:   []string{"/sys/devices/system/cpu/cpu*/power/energy_perf_bias"},
		Sources: []string{"TuneD throughput-performance, latency-performance", "saptune: note on Secure Boot"},
		Risk:    "more power and heat",
		Check: func(m *Machine, want Rule) Reading {
			files := m.Glob("sys/devices/system/cpu/cpu*/power/energy_perf_bias")
			if len(files) == 0 {
				return Absent("this CPU does not have it")
			}
			values, err := m.texts(files)
			if err != nil {
				return Denied(err)
			}
			r := Reading{Verdict: OK, Current: tally(values), Wanted: want.String()}
			if want.Leave() {
				r.Verdict = Info
				return r
			}
			if slices.ContainsFunc(values, func(v string) bool { return !want.Holds(v) }) {
				r.Verdict = Info
				r.Command = "for f in /sys/devices/system/cpu/cpu*/power/energy_perf_bias; do echo " + want.Target("") + " > $f; done"
			}
			return r
		},
	}
}

func minPerformance() *Setting {
	return &Setting{
		ID: "cpu.min_perf_pct", Group: CPU, Title: "minimum performance of intel_pstate, in percent",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented,
		Valid:   wholeNumber(100),
		Why:     "the CPU slows down between requests",
		Detail:  "TuneD's profiles set 100, which keeps the CPU at its highest frequency. With the governor performance it adds little.",
		Reads:   []string{"/sys/devices/system/cpu/intel_pstate/min_perf_pct"},
		Sources: []string{"TuneD throughput-performance, latency-performance", "kernel documentation: intel_pstate"},
		Risk:    "more power and heat, also when idle",
		Check: writtenCheck("sys/devices/system/cpu/intel_pstate/min_perf_pct", "echo %s > /sys/devices/system/cpu/intel_pstate/min_perf_pct",
			"the CPU's driver is not intel_pstate"),
	}
}

func boost() *Setting {
	return &Setting{
		ID: "cpu.boost", Group: CPU, Title: "frequencies above the CPU's nominal one",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore,
		Valid: oneOf("on", "off"),
		Why:   "results depend on temperature and on the number of active cores",
		Detail: "Sources disagree: TuneD switches it on, Redpanda off, for a steady frequency. Off costs some tens of percent on a " +
			"machine with few active cores. kt only shows it, because figures of two machines cannot be compared without it.",
		Reads:   []string{"/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/no_turbo"},
		Sources: []string{"TuneD throughput-performance (on)", "Redpanda: rpk redpanda tune (off)"},
		Check: func(m *Machine, want Rule) Reading {
			on := int64(1)
			n, err := m.Number("sys/devices/system/cpu/cpufreq/boost")
			if err != nil {
				on = 0
				n, err = m.Number("sys/devices/system/cpu/intel_pstate/no_turbo")
			}
			switch {
			case err != nil && m.Virtual != "":
				return m.noFrequency()
			case err != nil:
				return lacking(err, "the CPU's driver has no such switch")
			case n == on:
				return Compare("on", want, Info)
			}
			return Compare("off", want, Info)
		},
	}
}

func idleStates() *Setting {
	return &Setting{
		ID: "cpu.idle_states", Group: CPU, Title: "wake-up time of an idle CPU, in µs",
		Roles: []Role{Broker}, Severity: Warning, Confidence: Folklore,
		Valid: figure,
		Why:   "requests wait for a sleeping CPU to wake up",
		Detail: "The longest latency of the enabled idle states of the first CPU. TuneD's latency-performance keeps the CPU at the first " +
			"or third state. 10 µs for Kafka is kt's proposal. To limit it, hold /dev/cpu_dma_latency open, as TuneD does; only root " +
			"can see that. Do not use the kernel's command line: it is permanent.",
		Reads:   []string{"/sys/devices/system/cpu/cpu0/cpuidle/state*/{latency,disable}"},
		Sources: []string{"TuneD latency-performance (force_latency)", "kernel documentation: cpuidle", "kt's proposal (10 µs)"},
		Risk:    "more power and heat, also when idle; less boost for the active cores",
		Check:   checkIdleStates,
	}
}

func checkIdleStates(m *Machine, want Rule) Reading {
	states := m.Glob("sys/devices/system/cpu/cpu0/cpuidle/state*/latency")
	if len(states) == 0 {
		if m.Virtual != "" {
			return Absent("a virtual machine: its host puts the CPUs to sleep")
		}
		return Absent("the kernel does not manage idle states here")
	}
	var longest int64
	var deepest string
	for _, s := range states {
		dir := path.Dir(s)
		latency, err := m.Number(s)
		if err != nil {
			return Denied(err)
		}
		disabled, err := m.Number(path.Join(dir, "disable"))
		if err == nil && disabled != 0 || latency < longest {
			continue
		}
		longest = latency
		deepest, _ = m.Text(path.Join(dir, "name")) // only for the note
	}
	r := judge(float64(longest), " µs", want, Warn)
	r.Note = deepest
	if r.Verdict == Warn {
		r.Command = "tuned-adm profile latency-performance, or keep /dev/cpu_dma_latency open with a lower bound while the broker runs"
	}
	return r
}

func platformProfile() *Setting {
	return &Setting{
		ID: "cpu.platform_profile", Group: CPU, Title: "power profile of the firmware",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented,
		Why:     "the firmware limits power and fan speed. The machine could be faster",
		Detail:  "TuneD's profiles for throughput and latency set performance. Mostly laptops and small servers have it.",
		Reads:   []string{"/sys/firmware/acpi/platform_profile"},
		Sources: []string{"TuneD throughput-performance, latency-performance"},
		Risk:    "more noise and heat",
		Check: writtenCheck("sys/firmware/acpi/platform_profile", "echo %s > /sys/firmware/acpi/platform_profile",
			"the firmware offers no choice"),
	}
}
