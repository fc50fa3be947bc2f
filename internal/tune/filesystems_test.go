package tune

import (
	"strings"
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

// TestMounts tries mounts: the type of the file system, the options of the mount and those of the file system.
func TestMounts(t *testing.T) {
	for _, row := range []struct{ says, id, rule, mount, want string }{
		{"XFS", "type", "", "xfs rw rw", "ok xfs (xfs)"},
		{"ext4 for throughput", "type", "", "ext4 rw rw", "info ext4 (xfs) | ext4"},
		{"ext4 for latency", "type", "xfs", "ext4 rw rw", "warn ext4 (xfs) | $ mkfs.xfs on a new"},
		{"btrfs", "type", "", "btrfs rw rw", "warn btrfs (xfs) | $ mkfs.xfs on a new"},
		{"btrfs on a laptop", "type", "leave", "btrfs rw rw", "info btrfs (left alone)"},
		{"another check tells of NFS", "type", "", "nfs rw rw", "not_applicable | …"},
		{"no times are kept", "noatime", "", "xfs rw,noatime rw", "ok noatime (noatime)"},
		{"the default", "noatime", "", "xfs rw,relatime rw", "info relatime (noatime) | /data: relatime → noatime, advised"},
		{"each read writes", "noatime", "", "xfs rw rw", "warn strictatime (noatime) | /data: strictatime → noatime, advised"},
		{"times of a laptop", "noatime", "leave", "xfs rw,relatime rw", "info relatime (left alone)"},
		{"no discard", "discard", "", "ext4 rw rw", "ok no discard (no discard, and fstrim.timer)"},
		{"discard", "discard", "", "ext4 rw rw,discard", "warn discard (no discard, and fstrim.timer) | /etc/fstab | $ mount -o remount,nodiscard /data"},
		{"discard on a laptop", "discard", "leave", "ext4 rw rw,discard", "info discard (left alone)"},
		{"btrfs discards well", "discard", "", "btrfs rw rw,discard=async", "not_applicable | …"},
		{"no old options", "obsolete_options", "", "xfs rw rw,inode64", "ok none (none)"},
		{"barriers of ext4 are off", "obsolete_options", "", "ext4 rw rw,barrier=0", "warn barrier=0 (none) | $ take barrier=0 out of"},
		{"barriers of ext4 are on", "obsolete_options", "", "ext4 rw rw,barrier=1", "ok none (none)"},
		{"not synchronous", "sync", "", "xfs rw rw", "ok async (async)"},
		{"synchronous", "sync", "", "ext4 rw,sync rw,sync", "warn sync (async) | $ take sync out of"},
		{"synchronous in part", "sync", "", "xfs rw rw,wsync", "warn wsync (async) | $ take wsync out of"},
		{"XFS as it is", "xfs_options", "", "xfs rw,noatime rw,attr2,inode64", "ok defaults (defaults)"},
		{"XFS that reserves", "xfs_options", "", "xfs rw rw,allocsize=1048576k", "info allocsize=1048576k (defaults)"},
		{"not XFS", "xfs_options", "", "ext4 rw rw", "not_applicable | ext4"},
		{"it can be written", "read_only", "", "xfs rw rw", "ok rw (rw)"},
		{"it cannot", "read_only", "", "ext4 ro rw", "fail ro (rw) | $ dmesg | grep -i"},
		{"turned read-only after an error", "read_only", "", "ext4 rw ro,errors=remount-ro", "fail ro (rw) | $ dmesg | grep -i"},
		{"the journal's default, for throughput", "ext4_journal", "", "ext4 rw rw", "ok ordered (ordered)"},
		{"the journal's default, for latency", "ext4_journal", "fast_commit|writeback", "ext4 rw rw", "warn ordered (fast_commit) | … | $ dumpe2fs -h /dev/sda1 |"},
		{"writeback", "ext4_journal", "fast_commit|writeback", "ext4 rw rw,data=writeback", "ok writeback (fast_commit)"},
		{"everything twice", "ext4_journal", "", "ext4 rw rw,data=journal", "warn journal (ordered) | … | $ dumpe2fs -h /dev/sda1 |"},
		{"XFS counts no errors", "errors", "", "xfs rw rw", "not_applicable | …"},
	} {
		f := strings.Fields(row.mount)
		tryAll(t, []trial{{says: row.says, id: "fs." + row.id, rule: row.rule, set: mountedAs(f[0], f[1], f[2]), want: row.want}})
	}
	for _, id := range []string{"fs.noatime", "fs.discard", "fs.obsolete_options", "fs.sync", "fs.xfs_options", "fs.read_only"} {
		unknown := func(m *Machine) { onDisks(hard("sda"))(m); m.Dirs[0].Mount.Options, m.Dirs[0].Mount.Super = nil, nil }
		tryAll(t, []trial{{says: "options not known", id: id, set: unknown, want: "unknown | /data1/kafka"}})
	}
}

func TestMountsBesideTheirOptions(t *testing.T) {
	const id, info = "fs.noatime", "proc/fs/ext4/sda1/fc_info"
	relative, xfs, ext4 := mountedAs("xfs", "rw,relatime", "rw"), mountedAs("xfs", "rw", "rw"), mountedAs("ext4", "rw", "rw")
	timers := "etc/systemd/system/timers.target.wants/"
	able := func(more ...string) map[string]string {
		files := map[string]string{"sys/block/sda/queue/discard_max_bytes": "2147450880"}
		for _, name := range more {
			files[name] = ""
		}
		return files
	}
	sees := func(mounts string) map[string]string {
		return map[string]string{"proc/self/mountinfo": "a", "proc/7/mountinfo": mounts}
	}
	const changed = "info relatime (noatime) | /data: relatime → noatime, advised"
	tryAll(t, []trial{
		{says: "a type that is not known", id: "fs.type", set: func(m *Machine) { m.Dirs = []Dir{{Path: "/data"}} }, want: "unknown | /data"},
		{says: "the system's own file system", id: id, set: at("/", "/", relative), want: "info relatime (noatime) | $ mount -o remount,noatime /"},
		{says: "a part of a file system", id: id, set: at("/data", "/sub", relative), want: "info relatime (noatime) | $ mount -o remount,noatime /data"},
		{says: "two directories of one mount need one change", id: id, set: with(relative, func(m *Machine) { m.Dirs = append(m.Dirs, m.Dirs[0]); m.Dirs[1].Path = "/data/b" }), want: changed},
		{says: "a broker with mounts of its own", id: id, files: sees("b"), set: with(broker(6), relative), want: "info relatime (noatime) | … | $ mount the volume of"},
		{says: "a broker with the same mounts", id: id, files: sees("a"), set: with(broker(6), relative), want: changed},

		{says: "trimmed each week", id: "fs.trim", files: able(timers + "fstrim.timer"), set: xfs, want: "ok fstrim.timer"},
		{says: "never trimmed", id: "fs.trim", files: able(timers + "other.timer"), set: xfs, want: "info not seen (fstrim.timer) | $ systemctl enable --now fstrim.timer"},
		{says: "trimmed at once", id: "fs.trim", files: able(), set: mountedAs("xfs", "rw", "rw,discard"), want: "ok at every delete"},
		{says: "a disk that cannot", id: "fs.trim", set: xfs, want: "not_applicable | …"},
		{says: "without systemd", id: "fs.trim", files: able(), set: xfs, want: "not_applicable | …"},

		{
			says: "old options in fstab only", id: "fs.obsolete_options", files: map[string]string{"etc/fstab": "/dev/sda1 /data xfs noatime,nobarrier 0 0"}, set: xfs,
			want: "warn nobarrier (none) | $ take nobarrier out of",
		},
		{says: "fast commits were seen", id: "fs.ext4_journal", profile: "latency", files: map[string]string{info: "fc stats:\n120 commits\n0 ineligible"}, set: ext4, want: "ok fast_commit (fast_commit)"},
		{says: "none were seen", id: "fs.ext4_journal", files: map[string]string{info: "fc stats:\n0 commits"}, set: ext4, want: "ok ordered (ordered)"},
		{says: "garbage for commits", id: "fs.ext4_journal", files: map[string]string{info: "x commits"}, set: ext4, want: "ok ordered (ordered)"},
		{says: "no errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "0"}, set: ext4, want: "ok 0 (0)"},
		{says: "errors", id: "fs.errors", files: map[string]string{"sys/fs/ext4/sda1/errors_count": "3"}, set: ext4, want: "warn 3 (0) | … | $ umount /data && e2fsck"},
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
