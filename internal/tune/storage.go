package tune

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// readShared tells which log directories share a disk.
func readShared(m place) Reading {
	d := m.dir
	var shared, notes []string
	for _, device := range devicesOf(d) {
		var on []string
		for _, other := range m.Dirs {
			if slices.Contains(devicesOf(other), device) {
				on = append(on, other.Path)
			}
		}
		if len(on) > 1 {
			shared, notes = append(shared, device), addNew(notes, strings.Join(on, " and ")+" share a disk")
		}
	}
	if len(shared) > 0 {
		return Reading{Current: "shared: " + listed(shared), Note: strings.Join(notes, "; ")}
	}
	return Reading{Verdict: OK, Current: map[bool]string{true: "one log directory", false: "each on its own"}[len(m.Dirs) == 1]}
}

// devicesOf are the names of the disks that a directory is on, or of its file system
// where they cannot be seen.
func devicesOf(d Dir) (names []string) {
	for _, disk := range d.Storage.Disks {
		names = append(names, disk.Name)
	}
	if len(names) == 0 && d.Mount.Point != "" {
		return []string{fmt.Sprintf("%s (device %d:%d)", d.Mount.Type, d.Mount.Major, d.Mount.Minor)}
	}
	return names
}

func readBesideSystem(m place) Reading {
	d := m.dir
	if m.Container != "" {
		return Absent("in a container / is not the machine's")
	}
	return sharesDisk(m.Machine, d, "/", "the system")
}

func readBesideLogs(m place) Reading {
	d := m.dir
	folder := m.Process.JVM.D["kafka.logs.dir"]
	if !strings.HasPrefix(folder, "/") {
		return Absent("the broker's command line does not say where its log files are")
	}
	return sharesDisk(m.Machine, d, folder, "the log files in "+folder)
}

// sharesDisk reads whether a log directory is on one disk with the path other, which is of what: "the system".
func sharesDisk(m *Machine, d Dir, other, what string) Reading {
	mounts, err := m.Mounts()
	mount, ok := host.MountOf(mounts, other)
	switch {
	case err != nil:
		return Denied(err)
	case !ok:
		return Reading{Verdict: Unknown, Note: "the file system of " + other + " is not mounted"}
	}
	storage, _ := m.StorageOf(mount) // without it the mount's device number still tells
	there := devicesOf(Dir{Mount: mount, Storage: storage})
	for _, name := range devicesOf(d) {
		if slices.Contains(there, name) {
			return Reading{Current: "on " + name, Note: "on one disk with " + what}
		}
	}
	return Reading{Verdict: OK, Current: "on disks of their own"}
}

// readLayers looks for RAID below a directory. Several paths to one disk are one disk.
func readLayers(m place) Reading {
	d := m.dir
	disks := len(d.Storage.Disks)
	if disks == 0 {
		return Absent("no disk is visible from here")
	}
	layers := strings.Join(d.Storage.Layers, " on ")
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(layers, w) })
	}
	r := Reading{Verdict: OK, Current: cmp.Or(layers, "no RAID")}
	apart := disks > 1 && !has("raid1", "multipath") // raid1 is in the name of raid10 too
	switch {
	case has("raid4", "raid5", "raid6"):
		r.Verdict, r.Wanted = Warn, "single disks, or RAID 10"
		r.Note = "each append also writes parity, and a rebuild slows the disks for hours"
	case apart && has("raid0"):
		r.Verdict, r.Wanted = Warn, "a log directory for each disk"
		r.Note = fmt.Sprintf("a failure of one of %d disks loses all replicas here", disks)
	case apart:
		r.Verdict, r.Wanted = Info, "a log directory for each disk"
		r.Note = fmt.Sprintf("a log directory on %d disks needs all of them, unless they are mirrored", disks)
	case has("crypt"):
		r.Verdict, r.Note = Info, "encryption costs CPU for each byte read and written"
	}
	return r
}

// networked are the types of file systems that are files of another machine, and passing those that are gone when
// the container, or the machine, is started anew.
var (
	networked = strings.Fields("nfs nfs4 cifs smb3 smbfs 9p virtiofs ceph glusterfs lustre gpfs afs beegfs fuse")
	passing   = strings.Fields("overlay aufs tmpfs ramfs squashfs")
)

// overNetwork reports whether a file system is another machine's.
func overNetwork(fs string) bool {
	return slices.Contains(networked, fs) || strings.HasPrefix(fs, "fuse.")
}

// fsOf is the type of a directory's file system, "" when it is not known.
func fsOf(d Dir) string { return cmp.Or(d.Mount.Type, host.FileSystems[d.Space.Magic]) }
