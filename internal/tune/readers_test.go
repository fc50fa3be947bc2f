package tune

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
)

// TestWhatIsCountedOfAProcess is of what has too many lines for a row of readings.yaml.
func TestWhatIsCountedOfAProcess(t *testing.T) {
	files := map[string]string{"proc/7/maps": strings.Repeat("x\n", 59999), "proc/sys/vm/max_map_count": "65530"}
	for i := range 80 {
		files[fmt.Sprintf("proc/7/fd/%d", i)] = "x"
	}
	for _, row := range []struct{ says, id, limit, want string }{
		{"few", "limits.open_files", "100000", "ok 80 of 100000 (≤ 70 %)"},
		{"nearly all", "limits.open_files", "100", "warn 80 of 100 (≤ 70 %)"},
		{"a limit of nothing", "limits.open_files", "0", "unknown | 0"},
		{"more mappings than segments", "vm.max_map_count", "0", "fail 65530 (≥ 262144) | 60000 | /proc/sys/vm/max_map_count: 65530 → 262144, kept"},
	} {
		files["proc/7/limits"] = "Limit  Soft  Hard\nMax open files  " + row.limit + "  " + row.limit + "  files"
		m := &Machine{FS: treeOfFiles(files), Calls: silent{}, Profile: shipped(t, "throughput"), Dirs: []Dir{{Segments: 10}}}
		m.Process = &Process{Process: host.Process{PID: 7}}
		s := settingOf(t, row.id)
		must.Match(t, row.want, inLine(s.Check(m, m.Profile.Rule(s))), "%s: %s\n got …", row.id, row.says)
	}
}

func TestRemountsShowTheLineOfFstab(t *testing.T) {
	for _, row := range []struct{ says, fstab, want string }{
		{"with options", "# data\nUUID=1 /data xfs defaults,relatime 0 0", "in /etc/fstab: UUID=1 /data xfs defaults,noatime 0 0"},
		{"a line that is cut off", "UUID=1 /data xfs", "/etc/fstab does not name /data: add noatime where it is mounted from"},
		{"without the mount", "UUID=1 / xfs defaults 0 0", "/etc/fstab does not name /data: add noatime where it is mounted from"},
	} {
		m := &Machine{FS: treeOfFiles(map[string]string{"etc/fstab": row.fstab})}
		m.Dirs = onDisks("sda")
		m.Dirs[0].Mount.Point, m.Dirs[0].Mount.Options = "/data", []string{"rw", "relatime"}
		r := settingOf(t, "fs.noatime").Check(m, Rule{Equal, "noatime"})
		want := []Change{{Setting: "fs.noatime", Kind: Remount, Path: "/data", Old: "relatime", New: "noatime", Advice: row.want}}
		must.Match(t, want, r.Changes, "%s: changes", row.says)
	}
}

func TestListenerPorts(t *testing.T) {
	for text, want := range map[string][]int64{
		"PLAINTEXT://:9092": {9092},
		"PLAINTEXT://0.0.0.0:9092, SSL://host:9093 ,X://[::]:9094": {9092, 9093, 9094},
		"PLAINTEXT://:0":     nil, // any port
		"PLAINTEXT://:99999": nil,
		"":                   nil,
		":::,,:x":            nil,
	} {
		must.Match(t, want, listenerPorts(text), "listenerPorts(%q)", text)
	}
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
