package tune

import (
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
)

// limitsFile is what the kernel shows of a process's limits.
func limitsFile(pid, name, soft, hard string) string {
	return fmt.Sprintf(`proc/%s/limits = Limit                     Soft Limit           Hard Limit           Units\n%-25s %-20s %-20s files`, pid, name, soft, hard)
}

func TestOpenFilesOfABroker(t *testing.T) {
	files := func(soft, hard string) string { return limitsFile("7", "Max open files", soft, hard) }
	unit := func(m *Machine) { m.Unit = "kafka.service" }
	shell := func(m *Machine) { m.Process.Unit = "" }
	session := func(m *Machine) { m.Process.Unit = "user@1001.service" }
	container := func(m *Machine) { m.Cgroup.Paths = map[string]string{"": "/system.slice/docker-4711.scope"} }
	connections := func(m *Machine) { m.Config.Values = map[string]string{"max.connections": "300000"} }
	lookAt(t, []row{
		{"plenty", "limits.nofile", ">=500000", files("1048576", "1048576"), "", broker(6), "ok 1048576 (≥ 500000)"},
		{
			"what a shell gives", "limits.nofile", ">=500000", files("1024", "4096"), "", broker(6),
			"fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000; kafka.service.d [Service] LimitNOFILE=500000, advised",
		},
		{
			"many connections", "limits.nofile", ">=500000", files("500000", "500000"), "", with(broker(6), connections),
			"info 500000 (≥ 610000) | /proc/7/limits: 500000 500000 → 610000 610000; kafka.service.d [Service] LimitNOFILE=610000, advised",
		},
		{
			"less than the segments have open", "limits.nofile", ">=500000", files("500000", "500000"), "", with(broker(6), segmentsOf(200000)),
			"fail 500000 (≥ 910000) | 200000 600000 | /proc/7/limits: 500000 500000 → 910000 910000; kafka.service.d [Service] LimitNOFILE=910000, advised",
		},
		{
			"started in a shell by a user with a name", "limits.nofile", ">=500000", files("1024", "4096") + "\n" + `etc/passwd = root:x:0:0\nkafka:x:1001:1001:Kafka:/:/bin/false`, "", with(broker(6), shell),
			"fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000; limits.d kafka soft nofile 500000; limits.d kafka hard nofile 500000, advised",
		},
		{
			"started in a session by a user without one", "limits.nofile", ">=500000", files("1024", "4096"), "", with(broker(6), session),
			"fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000; limits.d 1001:1001 soft nofile 500000; limits.d 1001:1001 hard nofile 500000, advised",
		},
		{
			"in a container that is seen from outside", "limits.nofile", ">=500000", files("1024", "4096"), "", with(broker(6), container),
			"fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000, advised",
		},
		{
			"right now, and wrong when the unit starts again", "limits.nofile", ">=500000", files("500000", "500000") + "\n" + `usr/lib/systemd/system/kafka.service = [Unit]\nLimitNOFILE=1\n[Service]\nLimitNOFILE=65536`, "", broker(6),
			"warn 500000 (≥ 500000) | 65536 /usr/lib/systemd/system/kafka.service | /usr/lib/systemd/system/kafka.service: 65536 → 500000; kafka.service.d [Service] LimitNOFILE=500000, advised",
		},
		{
			"fs.nr_open allows less at the next login", "limits.nofile", ">=500000", files("1024", "4096") + "\nproc/sys/fs/nr_open = 100000", "", with(broker(6), shell),
			"fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000; limits.d 1001:1001 soft nofile 100000; limits.d 1001:1001 hard nofile 100000, advised",
		},
		{"fs.nr_open allows less after the next boot", "limits.nofile", ">=500000", files("1024", "4096") + "\nproc/sys/fs/nr_open = 1048576", "", with(broker(6), func(m *Machine) {
			m.Sysctls = map[string][]host.Sysctl{"fs.nr_open": {{Key: "fs.nr_open", Value: "100000", File: "/etc/sysctl.conf"}}}
		}), "fail 1024 (≥ 500000) | /proc/7/limits: 1024 4096 → 500000 500000; kafka.service.d [Service] LimitNOFILE=100000, advised"},
		{
			"fs.nr_open allows less than the unit has", "limits.nofile", ">=500000", files("65536", "65536") + "\nproc/sys/fs/nr_open = 65536\n" + `usr/lib/systemd/system/kafka.service = [Service]\nLimitNOFILE=65536`, "", broker(6),
			"warn 65536 (≥ 500000) | /proc/7/limits: 65536 65536 → 500000 500000, advised",
		},
		{
			"the unit is the runtime's", "limits.nofile", ">=500000", files("500000", "500000") + "\n" + `usr/lib/systemd/system/containerd.service = [Service]\nLimitNOFILE=65536`, "", with(broker(6), container, func(m *Machine) { m.Process.Unit = "containerd.service" }),
			"ok 500000 (≥ 500000)",
		},
		{
			"no broker, and its unit has too few", "limits.nofile", ">=500000", `etc/systemd/system/kafka.service = [Service]\nLimitNOFILE=65536`, "", unit,
			"warn 65536 (≥ 500000) | … | /etc/systemd/system/kafka.service: 65536 → 500000; kafka.service.d [Service] LimitNOFILE=500000, advised",
		},
		{"no broker, and its unit has enough", "limits.nofile", ">=500000", `etc/systemd/system/kafka.service = [Service]\nLimitNOFILE=infinity`, "", unit, "ok unlimited (≥ 500000) | …"},
		{"no broker, and its unit says nothing", "limits.nofile", ">=500000", `etc/systemd/system/kafka.service = [Service]\nUser=kafka`, "", unit, "unknown | …"},
		{
			"no broker, and its unit cannot have more", "limits.nofile", ">=500000", `etc/systemd/system/kafka.service = [Service]\nLimitNOFILE=65536` + "\nproc/sys/fs/nr_open = 65536", "", unit,
			"warn 65536 (≥ 500000) | …",
		},
		{"left alone, and it fails", "limits.nofile", "leave", files("1024", "4096"), "", broker(6), "fail 1024 (left alone)"},
	})
}

