package tune

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

func checkCpuCount(m *Machine, want Rule) Reading {
	if m.CPUs <= 0 {
		return Reading{Verdict: Unknown, Note: "the number of CPUs is not known"}
	}
	r := judge(m.CPUs, "", want, Info)
	if m.Logical > 0 && m.CPUs < float64(m.Logical) {
		r.Note = fmt.Sprintf("the machine has %d", m.Logical)
	}
	return r
}

func checkSteal(m *Machine, want Rule) Reading {
	stolen, seen := Delta(m.Before.CPU, m.After.CPU, "steal")
	total, known := Delta(m.Before.CPU, m.After.CPU, "total")
	when := "in " + theme.Duration(m.Interval)
	if m.Interval == 0 {
		stolen, total, when = m.After.CPU["steal"], m.After.CPU["total"], "since boot"
	}
	if !seen || !known || total <= 0 || stolen < 0 {
		return Reading{Verdict: Unknown, Note: "/proc/stat does not report it"}
	}
	share := 100 * float64(stolen) / float64(total)
	r := judge(share, " %", want, Warn)
	r.Note = when
	if share > 5 {
		r.addNote("measurements here mean nothing")
	}
	return r
}

func checkThrottling(m *Machine, want Rule) Reading {
	switch {
	case m.Cgroup.Layout == "":
		return Absent("no control groups are known")
	case m.Cgroup.Cores <= 0 && m.Cgroup.Throttled <= 0:
		return Absent("no CPU limit")
	case m.Cgroup.Periods <= 0:
		return Reading{Verdict: Unknown, Note: "the control group's cpu.stat counts no periods"}
	}
	r := judge(100*float64(m.Cgroup.Throttled)/float64(m.Cgroup.Periods), " %", want, Warn)
	if m.Cgroup.Cores > 0 {
		r.Note = fmt.Sprintf("the limit is %s CPUs", strconv.FormatFloat(m.Cgroup.Cores, 'f', -1, 64))
	}
	if m.Cgroup.ThrottledUS > 0 {
		r.addNote("stopped for %s in total", theme.Duration(time.Duration(m.Cgroup.ThrottledUS)*time.Microsecond))
	}
	return r
}

func checkHyperThreads(m *Machine, _ Rule) Reading {
	n, err := m.Number("sys/devices/system/cpu/smt/active")
	switch {
	case err != nil:
		return lacking(err, "the kernel does not report it")
	case n == 1:
		return Reading{Verdict: Info, Current: "on"}
	}
	return Reading{Verdict: Info, Current: "off"}
}

func checkMitigations(m *Machine, _ Rule) Reading {
	var worked int
	var open []string
	files := m.Glob("sys/devices/system/cpu/vulnerabilities/*")
	if len(files) == 0 {
		return Absent("the kernel does not list them")
	}
	for _, f := range files {
		text, err := m.Text(f)
		switch {
		case err != nil:
			return Denied(err)
		case strings.HasPrefix(text, "Mitigation"):
			worked++
		case strings.HasPrefix(text, "Vulnerable"):
			open = append(open, path.Base(f))
		}
	}
	r := Reading{Verdict: Info, Current: fmt.Sprintf("%d worked around", worked)}
	if len(open) > 0 {
		r.Note = "open: " + strings.Join(open, ", ")
	}
	return r
}

func checkLoadAverage(m *Machine, want Rule) Reading {
	text, err := m.Text("proc/loadavg")
	if err != nil {
		return Denied(err)
	}
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil || !(load >= 0 && load < 1e9) || m.Logical <= 0 {
		return Reading{Verdict: Unknown, Note: "the load, or the number of CPUs, is not known"}
	}
	r := judge(load/float64(m.Logical), "", want, Info)
	r.Note = first + " in total"
	return r
}
