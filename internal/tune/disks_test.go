package tune

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// trial is one setting on one machine, and what the check says in one line: see inLine.
type trial struct {
	says    string
	id      string
	profile string            // "throughput" when it is ""
	rule    string            // "": the profile's
	files   map[string]string // of the machine
	set     func(m *Machine)  // what is known of it besides
	want    string
}

// tryAll checks each trial's setting.
func tryAll(t *testing.T, trials []trial) {
	t.Helper()
	for _, row := range trials {
		if got := inLine(row.check(t)); got != row.want {
			t.Errorf("%s: %s\n got %s\nwant %s", row.id, row.says, got, row.want)
		}
	}
}

// check is what the setting reads there.
func (row trial) check(t *testing.T) Reading {
	t.Helper()
	name := row.profile
	if name == "" {
		name = "throughput"
	}
	profile := must.Have(LoadProfile(name, profiles.Of("tune"), nil))(t)
	m := &Machine{FS: treeOfFiles(row.files), Role: Broker, Profile: profile}
	if row.set != nil {
		row.set(m)
	}
	s := settingOf(t, row.id)
	if row.rule != "" {
		return s.Check(m, must.Have(ParseRule(strings.TrimPrefix(row.rule, "leave")))(t))
	}
	return s.Check(m, profile.Rule(s))
}

func settingOf(t *testing.T, id string) *Setting {
	t.Helper()
	return must.Have(Find(Catalogue(), id))(t)
}

// groups are the rows of some groups.
func groups(of ...Group) (all []*Setting) {
	for _, s := range Catalogue() {
		if slices.Contains(of, s.Group) {
			all = append(all, s)
		}
	}
	return all
}

// denied is the content of a file that may not be read.
const denied = "\x00denied"

// treeOfFiles is a machine whose files hold a line each.
func treeOfFiles(files map[string]string) host.FS {
	tree, denials := make(fstest.MapFS), []string(nil)
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text + "\n")}
		if text == denied {
			denials = append(denials, name)
		}
	}
	return host.NewFS(sight{FS: tree, denied: denials})
}

// onDisks gives a machine a log directory on each of some disks, as xfs.
func onDisks(disks ...host.Disk) func(*Machine) {
	return func(m *Machine) {
		for i, d := range disks {
			point := fmt.Sprintf("/data%d", i+1)
			m.Dirs = append(m.Dirs, Dir{
				Path:    point + "/kafka",
				Mount:   host.Mount{Point: point, Root: "/", Type: "xfs", Source: "/dev/" + d.Name, Major: 8, Minor: 16 * (i + 1), Options: []string{"rw", "noatime"}, Super: []string{"rw"}},
				Storage: host.Storage{Device: d.Name, Disks: []host.Disk{d}},
				Space:   host.Space{Total: 1 << 40, Free: 1 << 39, Files: 1000, FreeFiles: 900},
			})
		}
	}
}

func hard(name string) host.Disk {
	return host.Disk{Name: name, Rotational: true, Match: fmt.Sprintf(`ATTR{wwid}=="naa.%s"`, name), Stable: true}
}

func solid(name string) host.Disk {
	return host.Disk{Name: name, Match: fmt.Sprintf("KERNEL==%q", name)}
}