func TestOpenFilesOfTheMachineAndOfKt(t *testing.T) {
	own := func(soft, hard string) string { return limitsFile("self", "Max open files", soft, hard) }
	lookAt(t, []row{
		{"less than the broker is to have", "fs.nr_open", "", "proc/sys/fs/nr_open = 65536", "", nil, "fail 65536 (≥ 500000) | /proc/sys/fs/nr_open: 65536 → 500000, kept"},
		{"less than its segments need", "fs.nr_open", "", "proc/sys/fs/nr_open = 1048576", "", segmentsOf(400000), "fail 1048576 (≥ 1810000) | /proc/sys/fs/nr_open: 1048576 → 1810000, kept"},

		{"plenty", "limits.nofile.client", "", own("1024", "1048576"), "", nil, "ok 1048576 (≥ 65536)"},
	})
}

func TestFilesInUse(t *testing.T) {
	open := ""
	for i := range 80 {
		open += fmt.Sprintf("\nproc/7/fd/%d = x", i)
	}
	lookAt(t, []row{
		{"few", "limits.open_files", "", limitsFile("7", "Max open files", "100000", "100000") + open, "", broker(6), "ok 80 of 100000 (≤ 70 %)"},
		{"nearly all", "limits.open_files", "", limitsFile("7", "Max open files", "100", "100") + open, "", broker(6), "warn 80 of 100 (≤ 70 %)"},
		{"a limit of nothing", "limits.open_files", "", limitsFile("7", "Max open files", "0", "0") + open, "", broker(6), "unknown | 0"},
	})
}

func TestThreads(t *testing.T) {
	user := func(soft string) string { return limitsFile("7", "Max processes", soft, soft) }
	group := func(n int64) func(*Machine) {
		return with(broker(6), func(m *Machine) { m.Cgroup = host.Cgroup{Layout: "v2", Pids: n} })
	}
	root := with(broker(6), func(m *Machine) { m.Process.UID = 0 })
	lookAt(t, []row{
		{"many", "limits.nproc", "", user("127000"), "", broker(6), "ok 127000 (≥ 32768)"},
		{"some", "limits.nproc", "", user("8192"), "", broker(6), "info 8192 (≥ 32768) | $ LimitNPROC=32768 in the broker's"},
		{"few", "limits.nproc", "", user("1024"), "", broker(6), "warn 1024 (≥ 32768) | $ LimitNPROC=32768 in the broker's"},
		{"root", "limits.nproc", "", user("1024"), "", root, "not_applicable | …"},

		{"few in the group", "limits.tasks", "", "", "", group(512), "warn 512 (≥ 32768) | $ TasksMax=32768 in the broker's"},
	})
}

