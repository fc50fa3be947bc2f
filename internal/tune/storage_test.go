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
		{says: "one directory", id: "disk.shared", set: onDisks(hard("sda")), verdict: OK, current: "one log directory"},
		{says: "two disks", id: "disk.shared", set: apart, verdict: OK, current: "each on its own"},
		{
			says: "two directories on one disk", id: "disk.shared", set: together, verdict: Warn, current: "shared: sda",
			note: "/data1/kafka and /data2/kafka share", command: "log.dirs",
		},
		{says: "and on a laptop", id: "disk.shared", profile: "minimal", set: together, verdict: Info, current: "shared: sda", command: "log.dirs"},
		{
			says: "two directories of one network share", id: "disk.shared", verdict: Warn, current: "shared: nfs (device 0:0)", command: "log.dirs",
			set: func(m *Machine) { onType("nfs")(m); m.Dirs = append(m.Dirs, m.Dirs[0]) },
		},
		{
			says: "one of two may not be looked at", id: "disk.shared", verdict: Unknown, note: "/secret: needs root",
			set: func(m *Machine) { apart(m); m.Dirs[1] = Dir{Path: "/secret", Err: fs.ErrPermission} },
		},
	})
}

func TestTheSystemsDisk(t *testing.T) {
	const (
		mounts = "proc/self/mountinfo"
		root   = "1 0 8:1 / / rw - ext4 /dev/sda1 rw"
	)
	files := map[string]string{mounts: root, "sys/block/sda/dev": "8:0", "sys/block/sda/sda1/dev": "8:1"}
	tryAll(t, []trial{
		{says: "disks of their own", id: "disk.system", files: files, set: onDisks(hard("sdb")), verdict: OK, current: "on disks of their own"},
		{
			says: "another partition of the system's disk", id: "disk.system", files: files, set: onDisks(hard("sdb"), hard("sda")),
			verdict: Warn, current: "/data2/kafka: on sda", note: "on one disk with the system",
		},
		{says: "a laptop", id: "disk.system", profile: "minimal", files: files, set: onDisks(hard("sda")), verdict: Info, current: "on sda"},
		{says: "a container", id: "disk.system", files: files, set: func(m *Machine) { m.Container = "docker"; onDisks(hard("sda"))(m) }, verdict: NotApplicable},
		{says: "mounts may not be read", id: "disk.system", files: map[string]string{mounts: denied}, set: onDisks(hard("sda")), verdict: Unknown, note: "needs root"},
		{says: "garbage for mounts", id: "disk.system", files: map[string]string{mounts: "a b c"}, set: onDisks(hard("sda")), verdict: Unknown},
		{says: "no root among the mounts", id: "disk.system", files: map[string]string{mounts: "1 0 8:1 / /x rw - ext4 /dev/sda1 rw"}, set: onDisks(hard("sda")), verdict: Unknown},
		{says: "no directory", id: "disk.system", files: files, verdict: NotApplicable, note: "--dirs"},

		{
			says: "the broker's log files are beside", id: "disk.broker_log", files: files, verdict: Info, current: "on sda", note: "/var/log/kafka",
			set: func(m *Machine) { onDisks(hard("sda"))(m); m.Process = runningWith("-Dkafka.logs.dir=/var/log/kafka") },
		},
		{
			says: "the broker's log files are elsewhere", id: "disk.broker_log", files: files, verdict: OK, current: "on disks of their own",
			set: func(m *Machine) { onDisks(hard("sdb"))(m); m.Process = runningWith("-Dkafka.logs.dir=/var/log/kafka") },
		},
		{
			says: "the broker does not say where", id: "disk.broker_log", files: files, verdict: NotApplicable,
			set: func(m *Machine) { onDisks(hard("sdb"))(m); m.Process = runningWith("-Dkafka.logs.dir=../logs") },
		},
		{says: "no broker", id: "disk.broker_log", files: files, set: onDisks(hard("sda")), verdict: NotApplicable},
	})
}

func runningWith(args ...string) *Process {
	args = append([]string{"java"}, args...)
	return &Process{Process: host.Process{PID: 7, Args: args}, JVM: jvm.ParseFlags(args)}
}

