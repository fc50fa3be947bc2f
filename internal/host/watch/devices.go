package watch

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// parseRows reads some columns of a table of the kernel that has a row of counters for each device. A row without one of them, or
// with a number that no counter has reached, is left out.
func parseRows(text string, wanted []int, split func(line string) (name string, columns []string)) map[string][]int64 {
	all := make(map[string][]int64)
	for line := range strings.Lines(text) {
		name, columns := split(line)
		var counters []int64
		for _, i := range wanted {
			if i < len(columns) {
				if v, err := strconv.ParseInt(columns[i], 10, 64); err == nil && v >= 0 && v <= mostCounted {
					counters = append(counters, v)
				}
			}
		}
		if len(counters) == len(wanted) {
			all[name] = counters
		}
	}
	return all
}

const sector = 512 // bytes, whatever the disk's own are

// parseDisks reads the sectors read, the sectors written and the busy milliseconds in proc/diskstats, in which three columns name
// the device. A slash in a name is an exclamation mark in its folder's name.
func parseDisks(text string) map[string][]int64 {
	return parseRows(text, []int{2, 6, 9}, func(line string) (string, []string) {
		columns := strings.Fields(line)
		if len(columns) < 3 {
			return "", nil
		}
		return strings.ReplaceAll(columns[2], "/", "!"), columns[3:]
	})
}

// parseLinks reads the bytes sent, the bytes received and the packets dropped either way in proc/net/dev, which has after each name
// eight counters of what came in and eight of what went out.
func parseLinks(text string) map[string][]int64 {
	return parseRows(text, []int{8, 0, 3, 11}, func(line string) (string, []string) {
		name, rest, _ := strings.Cut(line, ":")
		return strings.TrimSpace(name), strings.Fields(rest)
	})
}

// noDisks are devices that are made of files or memory, or hold what can be taken out.
var noDisks = []string{"loop", "ram", "zram", "sr", "fd"}

// wholeDisks returns the devices with nothing below them, so that each byte counts once: neither partitions nor what the kernel
// makes of other disks, as LVM and RAID are. A machine with nothing but files and memory has those.
func wholeDisks(tree host.FS) (disks []string) {
	var others []string
	text, _ := tree.Text("proc/diskstats") // none: Sample says that nothing can be read
	counts := parseDisks(text)
	names, _ := tree.Names("sys/block")
	for _, name := range names {
		dir := path.Join("sys/block", name)
		slaves, _ := tree.Names(path.Join(dir, "slaves"))
		size, err := tree.Number(path.Join(dir, "size"))
		hidden, _ := tree.Number(path.Join(dir, "hidden"))
		// A hidden disk is a path to one of NVMe: nvme0c1n1 to nvme0n1. Kernels before 6.4 count on the paths only, later ones on both.
		controller, rest, _ := strings.Cut(name, "c")
		_, namespace, _ := strings.Cut(rest, "n")
		switch {
		case len(slaves) > 0, size == 0 && err == nil: // or a drive without a disk
		case hidden == 1 && slices.ContainsFunc(counts[controller+"n"+namespace], func(n int64) bool { return n > 0 }):
		case slices.Contains(noDisks, strings.TrimRight(name, "0123456789")):
			others = append(others, name)
		default:
			disks = append(disks, name)
		}
	}
	if len(disks) == 0 {
		return others
	}
	return disks
}

func (w *Watcher) readDisks(v *host.Vitals, g *growth) {
	text, err := w.tree.Text("proc/diskstats")
	if err != nil {
		g.note(false)
		return
	}
	counts := parseDisks(text)
	for _, name := range w.disks {
		grown := g.row("disk "+name, counts[name], 3)
		d := host.DiskVitals{Name: name, Read: sector * grown[0], Written: sector * grown[1]}
		if ms := g.interval.Seconds() * 1000; ms > 0 {
			d.Busy = min(1, float64(grown[2])/ms) // the kernel rounds to its ticks
		}
		v.Disks = append(v.Disks, d)
	}
}

// link is a network interface whose bytes leave the machine.
type link struct {
	name  string
	speed int64 // bits a second; 0: it does not tell
}

// findLinks finds the interfaces and their speeds. It is nil where the tree does not say.
func findLinks(tree host.FS) (links []link) {
	for _, name := range tree.NICs() {
		l := link{name: name}
		// A driver without hardware makes its speed up: 10 Mb/s of a tunnel, 10 Gb/s of a pair of interfaces. So does one whose link is
		// down, as -1.
		megabits, err := tree.Number(path.Join("sys/class/net", name, "speed"))
		if err == nil && megabits > 0 && tree.Exists(path.Join("sys/class/net", name, "device")) {
			l.speed = megabits * 1_000_000
		}
		links = append(links, l)
	}
	return links
}

func (w *Watcher) readLinks(v *host.Vitals, g *growth) {
	text, err := w.tree.Text("proc/net/dev")
	if err != nil || len(w.links) == 0 {
		g.note(false)
		return
	}
	counts := parseLinks(text)
	for _, l := range w.links {
		grown := g.row("link "+l.name, counts[l.name], 4)
		v.Networks = append(v.Networks, host.NetworkVitals{Name: l.name, Speed: l.speed, Sent: grown[0], Received: grown[1], Dropped: grown[2] + grown[3]})
	}
}

// mostCounted is more than any counter of a machine has reached. A number above it is no
// counter, and no sum of numbers below it overflows.
const mostCounted = 1 << 53

// counters are numbers that only grow, as they were when last read: those of one thing,
// a disk say, together.
type counters map[string]counterValues

type counterValues struct {
	values []int64
	at     time.Duration
}

// growth measures by how much counters grew in one interval, and counts the sources that could
// not be read.
type growth struct {
	counters counters
	now      time.Duration // end of the interval
	interval time.Duration
	unread   int
}

// note counts a source that did not answer.
func (g *growth) note(ok bool) {
	if !ok {
		g.unread++
	}
}

// row returns by how much the n counters of a device's row grew; no row counts as unread.
func (g *growth) row(name string, row []int64, n int) []int64 {
	if row == nil {
		g.note(false)
		return make([]int64, n)
	}
	grown, _ := g.of(name, row...)
	return grown
}

// of returns by how much the counters of one thing grew in the interval, from their present
// values. After readings that failed, the growth is spread over all the time since the last
// good one, so that no rate is too high. For the first reading, or when one of them fell,
// all are 0, it is not ok and counts as unread: a device was removed, and another begins at 0.
func (g *growth) of(name string, values ...int64) (grown []int64, ok bool) {
	grown = make([]int64, len(values))
	was, ok := g.counters[name]
	if slices.Min(values) < 0 {
		g.note(false)
		return grown, false
	}
	g.counters[name] = counterValues{values, g.now}
	for i, v := range values {
		ok = ok && v >= was.values[i]
	}
	g.note(ok)
	if !ok {
		return grown, false
	}
	over := g.now - was.at
	for i, v := range values {
		grown[i] = v - was.values[i]
		if over > g.interval {
			grown[i] = int64(float64(grown[i]) * float64(g.interval) / float64(over))
		}
	}
	return grown, true
}
