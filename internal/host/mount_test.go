package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

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
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("ParseMounts error = %v, (-want +got):\n%s", err, diff)
	}
}

func TestALineThatIsNoMountIsShown(t *testing.T) {
	for _, line := range must.Rows[[]string](t, "mount") {
		if got, err := ParseMounts(mountinfo + line); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("ParseMounts(%q) = %v, %v, want an error that shows the line", line, got, err)
		}
	}
}

func TestAPathIsInTheLongestMountOnItsWay(t *testing.T) {
	mounts := must.Have(ParseMounts(mountinfo))(t)
	for path, want := range must.Rows[map[string]string](t, "mount") {
		if got, ok := MountOf(mounts, path); !ok || got.Source != want {
			t.Errorf("MountOf(%q) = %q, %t, want %q", path, got.Source, ok, want)
		}
	}
	if got, ok := MountOf(mounts[2:], "/var"); ok {
		t.Errorf("MountOf(/var) = %+v where nothing holds it", got)
	}
}

func TestOptionsOfTheMountComeFirst(t *testing.T) {
	m := Mount{Options: []string{"rw", "noatime", "size=1"}, Super: []string{"ro", "size=2", "logbsize=32k", "empty="}}
	for name, want := range map[string]string{"noatime": "", "size": "1", "logbsize": "32k", "empty": ""} {
		if got, ok := m.Option(name); !ok || got != want {
			t.Errorf("Option(%s) = %q, %t, want %q", name, got, ok, want)
		}
	}
	if got, ok := m.Option("atime"); ok {
		t.Errorf("Option(atime) = %q: noatime is another option", got)
	}
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
			if m.Major < 0 || m.Minor < 0 || len(m.Options) == 0 || len(m.Super) == 0 {
				t.Errorf("ParseMounts(%q) has %+v", text, m)
			}
		}
		if _, ok := MountOf(mounts, "/"); ok != root {
			t.Errorf("MountOf(/) of %q = %t, want %t", text, ok, root)
		}
	})
}
