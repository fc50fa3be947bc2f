package tune

import (
	"fmt"
	"path"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

func swapTendency() *Setting {
	return &Setting{
		ID: "vm.swappiness", Group: Memory, Title: "tendency of the kernel to swap",
		Roles: Roles, Severity: Warning, Confidence: Documented, Applies: true,
		Valid: wholeNumber(200),
		Why:   "each garbage collection waits for the disk. The kernel swaps out the heap of a broker with many dirty pages",
		Detail: "Confluent, Cloudera and the Definitive Guide all say 1. 0 is a trap: the kernel then swaps only when it would otherwise " +
			"kill a process. TuneD's profiles set 10, and 30 in virtual machines; they are made for servers of every kind. Since " +
			"Linux 5.8 the range is 0 to 200. Under version 1 of control groups each group has its own memory.swappiness, which " +
			"replaces this value.",
		Reads: []string{"/proc/sys/vm/swappiness", "/sys/fs/cgroup/memory/…/memory.swappiness"},
		Sources: []string{
			"Confluent Platform: production deployment", "Kafka: The Definitive Guide, chapter 2",
			"Cloudera: Kafka system level tuning", "kernel commit c843966 (range)", "TuneD latency-performance (10)",
		},
		Risk:  "less unused memory is swapped out, so the page cache is a little smaller",
		Check: checkSwappiness,
	}
}

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

func swapActivity() *Setting {
	return &Setting{
		ID: "memory.swap", Group: Memory, Title: "present swapping",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Documented,
		Why: "the broker stalls and falls out of the in-sync replicas. Its memory is read back from disk",
		Detail: "Sources disagree on swap for a broker. Confluent and the Definitive Guide keep it, as a reserve before the kernel kills " +
			"the broker. Intel switches it off; Redpanda requires it for reasons of its own. kt judges only its use: pages written " +
			"to swap during the check. It never runs swapoff, which can take minutes and fail half-way.",
		Reads:   []string{"/proc/vmstat", "/proc/meminfo"},
		Sources: []string{"Confluent Platform: production deployment", "Kafka: The Definitive Guide, chapter 2", "Intel: Kafka optimisation guide (swapoff)"},
		Check:   checkSwap,
	}
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
