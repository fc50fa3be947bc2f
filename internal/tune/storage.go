package tune

import (
	"cmp"
	"errors"
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

// beside is the disk that a log directory shares with another path, or with the broker's log files; "" for none.
func (a place) beside(other string) (string, error) {
	if other == "LOGS" {
		other = a.Process.JVM.D["kafka.logs.dir"]
	}
	mounts, err := a.Mounts()
	mount, ok := host.MountOf(mounts, other)
	if err == nil && !ok {
		err = errors.New("the file system of " + other + " is not mounted")
	}
	return a.sharedDevice(a.dir, mount), err
}

// onMount is a directory on a mount.
func (m *Machine) onMount(mount host.Mount) Dir {
	storage, _ := m.StorageOf(mount) // without it the mount's device number still tells
	return Dir{Mount: mount, Storage: storage}
}

// sharedDevice is the disk of a directory that a mount is on too; "" for none.
func (m *Machine) sharedDevice(d Dir, mount host.Mount) string {
	there := devicesOf(m.onMount(mount))
	for _, name := range devicesOf(d) {
		if slices.Contains(there, name) {
			return name
		}
	}
	return ""
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
