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
		ID: "clock.source", Group: Clock, Title: "clock source of the kernel",
		Roles: Roles, Severity: Warning, Confidence: Documented,
		Want: "tsc|kvm-clock|hyperv_clocksource_tsc_page|arch_sys_counter",
		Why:  "each request reads a slow clock. Reading it takes a system call or longer",
		Detail: "xen, hpet, acpi_pm and jiffies are slow. A note names a source of unknown speed. Redpanda's rpk requires tsc, which is " +
			"too strict: ARM has its own counter. Under KVM kvm-clock is as fast, and stays right when the machine is moved. kt does " +
			"not change the source: the kernel drops tsc only when the counters of the CPUs disagree.",
		Reads: []string{
			"/sys/devices/system/clocksource/clocksource0/current_clocksource",
			"/sys/devices/system/clocksource/clocksource0/available_clocksource",
		},
		Sources: []string{"Redpanda: rpk redpanda tune (tsc)", "Seastar: perftune (kvm-clock)", "kernel documentation: timekeeping"},
		Risk:    "time can jump with a counter that the kernel found unstable",
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
		ID: "clock.synchronised", Group: Clock, Title: "clock synchronisation",
		Roles: Roles, Severity: Warning, Confidence: Documented,
		Why: "timestamps and retention are wrong. Latencies between machines mean nothing",
		Detail: "Judged by the error limit in the kernel. It grows by 500 µs a second while no program sets the clock; from 16 s on the " +
			"clock counts as not synchronised. The kernel's flag is not enough: chrony leaves it unset unless it also sets the " +
			"hardware clock. systemd stopped using it for the same reason.",
		Reads:   []string{"adjtimex(2)"},
		Sources: []string{"systemd commit bca5a0e (the error, not the flag)", "kernel documentation: adjtimex"},
		Check: func(m *Machine, _ Rule) Reading {
			c := m.clock()
			switch {
			case c == nil:
				return Reading{Verdict: Unknown, Note: "the kernel does not report it"}
			case c.ErrorUS < 0 || c.Error() >= unsynchronised:
				return Reading{
					Verdict: Warn, Current: "no", Wanted: "yes",
					Command: "systemctl enable --now chronyd, or systemd-timesyncd",
				}
			}
			r := Reading{Verdict: OK, Current: "yes", Wanted: "yes"}
			if !c.Synchronised {
				r.Note = "the kernel's flag says no, its error limit yes: typical of chrony without rtcsync"
			}
			return r
		},
	}
}

func clockError() *Setting {
	return &Setting{
		ID: "clock.error", Group: Clock, Title: "maximum error of the clock",
		Roles: Roles, Severity: Informational, Confidence: Folklore, Want: "<= 1000",
		Why: "latencies between machines are wrong by the errors of both clocks",
		Detail: "The kernel's limit in µs, not an estimate. It grows by 500 µs a second between two corrections, which are a minute or " +
			"more apart. So it is mostly far too high; chronyc tracking shows more. 1 ms is kt's proposal, for latencies between " +
			"machines.",
		Reads:   []string{"adjtimex(2)"},
		Sources: []string{"kernel documentation: adjtimex", "kt's proposal (1 ms)"},
		Check: func(m *Machine, want Rule) Reading {
			c := m.clock()
			switch {
			case c == nil:
				return Reading{Verdict: Unknown, Note: "the kernel does not report it"}
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
