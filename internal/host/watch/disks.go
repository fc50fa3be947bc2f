package watch

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// diskCount is a line of proc/diskstats.
type diskCount struct {
	read, written int64 // bytes
	busy          int64 // milliseconds with at least one request
}

// parseDisks reads proc/diskstats: after three columns that name the device, sectors
// read are in the third, sectors written in the seventh, and milliseconds with requests
// in the tenth. Lines that are none of a disk are left out.
func parseDisks(text string) map[string]diskCount {
	const (
		name, first = 2, 2 // counters are numbered from 1
		sector      = 512  // bytes, whatever the disk's own are
	)
	all := make(map[string]diskCount)
	for line := range strings.Lines(text) {
		columns := strings.Fields(line)
		if len(columns) <= first+10 {
			continue
		}
		var bad bool
		counter := func(n int) int64 {
			v, err := strconv.ParseInt(columns[first+n], 10, 64)
			bad = bad || err != nil || v < 0 || v > mostCounted
			return v
		}
		count := diskCount{read: sector * counter(3), written: sector * counter(7), busy: counter(10)}
		if !bad {
			// A slash in a name is an exclamation mark in its folder's name.
			all[strings.ReplaceAll(columns[name], "/", "!")] = count
		}
	}
	return all
}

// noDisks are devices that are made of files or memory, or hold what can be taken out.
var noDisks = []string{"loop", "ram", "zram", "sr", "fd"}

// wholeDisks returns the devices with nothing below them, so that each byte counts once:
// neither partitions nor what the kernel makes of other disks, as LVM and RAID are. A
// machine with nothing but files and memory has those.
func wholeDisks(tree host.FS) []string {
	var disks, others []string
	counts := diskCounts(tree)
	names, _ := tree.Names("sys/block") // none: Sample says that nothing can be read
	for _, name := range names {
		dir := path.Join("sys/block", name)
		if slaves, _ := tree.Names(path.Join(dir, "slaves")); len(slaves) > 0 {
			continue
		}
		if size, err := tree.Number(path.Join(dir, "size")); err == nil && size == 0 {
			continue // a drive without a disk
		}
		switch hidden, _ := tree.Number(path.Join(dir, "hidden")); {
		case hidden == 1 && counts[throughAll(name)] != (diskCount{}):
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

// throughAll returns the NVMe disk to which a hidden one is a path: nvme0n1 of nvme0c1n1.
// Kernels before 6.4 count on the paths only, later ones on both.
func throughAll(hidden string) string {
	controller, rest, _ := strings.Cut(hidden, "c")
	_, namespace, _ := strings.Cut(rest, "n")
	return controller + "n" + namespace
}

func diskCounts(tree host.FS) map[string]diskCount {
	text, err := tree.Text("proc/diskstats")
	if err != nil {
		return nil
	}
	return parseDisks(text)
}

func (w *Watcher) readDisks(v *host.Vitals, g *growth) {
	counts := diskCounts(w.tree)
	if counts == nil {
		g.note(false)
		return
	}
	for _, name := range w.disks {
		d := host.DiskVitals{Name: name}
		if count, ok := counts[name]; ok {
			grown, _ := g.of("disk "+name, count.read, count.written, count.busy)
			d.Read, d.Written = grown[0], grown[1]
			if ms := g.interval.Seconds() * 1000; ms > 0 {
				d.Busy = min(1, float64(grown[2])/ms) // the kernel rounds to its ticks
			}
		} else {
			g.note(false)
		}
		v.Disks = append(v.Disks, d)
	}
}
