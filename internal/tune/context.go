package tune

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func contextSettings() []*Setting {
	return []*Setting{
		containerContext(), cgroupLayout(), virtualMachine(), writableSysctls(), kernelVersion(), entropy(),
		pressure(), otherTuners(), sysctlOrder(), battery(),
	}
}

func containerContext() *Setting {
	return &Setting{
		ID: "context.container", Group: Context, Title: "runs in a container",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "most values belong to the node. A container can neither change them nor have its own",
		Detail: "Of the kernel's settings, a container has only net.ipv4.* and net.core.somaxconn of its own. vm.*, fs.*, the maximum " +
			"socket buffers, disks and CPUs belong to the node. kt may read the container's value here, and a change may affect " +
			"every container. Detected by the marks of Docker, Podman and Kubernetes.",
		Reads:   []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"},
		Sources: []string{"Kubernetes documentation: using sysctls", "Docker documentation: namespaced kernel parameters"},
		Check: func(m *Machine, _ Rule) Reading {
			switch {
			case m.Container == "" && !m.Exists("proc"):
				return Absent("no /proc here")
			case m.Container == "":
				return Reading{Verdict: OK, Current: "no"}
			}
			return Reading{Verdict: Info, Current: m.Container, Note: "run kt tune on the node for the node's values"}
		},
	}
}

func cgroupLayout() *Setting {
	return &Setting{
		ID: "context.cgroup", Group: Context, Title: "version of control groups",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "a write limit holds back only direct writes. Version 1 does not charge writeback to a group",
		Detail: "v2, v1, or hybrid: both are mounted and a limit may be in either. Java before 11.0.16 and 15 does not see the limits of " +
			"version 2, and sizes its heap for the whole machine.",
		Reads:   []string{"/proc/self/cgroup", "/proc/PID/cgroup"},
		Sources: []string{"kernel documentation: cgroup-v2", "JDK bug 8230305 (version 2)"},
		Check: func(m *Machine, _ Rule) Reading {
			switch m.Cgroup.Layout {
			case "":
				return Absent("no control groups are known")
			case "v2":
				return Reading{Verdict: OK, Current: "v2"}
			}
			return Reading{Verdict: Info, Current: m.Cgroup.Layout, Wanted: "v2"}
		},
	}
}

func virtualMachine() *Setting {
	return &Setting{
		ID: "context.virtual", Group: Context, Title: "runs in a virtual machine",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "the host decides on frequency, idle states and disks. Neighbours and credits limit the rest",
		Detail: "Shown only. Checks that cannot apply to a virtual machine are skipped. Detected by the firmware's tables and the CPU's " +
			"flag.",
		Reads:   []string{"/sys/class/dmi/id", "/sys/hypervisor/type", "/proc/cpuinfo"},
		Sources: []string{"systemd documentation: systemd-detect-virt"},
		Check: func(m *Machine, _ Rule) Reading {
			switch {
			case m.Virtual == "" && !m.Exists("proc"):
				return Absent("no /proc here")
			case m.Virtual == "":
				return Reading{Verdict: Info, Current: "no mark of one"}
			}
			r := Reading{Verdict: Info, Current: m.Virtual}
			if m.Cloud != "" {
				r.Current += ", " + m.Cloud
			}
			return r
		},
	}
}

func writableSysctls() *Setting {
	return &Setting{
		ID: "context.proc_sys", Group: Context, Title: "write access to kernel settings",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "even root cannot change a setting here. Containers see /proc/sys read-only",
		Detail: "In containers without privileges /proc/sys is mounted read-only, and writing fails with “read-only file system” for " +
			"every user. The change has to be made on the node; nothing is wrong here.",
		Reads:   []string{"/proc/self/mountinfo"},
		Sources: []string{"Docker documentation: runtime privilege", "Redpanda helm-charts issue 127"},
		Check: func(m *Machine, _ Rule) Reading {
			mounts, err := m.Mounts()
			if err != nil {
				return Denied(err)
			}
			at, ok := host.MountOf(mounts, "/proc/sys/vm")
			switch {
			case !ok || at.Type != "proc":
				return Absent("no /proc here")
			case slices.Contains(at.Options, "ro"):
				return Reading{Verdict: Info, Current: "read-only", Note: at.Point + " is mounted read-only"}
			}
			return Reading{Verdict: OK, Current: "yes"}
		},
	}
}

func kernelVersion() *Setting {
	return &Setting{
		ID: "context.kernel", Group: Context, Title: "version of the kernel",
		Roles: Roles, Severity: Informational, Confidence: Folklore, Want: ">= 4.19",
		Valid: figure,
		Why:   "the kernel lacks counters and fixes. kt reads the counters; the fixes are in the block layer",
		Detail: "4.19 is kt's proposal. Later versions bring more: 4.20 pressure (/proc/pressure), 5.10 fast_commit of ext4, 5.19 random " +
			"numbers that no longer run out. kt compares the first two numbers. Distributions ship newer code under old numbers.",
		Reads:   []string{"/proc/sys/kernel/osrelease"},
		Sources: []string{"kt's proposal", "Redpanda: rpk redpanda check (3.19)"},
		Check: func(m *Machine, want Rule) Reading {
			have, ok := parseVersion(m.Kernel)
			if !ok {
				return Reading{Verdict: Unknown, Current: m.Kernel, Note: "the kernel's version is not known"}
			}
			r := Reading{Verdict: Info, Current: m.Kernel, Wanted: want.String()}
			wanted, ok := parseVersion(want.Value)
			if ok && !want.Leave() && (want.Op != AtLeast || slices.Compare(have, wanted) >= 0) && (want.Op != AtMost || slices.Compare(have, wanted) <= 0) &&
				(want.Op != Equal || slices.Equal(have, wanted)) {
				r.Verdict = OK
			}
			return r
		},
	}
}

