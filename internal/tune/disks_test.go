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
		return s.Check(m, must.Have(ParseRule(row.rule))(t))
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
	tree := make(fstest.MapFS)
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return host.NewFS(refusing{tree})
}

// refusing is a tree that refuses to open files that are [denied].
type refusing struct{ fstest.MapFS }

func (r refusing) Open(name string) (fs.File, error) {
	if f := r.MapFS[name]; f != nil && strings.HasPrefix(string(f.Data), denied) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.MapFS.Open(name)
}

func (r refusing) ReadFile(name string) ([]byte, error) {
	if f := r.MapFS[name]; f != nil && strings.HasPrefix(string(f.Data), denied) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.MapFS.ReadFile(name)
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

func TestScheduler(t *testing.T) {
	const file, id = "sys/block/%s/queue/scheduler", "disk.scheduler"
	at := func(pairs ...string) map[string]string {
		files := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			files[fmt.Sprintf(file, pairs[i])] = pairs[i+1]
		}
		return files
	}
	tryAll(t, []trial{
		{says: "a hard disk has what it wants", id: id, files: at("sda", "none [mq-deadline] bfq"), set: onDisks(hard("sda")), want: "ok mq-deadline (mq-deadline)"},
		{
			says: "two hard disks of three have another", id: id, set: onDisks(hard("sda"), hard("sdb"), hard("sdc")), files: at("sda", "none mq-deadline [bfq]", "sdb", "none mq-deadline [bfq]", "sdc", "none [mq-deadline] bfq"),
			want: `warn sda,sdb: bfq (mq-deadline) | /sys/block/sda/queue/scheduler: bfq → mq-deadline, udev ATTR{wwid}=="naa.sda" | /sys/block/sdb/queue/scheduler: bfq → mq-deadline, udev ATTR{wwid}=="naa.sdb"`,
		},
		{
			says: "a hard disk has none", id: id, files: at("sda", "[none] mq-deadline"), set: onDisks(hard("sda")),
			want: `warn none (mq-deadline) | /sys/block/sda/queue/scheduler: none → mq-deadline, udev ATTR{wwid}=="naa.sda"`,
		},
		{says: "an SSD does with either", id: id, files: at("sda", "none [mq-deadline]"), set: onDisks(solid("sda")), want: "ok mq-deadline (none)"},
		{
			says: "NVMe wants none", id: id, files: at("nvme0n1", "none [mq-deadline]"), set: onDisks(solid("nvme0n1")),
			want: `warn mq-deadline (none) | /sys/block/nvme0n1/queue/scheduler: mq-deadline → none, udev KERNEL=="nvme0n1", advised`,
		},
		{
			says: "a virtual disk that claims to rotate is no hard disk, and mq-deadline is only noted", id: id, files: at("vda", "none [mq-deadline] kyber bfq"), set: onDisks(hard("vda")),
			want: `info mq-deadline (none) | /sys/block/vda/queue/scheduler: mq-deadline → none, udev ATTR{wwid}=="naa.vda"`,
		},
		{
			says: "a SCSI disk of a virtual machine may have either", id: id, files: at("sda", "none [mq-deadline]"), set: func(m *Machine) { m.Virtual = "vmware"; onDisks(hard("sda"))(m) },
			want: "ok mq-deadline (none)",
		},
		{
			says: "an old kernel has other names", id: id, files: at("sda", "noop deadline [cfq]"), set: onDisks(hard("sda")),
			want: `warn cfq (deadline) | /sys/block/sda/queue/scheduler: cfq → deadline, udev ATTR{wwid}=="naa.sda"`,
		},
		{says: "a driver without a choice", id: id, files: at("nvme0n1", "none"), set: onDisks(solid("nvme0n1")), want: "not_applicable none | nvme0n1"},
		{
			says: "a disk with zones is left alone", id: id, set: onDisks(hard("sda")), files: map[string]string{"sys/block/sda/queue/scheduler": "none [mq-deadline]", "sys/block/sda/queue/zoned": "host-managed"},
			want: "not_applicable mq-deadline | …",
		},
		{says: "a loop device", id: id, files: at("loop0", "[none] mq-deadline"), set: onDisks(solid("loop0")), want: "not_applicable none | loop0"},
		{says: "the kernel lacks what is wanted", id: id, files: at("sda", "[bfq] kyber"), set: onDisks(hard("sda")), want: "warn bfq (mq-deadline) | …"},
		{says: "a laptop is left alone", id: id, profile: "minimal", files: at("sda", "none mq-deadline [bfq]"), set: onDisks(hard("sda")), want: "info bfq (left alone)"},
		{says: "the file has a list without a choice", id: id, files: at("sda", "a b"), set: onDisks(hard("sda")), want: "unknown | sys/block/sda/queue/scheduler"},
		{says: "the file is empty", id: id, files: at("sda", ""), set: onDisks(hard("sda")), want: "unknown | sys/block/sda/queue/scheduler"},
		{says: "there is no file", id: id, set: onDisks(hard("sda")), want: "not_applicable | …"},
		{says: "a directory that may not be looked at", id: id, set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data", Err: fs.ErrPermission}} }, want: "unknown | /data"},
		{says: "a directory on no disk", id: id, set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data", Mount: host.Mount{Type: "nfs"}}} }, want: "not_applicable | …"},
	})
}

func TestSchedulersOfAProfileOfOnesOwn(t *testing.T) {
	m := &Machine{FS: treeOfFiles(map[string]string{"sys/block/nvme0n1/queue/scheduler": "[none] kyber"})}
	onDisks(solid("nvme0n1"))(m)
	got := settingOf(t, "disk.scheduler").Check(m, Rule{Equal, "kyber"})
	if got.Verdict != Warn || len(got.Changes) != 1 || got.Changes[0].New != "kyber" {
		t.Errorf("a profile that wants kyber: %+v, want a change to it", got)
	}
}

func TestQueueChangesLastByUdev(t *testing.T) {
	for _, row := range []struct {
		says   string
		disk   host.Disk
		rule   string
		advice bool
	}{
		{
			"a disk with an identity", hard("sda"),
			`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", ATTR{wwid}=="naa.sda", ATTR{queue/nomerges}="0"`, false,
		},
		{
			"a disk that has only its name", solid("sdb"),
			`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="sdb", ATTR{queue/nomerges}="0"`, true,
		},
	} {
		m := &Machine{FS: treeOfFiles(map[string]string{"sys/block/" + row.disk.Name + "/queue/nomerges": "2"})}
		onDisks(row.disk)(m)
		r := settingOf(t, "disk.nomerges").Check(m, Rule{Equal, "0"})
		if len(r.Changes) != 1 {
			t.Fatalf("%s: %+v, want one change", row.says, r)
		}
		c := r.Changes[0]
		must.Match(t, []Line{{File: UdevFile, Text: row.rule}}, c.Keep, "%s: it is kept by", row.says)
		if (c.Advice != "") != row.advice {
			t.Errorf("%s: its advice is %q", row.says, c.Advice)
		}
	}
}

func TestQueues(t *testing.T) {
	queue := func(attribute, value string) map[string]string {
		return map[string]string{"sys/block/sda/queue/" + attribute: value}
	}
	tryAll(t, []trial{
		{says: "requests are merged", id: "disk.nomerges", files: queue("nomerges", "0"), set: onDisks(hard("sda")), want: "ok 0 (0)"},
		{
			says: "none are", id: "disk.nomerges", files: queue("nomerges", "2"), set: onDisks(hard("sda")),
			want: `warn 2 (0) | /sys/block/sda/queue/nomerges: 2 → 0, udev ATTR{wwid}=="naa.sda"`,
		},
		{
			says: "some are", id: "disk.nomerges", files: queue("nomerges", "1"), set: onDisks(hard("sda")),
			want: `info 1 (0) | /sys/block/sda/queue/nomerges: 1 → 0, udev ATTR{wwid}=="naa.sda"`,
		},
		{says: "merges of a laptop", id: "disk.nomerges", profile: "minimal", files: queue("nomerges", "2"), set: onDisks(hard("sda")), want: "info 2 (left alone)"},

		{says: "a long queue", id: "disk.nr_requests", files: queue("nr_requests", "256"), set: onDisks(hard("sda")), want: "ok 256 (≥ 128)"},
		{says: "a short queue", id: "disk.nr_requests", files: queue("nr_requests", "32"), set: onDisks(hard("sda")), want: "info 32 (≥ 128)"},
		{
			says: "a short queue without a scheduler", id: "disk.nr_requests", set: onDisks(hard("sda")), files: map[string]string{"sys/block/sda/queue/nr_requests": "32", "sys/block/sda/queue/scheduler": "[none] bfq"},
			want: "not_applicable | …",
		},
		{says: "throttled", id: "disk.wbt", files: queue("wbt_lat_usec", "75000"), set: onDisks(hard("sda")), want: "info 75000 µs"},
		{says: "not throttled", id: "disk.wbt", files: queue("wbt_lat_usec", "0"), set: onDisks(hard("sda")), want: "ok off"},
		{says: "a safe cache", id: "disk.write_cache", files: queue("write_cache", "write through"), set: onDisks(hard("sda")), want: "ok write through"},
		{says: "a cache to flush", id: "disk.write_cache", files: queue("write_cache", "write back"), set: onDisks(hard("sda")), want: "info write back"},
		{says: "a cache of another kind", id: "disk.write_cache", files: queue("write_cache", "write off"), set: onDisks(hard("sda")), want: "unknown | sys/block/sda/queue/write_cache"},
		{says: "it rotates", id: "disk.rotational", files: queue("rotational", "1"), set: onDisks(hard("sda")), want: "info rotates"},
		{says: "it does not", id: "disk.rotational", files: queue("rotational", "0"), set: onDisks(solid("sda")), want: "ok does not rotate"},
		{
			says: "a virtual disk reported as a hard disk", id: "disk.rotational", set: onDisks(hard("vda")), files: map[string]string{"sys/block/vda/queue/rotational": "1"},
			want: "info reported as a hard disk | …",
		},
		{says: "a disk without errors", id: "disk.errors", set: onDisks(hard("sda")), files: map[string]string{"sys/block/sda/device/ioerr_cnt": "0x0"}, want: "ok 0 (0)"},
		{says: "a disk with errors", id: "disk.errors", set: onDisks(hard("sda")), files: map[string]string{"sys/block/sda/device/ioerr_cnt": "0x1f"}, want: "info 31 (0) | $ smartctl -x /dev/sda"},
		{says: "NVMe counts no errors there", id: "disk.errors", set: onDisks(solid("nvme0n1")), want: "not_applicable | …"},
	})
}

func TestReadAhead(t *testing.T) {
	const id = "disk.read_ahead_kb"
	ebs := host.Disk{Name: "nvme1n1", Model: "Amazon Elastic Block Store", Match: `ATTR{wwid}=="e"`, Stable: true}
	over := func(device, layer string) func(*Machine) {
		return func(m *Machine) {
			onDisks(hard("sda"))(m)
			m.Dirs[0].Storage.Device, m.Dirs[0].Storage.Layers = device, []string{layer}
		}
	}
	tryAll(t, []trial{
		{
			says: "a hard disk is raised", id: id, files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "128"}, set: onDisks(hard("sda")),
			want: `info 128 (≥ 1024) | /sys/block/sda/queue/read_ahead_kb: 128 → 1024, udev ATTR{wwid}=="naa.sda"`,
		},
		{says: "more is not lowered", id: id, files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "4096"}, set: onDisks(hard("sda")), want: "ok 4096 (≥ 1024)"},
		{
			says: "an EBS volume is raised", id: id, files: map[string]string{"sys/block/nvme1n1/queue/read_ahead_kb": "128"}, set: onDisks(ebs),
			want: `info 128 (≥ 1024) | /sys/block/nvme1n1/queue/read_ahead_kb: 128 → 1024, udev ATTR{wwid}=="e"`,
		},
		{says: "NVMe keeps the kernel's", id: id, files: map[string]string{"sys/block/nvme0n1/queue/read_ahead_kb": "128"}, set: onDisks(solid("nvme0n1")), want: "ok 128 (≥ 128)"},
		{
			says: "NVMe with less", id: id, files: map[string]string{"sys/block/nvme0n1/queue/read_ahead_kb": "8"}, set: onDisks(solid("nvme0n1")),
			want: `info 8 (≥ 128) | /sys/block/nvme0n1/queue/read_ahead_kb: 8 → 128, udev KERNEL=="nvme0n1", advised`,
		},
		{says: "latency asks for less", id: id, profile: "latency", files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "128"}, set: onDisks(hard("sda")), want: "ok 128 (≥ 128)"},
		{
			says: "under md the array counts", id: id, set: over("md0", "raid10"), files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "4096", "sys/block/md0/queue/read_ahead_kb": "512"},
			want: `info 512 (≥ 1024) | /sys/block/md0/queue/read_ahead_kb: 512 → 1024, udev KERNEL=="md0", advised`,
		},
		{
			says: "under the device mapper too", id: id, set: over("dm-0", "lvm"), files: map[string]string{"sys/block/dm-0/dm/name": "vg-kafka", "sys/block/dm-0/queue/read_ahead_kb": "128"},
			want: `info 128 (≥ 1024) | /sys/block/dm-0/queue/read_ahead_kb: 128 → 1024, udev ENV{DM_NAME}=="vg-kafka"`,
		},
		{says: "a part of a page is a page", id: id, rule: ">=1025", files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "2048"}, set: onDisks(hard("sda")), want: "ok 2048 (≥ 1028)"},
		{says: "a fast disk may have less", id: id, rule: ">=10", files: map[string]string{"sys/block/nvme0n1/queue/read_ahead_kb": "16"}, set: onDisks(solid("nvme0n1")), want: "ok 16 (≥ 12)"},
		{says: "a laptop", id: id, profile: "minimal", files: map[string]string{"sys/block/sda/queue/read_ahead_kb": "16"}, set: onDisks(hard("sda")), want: "info 16 (left alone)"},
	})
}

func TestOneReadingOfSeveral(t *testing.T) {
	of := func(name string, v Verdict, current, note string) part {
		return part{name, Reading{Verdict: v, Current: current, Note: note}}
	}
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
		{
			"what is not known is said once, with those it is not known of",
			[]part{of("/a", Unknown, "", "needs root"), of("/b", OK, "xfs", ""), of("/c", Unknown, "", "needs root")},
			"unknown  | /a,/c: needs root",
		},
		{
			"of many the first are named",
			[]part{of("/a", Unknown, "", "needs root"), of("/b", Unknown, "", "needs root"), of("/c", Unknown, "", "needs root"), of("/d", Unknown, "", "needs root"), of("/e", Unknown, "", "needs root")},
			"unknown  | /a,/b,/c and 2 more: needs root",
		},
		{
			"two reasons",
			[]part{of("/a", Unknown, "", "needs root"), of("/b", Unknown, "", "the size is not known")},
			"unknown  | /a: needs root; /b: the size is not known",
		},
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
