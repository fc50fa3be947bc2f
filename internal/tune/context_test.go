package tune

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
)

func TestWhereTheMachineIs(t *testing.T) {
	lookAt(t, []row{
		{"a machine", "context.container", "", "proc/1/stat = 1", "", nil, "ok no (no)"},
		{"a pod", "context.container", "", "", "", func(m *Machine) { m.Container = "kubernetes" }, "info kubernetes (no) | …"},

		{"version 2", "context.cgroup", "", "", "", func(m *Machine) { m.Cgroup.Layout = "v2" }, "ok v2 (v2)"},

		{"bare metal", "context.virtual", "", "proc/1/stat = 1", "", nil, "info no mark of one"},
		{"a virtual machine", "context.virtual", "", "", "", func(m *Machine) { m.Virtual, m.Cloud = "kvm", "aws" }, "info kvm, aws"},
	})
}

func TestWritableSettings(t *testing.T) {
	mounts := func(lines ...string) string { return "proc/self/mountinfo = " + strings.Join(lines, `\n`) }
	const proc = "20 1 0:5 / /proc rw,nosuid - proc proc rw"
	lookAt(t, []row{
		{"a machine", "context.proc_sys", "", mounts(proc), "", nil, "ok yes (yes)"},
		{"a container", "context.proc_sys", "", mounts(proc, "21 20 0:5 /sys /proc/sys ro,nosuid - proc proc rw"), "", nil, "info read-only (yes) | /proc/sys"},
		{"no /proc", "context.proc_sys", "", mounts("20 1 0:6 / / rw - ext4 /dev/sda1 rw"), "", nil, "not_applicable | /proc"},
	})
}

func TestKernelAndItsRandomNumbers(t *testing.T) {
	kernel := func(v string) func(*Machine) { return func(m *Machine) { m.Kernel = v } }
	const stock = "proc/sys/kernel/random/entropy_avail = "
	lookAt(t, []row{
		{"new", "context.kernel", "", "", "", kernel("6.1-rc1"), "ok 6.1-rc1 (≥ 4.19)"},
		{"old, though 9 is more than 1", "context.kernel", "", "", "", kernel("4.9.337"), "info 4.9.337 (≥ 4.19)"},
		{"too new", "context.kernel", "<=5.15", "", "", kernel("6.8.0"), "info 6.8.0 (≤ 5.15)"},

		{"no longer in stock", "context.entropy", "", stock + "256", "", kernel("5.19.0"), "not_applicable | 5.19"},
		{"few", "context.entropy", "", stock + "40", "", kernel("5.4.0"), "info 40 (≥ 200) | $ systemctl enable --now rngd"},
		{"of no known kernel", "context.entropy", "", stock + "40", "", nil, "unknown | …"},
	})
}

func TestPressure(t *testing.T) {
	waits := func(cpu, io, memory string) string {
		line := func(what, avg string) string {
			return "proc/pressure/" + what + " = some avg10=99.00 avg60=" + avg + ` avg300=0.00 total=1\nfull avg10=0.00 avg60=50.00 avg300=0.00 total=1` + "\n"
		}
		return line("cpu", cpu) + line("io", io) + line("memory", memory)
	}
	lookAt(t, []row{
		{"the disks are busy", "context.pressure", "", waits("0.10", "45.20", "0.00"), "", nil, "info cpu 0 %, io 45 %, memory 0 % (≤ 10 %) | /proc/pressure/io"},
		{"nothing in it", "context.pressure", "", "proc/pressure/cpu = ", "", nil, "unknown | /proc/pressure/cpu avg60”"},
	})
}

