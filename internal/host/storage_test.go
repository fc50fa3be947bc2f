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
		got, err := tree.StorageOf(Mount{Major: 8})
		must.True(t, errors.Is(err, fs.ErrNotExist), "StorageOf(8:0) = %+v, %v, want ErrNotExist", got, err)
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
		diff := cmp.Diff(row.want, names)
		must.True(t, err == nil && diff == "", "StorageOf(%+v) error = %v, disks (-want +got):\n%s", row.mount, err, diff)
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
		must.True(t, len(inner) == len(value) && len(got) == len(value)+2 && !strings.ContainsAny(inner, "\"\\\n\r*[]|$%"),
			"udevPattern(%q) = %s", value, got)
	})
}

const mountinfo = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,errors=remount-ro
36 27 8:17 / /data rw,noatime shared:1 master:2 propagate_from:3 - xfs /dev/sdb1 rw,attr2,logbsize=32k
37 27 0:44 /sub /my\040disk\134\043\011\012x rw shared:4 - btrfs /dev/sdc\0401 rw,subvol=/sub
38 36 8:33 / /data rw - xfs /dev/sdc1 rw
39 27 0:50 / /mnt/none rw -  tmpfs rw
`

func TestMountsAreReadWithTheirEscapes(t *testing.T) {
	got, err := ParseMounts(mountinfo[:strings.Index(mountinfo, "38 36")])
	want := []Mount{
		{Point: "/proc", Type: "proc", Source: "proc", Root: "/", Minor: 21, Options: []string{"rw", "relatime"}, Super: []string{"rw"}},
		{Point: "/", Type: "ext4", Source: "/dev/vda", Root: "/", Major: 254, Options: []string{"rw", "relatime"}, Super: []string{"rw", "discard", "errors=remount-ro"}},
		{Point: "/data", Type: "xfs", Source: "/dev/sdb1", Root: "/", Major: 8, Minor: 17, Options: []string{"rw", "noatime"}, Super: []string{"rw", "attr2", "logbsize=32k"}},
		{Point: "/my disk\\#\t\nx", Type: "btrfs", Source: "/dev/sdc 1", Root: "/sub", Minor: 44, Options: []string{"rw"}, Super: []string{"rw", "subvol=/sub"}},
	}
	diff := cmp.Diff(want, got)
	must.True(t, err == nil && diff == "", "ParseMounts error = %v, (-want +got):\n%s", err, diff)
}

func TestALineThatIsNoMountIsShown(t *testing.T) {
	for _, line := range must.Rows[[]string](t, "mount") {
		got, err := ParseMounts(mountinfo + line)
		must.True(t, err != nil && strings.Contains(err.Error(), line), "ParseMounts(%q) = %v, %v, want an error that shows the line", line, got, err)
	}
}

func TestAPathIsInTheLongestMountOnItsWay(t *testing.T) {
	mounts := must.Have(ParseMounts(mountinfo))(t)
	for path, want := range must.Rows[map[string]string](t, "mount") {
		got, ok := MountOf(mounts, path)
		must.True(t, ok && got.Source == want, "MountOf(%q) = %q, %t, want %q", path, got.Source, ok, want)
	}
	got, ok := MountOf(mounts[2:], "/var")
	must.True(t, !ok, "MountOf(/var) = %+v where nothing holds it", got)
}

func TestOptionsOfTheMountComeFirst(t *testing.T) {
	m := Mount{Options: []string{"rw", "noatime", "size=1"}, Super: []string{"ro", "size=2", "logbsize=32k", "empty="}}
	for name, want := range map[string]string{"noatime": "", "size": "1", "logbsize": "32k", "empty": ""} {
		got, ok := m.Option(name)
		must.True(t, ok && got == want, "Option(%s) = %q, %t, want %q", name, got, ok, want)
	}
	got, ok := m.Option("atime")
	must.True(t, !ok, "Option(atime) = %q: noatime is another option", got)
}

// FuzzParseMounts: no text panics, and every mount has a place and a type; the root
// is in a mount exactly when one is at the root.
func FuzzParseMounts(f *testing.F) {
	f.Add(mountinfo)
	f.Add(`1 1 0:1 \ \04 a - \ \777 \`)
	f.Fuzz(func(t *testing.T, text string) {
		mounts, err := ParseMounts(text)
		if err != nil {
			return
		}
		root := false
		for _, m := range mounts {
			root = root || Rel(m.Point) == "."
			must.True(t, m.Major >= 0 && m.Minor >= 0 && len(m.Options) != 0 && len(m.Super) != 0, "ParseMounts(%q) has %+v", text, m)
		}
		_, ok := MountOf(mounts, "/")
		must.True(t, ok == root, "MountOf(/) of %q = %t, want %t", text, ok, root)
	})
}
