package tune

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/theme"
)

func checkSwappiness(m place) Reading {
	r := m.judgedKernel()
	group, found := m.Cgroup.Paths["memory"]
	file := path.Join("sys/fs/cgroup/memory", path.Clean("/"+group), "memory.swappiness")
	own, err := m.Number(file)
	if !found || m.Cgroup.Layout == "v2" || r.Current == "" || err != nil || m.want.Holds(strconv.FormatInt(own, 10)) {
		return r
	}
	r.addNote("the control group's own memory.swappiness, %d, counts instead", own)
	r.Command = fmt.Sprintf("echo %s > /%s", m.want.Target(r.Current), file)
	if r.Verdict == OK {
		r.Verdict = Warn
	}
	return r
}

func checkMaxMapCount(m place) Reading {
	segments := m.segments()
	if segments > 0 {
		m.want = m.want.Floor(3*segments + 65530)
	}
	r := m.kernel()
	r.bad = Warn
	r = m.judge(r)
	limit, err := strconv.ParseFloat(r.Current, 64)
	if err != nil { // it is not known
		return r
	}
	need, how := m.mapsNeeded()
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

// mapsNeeded are two mappings for each segment, or those that the broker has if they are more.
func (m *Machine) mapsNeeded() (need int64, how string) {
	segments := m.segments()
	if m.Process != nil {
		if n, err := m.MappedAreas(m.Process.PID); err == nil && int64(n) >= 2*segments {
			return int64(n), fmt.Sprintf("%d are in use", n)
		}
	}
	return 2 * segments, fmt.Sprintf("%d segments need %d", segments, 2*segments)
}

// segments are the log segments in all log directories that could be listed.
func (m *Machine) segments() int64 {
	var n int64
	for _, d := range m.Dirs {
		n += int64(d.Segments)
	}
	return n
}

// checkTHP judges a choice in the folder of transparent huge pages.
func checkTHP(m place) Reading {
	name := "sys/kernel/mm/transparent_hugepage/" + strings.TrimPrefix(m.row.ID, "thp.")
	if old := strings.Replace(name, "transparent", "redhat_transparent", 1); !m.Exists(name) && m.Exists(old) { // RHEL 6
		name = old
	}
	current, choices, err := m.choice(name)
	if err != nil {
		return Denied(err)
	}
	r := Compare(current, m.want, Warn)
	if r.Verdict == Warn && (current != "always" || m.row.ID == "thp.enabled" && !strings.Contains(m.want.Value, "never")) { // never is only wanted for latency
		r.Verdict = Info
	}
	target := offered(m.want, choices)
	boot, _ := m.Text("proc/cmdline") // a container may hide it
	switch {
	case r.Verdict == OK || m.want.Leave():
	case current != "always":
		r.Note = current + " was chosen here: kt changes only always"
	case target == "":
		r.Note = "this kernel offers only " + strings.Join(choices, ", ")
	case strings.Contains(boot, "transparent_hugepage="):
		r.Note = "set with transparent_hugepage= on the kernel's command line"
		r.Command = "remove transparent_hugepage= from the kernel's command line"
	default:
		r.Changes = []Change{sysfsChange(m.row.ID, name, current, target)}
	}
	return r
}

func checkPageCache(m place) Reading {
	heap := cmp.Or(heapLimit(m.Machine), m.Memory/4) // what a JVM takes that was told nothing
	room := m.Memory - heap - 3<<29
	rate, known := m.writeRate()
	r := Reading{Current: strconv.FormatFloat(float64(room)/rate, 'f', 2, 64), shown: theme.Bytes(max(0, room))}
	switch {
	case m.Memory <= 0:
		return Unreadable("the size of the memory is not known")
	case room < 1<<30:
		if r.rule = m.want; m.want.Leave() { // so little is bad for everyone
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
