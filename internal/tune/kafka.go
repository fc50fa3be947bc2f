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
	case !runsBroker(m.Machine):
		dirs = nil
	}
	dirs = append(dirs, "/")
	i := slices.IndexFunc(dirs, func(other string) bool {
		there, ok := host.MountOf(mounts, path.Clean(other))
		return ok && m.sharedDevice(m.onMount(own), there) != ""
	})
	if i < 0 {
		return Reading{Current: "yes", shown: dir}
	}
	with := map[string]string{dir: "it is a log directory itself", "/": "it shares a disk with the system"}[dirs[i]]
	return Reading{Current: "no", shown: dir, Note: cmp.Or(with, "it shares a disk with "+dirs[i]), Command: "metadata.log.dir=/DISK/metadata"}
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

// runsBroker reports whether what runs here serves records; a controller alone does not.
func runsBroker(m *Machine) bool {
	roles := processRoles(m)
	if len(roles) == 0 {
		return m.Role != Controller
	}
	return slices.Contains(roles, "broker")
}

// processRoles are the roles of KRaft that the settings name; none when they are not known, or under ZooKeeper.
func processRoles(m *Machine) []string {
	return strings.FieldsFunc(m.Config.Get("process.roles", ""), func(r rune) bool { return r == ',' || r == ' ' })
}

// partitionsHere are the partitions in the log directories, as far as they could be listed.
func partitionsHere(m *Machine) (n int) {
	for _, d := range m.Dirs {
		n += d.Partitions
	}
	return n
}

// kafkaVersion is the version of Kafka that was started: "4.3.1"; "" when the class path does not tell.
func (m *Machine) kafkaVersion() string {
	if m.Process == nil {
		return ""
	}
	return m.KafkaVersion(m.Process.Args, func(folder string) string { return m.within(m.Process.PID, folder) })
}

// beforeKafka4 reports whether the class path names an older version than 4.
func (m *Machine) beforeKafka4() bool {
	major, _, _ := strings.Cut(m.kafkaVersion(), ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 4
}

// property reads a setting of the broker.
func (a place) property() Reading {
	read := a.row.Read
	unset := read.Unset
	if read.Before4 != "" && a.beforeKafka4() {
		unset = read.Before4
	}
	value := strings.TrimSpace(a.Config.Get(read.Property, unset))
	r := Reading{Current: strings.ToLower(value), shown: value}
	if whole64(unset) {
		n, err := a.propertyNumber(read.Property + "=" + unset)
		if err != nil {
			return Reading{Verdict: Unknown, Current: n, Note: err.Error()}
		}
		r = Reading{Current: n}
	}
	if _, set := a.Config.Values[read.Property]; !set {
		r.Note = "not set (Kafka's default)"
	}
	return r
}
