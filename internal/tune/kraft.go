package tune

import (
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// votes reports whether what runs here is a controller; known is false under ZooKeeper.
func votes(m *Machine) (is, known bool) {
	roles := processRoles(m)
	return slices.Contains(roles, "controller"), len(roles) > 0
}

func checkMetadataDir(m *Machine, want Rule) Reading {
	is, known := votes(m)
	switch {
	case !known:
		return Absent("process.roles is not set: this broker uses ZooKeeper")
	case !is:
		return Absent("not a controller: this broker does not wait for its metadata log")
	}
	dirs := m.Config.LogDirs()
	dir := strings.TrimSpace(m.Config.Get("metadata.log.dir", ""))
	if dir == "" && len(dirs) > 0 {
		dir = dirs[0]
	}
	mounts, err := m.Mounts()
	if err != nil {
		return Reading{Verdict: Unknown, Current: dir, Note: "the mounted file systems are not known: " + err.Error()}
	}
	own, ok := host.MountOf(mounts, path.Clean(dir))
	if !ok {
		return Reading{Verdict: Unknown, Current: dir, Note: "no mounted file system is known for it"}
	}
	shared := ""
	if runsBroker(m) {
		shared = m.sharing(mounts, own, dirs)
	}
	if shared == "" && m.sharing(mounts, own, []string{"/"}) != "" {
		shared = "the system"
	}
	r, wrong := question(shared == "", want, Warn, dir, "a disk of its own")
	if shared != "" {
		r.Note = "it shares a disk with " + shared
	}
	if wrong {
		r.Command = "metadata.log.dir=/DISK/metadata"
	}
	return r
}

// sharing is the first directory that is on the same device as a mount, or on one of
// its disks; "" for none.
func (m *Machine) sharing(mounts []host.Mount, on host.Mount, dirs []string) string {
	below, _ := m.StorageOf(on) // without it only the device is compared
	for _, d := range dirs {
		other, ok := host.MountOf(mounts, path.Clean(d))
		if !ok {
			continue
		}
		if other.Major == on.Major && other.Minor == on.Minor {
			return d
		}
		its, _ := m.StorageOf(other)
		for _, disk := range its.Disks {
			if slices.ContainsFunc(below.Disks, func(b host.Disk) bool { return b.Name == disk.Name }) {
				return d
			}
		}
	}
	return ""
}

func checkCombinedRoles(m *Machine, want Rule) Reading {
	is, known := votes(m)
	if !known {
		return Absent("process.roles is not set: this broker uses ZooKeeper")
	}
	r, wrong := question(is && runsBroker(m), want, Info, strings.Join(processRoles(m), ","), "one role")
	if wrong {
		r.Command = "process.roles=broker, and the controller in a process of its own"
	}
	return r
}
