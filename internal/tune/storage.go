package tune

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func checkDiskShared(m *Machine) Reading {
	if len(m.Dirs) == 1 && m.Dirs[0].Err == nil {
		return Reading{Verdict: OK, Current: "one log directory"}
	}
	on := make(map[string][]string) // directories by disk
	r := eachDir(m, func(d Dir) Reading {
		for _, name := range devicesOf(d) {
			on[name] = append(on[name], d.Path)
		}
		return Reading{Verdict: OK, Current: "each on its own"}
	})
	var shared, notes []string
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if len(on[name]) > 1 {
			shared = append(shared, name)
			notes = addNew(notes, strings.Join(on[name], " and ")+" share a disk")
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

func checkDiskSystem(m *Machine) Reading {
	if m.Container != "" {
		return Absent("in a container / is not the machine's")
	}
	return besides(m, "/", "the system")
}

func checkDiskBrokerLog(m *Machine, _ Rule) Reading {
	if m.Process == nil {
		return Absent("no broker runs here")
	}
	if dir := m.Process.JVM.D["kafka.logs.dir"]; strings.HasPrefix(dir, "/") {
		r := besides(m, dir, "the log files in "+dir)
		if r.Verdict == Warn {
			r.Verdict = Info
		}
		return r
	}
	return Absent("the broker's command line does not say where its log files are")
}

// besides tells which log directories share a disk with another path.
func besides(m *Machine, other, what string) Reading {
	if len(m.Dirs) == 0 {
		return Absent("no log directory is known: name them with --dirs")
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
	there.Storage, err = m.StorageOf(mount)
	if err != nil {
		there.Storage = host.Storage{} // its device number still tells
	}
	devices := devicesOf(there)
	return eachDir(m, func(d Dir) Reading {
		for _, name := range devicesOf(d) {
			if slices.Contains(devices, name) {
				return Reading{Verdict: Warn, Current: "on " + name, Wanted: "a disk of its own", Note: "on one disk with " + what}
			}
		}
		return Reading{Verdict: OK, Current: "on disks of their own"}
	})
}

func checkDiskRAID(m *Machine) Reading {
	return eachDir(m, func(d Dir) Reading {
		if len(d.Storage.Disks) == 0 {
			return Absent("no disk is visible from here")
		}
		return readLayers(d)
	})
}

func readLayers(d Dir) Reading {
	r := Reading{Verdict: OK, Current: strings.Join(d.Storage.Layers, " on ")}
	if r.Current == "" {
		r.Current = "no RAID"
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(d.Storage.Layers, func(layer string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(layer, w) })
		})
	}
	// raid1 is in the name of raid10 too. Several paths to one disk are one disk.
	apart := len(d.Storage.Disks) > 1 && !has("raid1", "multipath")
	switch {
	case has("raid4", "raid5", "raid6"):
		r.Verdict, r.Wanted = Warn, "single disks, or RAID 10"
		r.Note = "each append also writes parity, and a rebuild slows the disks for hours"
	case apart && has("raid0"):
		r.Verdict, r.Wanted = Warn, "a log directory for each disk"
		r.Note = fmt.Sprintf("a failure of one of %d disks loses all replicas here", len(d.Storage.Disks))
	case apart:
		r.Verdict, r.Wanted = Info, "a log directory for each disk"
		r.Note = fmt.Sprintf("a log directory on %d disks needs all of them, unless they are mirrored", len(d.Storage.Disks))
	case has("crypt"):
		r.Verdict = Info
		r.Note = "encryption costs CPU for each byte read and written"
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
	if !m.Exists(dir + "/degraded") {
		return Absent("%s has no spare disk in any state", name) // RAID 0 and linear
	}
	missing, err := m.Number(dir + "/degraded")
	if err != nil {
		return Denied(err)
	}
	if missing > 0 {
		return Reading{
			Verdict: Warn, Current: fmt.Sprintf("%d missing", missing), Wanted: "0 missing",
			Note: name + " has lost a disk", Command: "mdadm --detail /dev/" + name,
		}
	}
	switch action, _ := m.Text(dir + "/sync_action"); action { // older kernels have no such file
	case "resync", "recover", "repair", "reshape":
		return Reading{Verdict: Warn, Current: action, Wanted: "idle", Note: name + " is being copied: measure again when it is done"}
	case "check":
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

func checkDiskNetwork(m *Machine, _ Rule) Reading {
	return readKinds(m, fsNetworked, "files over the network: use a disk, or blocks over the network")
}

func checkDiskOverlay(m *Machine, _ Rule) Reading {
	return readKinds(m, fsPassing, "does not last: mount a volume, or use a disk")
}

// readKinds fails the log directories whose file system is of a kind.
func readKinds(m *Machine, bad fsKind, note string) Reading {
	return eachDir(m, func(d Dir) Reading {
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
	})
}