// TestQueuesOfDisks tries what the files of a disk hold. A disk by the name of sds is an SSD.
func TestQueuesOfDisks(t *testing.T) {
	kinds := map[string]host.Disk{"sds": solid("sds"), "nvme0n1": solid("nvme0n1"), "loop0": solid("loop0")}
	for _, row := range []struct{ says, id, rule, disk, value, want string }{
		{"a hard disk has what it wants", "scheduler", "", "sda", "none [mq-deadline] bfq", "ok mq-deadline (mq-deadline)"},
		{"a hard disk has none", "scheduler", "", "sda", "[none] mq-deadline", `warn none (mq-deadline) | /sys/block/sda/queue/scheduler: none → mq-deadline, udev ATTR{wwid}=="naa.sda"`},
		{"an SSD does with either", "scheduler", "", "sds", "none [mq-deadline]", "ok mq-deadline (none)"},
		{"NVMe wants none", "scheduler", "", "nvme0n1", "none [mq-deadline]", `warn mq-deadline (none) | /sys/block/nvme0n1/queue/scheduler: mq-deadline → none, udev KERNEL=="nvme0n1", advised`},
		{"mq-deadline of a virtual disk is only noted, whether it claims to rotate or not", "scheduler", "", "vda", "none [mq-deadline] bfq", `info mq-deadline (none) | /sys/block/vda/queue/scheduler: mq-deadline → none, udev ATTR{wwid}=="naa.vda"`},
		{"an old kernel has other names", "scheduler", "", "sda", "noop deadline [cfq]", `warn cfq (deadline) | /sys/block/sda/queue/scheduler: cfq → deadline, udev ATTR{wwid}=="naa.sda"`},
		{"a profile of one's own", "scheduler", "kyber", "nvme0n1", "[none] kyber", `warn none (kyber) | /sys/block/nvme0n1/queue/scheduler: none → kyber, udev KERNEL=="nvme0n1", advised`},
		{"a driver without a choice", "scheduler", "", "nvme0n1", "none", "not_applicable none | nvme0n1"},
		{"a loop device", "scheduler", "", "loop0", "[none] mq-deadline", "not_applicable none | loop0"},
		{"the kernel lacks what is wanted", "scheduler", "", "sda", "[bfq] kyber", "warn bfq (mq-deadline) | …"},
		{"a laptop is left alone", "scheduler", "leave", "sda", "none mq-deadline [bfq]", "info bfq (left alone)"},
		{"a list without a choice", "scheduler", "", "sda", "a b", "unknown | sys/block/sda/queue/scheduler"},
		{"an empty file", "scheduler", "", "sda", "", "unknown | sys/block/sda/queue/scheduler"},
		{"requests are merged", "nomerges", "", "sda", "0", "ok 0 (0)"},
		{"none are", "nomerges", "", "sda", "2", `warn 2 (0) | /sys/block/sda/queue/nomerges: 2 → 0, udev ATTR{wwid}=="naa.sda"`},
		{"some are", "nomerges", "", "sda", "1", `info 1 (0) | /sys/block/sda/queue/nomerges: 1 → 0, udev ATTR{wwid}=="naa.sda"`},
		{"a long queue", "nr_requests", "", "sda", "256", "ok 256 (≥ 128)"},
		{"a short queue", "nr_requests", "", "sda", "32", "info 32 (≥ 128)"},
		{"throttled", "wbt", "", "sda", "75000", "info 75000 µs"},
		{"not throttled", "wbt", "", "sda", "0", "ok off"},
		{"a safe cache", "write_cache", "", "sda", "write through", "ok write through"},
		{"a cache to flush", "write_cache", "", "sda", "write back", "info write back"},
		{"a cache of another kind", "write_cache", "", "sda", "write off", "unknown | sys/block/sda/queue/write_cache"},
		{"it rotates", "rotational", "", "sda", "1", "info rotates"},
		{"it does not", "rotational", "", "sds", "0", "ok does not rotate"},
		{"a virtual disk reported as a hard disk", "rotational", "", "vda", "1", "info reported as a hard disk | …"},
		{"no errors", "errors", "", "sda", "0x0", "ok 0 (0)"},
		{"errors", "errors", "", "sda", "0x1f", "info 31 (0) | $ smartctl -x /dev/sda"},
		{"a hard disk is raised", "read_ahead_kb", "", "sda", "128", `info 128 (≥ 1024) | /sys/block/sda/queue/read_ahead_kb: 128 → 1024, udev ATTR{wwid}=="naa.sda"`},
		{"more is not lowered", "read_ahead_kb", "", "sda", "4096", "ok 4096 (≥ 1024)"},
		{"NVMe keeps the kernel's", "read_ahead_kb", "", "nvme0n1", "128", "ok 128 (≥ 128)"},
		{"NVMe with less", "read_ahead_kb", "", "nvme0n1", "8", `info 8 (≥ 128) | /sys/block/nvme0n1/queue/read_ahead_kb: 8 → 128, udev KERNEL=="nvme0n1", advised`},
		{"a part of a page is a page", "read_ahead_kb", ">=1025", "sda", "2048", "ok 2048 (≥ 1028)"},
		{"a fast disk may have less", "read_ahead_kb", ">=10", "nvme0n1", "16", "ok 16 (≥ 12)"},
		{"left alone", "read_ahead_kb", "leave", "sda", "16", "info 16 (left alone)"},
	} {
		disk, solid := kinds[row.disk]
		if !solid {
			disk = hard(row.disk)
		}
		file := strings.Replace(settingOf(t, "disk."+row.id).Reads[0], "DISK", row.disk, 1)
		tryAll(t, []trial{{says: row.says, id: "disk." + row.id, rule: row.rule, files: map[string]string{file[1:]: row.value}, set: onDisks(disk), want: row.want}})
	}
}

