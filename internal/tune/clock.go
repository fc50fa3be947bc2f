package tune

import (
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

func clockSettings() []*Setting { return []*Setting{clockSource(), clockSynchronised(), clockError()} }

func clockSource() *Setting {
	return &Setting{
		ID: "clock.source", Group: Clock, Title: "where the kernel reads the time",
		Roles: Roles, Severity: Warning, Confidence: Documented,
		Want: "tsc|kvm-clock|hyperv_clocksource_tsc_page|arch_sys_counter",
		Why:  "reading the time becomes a system call or slower, and a broker reads it for every request",
		Detail: "Slow are xen, hpet, acpi_pm and jiffies; one that is neither known as fast nor as slow is mentioned. Redpanda's rpk demands " +
			"tsc, which is too strict: ARM has a counter of its own, and under KVM kvm-clock is as fast, and right when the machine is " +
			"moved. kt does not switch it: where the kernel has dropped tsc, it found that the CPUs' counters disagree.",
		Reads: []string{
			"/sys/devices/system/clocksource/clocksource0/current_clocksource",
			"/sys/devices/system/clocksource/clocksource0/available_clocksource",
		},
		Sources: []string{"Redpanda: rpk redpanda tune (tsc)", "Seastar: perftune (kvm-clock)", "kernel documentation: timekeeping"},
		Risk:    "a counter that the kernel called unstable can make time jump",
		Check:   checkClockSource,
	}
}

func checkClockSource(m *Machine, want Rule) Reading {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	current, err := m.Text(dir + "current_clocksource")
	if err != nil {
		return Denied(err)
	}
	r := Compare(current, want, Info)
	if r.Verdict == OK || want.Leave() {
		return r
	}
	if slices.Contains([]string{"xen", "hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}, current) {
		r.Verdict = Warn
	}
	list, err := m.Text(dir + "available_clocksource")
	if err != nil {
		return r
	}
	words := strings.Fields(list)
	better := offered(want, words)
	if slices.Contains(words, "kvm-clock") && want.Holds("kvm-clock") {
		better = "kvm-clock"
	}
	if better == "" {
		r.Note = "the kernel offers only " + strings.Join(words, ", ")
	} else {
		r.Command = "echo " + better + " > /" + dir + "current_clocksource"
	}
	return r
}

// unsynchronised is the error at which the kernel itself gives up: it adds 500 µs
// each second that nobody sets the clock.
const unsynchronised = 16 * time.Second

func (m *Machine) clock() *host.Clock {
	if m.Calls == nil {
		return nil
	}
	return m.Calls.Clock()
}

func clockSynchronised() *Setting {
	return &Setting{
		ID: "clock.synchronised", Group: Clock, Title: "the clock is kept in step",
		Roles: Roles, Severity: Warning, Confidence: Documented,
		Why: "records get wrong timestamps, retention deletes too early or never, and latencies across machines mean nothing",
		Detail: "Judged by the bound of the error that the kernel keeps: it grows by 500 µs a second while nobody sets the clock, and from 16 s on " +
			"the clock counts as not synchronised. The kernel's own flag is not enough, for chrony leaves it unset unless it keeps the " +
			"hardware clock in step too; systemd gave it up for the same reason.",
		Reads:   []string{"adjtimex(2)"},
		Sources: []string{"systemd commit bca5a0e (the error, not the flag)", "kernel documentation: adjtimex"},
		Check: func(m *Machine, _ Rule) Reading {
			c := m.clock()
			switch {
			case c == nil:
				return Reading{Verdict: Unknown, Note: "the kernel does not tell"}
			case c.ErrorUS < 0 || c.Error() >= unsynchronised:
				return Reading{
					Verdict: Warn, Current: "no", Wanted: "yes",
					Command: "systemctl enable --now chronyd, or systemd-timesyncd",
				}
			}
			r := Reading{Verdict: OK, Current: "yes", Wanted: "yes"}
			if !c.Synchronised {
				r.Note = "the kernel's flag says no, and its error bound yes: chrony without rtcsync does so"
			}
			return r
		},
	}
}

func clockError() *Setting {
	return &Setting{
		ID: "clock.error", Group: Clock, Title: "how wrong the clock can be at most",
		Roles: Roles, Severity: Informational, Confidence: Folklore, Want: "<= 1000",
		Why: "a latency from one machine's timestamp to another's can be wrong by the errors of both",
		Detail: "The kernel's bound in µs. It is no estimate: it grows by 500 µs in each second between two corrections, which are a minute " +
			"or more apart, so that it is mostly far too high; chronyc tracking tells more. 1 ms is kt's proposal, for latencies that are measured across machines.",
		Reads:   []string{"adjtimex(2)"},
		Sources: []string{"kernel documentation: adjtimex", "kt's proposal (1 ms)"},
		Check: func(m *Machine, want Rule) Reading {
			c := m.clock()
			switch {
			case c == nil:
				return Reading{Verdict: Unknown, Note: "the kernel does not tell"}
			case c.ErrorUS < 0 || c.Error() >= unsynchronised:
				return Absent("the clock is not synchronised")
			}
			r := judge(float64(c.ErrorUS), "", want, Info)
			r.Current = theme.Duration(c.Error())
			if !want.Leave() {
				r.Wanted += " µs"
			}
			return r
		},
	}
}
