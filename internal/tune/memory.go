package tune

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/kt-bench/kt/internal/theme"
)

// judge compares a figure that kt has worked out, and shows it with its unit.
func judge(value float64, unit string, want Rule, bad Verdict) Reading {
	r := Compare(rounded(value), want, bad)
	r.Current += unit
	if !want.Leave() {
		r.Wanted += unit
	}
	return r
}

func checkMaxMapCount(m *Machine, want Rule) Reading {
	limit, err := m.Number("proc/sys/vm/max_map_count")
	if err != nil {
		return Denied(err)
	}
	segments := m.segments()
	if segments > 0 {
		want = want.Floor(3*segments + 65530)
	}
	r := numberCheck("vm.max_map_count", Warn, true)(m, want)
	need, how := 2*segments, fmt.Sprintf("%d segments need %d", segments, 2*segments)
	if m.Process != nil {
		if n, err := m.MappedAreas(m.Process.PID); err == nil && int64(n) >= need {
			need, how = int64(n), fmt.Sprintf("%d are in use", n)
		}
	}
	if need > 0 {
		r.addNote("%s", how)
	}
	if float64(need) > 0.8*float64(limit) {
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
	bad := Warn
	if len(m.nodes()) < 2 {
		bad = Info
	}
	return numberCheck("vm.zone_reclaim_mode", bad, true)(m, want)
}

func checkMinFree(m *Machine, want Rule) Reading {
	switch {
	case m.MemTotal == 0:
		return Reading{Verdict: Unknown, Note: "the size of the machine's memory is not known"}
	case m.MemTotal < 64<<30:
		return Absent("the machine has less than 64 GiB of memory")
	}
	return numberCheck("vm.min_free_kbytes", Info, false)(m, want)
}

func checkHugePagesOf(m *Machine, want Rule) Reading {
	memory, err := m.FS.Memory()
	if err != nil {
		return Denied(err)
	}
	free, known := memory["HugePages_Free"]
	if !known || memory["MemTotal"] == 0 {
		return Absent("the kernel has no huge pages")
	}
	idle := float64(free) * float64(memory["Hugepagesize"])
	r := judge(100*idle/float64(memory["MemTotal"]), " %", want, Info)
	if r.Verdict == Info && free > 0 && !want.Leave() {
		r.Command = "sysctl -w vm.nr_hugepages=0"
	}
	return r
}

func checkMemorySize(m *Machine, want Rule) Reading {
	if m.Memory <= 0 {
		return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
	}
	// A machine sold as 32 GiB shows less: the firmware and the kernel keep some.
	r := judge(math.Ceil(float64(m.Memory)/(1<<30)*1.04), "", want, Info)
	r.Current = theme.Bytes(m.Memory)
	if !want.Leave() {
		r.Wanted += " GiB"
	}
	return r
}

func checkPageCache(m *Machine, want Rule) Reading {
	switch {
	case m.Process == nil:
		return Absent("no broker runs here")
	case m.Memory <= 0:
		return Reading{Verdict: Unknown, Note: "the size of the memory is not known"}
	}
	heap := heapLimit(m)
	heap = cmp.Or(heap, m.Memory/4) // what a JVM takes that was told nothing
	room := m.Memory - heap - 3<<29
	r := Reading{Verdict: OK, Current: theme.Bytes(max(0, room))}
	if !want.Leave() {
		r.Wanted = want.String() + " s of writing"
	}
	if room < 1<<30 {
		r.Verdict = Warn
		r.Note = fmt.Sprintf("the heap may grow to %s of %s", theme.Bytes(heap), theme.Bytes(m.Memory))
		return r
	}
	rate, ok := m.writeRate()
	switch {
	case !ok:
		r.Verdict, r.Note = Unknown, "the write rate is not known"
	case rate < 1:
		r.Note = "nothing is being written"
	default:
		seconds := float64(room) / rate
		r.Note = fmt.Sprintf("%.0f s at %s/s", seconds, theme.Bytes(int64(rate)))
		r.Verdict = Compare(strconv.FormatFloat(seconds, 'f', 0, 64), want, Warn).Verdict
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
		text, err := m.Text("proc/uptime") // "seconds seconds-idle"
		if err != nil {
			return 0, false
		}
		if _, err := fmt.Sscan(text, &over); err != nil {
			return 0, false
		}
	}
	if !seen || written < 0 || !(over > 0) || math.IsInf(over, 0) {
		return 0, false
	}
	return float64(written) * 1024 / over, true
}

func checkOomKills(m *Machine, want Rule) Reading {
	kills, known := m.After.VM["oom_kill"] // since Linux 4.13
	if !known && m.Cgroup.OOMKills == 0 {
		if m.After.VM == nil {
			return Reading{Verdict: Unknown, Note: "/proc/vmstat could not be read"}
		}
		return Absent("this kernel does not count them")
	}
	r := judge(float64(max(kills, m.Cgroup.OOMKills)), "", want, Warn)
	if n := m.Cgroup.OOMKills; n > 0 {
		r.Note = fmt.Sprintf("%d of them in the control group: its memory limit is too low", n)
	}
	return r
}
