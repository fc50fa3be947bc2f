package tune

import (
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
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
		{says: "XFS", id: id, set: mountedAs("xfs", "rw", "rw"), want: "ok xfs (xfs)"},
		{says: "ext4 for throughput", id: id, set: mountedAs("ext4", "rw", "rw"), want: "info ext4 (xfs) | ext4"},
		{says: "ext4 for latency", id: id, profile: "latency", set: mountedAs("ext4", "rw", "rw"), want: "warn ext4 (xfs) | $ mkfs.xfs on a new"},
		{says: "btrfs", id: id, set: mountedAs("btrfs", "rw", "rw"), want: "warn btrfs (xfs) | $ mkfs.xfs on a new"},
		{says: "btrfs on a laptop", id: id, profile: "minimal", set: mountedAs("btrfs", "rw", "rw"), want: "info btrfs (left alone)"},
		{says: "another check tells of NFS", id: id, set: onType("nfs"), want: "not_applicable | …"},
		{says: "not known", id: id, set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data"}} }, want: "unknown | /data"},
	})
}

func TestTimesOfAccess(t *testing.T) {
	const id = "fs.noatime"
	apart := map[string]string{"proc/self/mountinfo": "a", "proc/7/mountinfo": "b"}
	beside := with(broker(6), mountedAs("xfs", "rw,relatime", "rw"))
	tryAll(t, []trial{
		{says: "none are kept", id: id, set: mountedAs("xfs", "rw,noatime", "rw"), want: "ok noatime (noatime)"},
		{says: "the default", id: id, set: mountedAs("xfs", "rw,relatime", "rw"), want: "info relatime (noatime) | /data: relatime → noatime, advised"},
		{says: "each read writes", id: id, set: mountedAs("xfs", "rw", "rw"), want: "warn strictatime (noatime) | /data: strictatime → noatime, advised"},
		{says: "the system's own file system", id: id, set: at("/", "/", mountedAs("ext4", "rw,relatime", "rw")), want: "info relatime (noatime) | $ mount -o remount,noatime /"},
		{says: "a part of a file system", id: id, set: at("/data", "/sub", mountedAs("ext4", "rw,relatime", "rw")), want: "info relatime (noatime) | $ mount -o remount,noatime /data"},
		{
			says: "two directories of one mount need one change", id: id, set: func(m *Machine) { mountedAs("xfs", "rw,relatime", "rw")(m); m.Dirs = append(m.Dirs, m.Dirs[0]) },
			want: "info relatime (noatime) | /data: relatime → noatime, advised",
		},
		{says: "a broker with mounts of its own", id: id, files: apart, set: beside, want: "info relatime (noatime) | … | $ mount the volume of"},
		{
			says: "a broker with the same mounts", id: id, files: map[string]string{"proc/self/mountinfo": "a", "proc/7/mountinfo": "a"}, set: beside,
			want: "info relatime (noatime) | /data: relatime → noatime, advised",
		},
		{says: "a laptop", id: id, profile: "minimal", set: mountedAs("xfs", "rw,relatime", "rw"), want: "info relatime (left alone)"},
		{says: "options not known", id: id, set: func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Mount.Options = nil }, want: "unknown | /data1/kafka"},
		{says: "tmpfs", id: id, set: onType("tmpfs"), want: "not_applicable | …"},
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
		must.Match(t, want, r.Changes, "%s: changes", row.says)
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
		{says: "no discard", id: "fs.discard", set: mountedAs("ext4", "rw", "rw"), want: "ok no discard (no discard, and fstrim.timer)"},
		{says: "discard", id: "fs.discard", set: mountedAs("ext4", "rw", "rw,discard"), want: "warn discard (no discard, and fstrim.timer) | /etc/fstab | $ mount -o remount,nodiscard /data"},
		{
			says: "discard on a laptop", id: "fs.discard", profile: "minimal", set: mountedAs("ext4", "rw", "rw,discard"),
			want: "info discard (left alone)",
		},
		{says: "btrfs discards well", id: "fs.discard", set: mountedAs("btrfs", "rw", "rw,discard=async"), want: "not_applicable | …"},
		{says: "discard not known", id: "fs.discard", set: unknown, want: "unknown | /data1/kafka"},

		{says: "trimmed each week", id: "fs.trim", files: able(timers + "fstrim.timer"), set: mountedAs("xfs", "rw", "rw"), want: "ok fstrim.timer"},
		{says: "never trimmed", id: "fs.trim", files: able(timers + "other.timer"), set: mountedAs("xfs", "rw", "rw"), want: "info not seen (fstrim.timer) | $ systemctl enable --now fstrim.timer"},
		{says: "trimmed at once", id: "fs.trim", files: able(), set: mountedAs("xfs", "rw", "rw,discard"), want: "ok at every delete"},
		{says: "a disk that cannot", id: "fs.trim", set: mountedAs("xfs", "rw", "rw"), want: "not_applicable | …"},
		{says: "without systemd", id: "fs.trim", files: able(), set: mountedAs("xfs", "rw", "rw"), want: "not_applicable | …"},

		{says: "no old options", id: "fs.obsolete_options", set: mountedAs("xfs", "rw", "rw,inode64"), want: "ok none (none)"},
		{says: "in fstab only", id: "fs.obsolete_options", files: fstab, set: mountedAs("xfs", "rw", "rw"), want: "warn nobarrier (none) | $ take nobarrier out of"},
		{says: "barriers of ext4 are off", id: "fs.obsolete_options", set: mountedAs("ext4", "rw", "rw,barrier=0"), want: "warn barrier=0 (none) | $ take barrier=0 out of"},
		{says: "barriers of ext4 are on", id: "fs.obsolete_options", set: mountedAs("ext4", "rw", "rw,barrier=1"), want: "ok none (none)"},
		{says: "old options not known", id: "fs.obsolete_options", set: unknown, want: "unknown | /data1/kafka"},

		{says: "not synchronous", id: "fs.sync", set: mountedAs("xfs", "rw", "rw"), want: "ok async (async)"},
		{says: "synchronous", id: "fs.sync", set: mountedAs("ext4", "rw,sync", "rw,sync"), want: "warn sync (async) | $ take sync out of"},
		{says: "synchronous in part", id: "fs.sync", set: mountedAs("xfs", "rw", "rw,wsync"), want: "warn wsync (async) | $ take wsync out of"},
		{says: "synchronous or not known", id: "fs.sync", set: unknown, want: "unknown | /data1/kafka"},

		{says: "XFS as it is", id: "fs.xfs_options", set: mountedAs("xfs", "rw,noatime", "rw,attr2,inode64"), want: "ok defaults (defaults)"},
		{says: "XFS by an old guide", id: "fs.xfs_options", set: mountedAs("xfs", "rw", "rw,largeio"), want: "info largeio (defaults)"},
		{says: "XFS that reserves", id: "fs.xfs_options", set: mountedAs("xfs", "rw", "rw,allocsize=1048576k"), want: "info allocsize=1048576k (defaults)"},
		{says: "not XFS", id: "fs.xfs_options", set: mountedAs("ext4", "rw", "rw"), want: "not_applicable | ext4"},
		{says: "XFS not known", id: "fs.xfs_options", set: unknown, want: "unknown | /data1/kafka"},

		{says: "it can be written", id: "fs.read_only", set: mountedAs("xfs", "rw", "rw"), want: "ok rw (rw)"},
		{says: "it cannot", id: "fs.read_only", set: mountedAs("ext4", "ro", "rw"), want: "fail ro (rw) | $ dmesg | grep -i"},
		{says: "turned read-only after an error", id: "fs.read_only", set: mountedAs("ext4", "rw", "ro,errors=remount-ro"), want: "fail ro (rw) | $ dmesg | grep -i"},
		{says: "read-only or not known", id: "fs.read_only", set: unknown, want: "unknown | /data1/kafka"},
	})
}