func TestOtherTuners(t *testing.T) {
	runs := func(pid, args string) string {
		return "proc/" + pid + "/cmdline = " + strings.ReplaceAll(args, " ", "\x00") + "\x00\n" +
			"proc/" + pid + "/stat = " + pid + " (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + pid + " 0 0\n" +
			"proc/" + pid + `/status = Name: x\nUid:	0	0	0	0` + "\n"
	}
	lookAt(t, []row{
		{"none", "context.tuners", "", runs("1", "/usr/bin/java kafka.Kafka"), "", nil, "ok none (none)"},
		{
			"TuneD", "context.tuners", "", runs("12", "/usr/bin/python3 -Es /usr/sbin/tuned -l -P") + "etc/tuned/active_profile = throughput-performance", "", nil,
			"info tuned (throughput-performance) (none) | … | $ tuned-adm off, or a",
		},
		{"TuneD that does not run", "context.tuners", "", runs("1", "/sbin/init") + "etc/tuned/active_profile = balanced", "", nil, "ok none (none)"},
		{"a file about TuneD in an editor", "context.tuners", "", runs("1", "vi x tuned"), "", nil, "ok none (none)"},
		{"a laptop", "context.tuners", "", runs("12", "/usr/libexec/power-profiles-daemon") + "run/tlp/last_pwr = 0", "", nil, "info power-profiles-daemon, tlp (none)"},
		{"saptune with a note", "context.tuners", "", runs("1", "/sbin/init") + `etc/sysconfig/saptune = TUNE_FOR_SOLUTIONS=""\nTUNE_FOR_NOTES="941735"`, "", nil, "info saptune (none)"},
		{"other users' processes are hidden", "context.tuners", "", runs("4711", "kt tune") + "proc/self/mountinfo = 20 1 0:5 / /proc rw - proc proc rw,hidepid=invisible", "", nil, "unknown | …"},
	})
}

func TestFilesThatSetTheSame(t *testing.T) {
	sets := func(all ...host.Sysctl) func(*Machine) {
		return func(m *Machine) {
			m.Sysctls = make(map[string][]host.Sysctl)
			for _, s := range all {
				m.Sysctls[s.Key] = append(m.Sysctls[s.Key], s)
			}
		}
	}
	const key = "vm.swappiness"
	lookAt(t, []row{
		{"one each", "context.sysctl_order", "", "", "", sets(host.Sysctl{Key: key, Value: "1", File: "/etc/sysctl.d/50-a.conf"}), "ok none (none)"},
		{
			"two that do not", "context.sysctl_order", "", "", "", sets(host.Sysctl{Key: key, Value: "10", File: "/etc/sysctl.d/50-a.conf"}, host.Sysctl{Key: key, Value: "1", File: "/etc/sysctl.d/60-b.conf"}),
			"info 1 disputed (none) | 10 /etc/sysctl.d/50-a.conf 1 /etc/sysctl.d/60-b.conf",
		},
		{
			"kt's own loses", "context.sysctl_order", "", "", "", sets(host.Sysctl{Key: key, Value: "1", File: SysctlFile}, host.Sysctl{Key: key, Value: "60", File: "/etc/sysctl.conf"}),
			"warn 1 of kt's lost (none) | 1 /etc/sysctl.d/zz-kt.conf 60 /etc/sysctl.conf | $ remove the lines that",
		},
		{"kt's own wins", "context.sysctl_order", "", "", "", sets(host.Sysctl{Key: key, Value: "60", File: "/etc/sysctl.d/50-a.conf"}, host.Sysctl{Key: key, Value: "1", File: SysctlFile}), "ok none (none)"},
	})
}

func TestBattery(t *testing.T) {
	const (
		dir   = "sys/class/power_supply/"
		full  = dir + "BAT0/type = Battery\n" + dir + "BAT0/status = Full\n"
		used  = dir + "BAT0/type = Battery\n" + dir + "BAT0/status = Discharging\n"
		in    = dir + "AC/type = Mains\n" + dir + "AC/online = 1\n"
		out   = dir + "AC/type = Mains\n" + dir + "AC/online = 0\n"
		mouse = dir + "hidpp/type = Battery\n" + dir + "hidpp/scope = Device\n" + dir + "hidpp/status = Discharging\n"
	)
	minimal := func(m *Machine) { m.Profile = &Profile{Name: "minimal"} }
	lookAt(t, []row{
		{"plugged in", "context.battery", "", full + in, "", nil, "ok no (no)"},
		{"on the way", "context.battery", "", used + out, "", nil, "warn yes (no) | $ kt tune --profile minimal,"},
		{"on the way, with the profile for it", "context.battery", "", used + out, "", minimal, "warn yes (no) | $ plug it in"},
		{"a mouse", "context.battery", "", mouse, "", nil, "not_applicable | …"},
	})
}