func TestDisksBesideTheirQueues(t *testing.T) {
	const scheduler, ahead = "disk.scheduler", "disk.read_ahead_kb"
	at := func(device, attribute string) string { return "sys/block/" + device + "/queue/" + attribute }
	ebs := host.Disk{Name: "nvme1n1", Model: "Amazon Elastic Block Store", Match: `ATTR{wwid}=="e"`, Stable: true}
	over := func(device, layer string) func(*Machine) {
		return func(m *Machine) {
			onDisks(hard("sda"))(m)
			m.Dirs[0].Storage.Device, m.Dirs[0].Storage.Layers = device, []string{layer}
		}
	}
	tryAll(t, []trial{
		{
			says: "two hard disks of three have another scheduler", id: scheduler, set: onDisks(hard("sda"), hard("sdb"), hard("sdc")),
			files: map[string]string{at("sda", "scheduler"): "mq-deadline [bfq]", at("sdb", "scheduler"): "mq-deadline [bfq]", at("sdc", "scheduler"): "[mq-deadline] bfq"},
			want:  `warn sda,sdb: bfq (mq-deadline) | /sys/block/sda/queue/scheduler: bfq → mq-deadline, udev ATTR{wwid}=="naa.sda" | /sys/block/sdb/queue/scheduler: bfq → mq-deadline, udev ATTR{wwid}=="naa.sdb"`,
		},
		{
			says: "a SCSI disk of a virtual machine may have either", id: scheduler, files: map[string]string{at("sda", "scheduler"): "none [mq-deadline]"},
			set: with(onDisks(hard("sda")), func(m *Machine) { m.Virtual = "vmware" }), want: "ok mq-deadline (none)",
		},
		{
			says: "a disk with zones is left alone", id: scheduler, set: onDisks(hard("sda")), files: map[string]string{at("sda", "scheduler"): "none [mq-deadline]", at("sda", "zoned"): "host-managed"},
			want: "not_applicable mq-deadline | …",
		},
		{says: "there is no file", id: scheduler, set: onDisks(hard("sda")), want: "not_applicable | …"},
		{says: "a directory that may not be looked at", id: scheduler, set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data", Err: fs.ErrPermission}} }, want: "unknown | /data"},
		{says: "a directory on no disk", id: scheduler, set: onType("nfs"), want: "not_applicable | …"},
		{
			says: "a short queue without a scheduler", id: "disk.nr_requests", set: onDisks(hard("sda")), files: map[string]string{at("sda", "nr_requests"): "32", at("sda", "scheduler"): "[none] bfq"},
			want: "not_applicable | …",
		},
		{
			says: "the read-ahead of an EBS volume is raised", id: ahead, files: map[string]string{at("nvme1n1", "read_ahead_kb"): "128"}, set: onDisks(ebs),
			want: `info 128 (≥ 1024) | /sys/block/nvme1n1/queue/read_ahead_kb: 128 → 1024, udev ATTR{wwid}=="e"`,
		},
		{
			says: "under md the array counts", id: ahead, set: over("md0", "raid10"), files: map[string]string{at("sda", "read_ahead_kb"): "4096", at("md0", "read_ahead_kb"): "512"},
			want: `info 512 (≥ 1024) | /sys/block/md0/queue/read_ahead_kb: 512 → 1024, udev KERNEL=="md0", advised`,
		},
		{
			says: "under the device mapper too", id: ahead, set: over("dm-0", "lvm"), files: map[string]string{"sys/block/dm-0/dm/name": "vg-kafka", at("dm-0", "read_ahead_kb"): "128"},
			want: `info 128 (≥ 1024) | /sys/block/dm-0/queue/read_ahead_kb: 128 → 1024, udev ENV{DM_NAME}=="vg-kafka"`,
		},
	})
}

func TestOneReadingOfSeveral(t *testing.T) {
	of := func(name string, v Verdict, current, note string) part {
		return part{name, Reading{Verdict: v, Current: current, Note: note}}
	}
	root := func(name string) part { return of(name, Unknown, "", needsRoot) }
	shown := func(r Reading) string {
		return strings.TrimSuffix(fmt.Sprintf("%s %s | %s", r.Verdict, r.Current, r.Note), " | ")
	}
	for _, row := range []struct {
		says  string
		parts []part
		want  string
	}{
		{"all alike", []part{of("sda", OK, "0", ""), of("sdb", OK, "0", "")}, "ok 0"},
		{"the worst counts", []part{of("sda", OK, "0", "good"), of("sdb", Warn, "2", "bad")}, "warn sdb: 2 | bad"},
		{"what is not known is said once, with those it is not known of", []part{root("/a"), of("/b", OK, "xfs", ""), root("/c")}, "unknown  | /a,/c: needs root"},
		{"of many the first are named", []part{root("/a"), root("/b"), root("/c"), root("/d"), root("/e")}, "unknown  | /a,/b,/c and 2 more: needs root"},
		{"two reasons", []part{root("/a"), of("/b", Unknown, "", "no size")}, "unknown  | /a: needs root; /b: no size"},
		{"a reason that has the name in it", []part{of("eth0", Unknown, "", "eth0: no counters")}, "unknown  | eth0: no counters"},
	} {
		if got := shown(together(row.parts)); got != row.want {
			t.Errorf("%s: together(…)\n got %s\nwant %s", row.says, got, row.want)
		}
	}
}

// Whoever can read nothing, or reads nonsense, may neither praise nor blame.
func TestMachinesThatTellNothingOrNonsenseAreNotJudged(t *testing.T) {
	garbage, refused := make(map[string]string), make(map[string]string)
	names := strings.NewReplacer("DISK", "sda", "CARD", "eth0", "BOND", "bond0", "DEVICE", "sda", "mdN", "md0", "-N", "-0", "PID", "7", "cpu*", "cpu0", "state*", "state1", "node*", "node0")
	for _, s := range Catalogue() {
		for _, name := range s.Reads {
			if name = names.Replace(name); strings.HasPrefix(name, "/") && !strings.ContainsAny(name, "*…:") {
				garbage[strings.TrimPrefix(name, "/")], refused[strings.TrimPrefix(name, "/")] = "\x00[] ] 12x -", denied
			}
		}
	}
	for _, folder := range []string{"sys/class/net/eth0/statistics", "etc/systemd/system/timers.target.wants"} {
		delete(garbage, folder)
		delete(refused, folder)
	}
	disks := []Dir{{Path: "/x", Mount: host.Mount{Type: "ext4"}, Storage: host.Storage{Device: "sda", Disks: []host.Disk{hard("sda")}}}}
	for _, profile := range ProfileNames(profiles.Of("tune")) {
		p := shipped(t, profile)
		for says, m := range map[string]*Machine{
			"an empty machine":                {FS: treeOfFiles(nil), Calls: silent{}, Profile: p},
			"an empty machine with a process": {FS: treeOfFiles(nil), Calls: silent{}, Profile: p, Process: &Process{Process: host.Process{OptionsErr: fs.ErrPermission}, PerfErr: fs.ErrPermission}, Config: Config{Err: fs.ErrPermission}, Dirs: []Dir{{Err: fs.ErrNotExist}}},
			"garbage":                         {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Kernel: "5.x", MemTotal: -5, Memory: -5, CPUs: -1},
			"garbage and disks":               {FS: treeOfFiles(garbage), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
			"files that may not be read":      {FS: treeOfFiles(refused), Calls: silent{}, Profile: p, Role: Broker, Dirs: disks, NICs: []NIC{{Name: "eth0"}}, Logical: 4},
		} {
			for _, s := range Catalogue() {
				r := s.Check(m, p.Rule(s))
				if slices.Contains([]Verdict{OK, Warn, Fail}, r.Verdict) && !knownWithoutFiles[s.ID] {
					t.Errorf("%s, %s on %s: %+v, want neither good nor bad", profile, s.ID, says, r)
				}
				if r.Note == "" && r.Verdict != Info && !knownWithoutFiles[s.ID] || len(r.Changes) > 0 {
					t.Errorf("%s, %s on %s: %+v, want a reason and no change", profile, s.ID, says, r)
				}
			}
		}
	}
}

// knownWithoutFiles are the settings that need no file for their verdict on the machines of
// the test above: what its log directory is on is known, and nothing tells of a container.
var knownWithoutFiles = map[string]bool{
	"context.container": true, "disk.shared": true, "disk.raid": true, "disk.network_fs": true, "disk.overlay_tmpfs": true, "fs.type": true,
}
