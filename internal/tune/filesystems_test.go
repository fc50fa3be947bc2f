package tune

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
)

// mountedAs gives a machine one log directory, mounted as mountinfo would show it.
func mountedAs(fs, options, super string) func(*Machine) {
	return func(m *Machine) {
		mounts, err := host.ParseMounts("36 1 8:1 / /data " + options + " - " + fs + " /dev/sda1 " + super)
		if err != nil {
			panic(err) // the test's own mistake
		}
		onDisks(hard("sda"))(m)
		m.Dirs[0].Mount, m.Dirs[0].Storage.Device = mounts[0], "sda1"
	}
}

// at moves the log directory's mount.
func at(point, root string, set func(*Machine)) func(*Machine) {
	return func(m *Machine) {
		set(m)
		m.Dirs[0].Mount.Point, m.Dirs[0].Mount.Root = point, root
	}
}

func TestTypeOfFileSystem(t *testing.T) {
	const id = "fs.type"
	tryAll(t, []trial{
		{says: "XFS", id: id, set: mountedAs("xfs", "rw", "rw"), verdict: OK, current: "xfs"},
		{says: "ext4 for throughput", id: id, set: mountedAs("ext4", "rw", "rw"), verdict: Info, current: "ext4", note: "accepted"},
		{says: "ext4 for latency", id: id, profile: "latency", set: mountedAs("ext4", "rw", "rw"), verdict: Warn, current: "ext4", command: "mkfs.xfs"},
		{says: "btrfs", id: id, set: mountedAs("btrfs", "rw", "rw"), verdict: Warn, current: "btrfs", command: "mkfs.xfs"},
		{says: "btrfs on a laptop", id: id, profile: "minimal", set: mountedAs("btrfs", "rw", "rw"), verdict: Info, current: "btrfs"},
		{says: "another check tells of NFS", id: id, set: onType("nfs"), verdict: NotApplicable},
		{says: "not known", id: id, set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data"}} }, verdict: Unknown},
	})
}

func TestTimesOfAccess(t *testing.T) {
	const id = "fs.noatime"
	apart := map[string]string{"proc/self/mountinfo": "a", "proc/7/mountinfo": "b"}
	// kt sees the log directory's mount with an option, on device MAJOR:1.
	beside := func(option string, major int) func(*Machine) {
		return func(m *Machine) {
			broker(6)(m)
			mountedAs("xfs", "rw,relatime", "rw")(m)
			m.Dirs[0].Path = "/data/kafka"
			own := m.Dirs[0].Mount
			own.Options, own.Major = []string{"rw", option}, major
			m.own = []host.Mount{own}
		}
	}
	tryAll(t, []trial{
		{says: "none are kept", id: id, set: mountedAs("xfs", "rw,noatime", "rw"), verdict: OK, current: "noatime"},
		{says: "the default", id: id, set: mountedAs("xfs", "rw,relatime", "rw"), verdict: Info, current: "relatime", changes: []string{"/data relatime -> noatime"}},
		{says: "each read writes", id: id, set: mountedAs("xfs", "rw", "rw"), verdict: Warn, current: "strictatime", changes: []string{"/data strictatime -> noatime"}},
		{says: "the system's own file system", id: id, set: at("/", "/", mountedAs("ext4", "rw,relatime", "rw")), verdict: Info, current: "relatime", command: "mount -o remount,noatime /"},
		{says: "a part of a file system", id: id, set: at("/data", "/sub", mountedAs("ext4", "rw,relatime", "rw")), verdict: Info, current: "relatime", command: "remount,noatime /data"},
		{
			says: "two directories of one mount need one change", id: id, verdict: Info, current: "relatime", changes: []string{"/data relatime -> noatime"},
			set: func(m *Machine) { mountedAs("xfs", "rw,relatime", "rw")(m); m.Dirs = append(m.Dirs, m.Dirs[0]) },
		},
		{
			says: "a broker with mounts of its own", id: id, files: apart, set: beside("relatime", 8), verdict: Info, current: "relatime",
			note: "counts from its next start", command: "mount -o remount,noatime /data, and start the broker again",
		},
		{
			says: "a broker with mounts of its own, which would be right after a start", id: id, files: apart, set: beside("noatime", 8), verdict: Info, current: "relatime",
			note: "counts from its next start", command: "start the broker again",
		},
		{
			says: "a broker that has another file system there", id: id, files: apart, set: beside("relatime", 9), verdict: Info, current: "relatime",
			note: "has mounts of its own", command: "mount the volume of /data/kafka with noatime",
		},
		{
			says: "a broker with the same mounts", id: id, files: map[string]string{"proc/self/mountinfo": "a", "proc/7/mountinfo": "a"}, set: beside("relatime", 8),
			verdict: Info, current: "relatime", changes: []string{"/data relatime -> noatime"},
		},
		{says: "a laptop", id: id, profile: "minimal", set: mountedAs("xfs", "rw,relatime", "rw"), verdict: Info, current: "relatime"},
		{says: "options not known", id: id, set: func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Mount.Options = nil }, verdict: Unknown},
		{says: "tmpfs", id: id, set: onType("tmpfs"), verdict: NotApplicable},
	})
}

