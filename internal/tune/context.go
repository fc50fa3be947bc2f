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

func checkContainerContext(m *Machine, _ Rule) Reading {
	switch {
	case m.Container == "" && !m.Exists("proc"):
		return Absent("no /proc here")
	case m.Container == "":
		return Reading{Verdict: OK, Current: "no"}
	}
	return Reading{Verdict: Info, Current: m.Container, Note: "run kt tune on the node for the node's values"}
}

func checkCgroupLayout(m *Machine, _ Rule) Reading {
	switch m.Cgroup.Layout {
	case "":
		return Absent("no control groups are known")
	case "v2":
		return Reading{Verdict: OK, Current: "v2"}
	}
	return Reading{Verdict: Info, Current: m.Cgroup.Layout, Wanted: "v2"}
}

func checkVirtualMachine(m *Machine, _ Rule) Reading {
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
}

func checkWritableSysctls(m *Machine, _ Rule) Reading {
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
}

func checkKernelVersion(m *Machine, want Rule) Reading {
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

func checkEntropy(m *Machine, want Rule) Reading {
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

func checkBattery(m *Machine, _ Rule) Reading {
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
}

// profileHint tells of the profile for machines that must not be changed; "" when it
// is the one in use.
func (m *Machine) profileHint() string {
	if m.Profile == nil || m.Profile.Name == "minimal" {
		return ""
	}
	return "kt tune --profile minimal, or plug it in"
}
