package tune

import (
	"io/fs"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/host/jvm"
)

// layered gives a machine one log directory over layers and disks.
func layered(layers []string, disks ...host.Disk) func(*Machine) {
	return func(m *Machine) {
		onDisks(disks[0])(m)
		m.Dirs[0].Storage = host.Storage{Device: "md0", Disks: disks, Layers: layers}
	}
}

// onType gives a machine one log directory on a file system without a disk.
func onType(name string) func(*Machine) {
	return func(m *Machine) {
		m.Dirs = []Dir{{
			Path:  "/data",
			Mount: host.Mount{Point: "/data", Root: "/", Type: name, Options: []string{"rw", "relatime"}},
			Space: host.Space{Total: 1 << 40, Free: 1 << 39},
		}}
	}
}

func TestSharedDisks(t *testing.T) {
	apart := onDisks(hard("sda"), hard("sdb"))
	together := onDisks(hard("sda"), hard("sda"))
	tryAll(t, []trial{
		{says: "one directory", id: "disk.shared", set: onDisks(hard("sda")), want: "ok one log directory"},
		{says: "two disks", id: "disk.shared", set: apart, want: "ok each on its own"},
		{says: "two directories on one disk", id: "disk.shared", set: together, want: "warn shared: sda (a disk each) | /data1/kafka /data2/kafka | $ log.dirs with one directory"},
		{says: "and on a laptop", id: "disk.shared", profile: "minimal", set: together, want: "info shared: sda (left alone) | /data1/kafka /data2/kafka"},
		{
			says: "two directories of one network share", id: "disk.shared", set: func(m *Machine) { onType("nfs")(m); m.Dirs = append(m.Dirs, m.Dirs[0]) },
			want: "warn shared: nfs (device 0:0) (a disk each) | /data /data | $ log.dirs with one directory",
		},
		{says: "one of two may not be looked at", id: "disk.shared", set: func(m *Machine) { apart(m); m.Dirs[1] = Dir{Path: "/secret", Err: fs.ErrPermission} }, want: "unknown | /secret"},
	})
}

func TestTheSystemsDisk(t *testing.T) {
	const (
		mounts = "proc/self/mountinfo"
		root   = "1 0 8:1 / / rw - ext4 /dev/sda1 rw"
	)
	files := map[string]string{mounts: root, "sys/block/sda/dev": "8:0", "sys/block/sda/sda1/dev": "8:1"}
	runs := func(m *Machine) { m.Process = runningWith("-Dkafka.logs.dir=/var/log/kafka") }
	tryAll(t, []trial{
		{says: "disks of their own", id: "disk.system", files: files, set: onDisks(hard("sdb")), want: "ok on disks of their own"},
		{says: "another partition of the system's disk", id: "disk.system", files: files, set: onDisks(hard("sdb"), hard("sda")), want: "warn /data2/kafka: on sda (a disk of its own) | …"},
		{says: "a container", id: "disk.system", files: files, set: func(m *Machine) { m.Container = "docker"; onDisks(hard("sda"))(m) }, want: "not_applicable | /"},
		{says: "no root among the mounts", id: "disk.system", files: map[string]string{mounts: "1 0 8:1 / /x rw - ext4 /dev/sda1 rw"}, set: onDisks(hard("sda")), want: "unknown | /data1/kafka /"},
		{says: "no directory", id: "disk.system", files: files, want: "not_applicable | …"},

		{says: "the broker's log files are beside", id: "disk.broker_log", files: files, set: with(onDisks(hard("sda")), runs), want: "info on sda (a disk of its own) | /var/log/kafka"},
		{says: "the broker's log files are elsewhere", id: "disk.broker_log", files: files, set: with(onDisks(hard("sdb")), runs), want: "ok on disks of their own"},
		{says: "the broker does not say where", id: "disk.broker_log", files: files, set: with(broker(6), onDisks(hard("sdb"))), want: "not_applicable | …"},
		{says: "no broker", id: "disk.broker_log", files: files, set: onDisks(hard("sda")), want: "not_applicable | …"},
	})
}

