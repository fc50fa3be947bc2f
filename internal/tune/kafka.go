package tune

import (
	"cmp"
	"errors"
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

func checkMetadataDir(m place) Reading {
	dirs := m.Config.LogDirs()
	dir := cmp.Or(strings.TrimSpace(m.Config.Get("metadata.log.dir", "")), slices.Concat(dirs, []string{""})[0])
	mounts, err := m.Mounts()
	own, ok := host.MountOf(mounts, path.Clean(dir))
	switch {
	case err != nil:
		return Reading{Verdict: Unknown, Current: dir, Note: "the mounted file systems are not known: " + err.Error()}
	case !ok:
		return Reading{Verdict: Unknown, Current: dir, Note: "no mounted file system is known for it"}
	}
	if !runsBroker(m.Machine) {
		dirs = nil
	}
	for _, other := range append(dirs, "/") {
		if there, ok := host.MountOf(mounts, path.Clean(other)); !ok || m.sharedDevice(m.onMount(own), there) == "" {
			continue
		}
		r := Reading{Current: "no", shown: dir, Note: "it shares a disk with " + other, Command: "metadata.log.dir=/DISK/metadata"}
		switch other {
		case dir:
			r.Note = "it is a log directory itself"
		case "/":
			r.Note = "it shares a disk with the system"
		}
		return r
	}
	return Reading{Current: "yes", shown: dir}
}

// partitions are those in the log directories. One that cannot be listed may have more.
func (m *Machine) partitions() (int, error) {
	for _, d := range m.Dirs {
		if d.ListErr != nil {
			return 0, d.ListErr
		}
		if d.Err != nil && d.Partitions == 0 {
			return 0, errors.New(d.Err.Error())
		}
	}
	return partitionsHere(m), nil
}
