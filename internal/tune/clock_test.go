package tune

import (
	"testing"

	"github.com/kt-bench/kt/internal/host"
)

func TestClockSource(t *testing.T) {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source := func(current, available string) string {
		return dir + "current_clocksource = " + current + "\n" + dir + "available_clocksource = " + available
	}
	lookAt(t, []row{
		{"tsc", "clock.source", "", source("tsc", "tsc hpet acpi_pm"), "", nil, "ok tsc (kvm-clock)"},
		{"on ARM", "clock.source", "", source("arch_sys_counter", "arch_sys_counter"), "", nil, "ok arch_sys_counter (kvm-clock)"},
		{"slow, with a fast one", "clock.source", "", source("hpet", "tsc hpet acpi_pm"), "", nil, "warn hpet (kvm-clock) | $ echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"slow, under KVM", "clock.source", "", source("acpi_pm", "tsc kvm-clock acpi_pm"), "", nil, "warn acpi_pm (kvm-clock) | $ echo kvm-clock > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"slow, with none better", "clock.source", "", source("xen", "xen jiffies"), "", nil, "warn xen (kvm-clock) | …"},
		{"one that kt does not know", "clock.source", "", source("timebase", "timebase"), "", nil, "info timebase (kvm-clock) | …"},
		{"only tsc will do", "clock.source", "tsc", source("kvm-clock", "kvm-clock tsc"), "", nil, "info kvm-clock (tsc) | $ echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"},
		{"left alone", "clock.source", "leave", source("hpet", "tsc hpet"), "", nil, "info hpet (left alone)"},
		{"the others may not be read", "clock.source", "", source("hpet", "tsc"), dir + "available_clocksource", nil, "warn hpet (kvm-clock) | …"},
	})
}

func TestSynchronisation(t *testing.T) {
	clock := func(synchronised bool, us int64) func(*Machine) {
		return func(m *Machine) { m.Calls = silent{&host.Clock{Synchronised: synchronised, ErrorUS: us}} }
	}
	lookAt(t, []row{
		{"in step", "clock.synchronised", "", "", "", clock(true, 1500), "ok yes (yes)"},
		{"in step, without the flag", "clock.synchronised", "", "", "", clock(false, 1500), "ok yes (yes) | …"},
		{"out of step", "clock.synchronised", "", "", "", clock(false, 16000000), "warn no (yes) | $ systemctl enable --now chronyd,"},
		{"out of step, with the flag", "clock.synchronised", "", "", "", clock(true, 16000000), "warn no (yes) | $ systemctl enable --now chronyd,"},
		{"nobody to ask", "clock.synchronised", "", "", "", func(m *Machine) { m.Calls = nil }, "unknown | …"},

		{"nearly right", "clock.error", "", "", "", clock(true, 420), "ok 420µs (≤ 1000 µs)"},
		{"not quite", "clock.error", "", "", "", clock(true, 32500), "info 32.5ms (≤ 1000 µs)"},
		{"without a bound", "clock.error", "", "", "", clock(false, 16000000), "not_applicable | …"},
	})
}
