package tune

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func checkDiskShared(m *Machine, _ Rule) Reading {
	if len(m.Dirs) == 1 && m.Dirs[0].Err == nil {
		return Reading{Verdict: OK, Current: "one log directory"}
	}
	on := make(map[string][]string) // directories by disk
	r := overDirs(m, func(d Dir) []part {
		for _, name := range devicesOf(d) {
			on[name] = append(on[name], d.Path)
		}
		return []part{{d.Path, Reading{Verdict: OK, Current: "each on its own"}}}
	})
	var shared, notes []string
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if len(on[name]) > 1 {
			shared, notes = append(shared, name), addNew(notes, strings.Join(on[name], " and ")+" share a disk")
		}
	}
	if len(shared) == 0 {
		return r
	}
	return Reading{
		Verdict: Warn, Current: "shared: " + listed(shared), Wanted: "a disk each", Note: strings.Join(notes, "; "),
		Command: "log.dirs with one directory for each disk; kafka-reassign-partitions.sh moves the partitions",
	}
}

// devicesOf are the names of the disks that a directory is on, or of its file system
// where they cannot be seen.
func devicesOf(d Dir) []string {
	var names []string
	for _, disk := range d.Storage.Disks {
		names = append(names, disk.Name)
	}
	if len(names) == 0 && d.Mount.Point != "" {
		names = []string{fmt.Sprintf("%s (device %d:%d)", d.Mount.Type, d.Mount.Major, d.Mount.Minor)}
	}
	return names
}

func checkDiskSystem(m *Machine, _ Rule) Reading {
	if m.Container != "" {
		return Absent("in a container / is not the machine's")
	}
	return besides(m, "/", "the system", Warn)
}

func checkDiskBrokerLog(m *Machine, _ Rule) Reading {
	dir := m.Process.JVM.D["kafka.logs.dir"]
	if !strings.HasPrefix(dir, "/") {
		return Absent("the broker's command line does not say where its log files are")
	}
	return besides(m, dir, "the log files in "+dir, Info)
}

// besides tells which log directories share a disk with another path.
func besides(m *Machine, other, what string, bad Verdict) Reading {
	if len(m.Dirs) == 0 {
		return overDirs(m, nil)
	}
	mounts, err := m.Mounts()
	if err != nil {
		return Denied(err)
	}
	mount, ok := host.MountOf(mounts, other)
	if !ok {
		return Reading{Verdict: Unknown, Note: "the file system of " + other + " is not mounted"}
	}
	there := Dir{Mount: mount}
	there.Storage, _ = m.StorageOf(mount) // without it the mount's device number still tells
	devices := devicesOf(there)
	return overDirs(m, func(d Dir) []part {
		for _, name := range devicesOf(d) {
			if slices.Contains(devices, name) {
				return []part{{d.Path, Reading{Verdict: bad, Current: "on " + name, Wanted: "a disk of its own", Note: "on one disk with " + what}}}
			}
		}
		return []part{{d.Path, Reading{Verdict: OK, Current: "on disks of their own"}}}
	})
}

// readLayers looks for RAID below a directory. Several paths to one disk are one disk.
func readLayers(_ *Machine, d Dir, _ Rule) Reading {
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

func checkDiskRAIDHealth(m *Machine, _ Rule) Reading {
	var parts []part
	for _, dir := range m.Glob("sys/block/md*/md") {
		name := strings.Split(dir, "/")[2]
		parts = append(parts, part{name, readArray(m, name, dir)})
	}
	if len(parts) == 0 {
		return Absent("no software RAID")
	}
	return together(parts)
}

func readArray(m *Machine, name, dir string) Reading {
	// RAID 0 and linear have no such file.
	r := Read{Missing: name + " has no spare disk in any state"}.file(m, dir+"/degraded")
	switch action, _ := m.Text(dir + "/sync_action"); { // nor have older kernels this one
	case r.Verdict != "":
		return r
	case r.Current != "0":
		return Reading{Verdict: Warn, Current: r.Current + " missing", Wanted: "0 missing", Note: name + " has lost a disk", Command: "mdadm --detail /dev/" + name}
	case slices.Contains([]string{"resync", "recover", "repair", "reshape"}, action):
		return Reading{Verdict: Warn, Current: action, Wanted: "idle", Note: name + " is being copied: measure again when it is done"}
	case action == "check":
		return Reading{Verdict: Info, Current: action, Wanted: "idle", Note: name + " is being checked: measure again when it is done"}
	}
	return Reading{Verdict: OK, Current: "complete"}
}

// fsKind is what a file system is to Kafka.
type fsKind int

const (
	fsUnknown   fsKind = iota // kt knows nothing of it
	fsLocal                   // xfs, ext4, and others on a disk
	fsNetworked               // files of another machine
	fsPassing                 // gone when the container, or the machine, is started anew
)

// fileSystems are those of which kt knows something.
var fileSystems = map[string]fsKind{
	"xfs": fsLocal, "ext4": fsLocal, "ext3": fsLocal, "ext2": fsLocal, "btrfs": fsLocal, "zfs": fsLocal, "f2fs": fsLocal,
	"jfs": fsLocal, "bcachefs": fsLocal, "vfat": fsLocal, "exfat": fsLocal, "fuseblk": fsLocal,
	"nfs": fsNetworked, "nfs4": fsNetworked, "cifs": fsNetworked, "smb3": fsNetworked, "smbfs": fsNetworked,
	"9p": fsNetworked, "virtiofs": fsNetworked, "ceph": fsNetworked, "glusterfs": fsNetworked, "lustre": fsNetworked,
	"gpfs": fsNetworked, "afs": fsNetworked, "beegfs": fsNetworked, "fuse": fsNetworked,
	"overlay": fsPassing, "aufs": fsPassing, "tmpfs": fsPassing, "ramfs": fsPassing, "squashfs": fsPassing,
}

// fsOf is the type of a directory's file system, "" when it is not known.
func fsOf(d Dir) (name string, kind fsKind) {
	name = cmp.Or(d.Mount.Type, host.FileSystems[d.Space.Magic])
	kind = fileSystems[name]
	if kind == fsUnknown && strings.HasPrefix(name, "fuse.") {
		kind = fsNetworked
	}
	return name, kind
}

// withoutKind fails a log directory whose file system is of a kind.
func withoutKind(bad fsKind, note string) func(*Machine, Dir, Rule) Reading {
	return func(_ *Machine, d Dir, _ Rule) Reading {
		name, kind := fsOf(d)
		switch {
		case name == "":
			return Reading{Verdict: Unknown, Note: "the file system is not known"}
		case kind == bad:
			return Reading{Verdict: Fail, Current: name, Wanted: "xfs or ext4", Note: note}
		case bad == fsPassing && d.Storage.Memory != "":
			return Reading{Verdict: Fail, Current: name + " on " + d.Storage.Memory, Wanted: "a disk", Note: "it is memory: " + note}
		}
		return Reading{Verdict: OK, Current: name}
	}
}