func TestRAID(t *testing.T) {
	a, b, c := hard("sda"), hard("sdb"), hard("sdc")
	tryAll(t, []trial{
		{says: "a single disk", id: "disk.raid", set: onDisks(a), verdict: OK, current: "no RAID"},
		{says: "RAID 10", id: "disk.raid", set: layered([]string{"raid10"}, a, b), verdict: OK, current: "raid10"},
		{says: "RAID 5", id: "disk.raid", set: layered([]string{"raid5"}, a, b, c), verdict: Warn, current: "raid5", note: "parity"},
		{says: "RAID 6 under LVM", id: "disk.raid", set: layered([]string{"lvm", "raid6"}, a, b, c), verdict: Warn, current: "lvm on raid6", note: "parity"},
		{says: "RAID 0", id: "disk.raid", set: layered([]string{"raid0"}, a, b, c), verdict: Warn, current: "raid0", note: "one of 3 disks"},
		{says: "RAID 0 of one disk", id: "disk.raid", set: layered([]string{"raid0"}, a), verdict: OK, current: "raid0"},
		{says: "a volume over two disks", id: "disk.raid", set: layered([]string{"lvm"}, a, b), verdict: Info, current: "lvm", note: "2 disks"},
		{says: "two paths to one disk", id: "disk.raid", set: layered([]string{"multipath"}, a, b), verdict: OK, current: "multipath"},
		{says: "encryption", id: "disk.raid", set: layered([]string{"crypt"}, a), verdict: Info, current: "crypt", note: "encryption costs"},
		{says: "a laptop", id: "disk.raid", profile: "minimal", set: layered([]string{"raid5"}, a, b, c), verdict: Info, current: "raid5"},
		{says: "not visible", id: "disk.raid", set: onType("nfs"), verdict: NotApplicable},

		{says: "no array", id: "disk.raid_health", verdict: NotApplicable},
		{
			says: "a whole array", id: "disk.raid_health", verdict: OK, current: "complete",
			files: map[string]string{"sys/block/md0/md/degraded": "0", "sys/block/md0/md/sync_action": "idle"},
		},
		{
			says: "of two arrays one has lost a disk", id: "disk.raid_health", verdict: Warn, current: "md1: 1 missing", command: "mdadm --detail /dev/md1",
			files: map[string]string{"sys/block/md0/md/degraded": "0", "sys/block/md1/md/degraded": "1"},
		},
		{
			says: "a copy is under way", id: "disk.raid_health", verdict: Warn, current: "resync",
			files: map[string]string{"sys/block/md0/md/degraded": "0", "sys/block/md0/md/sync_action": "resync"},
		},
		{
			says: "the check of the month", id: "disk.raid_health", verdict: Info, current: "check",
			files: map[string]string{"sys/block/md0/md/degraded": "0", "sys/block/md0/md/sync_action": "check"},
		},
		{says: "RAID 0 has no state", id: "disk.raid_health", verdict: NotApplicable, files: map[string]string{"sys/block/md0/md/level": "raid0"}},
		{says: "garbage", id: "disk.raid_health", verdict: Unknown, files: map[string]string{"sys/block/md0/md/degraded": "none"}},
		{says: "it may not be read", id: "disk.raid_health", verdict: Unknown, note: "needs root", files: map[string]string{"sys/block/md0/md/degraded": denied}},
	})
}

func TestKindsOfFileSystems(t *testing.T) {
	byMagic := func(magic int64) func(*Machine) {
		return func(m *Machine) { m.Dirs = []Dir{{Path: "/data", Space: host.Space{Magic: magic}}} }
	}
	tryAll(t, []trial{
		{says: "a disk is not the network", id: "disk.network_fs", set: onDisks(hard("sda")), verdict: OK, current: "xfs"},
		{says: "NFS", id: "disk.network_fs", set: onType("nfs4"), verdict: Fail, current: "nfs4", note: "files over the network"},
		{says: "FUSE", id: "disk.network_fs", set: onType("fuse.s3fs"), verdict: Fail, current: "fuse.s3fs"},
		{says: "NFS by its number", id: "disk.network_fs", set: byMagic(0x6969), verdict: Fail, current: "nfs"},
		{says: "not known", id: "disk.network_fs", set: byMagic(0), verdict: Unknown},
		{says: "a container's own layer", id: "disk.overlay_tmpfs", set: onType("overlay"), verdict: Fail, current: "overlay", note: "mount a volume"},
		{says: "memory", id: "disk.overlay_tmpfs", set: onType("tmpfs"), verdict: Fail, current: "tmpfs"},
		{says: "a device of memory", id: "disk.overlay_tmpfs", set: func(m *Machine) {
			m.Dirs = []Dir{{Path: "/data", Mount: host.Mount{Type: "ext4"}, Storage: host.Storage{Memory: "loop0 in tmpfs"}}}
		}, verdict: Fail, current: "ext4 on loop0 in tmpfs", note: "it is memory"},
		{says: "memory by its number", id: "disk.overlay_tmpfs", set: byMagic(0x01021994), verdict: Fail, current: "tmpfs"},
		{says: "a disk lasts", id: "disk.overlay_tmpfs", set: onDisks(hard("sda")), verdict: OK, current: "xfs"},
		{says: "NFS lasts", id: "disk.overlay_tmpfs", set: onType("nfs"), verdict: OK, current: "nfs"},
		{says: "one that kt does not know", id: "disk.overlay_tmpfs", set: onType("newfs"), verdict: OK, current: "newfs"},
	})
}