func TestExt4(t *testing.T) {
	const id, info = "fs.ext4_journal", "proc/fs/ext4/sda1/fc_info"
	plain := mountedAs("ext4", "rw", "rw")
	tryAll(t, []trial{
		{says: "the default, for throughput", id: id, set: plain, want: "ok ordered (ordered)"},
		{says: "the default, for latency", id: id, profile: "latency", set: plain, want: "warn ordered (fast_commit) | … | $ dumpe2fs -h /dev/sda1 |"},
		{says: "fast commits were seen", id: id, profile: "latency", files: map[string]string{info: "fc stats:\n120 commits\n0 ineligible"}, set: plain, want: "ok fast_commit (fast_commit)"},
		{says: "none were seen", id: id, profile: "latency", files: map[string]string{info: "fc stats:\n0 commits"}, set: plain, want: "warn ordered (fast_commit) | … | $ dumpe2fs -h /dev/sda1 |"},
		{says: "garbage for commits", id: id, profile: "latency", files: map[string]string{info: "x commits"}, set: plain, want: "warn ordered (fast_commit) | … | $ dumpe2fs -h /dev/sda1 |"},
		{says: "writeback", id: id, profile: "latency", set: mountedAs("ext4", "rw", "rw,data=writeback"), want: "ok writeback (fast_commit)"},
		{says: "everything twice", id: id, set: mountedAs("ext4", "rw", "rw,data=journal"), want: "warn journal (ordered) | … | $ dumpe2fs -h /dev/sda1 |"},
		{says: "XFS", id: id, set: mountedAs("xfs", "rw", "rw"), want: "not_applicable | …"},
		{says: "options not known", id: id, set: func(m *Machine) { plain(m); m.Dirs[0].Mount.Options, m.Dirs[0].Mount.Super = nil, nil }, want: "unknown | /data1/kafka"},

		{says: "no errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "0"}, set: plain, want: "ok 0 (0)"},
		{says: "errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "3"}, set: plain, want: "warn 3 (0) | … | $ umount /data && e2fsck"},
		{says: "XFS does not count", id: "fs.errors", set: mountedAs("xfs", "rw", "rw"), want: "not_applicable | …"},
	})
}

func TestFreeSpace(t *testing.T) {
	space := func(s host.Space) func(*Machine) {
		return func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Space = s }
	}
	const tib = 1 << 40
	tryAll(t, []trial{
		{says: "half is free", id: "fs.free_space", set: space(host.Space{Total: tib, Free: tib / 2}), want: "ok 50 % (512 GiB) (≥ 15 % and ≥ 10 GiB)"},
		{says: "a tenth is free", id: "fs.free_space", set: space(host.Space{Total: tib, Free: tib / 10}), want: "warn 10 % (102 GiB) (≥ 15 % and ≥ 10 GiB)"},
		{says: "half of a small one", id: "fs.free_space", set: space(host.Space{Total: 16 << 30, Free: 8 << 30}), want: "warn 50 % (8 GiB) (≥ 15 % and ≥ 10 GiB)"},
		{says: "a hundredth", id: "fs.free_space", set: space(host.Space{Total: 100 << 30, Free: 1 << 30}), want: "fail 1.0 % (1 GiB) (≥ 15 % and ≥ 10 GiB)"},
		{says: "nothing", id: "fs.free_space", set: space(host.Space{Total: tib}), want: "fail 0 % (0 B) (≥ 15 % and ≥ 10 GiB)"},
		{says: "size not known", id: "fs.free_space", set: space(host.Space{}), want: "unknown | /data1/kafka"},
		{says: "files enough", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 500}), want: "ok 50 % (≥ 15 %)"},
		{says: "few files", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 100}), want: "warn 10 % (≥ 15 %) | 100"},
		{says: "no files", id: "fs.free_files", set: space(host.Space{Total: tib, Files: 1000, FreeFiles: 10}), want: "fail 1.0 % (≥ 15 %) | 10"},
		{says: "files without number", id: "fs.free_files", set: space(host.Space{Total: tib}), want: "not_applicable | …"},
		{says: "files not known", id: "fs.free_files", set: space(host.Space{}), want: "unknown | /data1/kafka"},
	})
}
