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
		Why: "most of what kt looks at belongs to the node: a container can neither change it nor has it for itself",
		Detail: "Of the kernel's settings a container has net.ipv4.* and net.core.somaxconn for itself; vm.*, fs.* and the largest socket buffers are " +
			"the node's, and so are its disks and CPUs. What kt reads here may be the container's own value, and what it would change is " +
			"everybody's. Known by the marks that Docker, Podman and Kubernetes leave.",
		Reads:   []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"},
		Sources: []string{"Kubernetes documentation: using sysctls", "Docker documentation: namespaced kernel parameters"},
		Check: func(m *Machine, _ Rule) Reading {
			switch {
			case m.Container == "" && !m.Exists("proc"):
				return Absent("there is no /proc here")
			case m.Container == "":
				return Reading{Verdict: OK, Current: "no"}
			}
			return Reading{Verdict: Info, Current: m.Container, Note: "run kt tune on the node for what is the node's"}
		},
	}
}

func cgroupLayout() *Setting {
	return &Setting{
		ID: "context.cgroup", Group: Context, Title: "version of the control groups",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "under version 1 written pages are charged to nobody, so that a limit on writing holds back only direct writes",
		Detail: "v2, v1, or hybrid, where both are mounted and a limit may be in either. Java before 11.0.16 and 15 does not see version 2's " +
			"limits, and sizes its heap after the whole machine.",
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
		Why:     "frequency, idle states and disks belong to the host; neighbours and credits decide what is left",
		Detail:  "Only shown. What cannot apply to a virtual machine is not judged there. Known by the firmware's tables and the CPU's own mark.",
		Reads:   []string{"/sys/class/dmi/id", "/sys/hypervisor/type", "/proc/cpuinfo"},
		Sources: []string{"systemd documentation: systemd-detect-virt"},
		Check: func(m *Machine, _ Rule) Reading {
			switch {
			case m.Virtual == "" && !m.Exists("proc"):
				return Absent("there is no /proc here")
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
		ID: "context.proc_sys", Group: Context, Title: "the kernel's settings can be written",
		Roles: Roles, Severity: Informational, Confidence: Documented,
		Why: "not even root can change a setting here: containers see /proc/sys read-only",
		Detail: "Containers without privileges have /proc/sys mounted read-only, and writing fails with “read-only file system” whoever tries. " +
			"It says that the change has to be made on the node, not that something is wrong.",
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
				return Absent("there is no /proc here")
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
		Why:   "old kernels have neither the counters that kt reads nor the repairs of the block layer since",
		Detail: "4.19 is kt's proposal. Later ones bring more: 4.20 pressure (/proc/pressure), 5.10 fast_commit of ext4, 5.19 random numbers that " +
			"no longer run out. Compared by its first two numbers; distributions carry newer code under old ones.",
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
		ID: "context.entropy", Group: Context, Title: "random numbers in stock",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Documented, Want: ">= 200",
		Valid: figure,
		Why:   "connections with TLS wait until the kernel has random numbers again",
		Detail: "Only before Linux 5.19: since then they do not run out, and the file shows 256 at all times. Cloudera still lists it. " +
			"A daemon such as rngd fills the stock up.",
		Reads:   []string{"/proc/sys/kernel/random/entropy_avail"},
		Sources: []string{"Cloudera: Kafka system level tuning", "Oracle: random numbers since Linux 5.18"},
		Check: func(m *Machine, want Rule) Reading {
			v, ok := parseVersion(m.Kernel)
			switch {
			case !ok:
				return Reading{Verdict: Unknown, Note: "the kernel's version is not known"}
			case slices.Compare(v, []int{5, 19}) >= 0:
				return Absent("from Linux 5.19 on they do not run out")
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
		ID: "context.pressure", Group: Context, Title: "time in which something waited for CPU, disk or memory",
		Roles: Roles, Severity: Informational, Confidence: Folklore, Want: "<= 10",
		Valid: figure,
		Why:   "the machine is busy: what is measured now shows who else is on it",
		Detail: "The share of the last minute in which at least one thread waited, of each of the three the kernel's own figure. The best single sign of " +
			"a busy machine. Under load a broker's disks wait, and rightly so; memory should not. The bound of 10 % is kt's proposal.",
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
		share, err := parsePressure(text)
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

// parsePressure reads the average of a minute: "some avg10=0.00 avg60=1.25 …".
func parsePressure(text string) (float64, error) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "some" {
			continue
		}
		for _, field := range f[1:] {
			if v, ok := strings.CutPrefix(field, "avg60="); ok {
				n, err := strconv.ParseFloat(v, 64)
				if err != nil || !(n >= 0 && n <= 100) {
					return 0, fmt.Errorf("%q is no percentage", v)
				}
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("it has no average of a minute")
}

func battery() *Setting {
	return &Setting{
		ID: "context.battery", Group: Context, Title: "runs on its battery",
		Roles: Roles, Severity: Warning, Confidence: Folklore,
		Why:     "the firmware slows the machine down, and what is measured now holds for this hour only",
		Detail:  "Take the profile minimal on such a machine, and plug it in to measure. Batteries of mice and the like do not count.",
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
				return Absent("there is no battery")
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