func TestCloudDisks(t *testing.T) {
	disk := func(name, model string) host.Disk { return host.Disk{Name: name, Model: model} }
	ebs := disk("nvme1n1", "Amazon Elastic Block Store              ")
	timeout := "sys/module/nvme_core/parameters/io_timeout"
	tryAll(t, []trial{
		{says: "EBS", id: "disk.cloud", set: onDisks(ebs), verdict: Info, current: "EBS", note: "3000 IOPS and 125 MiB/s"},
		{
			says: "EBS that was probed", id: "disk.cloud", verdict: Info, current: "EBS", note: "kt probe measured 125 MiB/s",
			set: func(m *Machine) { onDisks(ebs)(m); m.Bandwidth = 125 << 20 },
		},
		{says: "Google's", id: "disk.cloud", set: onDisks(disk("sdb", "PersistentDisk")), verdict: Info, current: "Persistent Disk", note: "grow with its size"},
		{
			says: "Azure's", id: "disk.cloud", verdict: Info, current: "managed disk",
			set: func(m *Machine) { m.Cloud = "azure"; onDisks(disk("sdc", "Virtual Disk"))(m) },
		},
		{says: "Hyper-V elsewhere", id: "disk.cloud", set: onDisks(disk("sdc", "Virtual Disk")), verdict: NotApplicable},
		{
			says: "an older type of Amazon's", id: "disk.cloud", verdict: Info, current: "EBS or instance store",
			set: func(m *Machine) { m.Cloud = "aws"; onDisks(disk("xvdb", ""))(m) },
		},
		{says: "bare metal", id: "disk.cloud", set: onDisks(hard("sda")), verdict: NotApplicable},

		{says: "patience enough", id: "disk.nvme_timeout", files: map[string]string{timeout: "4294967295"}, set: onDisks(ebs), verdict: OK, current: "4294967295"},
		{says: "too little", id: "disk.nvme_timeout", files: map[string]string{timeout: "30"}, set: onDisks(ebs), verdict: Info, current: "30", command: "nvme_core.io_timeout="},
		{says: "it may not be read", id: "disk.nvme_timeout", files: map[string]string{timeout: denied}, set: onDisks(ebs), verdict: Unknown},
		{says: "not EBS", id: "disk.nvme_timeout", files: map[string]string{timeout: "30"}, set: onDisks(solid("nvme0n1")), verdict: NotApplicable},

		{
			says: "no limit", id: "disk.cgroup_limits", verdict: OK, current: "none",
			set: func(m *Machine) { m.Cgroup.Layout = "v2"; onDisks(hard("sda"))(m) },
		},
		{
			says: "the broker's disk is limited", id: "disk.cgroup_limits", verdict: Warn, current: "sda limited", note: "wbps=1048576",
			set: func(m *Machine) {
				m.Cgroup = host.Cgroup{Layout: "v2", IO: []string{"8:16 rbps=max wbps=1048576 riops=max wiops=max"}}
				onDisks(hard("sda"))(m)
			},
		},
		{
			says: "the disk below is limited", id: "disk.cgroup_limits", verdict: Warn, current: "sdb limited",
			files: map[string]string{"sys/block/sdb/dev": "8:160"},
			set: func(m *Machine) {
				m.Cgroup = host.Cgroup{Layout: "v1", IO: []string{"8:160 wbps=1048576"}}
				layered([]string{"lvm"}, hard("sdb"))(m)
			},
		},
		{
			says: "another disk is limited", id: "disk.cgroup_limits", verdict: Info, current: "of other devices", note: "9:9",
			set: func(m *Machine) {
				m.Cgroup = host.Cgroup{Layout: "v2", IO: []string{"9:9 wbps=1", "garbage"}}
				onDisks(hard("sda"))(m)
			},
		},
		{says: "no groups", id: "disk.cgroup_limits", set: onDisks(hard("sda")), verdict: NotApplicable},
	})
}
