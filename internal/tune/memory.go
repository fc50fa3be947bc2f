package tune

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

func checkSwappiness(m *Machine, want Rule) Reading {
	r := rowOf("vm.swappiness").kernel(m, want)
	group, found := m.Cgroup.Paths["memory"]
	file := path.Join("sys/fs/cgroup/memory", path.Clean("/"+group), "memory.swappiness")
	own, err := m.Number(file)
	if !found || m.Cgroup.Layout == "v2" || r.Current == "" || err != nil || want.Holds(strconv.FormatInt(own, 10)) {
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
	total, known := memory["SwapTotal"]
	free, knownFree := memory["SwapFree"]
	out, seen := Delta(m.Before.VM, m.After.VM, "pswpout")
	r := Reading{Verdict: OK, Current: theme.Bytes(total-free) + " used", Wanted: "no pages written"}
	switch {
	case err != nil:
		return Denied(err)
	case !known || !knownFree:
		return Absent("the kernel is built without swap")
	case total == 0:
		return Reading{Verdict: OK, Current: "no swap", Note: "there is no reserve when memory runs out"}
	case !seen:
		return Reading{Verdict: Unknown, Current: r.Current, Note: "/proc/vmstat does not report swapping"}
	case out > 0:
		r.Verdict, r.Note = Warn, fmt.Sprintf("%d pages were swapped out in %s", out, theme.Duration(m.Interval))
	case m.Interval == 0 && m.After.VM["pswpout"] > 0:
		r.Verdict, r.Note = Info, fmt.Sprintf("%d pages were swapped out since boot", m.After.VM["pswpout"])
	}
	return r
}

func checkMaxMapCount(m *Machine, want Rule) Reading {
	segments := m.segments()
	if segments > 0 {
		want = want.Floor(3*segments + 65530)
	}
	r := m.sysctl("vm.max_map_count", 1)
	r.bad = Warn
	r = rowOf("vm.max_map_count").told(r, want)
	limit, err := strconv.ParseFloat(r.Current, 64)
	if err != nil { // it is not known
		return r
	}
	need, how := 2*segments, fmt.Sprintf("%d segments need %d", segments, 2*segments)
	if m.Process != nil {
		if n, err := m.MappedAreas(m.Process.PID); err == nil && int64(n) >= need {
			need, how = int64(n), fmt.Sprintf("%d are in use", n)
		}
	}
	if need > 0 {
		r.addNote("%s", how)
	}
	if float64(need) > 0.8*limit {
		r.Verdict = Fail
		if len(r.Changes) == 0 { // the rule leaves the value alone, or is too low
			r.Command = fmt.Sprintf("sysctl -w vm.max_map_count=%d", max(262144, 3*need/2+65530))
		}
	}
	return r
}

// segments are the log segments in all log directories that could be listed.
func (m *Machine) segments() int64 {
	var n int64
	for _, d := range m.Dirs {
		n += int64(d.Segments)
	}
	return n
}

func checkZoneReclaim(m *Machine, want Rule) Reading {
	r := rowOf("vm.zone_reclaim_mode").kernel(m, want)
	if r.Verdict == Warn && len(m.nodes()) < 2 {
		r.Verdict = Info
	}
	return r
}

func checkMinFree(m *Machine, want Rule) Reading {
	switch {
	case m.MemTotal == 0:
		return Reading{Verdict: Unknown, Note: "the size of the machine's memory is not known"}
	case m.MemTotal < 64<<30:
		return Absent("the machine has less than 64 GiB of memory")
	}
	return rowOf("vm.min_free_kbytes").kernel(m, want)
}

func checkHugePagesOf(m *Machine, _ Rule) Reading {
	memory, err := m.FS.Memory()
	free, known := memory["HugePages_Free"]
	switch {
	case err != nil:
		return Denied(err)
	case !known || memory["MemTotal"] == 0:
		return Absent("the kernel has no huge pages")
	}
	return Reading{Current: rounded(100 * float64(free) * float64(memory["Hugepagesize"]) / float64(memory["MemTotal"]))}
}

// thpCheck is the check of a choice in the folder of transparent huge pages.
func thpCheck(id string) check {
	return func(m *Machine, want Rule) Reading {
		file := strings.TrimPrefix(id, "thp.")
		name := "sys/kernel/mm/transparent_hugepage/" + file
		if old := "sys/kernel/mm/redhat_transparent_hugepage/" + file; !m.Exists(name) && m.Exists(old) { // RHEL 6
			name = old
		}
		current, choices, err := m.choice(name)
		if err != nil {
			return Denied(err)
		}
		bad := Warn
		if current != "always" || id == "thp.enabled" && !slices.Contains(strings.Split(want.Value, "|"), "never") { // never is only wanted for latency
			bad = Info
		}
		r := Compare(current, want, bad)
		target := offered(want, choices)
		boot, _ := m.Text("proc/cmdline") // a container may hide it
		switch {
		case r.Verdict == OK || want.Leave():
		case current != "always":
			r.Note = current + " was chosen here: kt changes only always"
		case target == "":
			r.Note = "this kernel offers only " + strings.Join(choices, ", ")
		case strings.Contains(boot, "transparent_hugepage="):
			r.Note = "set with transparent_hugepage= on the kernel's command line"
			r.Command = "remove transparent_hugepage= from the kernel's command line"
		default:
			r.Changes = []Change{sysfsChange(id, name, current, target)}
		}
		return r
	}
}

func checkMemorySize(m *Machine, _ Rule) Reading {
	if m.Memory <= 0 {
		return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
	}
	// A machine sold as 32 GiB shows less: the firmware and the kernel keep some.
	return Reading{Current: rounded(math.Ceil(float64(m.Memory) / (1 << 30) * 1.04)), shown: theme.Bytes(m.Memory)}
}

func checkPageCache(m *Machine, want Rule) Reading {
	heap := cmp.Or(heapLimit(m), m.Memory/4) // what a JVM takes that was told nothing
	room := m.Memory - heap - 3<<29
	rate, known := m.writeRate()
	r := Reading{Current: rounded(float64(room) / rate), shown: theme.Bytes(max(0, room))}
	switch {
	case m.Memory <= 0:
		return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
	case room < 1<<30:
		if r.rule = want; want.Leave() { // so little is bad for everyone
			r.rule = Rule{AtLeast, "30"}
		}
		r.Current, r.Note = "0", fmt.Sprintf("the heap may grow to %s of %s", theme.Bytes(heap), theme.Bytes(m.Memory))
	case !known:
		return Reading{Verdict: Unknown, Current: r.shown, Note: "the write rate is not known"}
	case rate < 1:
		r.Note = "nothing is being written"
	default:
		r.Note = fmt.Sprintf("%.0f s at %s/s", float64(room)/rate, theme.Bytes(int64(rate)))
	}
	return r
}

// writeRate is what is written to all disks, in bytes a second: over the interval,
// or since the machine started.
func (m *Machine) writeRate() (float64, bool) {
	written, seen := Delta(m.Before.VM, m.After.VM, "pgpgout") // KiB
	over := m.Interval.Seconds()
	if over <= 0 {
		written = m.After.VM["pgpgout"]
		text, _ := m.Text("proc/uptime") // "seconds seconds-idle"
		if _, err := fmt.Sscan(text, &over); err != nil {
			return 0, false
		}
	}
	return float64(written) * 1024 / over, seen && written >= 0 && over > 0 && !math.IsInf(over, 0)
}

func checkOomKills(m *Machine, _ Rule) Reading {
	kills, known := m.After.VM["oom_kill"] // since Linux 4.13
	group := m.Cgroup.OOMKills
	switch {
	case group > 0:
		return Reading{Current: strconv.FormatInt(max(kills, group), 10), Note: fmt.Sprintf("%d of them in the control group: its memory limit is too low", group)}
	case m.After.VM == nil:
		return Reading{Verdict: Unknown, Note: "/proc/vmstat could not be read"}
	case !known:
		return Absent("this kernel does not count them")
	}
	return Reading{Current: strconv.FormatInt(kills, 10)}
}
