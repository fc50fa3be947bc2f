package tune

import (
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
)

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

func checkClockSynchronised(m *Machine, _ Rule) Reading {
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
}

func checkClockError(m *Machine, want Rule) Reading {
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
}