func runningWith(args ...string) *Process {
	args = append([]string{"java"}, args...)
	return &Process{Process: host.Process{PID: 7, Args: args}, JVM: jvm.ParseFlags(args)}
}

func TestRAID(t *testing.T) {
	a, b, c := hard("sda"), hard("sdb"), hard("sdc")
	tryAll(t, []trial{
		{says: "a single disk", id: "disk.raid", set: onDisks(a), want: "ok no RAID"},
		{says: "RAID 10", id: "disk.raid", set: layered([]string{"raid10"}, a, b), want: "ok raid10"},
		{says: "RAID 5", id: "disk.raid", set: layered([]string{"raid5"}, a, b, c), want: "warn raid5 (single disks,) | …"},
		{says: "RAID 6 under LVM", id: "disk.raid", set: layered([]string{"lvm", "raid6"}, a, b, c), want: "warn lvm on raid6 (single disks,) | …"},
		{says: "RAID 0", id: "disk.raid", set: layered([]string{"raid0"}, a, b, c), want: "warn raid0 (a log directory for each disk) | 3"},
		{says: "RAID 0 of one disk", id: "disk.raid", set: layered([]string{"raid0"}, a), want: "ok raid0"},
		{says: "a volume over two disks", id: "disk.raid", set: layered([]string{"lvm"}, a, b), want: "info lvm (a log directory for each disk) | 2"},
		{says: "two paths to one disk", id: "disk.raid", set: layered([]string{"multipath"}, a, b), want: "ok multipath"},
		{says: "encryption", id: "disk.raid", set: layered([]string{"crypt"}, a), want: "info crypt | …"},
		{says: "not visible", id: "disk.raid", set: onType("nfs"), want: "not_applicable | …"},
	})
	for _, row := range []struct{ says, degraded, action, want string }{
		{"a whole array", "0", "idle", "ok complete"},
		{"it has lost a disk", "1", "idle", "warn 1 missing (0 missing) | md0 | $ mdadm --detail /dev/md0"},
		{"a copy is under way", "0", "resync", "warn resync (idle) | md0"},
		{"the check of the month", "0", "check", "info check (idle) | md0"},
		{"garbage", "x", "idle", "unknown | sys/block/md0/md/degraded"},
	} {
		files := map[string]string{"sys/block/md0/md/degraded": row.degraded, "sys/block/md0/md/sync_action": row.action}
		tryAll(t, []trial{{says: row.says, id: "disk.raid_health", files: files, want: row.want}})
	}
	tryAll(t, []trial{{says: "RAID 0 has no state", id: "disk.raid_health", files: map[string]string{"sys/block/md0/md/level": "raid0"}, want: "not_applicable | md0"}})
}

func TestKindsOfFileSystems(t *testing.T) {
	byMagic := func(magic int64) func(*Machine) {
		return func(m *Machine) { m.Dirs = []Dir{{Path: "/data", Space: host.Space{Magic: magic}}} }
	}
	tryAll(t, []trial{
		{says: "a disk is not the network", id: "disk.network_fs", set: onDisks(hard("sda")), want: "ok xfs"},
		{says: "NFS", id: "disk.network_fs", set: onType("nfs4"), want: "fail nfs4 (xfs) | …"},
		{says: "FUSE", id: "disk.network_fs", set: onType("fuse.s3fs"), want: "fail fuse.s3fs (xfs) | …"},
		{says: "NFS by its number", id: "disk.network_fs", set: byMagic(0x6969), want: "fail nfs (xfs) | …"},
		{says: "not known", id: "disk.network_fs", set: byMagic(0), want: "unknown | /data"},
		{says: "a container's own layer", id: "disk.overlay_tmpfs", set: onType("overlay"), want: "fail overlay (xfs) | …"},
		{says: "memory", id: "disk.overlay_tmpfs", set: onType("tmpfs"), want: "fail tmpfs (xfs) | …"},
		{says: "a device of memory", id: "disk.overlay_tmpfs", set: func(m *Machine) {
			m.Dirs = []Dir{{Path: "/data", Mount: host.Mount{Type: "ext4"}, Storage: host.Storage{Memory: "loop0 in tmpfs"}}}
		}, want: "fail ext4 on loop0 in tmpfs (a disk) | …"},
		{says: "memory by its number", id: "disk.overlay_tmpfs", set: byMagic(0x01021994), want: "fail tmpfs (xfs) | …"},
		{says: "a disk lasts", id: "disk.overlay_tmpfs", set: onDisks(hard("sda")), want: "ok xfs"},
		{says: "NFS lasts", id: "disk.overlay_tmpfs", set: onType("nfs"), want: "ok nfs"},
		{says: "one that kt does not know", id: "disk.overlay_tmpfs", set: onType("newfs"), want: "ok newfs"},
	})
}