func TestRemountsShowTheLineOfFstab(t *testing.T) {
	for _, row := range []struct{ says, fstab, want string }{
		{"with options", "# data\nUUID=1 /data xfs defaults,relatime 0 0", "in /etc/fstab: UUID=1 /data xfs defaults,noatime 0 0"},
		{"a line that is cut off", "UUID=1 /data xfs", "/etc/fstab does not name /data: add noatime where it is mounted from"},
		{"without the mount", "UUID=1 / xfs defaults 0 0", "/etc/fstab does not name /data: add noatime where it is mounted from"},
	} {
		m := &Machine{FS: treeOfFiles(map[string]string{"etc/fstab": row.fstab})}
		mountedAs("xfs", "rw,relatime", "rw")(m)
		r := settingOf(t, "fs.noatime").Check(m, Rule{Equal, "noatime"})
		want := []Change{{Setting: "fs.noatime", Kind: Remount, Path: "/data", Old: "relatime", New: "noatime", Advice: row.want}}
		if diff := cmp.Diff(want, r.Changes); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", row.says, diff)
		}
	}
}

func TestMountOptions(t *testing.T) {
	unknown := func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Mount.Options, m.Dirs[0].Mount.Super = nil, nil }
	fstab := map[string]string{"etc/fstab": "/dev/sda1 /data xfs noatime,nobarrier 0 0"}
	timers := "etc/systemd/system/timers.target.wants/"
	able := func(more ...string) map[string]string {
		files := map[string]string{"sys/block/sda/queue/discard_max_bytes": "2147450880"}
		for _, name := range more {
			files[name] = ""
		}
		return files
	}
	tryAll(t, []trial{
		{says: "no discard", id: "fs.discard", set: mountedAs("ext4", "rw", "rw"), verdict: OK, current: "no discard"},
		{says: "discard", id: "fs.discard", set: mountedAs("ext4", "rw", "rw,discard"), verdict: Warn, current: "discard", command: "fstrim.timer"},
		{says: "discard on a laptop", id: "fs.discard", profile: "minimal", set: mountedAs("ext4", "rw", "rw,discard"), verdict: Info, current: "discard", command: "fstrim.timer"},
		{says: "btrfs discards well", id: "fs.discard", set: mountedAs("btrfs", "rw", "rw,discard=async"), verdict: NotApplicable},
		{says: "discard not known", id: "fs.discard", set: unknown, verdict: Unknown},

		{says: "trimmed each week", id: "fs.trim", files: able(timers + "fstrim.timer"), set: mountedAs("xfs", "rw", "rw"), verdict: OK, current: "fstrim.timer"},
		{says: "never trimmed", id: "fs.trim", files: able(timers + "other.timer"), set: mountedAs("xfs", "rw", "rw"), verdict: Info, current: "not seen", command: "systemctl enable --now fstrim.timer"},
		{says: "trimmed at once", id: "fs.trim", files: able(), set: mountedAs("xfs", "rw", "rw,discard"), verdict: OK, current: "at every delete"},
		{says: "a disk that cannot", id: "fs.trim", set: mountedAs("xfs", "rw", "rw"), verdict: NotApplicable},
		{says: "without systemd", id: "fs.trim", files: able(), set: mountedAs("xfs", "rw", "rw"), verdict: NotApplicable, note: "systemd"},

		{says: "no old options", id: "fs.obsolete_options", set: mountedAs("xfs", "rw", "rw,inode64"), verdict: OK, current: "none"},
		{says: "in fstab only", id: "fs.obsolete_options", files: fstab, set: mountedAs("xfs", "rw", "rw"), verdict: Warn, current: "nobarrier", command: "take nobarrier out"},
		{says: "barriers of ext4 are off", id: "fs.obsolete_options", set: mountedAs("ext4", "rw", "rw,barrier=0"), verdict: Warn, current: "barrier=0", command: "take barrier=0 out"},
		{says: "barriers of ext4 are on", id: "fs.obsolete_options", set: mountedAs("ext4", "rw", "rw,barrier=1"), verdict: OK, current: "none"},
		{says: "old options not known", id: "fs.obsolete_options", set: unknown, verdict: Unknown},

		{says: "not synchronous", id: "fs.sync", set: mountedAs("xfs", "rw", "rw"), verdict: OK, current: "async"},
		{says: "synchronous", id: "fs.sync", set: mountedAs("ext4", "rw,sync", "rw,sync"), verdict: Warn, current: "sync", command: "take sync out"},
		{says: "synchronous in part", id: "fs.sync", set: mountedAs("xfs", "rw", "rw,wsync"), verdict: Warn, current: "wsync", command: "take wsync out"},
		{says: "synchronous or not known", id: "fs.sync", set: unknown, verdict: Unknown},

		{says: "XFS as it is", id: "fs.xfs_options", set: mountedAs("xfs", "rw,noatime", "rw,attr2,inode64"), verdict: OK, current: "defaults"},
		{says: "XFS by an old guide", id: "fs.xfs_options", set: mountedAs("xfs", "rw", "rw,largeio"), verdict: Info, current: "largeio"},
		{says: "XFS that reserves", id: "fs.xfs_options", set: mountedAs("xfs", "rw", "rw,allocsize=1048576k"), verdict: Info, current: "allocsize=1048576k"},
		{says: "not XFS", id: "fs.xfs_options", set: mountedAs("ext4", "rw", "rw"), verdict: NotApplicable},
		{says: "XFS not known", id: "fs.xfs_options", set: unknown, verdict: Unknown},

		{says: "it can be written", id: "fs.read_only", set: mountedAs("xfs", "rw", "rw"), verdict: OK, current: "rw"},
		{says: "it cannot", id: "fs.read_only", set: mountedAs("ext4", "ro", "rw"), verdict: Fail, current: "ro", command: "dmesg"},
		{says: "turned read-only after an error", id: "fs.read_only", set: mountedAs("ext4", "rw", "ro,errors=remount-ro"), verdict: Fail, current: "ro", command: "dmesg"},
		{says: "read-only or not known", id: "fs.read_only", set: unknown, verdict: Unknown},
	})
}

