package tune

import (
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
)

// mounted is a machine with the system on sda and /data/a and /data/b on two
// partitions of sdb, /meta on sdc.
func mounted(m *Machine) *Machine {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	m.FS = host.NewFS(fstest.MapFS{
		"proc/self/mountinfo": file(`29 1 8:0 / / rw,relatime - ext4 /dev/sda rw
40 29 8:17 / /data/a rw,relatime - xfs /dev/sdb1 rw
41 29 8:18 / /data/b rw,relatime - xfs /dev/sdb2 rw
42 29 8:32 / /meta rw,relatime - xfs /dev/sdc rw
`),
		"sys/block/sda/dev":      file("8:0\n"),
		"sys/block/sdb/dev":      file("8:16\n"),
		"sys/block/sdb/sdb1/dev": file("8:17\n"),
		"sys/block/sdb/sdb2/dev": file("8:18\n"),
		"sys/block/sdc/dev":      file("8:32\n"),
	})
	return m
}

func TestTheDiskOfTheMetadata(t *testing.T) {
	const id = "kafka.metadata_dir"
	both := func(dirs, metadata string) *Machine {
		m := set("process.roles", "broker,controller", "log.dirs", dirs)
		if metadata != "" {
			m.Config.Values["metadata.log.dir"] = metadata
		}
		return m
	}
	alone := set("process.roles", "controller", "log.dirs", "/meta/log")
	alone.Role = Controller
	onSystem := set("process.roles", "controller", "log.dirs", "/var/lib/kafka")
	onSystem.Role = Controller
	checkRows(t, []readingRow{
		{"a disk of its own", id, "", mounted(both("/data/a", "/meta/log")), OK, "/meta/log"},
		{"the disk of a log directory", id, "", mounted(both("/data/a", "")), Warn, "/data/a"},
		{"another partition of a log directory's disk", id, "", mounted(both("/data/a", "/data/b")), Warn, "/data/b"},
		{"the disk of the system", id, "", mounted(both("/data/a", "/var/meta")), Warn, "/var/meta"},
		{"a controller with a disk", id, "", mounted(alone), OK, "/meta/log"},
		{"a controller on the system's disk", id, "", mounted(onSystem), Warn, "/var/lib/kafka"},
		{"a broker that does not vote", id, "", mounted(set("process.roles", "broker")), NotApplicable, ""},
		{"ZooKeeper", id, "", mounted(set()), NotApplicable, ""},
		{"log directories that name none", id, "", mounted(both(" , ", "")), Warn, "no"},
		{"mounts that are not told", id, "", both("/data/a", ""), Unknown, "/data/a"},
	})
}

func TestControllerAndBrokerInOne(t *testing.T) {
	const id = "kafka.combined_roles"
	checkRows(t, []readingRow{
		{"a broker", id, "", set("process.roles", "broker"), OK, "broker"},
		{"a controller", id, "", set("process.roles", "controller"), OK, "controller"},
		{"both", id, "", set("process.roles", "controller, broker"), Info, "controller,broker"},
		{"ZooKeeper", id, "", set(), NotApplicable, ""},
	})
}
