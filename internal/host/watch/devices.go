package watch

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// mostCounted is more than any counter of a machine has reached, and no sum of numbers below it overflows.
const mostCounted = 1 << 53

// parseRows reads columns of a table of the kernel by device, and leaves out rows without one of them, or with an impossible number.
func parseRows(text string, name int, counters ...int) map[string][]int64 {
	all := make(map[string][]int64)
	for line := range strings.Lines(text) {
		columns := strings.Fields(strings.Replace(line, ":", " ", 1)) // behind a link's name
		var row []int64
		for _, i := range counters {
			if i < len(columns) {
				if v, err := strconv.ParseInt(columns[i], 10, 64); err == nil && v >= 0 && v <= mostCounted {
					row = append(row, v)
				}
			}
		}
		if len(row) == len(counters) {
			all[strings.ReplaceAll(columns[name], "/", "!")] = row // as the device's folder is named
		}
	}
	return all
}

const sector = 512 // bytes, whatever the disk's own are

// parseDisks reads the sectors read, the sectors written and the busy milliseconds in proc/diskstats.
func parseDisks(text string) map[string][]int64 { return parseRows(text, 2, 5, 9, 12) }

// parseLinks reads the bytes sent, the bytes received and the packets dropped either way in proc/net/dev, which has after each name
// eight counters of what came in and eight of what went out.
func parseLinks(text string) map[string][]int64 { return parseRows(text, 0, 9, 1, 4, 12) }

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

func (w *Watcher) readDisks(v *host.Vitals) {
	text, err := w.tree.Text("proc/diskstats")
	if err != nil {
		w.growth.Note(false)
		return
	}
	counts := parseDisks(text)
	for _, name := range w.disks {
		grown := w.row("disk "+name, counts[name], 3)
		d := host.DiskVitals{Name: name, Read: sector * grown[0], Written: sector * grown[1]}
		if ms := w.growth.Interval.Seconds() * 1000; ms > 0 {
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

func (w *Watcher) readLinks(v *host.Vitals) {
	text, err := w.tree.Text("proc/net/dev")
	if err != nil || len(w.links) == 0 {
		w.growth.Note(false)
		return
	}
	counts := parseLinks(text)
	for _, l := range w.links {
		grown := w.row("link "+l.name, counts[l.name], 4)
		v.Networks = append(v.Networks, host.NetworkVitals{Name: l.name, Speed: l.speed, Sent: grown[0], Received: grown[1], Dropped: grown[2] + grown[3]})
	}
}

// row returns by how much the n counters of a device's row grew; no row counts as unread.
func (w *Watcher) row(name string, row []int64, n int) []int64 {
	if row == nil {
		w.growth.Note(false)
		return make([]int64, n)
	}
	grown, _ := w.growth.Of(name, row...)
	return grown
}