func TestExt4(t *testing.T) {
	const id, info = "fs.ext4_journal", "proc/fs/ext4/sda1/fc_info"
	plain := mountedAs("ext4", "rw", "rw")
	tryAll(t, []trial{
		{says: "the default, for throughput", id: id, set: plain, verdict: OK, current: "ordered"},
		{says: "the default, for latency", id: id, profile: "latency", set: plain, verdict: Warn, current: "ordered", command: "dumpe2fs -h /dev/sda1"},
		{says: "fast commits were seen", id: id, profile: "latency", files: map[string]string{info: "fc stats:\n120 commits\n0 ineligible"}, set: plain, verdict: OK, current: "fast_commit"},
		{says: "none were seen", id: id, profile: "latency", files: map[string]string{info: "fc stats:\n0 commits"}, set: plain, verdict: Warn, current: "ordered", command: "dumpe2fs"},
		{says: "garbage for commits", id: id, profile: "latency", files: map[string]string{info: "x commits"}, set: plain, verdict: Warn, current: "ordered", command: "dumpe2fs"},
		{says: "writeback", id: id, profile: "latency", set: mountedAs("ext4", "rw", "rw,data=writeback"), verdict: OK, current: "writeback"},
		{says: "everything twice", id: id, set: mountedAs("ext4", "rw", "rw,data=journal"), verdict: Warn, current: "journal", command: "dumpe2fs"},
		{says: "XFS", id: id, set: mountedAs("xfs", "rw", "rw"), verdict: NotApplicable},
		{says: "options not known", id: id, set: func(m *Machine) { plain(m); m.Dirs[0].Mount.Options, m.Dirs[0].Mount.Super = nil, nil }, verdict: Unknown},

		{says: "no errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "0"}, set: plain, verdict: OK, current: "0"},
		{says: "errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "3"}, set: plain, verdict: Warn, current: "3", command: "e2fsck"},
		{says: "garbage for errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "?"}, set: plain, verdict: Unknown},
		{says: "errors may not be read", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": denied}, set: plain, verdict: Unknown, note: "needs root"},
		{says: "XFS does not count", id: "fs.errors", set: mountedAs("xfs", "rw", "rw"), verdict: NotApplicable},
	})
}

func TestFreeSpace(t *testing.T) {
	space := func(s host.Space) func(*Machine) {
		return func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Space = s }
	}
	const tib = 1 << 40
	tryAll(t, []trial{
		{says: "half is free", id: "fs.free_space", set: space(host.Space{Total: tib, Free: tib / 2}), verdict: OK, current: "50 % (512 GiB)"},
		{says: "a tenth is free", id: "fs.free_space", set: space(host.Space{Total: tib, Free: tib / 10}), verdict: Warn, current: "10 % (102 GiB)"},
		{says: "half of a small one", id: "fs.free_space", set: space(host.Space{Total: 16 << 30, Free: 8 << 30}), verdict: Warn, current: "50 % (8 GiB)"},
		{says: "a hundredth", id: "fs.free_space", set: space(host.Space{Total: 100 << 30, Free: 1 << 30}), verdict: Fail, current: "1.0 % (1 GiB)"},
		{says: "nothing", id: "fs.free_space", set: space(host.Space{Total: tib}), verdict: Fail, current: "0 % (0 B)"},
		{says: "size not known", id: "fs.free_space", set: space(host.Space{}), verdict: Unknown},
		{says: "files enough", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 500}), verdict: OK, current: "50 %"},
		{says: "few files", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 100}), verdict: Warn, current: "10 %", note: "100 free"},
		{says: "no files", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 10}), verdict: Fail, current: "1.0 %"},
		{says: "files without number", id: "fs.free_files", set: space(host.Space{Total: tib}), verdict: NotApplicable},
		{says: "files not known", id: "fs.free_files", set: space(host.Space{}), verdict: Unknown},
	})
}