// parseVersion reads the first two numbers of "6.1-rc1" or "5.14.0-427.el9.x86_64".
func parseVersion(text string) ([]int, bool) {
	var v []int
	for part := range strings.SplitSeq(text, ".") {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, false
		}
		if v = append(v, n); len(v) == 2 {
			return v, true
		}
		if digits != part {
			break
		}
	}
	return nil, false
}

func entropy() *Setting {
	return &Setting{
		ID: "context.entropy", Group: Context, Title: "available random numbers",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented, Want: ">= 200",
		Valid: figure,
		Why:   "TLS connections wait until the kernel has random numbers again",
		Detail: "Only before Linux 5.19. Since then they do not run out, and the file always shows 256. Cloudera still lists it. A " +
			"daemon such as rngd fills the pool.",
		Reads:   []string{"/proc/sys/kernel/random/entropy_avail"},
		Sources: []string{"Cloudera: Kafka system level tuning", "Oracle: random numbers since Linux 5.18"},
		Check: func(m *Machine, want Rule) Reading {
			v, ok := parseVersion(m.Kernel)
			switch {
			case !ok:
				return Reading{Verdict: Unknown, Note: "the kernel's version is not known"}
			case slices.Compare(v, []int{5, 19}) >= 0:
				return Absent("since Linux 5.19 they do not run out")
			}
			r := numberCheck("kernel.random.entropy_avail", Info, false)(m, want)
			if r.Command != "" { // it cannot be written
				r.Command = "systemctl enable --now rngd"
			}
			return r
		},
	}
}

func pressure() *Setting {
	return &Setting{
		ID: "context.pressure", Group: Context, Title: "time with threads waiting for CPU, disk or memory",
		Roles: Roles, Severity: Informational, Confidence: Folklore, Want: "<= 10",
		Valid: figure,
		Why:   "the machine is busy. A measurement now includes the load of others",
		Detail: "The share of the last minute in which at least one thread waited: the kernel's own figure for CPU, disk and memory. It " +
			"is the best single sign of a busy machine. Under load waiting for disks is normal for a broker, waiting for memory is " +
			"not. The limit of 10 % is kt's proposal.",
		Reads:   []string{"/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory"},
		Sources: []string{"kernel documentation: PSI, pressure stall information", "kt's proposal (10 %)"},
		Check:   checkPressure,
	}
}

func checkPressure(m *Machine, want Rule) Reading {
	r := Reading{Verdict: OK}
	var parts []string
	for _, what := range []string{"cpu", "io", "memory"} {
		text, err := m.Text("proc/pressure/" + what)
		if err != nil {
			return lacking(err, "the kernel is older than 4.20, or started without psi=1")
		}
		share, err := host.ParsePressure(text, "some", "avg60")
		if err != nil {
			return Denied(fmt.Errorf("/proc/pressure/%s: %w", what, err))
		}
		one := judge(share, " %", want, Info)
		r.Wanted = one.Wanted
		if one.Verdict != OK {
			r.Verdict = Info
		}
		parts = append(parts, what+" "+strconv.FormatFloat(share, 'f', 0, 64)+" %")
	}
	r.Current = strings.Join(parts, ", ")
	return r
}

func battery() *Setting {
	return &Setting{
		ID: "context.battery", Group: Context, Title: "runs on battery",
		Roles: Roles, Severity: Warning, Confidence: Folklore,
		Why: "the firmware slows the machine down. A measurement now is not repeatable",
		Detail: "Use the profile minimal on such a machine, and plug it in to measure. Batteries of mice and similar devices do not " +
			"count.",
		Reads:   []string{"/sys/class/power_supply/*/{type,scope,online,status}"},
		Sources: []string{"kernel documentation: ABI, sysfs-class-power", "kt's proposal"},
		Check: func(m *Machine, _ Rule) Reading {
			var batteries, discharging, plugged int
			for _, f := range m.Glob("sys/class/power_supply/*/type") {
				dir := path.Dir(f)
				kind, err := m.Text(f)
				if err != nil {
					return Denied(err)
				}
				scope, _ := m.Text(dir + "/scope") // only devices have it
				status, _ := m.Text(dir + "/status")
				online, _ := m.Number(dir + "/online")
				switch {
				case scope == "Device":
				case kind == "Battery":
					batteries++
					if status == "Discharging" {
						discharging++
					}
				case online == 1:
					plugged++
				}
			}
			switch {
			case batteries == 0:
				return Absent("no battery")
			case discharging > 0 && plugged == 0:
				return Reading{Verdict: Warn, Current: "yes", Wanted: "no", Command: cmp.Or(m.profileHint(), "plug it in")}
			}
			return Reading{Verdict: OK, Current: "no", Wanted: "no"}
		},
	}
}

// profileHint tells of the profile for machines that must not be changed; "" when it
// is the one in use.
func (m *Machine) profileHint() string {
	if m.Profile == nil || m.Profile.Name == "minimal" {
		return ""
	}
	return "kt tune --profile minimal, or plug it in"
}
