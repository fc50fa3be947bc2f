package host

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// files is a machine made of the contents of its files.
func files(contents map[string]string) FS {
	tree := fstest.MapFS{}
	for name, text := range contents {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return NewFS(tree)
}

// disks is a machine whose block devices are files below sys/block.
func disks(contents map[string]string) FS {
	below := make(map[string]string)
	for name, text := range contents {
		below["sys/block/"+name] = text + "\n"
	}
	return files(below)
}

func TestStorageGoesDownToTheDisks(t *testing.T) {
	tree := disks(map[string]string{
		"sda/dev": "8:0", "sda/sda1/dev": "8:1", "sda/sda2/dev": "8:2",
		"sdb/dev": "8:16", "sdb/sdb1/dev": "8:17", "sdb/queue/rotational": "1",
		"sdaa/dev": "65:160", "sdaa/sdaa1/dev": "65:161",
		"md0/dev": "9:0", "md0/md/level": "raid5", "md0/slaves/sdb1/dev": "8:17", "md0/slaves/sda1/dev": "8:1", "md0/slaves/sdaa1/dev": "65:161",
		"md0/md0p1/dev": "259:0",
		"dm-0/dev":      "253:0", "dm-0/dm/uuid": "LVM-abc", "dm-0/slaves/md0/dev": "9:0",
		"dm-1/dev": "253:1", "dm-1/dm/uuid": "CRYPT-LUKS2-abc", "dm-1/slaves/dm-0/dev": "253:0",
		"dm-2/dev": "253:2", "dm-2/dm/uuid": "part1-mpath-3600", "dm-2/slaves/dm-3/dev": "253:3",
		"dm-3/dev": "253:3", "dm-3/dm/uuid": "mpath-3600", "dm-3/slaves/sda/dev": "8:0", "dm-3/slaves/sdb/dev": "8:16",
		"dm-4/dev": "253:4", "dm-4/dm/name": "x", "dm-4/slaves/dm-4/dev": "253:4", // lies on itself
		"md1/dev": "9:1", "md1/md/array_state": "clear",
		"bcache0/dev": "252:0", "bcache0/slaves/sdb/dev": "8:16",
		"loop0/dev": "7:0", "loop0/loop/backing_file": "/image", "loop1/dev": "7:1",
		"nvme0n1/dev": "259:1", "nvme0n1/nvme0n1p1/dev": "259:2",
	})
	for _, row := range must.Rows[[]struct {
		Says         string
		Major, Minor int
		Device       string
		Disks        string
		Layers       string
	}](t, "block") {
		got, err := tree.StorageOf(Mount{Major: row.Major, Minor: row.Minor})
		var names []string
		for _, d := range got.Disks {
			names = append(names, d.Name)
		}
		if err != nil || got.Device != row.Device || strings.Join(names, " ") != row.Disks || strings.Join(got.Layers, " ") != row.Layers {
			t.Errorf("%s: StorageOf(%d:%d) = %s on %q through %q, %v, want %s on %q through %q",
				row.Says, row.Major, row.Minor, got.Device, names, got.Layers, err, row.Device, row.Disks, row.Layers)
		}
	}
}

func TestMemoryIsFoundAtTheBottom(t *testing.T) {
	tree := files(map[string]string{
		"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n" +
			"2 1 0:30 / /dev/shm rw - tmpfs tmpfs rw\n" +
			"3 1 7:1 / /images rw - xfs /dev/loop1 rw\n" +
			"4 1 0:40 / /merged rw - overlay overlay rw,upperdir=/dev/shm/up,workdir=/dev/shm/work\n" +
			"5 1 0:41 / /two rw - overlay overlay rw,upperdir=/merged/up\n" +
			"6 1 0:42 / /inner rw - overlay overlay rw,upperdir=/elsewhere/up\n" +
			"7 1 0:43 / /read rw - overlay overlay ro,lowerdir=/dev/shm\n" +
			"8 1 0:44 / /btrfs rw - btrfs /dev/loop0 rw\n",
		"dev/shm/up/x": "", "merged/up/x": "", "images/x": "",
		"sys/block/sda/dev": "8:0", "sys/block/sda/sda1/dev": "8:1",
		"sys/block/ram0/dev": "1:0", "sys/block/zram3/dev": "251:3",
		"sys/block/loop0/dev": "7:0", "sys/block/loop0/loop/backing_file": "/dev/shm/image",
		"sys/block/loop1/dev": "7:1", "sys/block/loop1/loop/backing_file": "/image",
		"sys/block/loop2/dev": "7:2", "sys/block/loop2/loop/backing_file": "/images/image (deleted)",
		"sys/block/loop3/dev": "7:3", "sys/block/loop3/loop/backing_file": "/dev/ram0",
		"sys/block/loop4/dev": "7:4", "sys/block/loop4/loop/backing_file": "/merged/up/image",
		"sys/block/loop5/dev": "7:5", "sys/block/loop5/loop/backing_file": "/elsewhere/image",
		"sys/block/dm-0/dev": "253:0", "sys/block/dm-0/dm/uuid": "LVM-a", "sys/block/dm-0/slaves/md0/dev": "",
		"sys/block/md0/dev": "9:0", "sys/block/md0/md/level": "raid1", "sys/block/md0/slaves/loop1/dev": "", "sys/block/md0/slaves/loop0/dev": "",
		"sys/block/sdz/dev": "65:1", "sys/block/sdz/device/model": "scsi_debug", "sys/block/sdz/device/vendor": "Linux",
	})
	mounts := must.Have(tree.Mounts())(t)
	for _, row := range []struct {
		says                  string
		at                    Mount
		disks, layers, memory string
	}{
		{"a disk", Mount{Major: 8, Minor: 1}, "sda", "", ""},
		{"tmpfs", mounts[1], "", "", "tmpfs"},
		{"a RAM disk", Mount{Major: 1}, "ram0", "", "ram0"},
		{"compressed memory", Mount{Major: 251, Minor: 3}, "zram3", "", "zram3"},
		{"a file in memory", Mount{Major: 7}, "loop0", "loop", "loop0 in tmpfs"},
		{"btrfs on a file in memory", mounts[7], "loop0", "loop", "loop0 in tmpfs"},
		{"a file on a disk", Mount{Major: 7, Minor: 1}, "sda", "loop", ""},
		{"a file that is gone, in a file on a disk", Mount{Major: 7, Minor: 2}, "sda", "loop", ""},
		{"a loop over a RAM disk", Mount{Major: 7, Minor: 3}, "ram0", "loop", "ram0"},
		{"a file in a layer in memory", Mount{Major: 7, Minor: 4}, "loop4", "loop", "loop4 in tmpfs"},
		{"a file that another process names", Mount{Major: 7, Minor: 5}, "loop5", "loop", ""},
		{"LVM over a mirror, one half in memory", Mount{Major: 253}, "loop0 sda", "lvm raid1 loop", "loop0 in tmpfs"},
		{"an overlay in memory", mounts[3], "", "", "tmpfs"},
		{"an overlay on an overlay in memory", mounts[4], "", "", "tmpfs"},
		{"an overlay whose layer is not to be seen", mounts[5], "", "", ""},
		{"an overlay that is only read", mounts[6], "", "", ""},
		{"a disk that a module makes up", Mount{Major: 65, Minor: 1}, "sdz", "", "sdz"},
	} {
		got, err := tree.StorageOf(row.at)
		var names []string
		for _, d := range got.Disks {
			names = append(names, d.Name)
		}
		if err != nil || strings.Join(names, " ") != row.disks || strings.Join(got.Layers, " ") != row.layers || got.Memory != row.memory {
			t.Errorf("%s: StorageOf(%+v) = %q through %q, memory %q, %v, want %s through %s, memory %q",
				row.says, row.at, names, got.Layers, got.Memory, err, row.disks, row.layers, row.memory)
		}
	}
}

func TestADeviceThatIsNotThereIsAnError(t *testing.T) {
	for _, tree := range []FS{
		files(nil),
		disks(map[string]string{"sda/dev": "8:1"}),
		disks(map[string]string{"dm-0/dev": "8:0", "dm-0/slaves/gone/dev": "8:1"}),
	} {
		if got, err := tree.StorageOf(Mount{Major: 8}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("StorageOf(8:0) = %+v, %v, want ErrNotExist", got, err)
		}
	}
}

func TestBtrfsIsOnTheDisksOfItsSource(t *testing.T) {
	tree := files(map[string]string{
		"sys/block/sda/sda1/dev":           "8:1",
		"sys/block/sdb/dev":                "8:16",
		"sys/block/sdc/dev":                "8:32",
		"sys/fs/btrfs/u1/devices/sda1/dev": "8:1",
		"sys/fs/btrfs/u1/devices/sdb/dev":  "8:16",
		"sys/fs/btrfs/u2/devices/sdc/dev":  "8:32",
	})
	for _, row := range []struct {
		mount Mount
		want  []string
	}{
		{Mount{Minor: 44, Source: "/dev/sda1"}, []string{"sda", "sdb"}},
		{Mount{Minor: 45, Source: "/dev/sdc"}, []string{"sdc"}},
		{Mount{Major: 8, Minor: 32, Source: "/dev/root"}, []string{"sdc"}},
		{Mount{Minor: 46, Source: "server:/export"}, nil},
	} {
		got, err := tree.StorageOf(row.mount)
		var names []string
		for _, d := range got.Disks {
			names = append(names, d.Name)
		}
		if diff := cmp.Diff(row.want, names); err != nil || diff != "" {
			t.Errorf("StorageOf(%+v) error = %v, disks (-want +got):\n%s", row.mount, err, diff)
		}
	}
}

func TestADiskIsFoundAgainByItsIdentity(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says  string
		Files map[string]string
		Want  Disk
	}](t, "block") {
		row.Want.Name = "x"
		must.Match(t, row.Want, disks(row.Files).disk("x"), "%s: disk(x)", row.Says)
	}
	must.Match(t, `KERNEL=="cciss?c0d0"`, files(nil).disk("cciss!c0d0").Match, "disk(cciss!c0d0).Match") // udev knows it as cciss/c0d0
}

// FuzzUdevPattern: no identity ends the value that it is put into, or the line.
func FuzzUdevPattern(f *testing.F) {
	f.Add("naa.5000c500")
	f.Add("a\", RUN+=\"/bin/x\"\n\\")
	f.Fuzz(func(t *testing.T, value string) {
		got, _ := udevPattern(value)
		inner := strings.TrimSuffix(strings.TrimPrefix(got, `"`), `"`)
		if len(inner) != len(value) || len(got) != len(value)+2 || strings.ContainsAny(inner, "\"\\\n\r*[]|$%") {
			t.Errorf("udevPattern(%q) = %s", value, got)
		}
	})
}