func TestLockedMemory(t *testing.T) {
	large := with(broker(6), func(m *Machine) { m.Process.JVM = jvm.Flags{XX: map[string]string{"UseLargePages": "true"}} })
	locked := func(soft string) string { return limitsFile("7", "Max locked memory", soft, soft) }
	lookAt(t, []row{
		{"no large pages", "limits.memlock", "", locked("65536"), "", broker(6), "not_applicable | …"},
		{"large pages and a limit", "limits.memlock", "", locked("65536"), "", large, "info 65536 (unlimited) | $ LimitMEMLOCK=infinity in the broker's"},
	})
}

func TestTheLastFileOfAUnitWins(t *testing.T) {
	limit := func(n string) string { return "[Service]\nLimitNOFILE=" + n + "\n" }
	const usr, etc, run = "usr/lib/systemd/system/", "etc/systemd/system/", "run/systemd/"
	for _, row := range []struct {
		says  string
		unit  string
		files map[string]string
		value string
		file  string
	}{
		{"its own file", "kafka.service", map[string]string{usr + "kafka.service": limit("1")}, "1", usr + "kafka.service"},
		{
			"the administrator's file hides the package's, and other sections do not count", "kafka.service",
			map[string]string{usr + "kafka.service": limit("1"), etc + "kafka.service": "[Service]\nLimitNOFILE = 2\n[Install]\nLimitNOFILE=9\n"},
			"2", etc + "kafka.service",
		},
		{
			"a file beside it wins, the last by its name, whatever the folder", "kafka.service",
			map[string]string{etc + "kafka.service": limit("1"), usr + "kafka.service.d/90-b.conf": limit("3"), etc + "kafka.service.d/10-a.conf": limit("4")},
			"3", usr + "kafka.service.d/90-b.conf",
		},
		{
			"of two of one name that of systemctl set-property", "kafka.service",
			map[string]string{etc + "kafka.service.d/50-x.conf": limit("1"), etc[:len(etc)-1] + ".control/kafka.service.d/50-x.conf": limit("2")},
			"2", "etc/systemd/system.control/kafka.service.d/50-x.conf",
		},
		{
			"of all that begin with a prefix", "kafka-eu-1.service",
			map[string]string{etc + "kafka-eu-1.service": limit("1"), etc + "kafka-.service.d/x.conf": limit("2")},
			"2", etc + "kafka-.service.d/x.conf",
		},
		{
			"its own hides the prefix's of the same name", "kafka-eu-1.service",
			map[string]string{etc + "kafka-eu-.service.d/x.conf": limit("1"), etc + "kafka-.service.d/x.conf": limit("2")},
			"1", etc + "kafka-eu-.service.d/x.conf",
		},
		{
			"its own hides that of all services, though the folder is worth less", "kafka.service",
			map[string]string{usr + "kafka.service.d/x.conf": limit("1"), etc + "service.d/x.conf": limit("2")},
			"1", usr + "kafka.service.d/x.conf",
		},
		{
			"beside an instance", "many@1.service",
			map[string]string{etc + "many@.service": limit("7"), etc + "many@.service.d/a.conf": limit("8"), etc + "many@1.service.d/b.conf": limit("9")},
			"9", etc + "many@1.service.d/b.conf",
		},
		{"taken back", "kafka.service", map[string]string{etc + "kafka.service": limit("5") + "LimitNOFILE=\n"}, "", ""},
		{
			"what systemd gives all services, in a file beside its own", "kafka.service",
			map[string]string{"etc/systemd/system.conf": "[Manager]\nDefaultLimitNOFILE=1\n", "usr/lib/systemd/system.conf.d/x.conf": "[Manager]\nDefaultLimitNOFILE=2\n"},
			"2", "usr/lib/systemd/system.conf.d/x.conf",
		},
	} {
		tree := fstest.MapFS{}
		for name, text := range row.files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if row.file != "" {
			row.file = "/" + row.file
		}
		m := &Machine{FS: host.NewFS(tree)}
		if value, file := m.unitLimit(row.unit); value != row.value || file != row.file {
			t.Errorf("%s: unitLimit(%s) = %q in %q, want %q in %q", row.says, row.unit, value, file, row.value, row.file)
		}
	}
}

func TestLimitsOfUnits(t *testing.T) {
	for _, row := range []struct {
		text string
		want int64
		ok   bool
	}{{"65536", 65536, true}, {"1024:4096", 4096, true}, {"infinity", math.MaxInt64, true}, {"", 0, false}, {"many", 0, false}, {"-1", -1, false}} {
		if got, ok := limitOption(row.text); got != row.want || ok != row.ok {
			t.Errorf("limitOption(%q) = %d, %v, want %d, %v", row.text, got, ok, row.want, row.ok)
		}
	}
}
