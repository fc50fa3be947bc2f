package tune

import (
	"fmt"
	"path"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

func checkSwappiness(m *Machine, want Rule) Reading {
	r := numberCheck("vm.swappiness", Warn, true)(m, want)
	if r.Verdict == OK && r.Current == "0" && !want.Leave() {
		r.Verdict = Info
		r.Note = "with 0 the kernel kills processes before it swaps: 1 is the documented value"
	}
	group, found := m.Cgroup.Paths["memory"]
	if !found || m.Cgroup.Layout == "v2" || r.Verdict == NotApplicable || r.Verdict == Unknown {
		return r
	}
	file := path.Join("sys/fs/cgroup/memory", path.Clean("/"+group), "memory.swappiness")
	own, err := m.Number(file)
	if err != nil || want.Holds(strconv.FormatInt(own, 10)) {
		return r
	}
	r.addNote("the control group's own memory.swappiness, %d, counts instead", own)
	r.Command = fmt.Sprintf("echo %s > /%s", want.Target(r.Current), file)
	if r.Verdict == OK {
		r.Verdict = Warn
	}
	return r
}

func checkSwap(m *Machine, _ Rule) Reading {
	memory, err := m.FS.Memory()
	if err != nil {
		return Denied(err)
	}
	total, known := memory["SwapTotal"]
	free, knownFree := memory["SwapFree"]
	switch {
	case !known || !knownFree:
		return Absent("the kernel is built without swap")
	case total == 0:
		return Reading{Verdict: OK, Current: "no swap", Note: "there is no reserve when memory runs out"}
	}
	r := Reading{Verdict: OK, Current: theme.Bytes(total-free) + " used", Wanted: "no pages written"}
	out, seen := Delta(m.Before.VM, m.After.VM, "pswpout")
	switch {
	case !seen:
		return Reading{Verdict: Unknown, Current: r.Current, Note: "/proc/vmstat does not report swapping"}
	case out > 0:
		r.Verdict = Warn
		r.Note = fmt.Sprintf("%d pages were swapped out in %s", out, theme.Duration(m.Interval))
	case m.Interval == 0 && m.After.VM["pswpout"] > 0:
		r.Verdict = Info
		r.Note = fmt.Sprintf("%d pages were swapped out since boot", m.After.VM["pswpout"])
	}
	return r
}