func TestCloudDisks(t *testing.T) {
	disk := func(name, model string) host.Disk { return host.Disk{Name: name, Model: model} }
	ebs := disk("nvme1n1", "Amazon Elastic Block Store              ")
	timeout := "sys/module/nvme_core/parameters/io_timeout"
	limited := func(lines ...string) func(*Machine) {
		return func(m *Machine) { m.Cgroup = host.Cgroup{Layout: "v2", IO: lines} }
	}
	tryAll(t, []trial{
		{says: "EBS", id: "disk.cloud", set: onDisks(ebs), want: "info EBS | gp3 3000 125 MiB/s gp2 st1"},
		{says: "EBS that was probed", id: "disk.cloud", set: func(m *Machine) { onDisks(ebs)(m); m.Bandwidth = 125 << 20 }, want: "info EBS | gp3 3000 125 MiB/s gp2 st1 125 MiB/s"},
		{says: "Google's", id: "disk.cloud", set: onDisks(disk("sdb", "PersistentDisk")), want: "info Persistent Disk | …"},
		{says: "Azure's", id: "disk.cloud", set: func(m *Machine) { m.Cloud = "azure"; onDisks(disk("sdc", "Virtual Disk"))(m) }, want: "info managed disk | …"},
		{says: "Hyper-V elsewhere", id: "disk.cloud", set: onDisks(disk("sdc", "Virtual Disk")), want: "not_applicable | …"},
		{says: "an older type of Amazon's", id: "disk.cloud", set: func(m *Machine) { m.Cloud = "aws"; onDisks(disk("xvdb", ""))(m) }, want: "info EBS or instance store | …"},
		{says: "bare metal", id: "disk.cloud", set: onDisks(hard("sda")), want: "not_applicable | …"},

		{says: "patience enough", id: "disk.nvme_timeout", files: map[string]string{timeout: "4294967295"}, set: onDisks(ebs), want: "ok 4294967295 (≥ 255)"},
		{says: "too little", id: "disk.nvme_timeout", files: map[string]string{timeout: "30"}, set: onDisks(ebs), want: "info 30 (≥ 255) | $ nvme_core.io_timeout=4294967295 in the kernel's"},
		{says: "not EBS", id: "disk.nvme_timeout", files: map[string]string{timeout: "30"}, set: onDisks(solid("nvme0n1")), want: "not_applicable | …"},

		{says: "no limit", id: "disk.cgroup_limits", set: with(onDisks(hard("sda")), limited()), want: "ok none"},
		{says: "the broker's disk is limited", id: "disk.cgroup_limits", set: with(onDisks(hard("sda")), limited("8:16 wbps=1048576 riops=max")), want: "warn sda limited (none) | 8:16 wbps=1048576 riops=max"},
		{
			says: "the disk below is limited", id: "disk.cgroup_limits", files: map[string]string{"sys/block/sdb/dev": "8:160"}, set: with(layered([]string{"lvm"}, hard("sdb")), limited("8:160 wbps=1048576")),
			want: "warn sdb limited (none) | 8:160 wbps=1048576",
		},
		{says: "another disk is limited", id: "disk.cgroup_limits", set: with(onDisks(hard("sda")), limited("9:9 wbps=1", "garbage")), want: "info of other devices | 9:9 wbps=1"},
		{says: "no groups", id: "disk.cgroup_limits", set: onDisks(hard("sda")), want: "not_applicable | …"},
	})
}
