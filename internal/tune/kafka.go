package tune

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func checkTemporaryDirs(m place) Reading {
	found := slices.DeleteFunc(m.Config.LogDirs(), func(dir string) bool {
		return !slices.ContainsFunc([]string{"/tmp/", "/var/tmp/", "/dev/shm/", "/run/"}, func(folder string) bool { return strings.HasPrefix(dir+"/", folder) })
	})
	return Reading{Current: yesNo(len(found) > 0), shown: strings.Join(found, ",")}
}

func checkFlush(m place) Reading {
	var set []string
	for _, unit := range []string{"messages", "ms"} {
		value := strings.TrimSpace(m.Config.Get("log.flush.interval."+unit, ""))
		if value != "" && value != strconv.FormatInt(math.MaxInt64, 10) {
			set = append(set, value+" "+unit)
		}
	}
	r := Reading{Current: yesNo(len(set) > 0)}
	if len(set) > 0 {
		r.shown = "every " + strings.Join(set, ", ")
		r.Command = "remove log.flush.interval.messages and log.flush.interval.ms from " + m.Config.File
	}
	return r
}

func checkPartitionCount(m place) Reading {
	if len(m.Dirs) == 0 {
		return Unreadable("no log directory is known")
	}
	for _, d := range m.Dirs {
		if d.ListErr != nil {
			return Denied(d.ListErr)
		}
		if d.Err != nil && d.Partitions == 0 {
			return Reading{Verdict: Unknown, Note: d.Err.Error()}
		}
	}
	r := Reading{Current: strconv.Itoa(partitionsHere(m.Machine))}
	if m.CPUs <= 0 {
		r.Verdict, r.Note = Unknown, "the number of CPUs is not known"
	} else if m.want.Leave() {
		r.rule = Rule{AtMost, strconv.Itoa(partitionLimit(m.CPUs))}
	}
	return r
}

func checkMetadataDir(m place) Reading {
	roles := processRoles(m.Machine)
	switch {
	case len(roles) == 0:
		return Absent("process.roles is not set: this broker uses ZooKeeper")
	case !slices.Contains(roles, "controller"):
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
	if runsBroker(m.Machine) {
		shared = m.sharing(mounts, own, dirs)
	}
	if shared == "" && m.sharing(mounts, own, []string{"/"}) != "" {
		shared = "the system"
	}
	r := Reading{Current: yesNo(shared == ""), shown: dir}
	if shared != "" {
		r.Note, r.Command = "it shares a disk with "+shared, "metadata.log.dir=/DISK/metadata"
	}
	if shared == dir {
		r.Note = "it is a log directory itself"
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
		its, _ := m.StorageOf(other)
		if other.Major == on.Major && other.Minor == on.Minor || slices.ContainsFunc(its.Disks, func(d host.Disk) bool {
			return slices.ContainsFunc(below.Disks, func(b host.Disk) bool { return b.Name == d.Name })
		}) {
			return d
		}
	}
	return ""
}
