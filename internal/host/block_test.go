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
	tree := disks(must.Rows[map[string]string](t, "block_files"))
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
	tree := files(must.Rows[map[string]string](t, "block_files"))
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
