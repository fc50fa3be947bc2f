package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
)

// won is the last value of each key and the file that it is in.
func won(all map[string][]Sysctl) map[string]string {
	last := make(map[string]string)
	for key, list := range all {
		s := list[len(list)-1]
		last[key] = s.Value + " " + s.File
	}
	return last
}

func TestTheLastFileByItsBaseNameWins(t *testing.T) {
	got, err := files(must.Rows[map[string]string](t, "sysctl_files")).Sysctls()
	want := map[string]string{
		"vm.swappiness":      "1 /etc/sysctl.d/99-kafka.conf",
		"net.core.somaxconn": "1 /usr/lib/sysctl.d/sysctl.conf",
		"vm.dirty_ratio":     "3 /etc/sysctl.conf",
		"kernel.sysrq":       "1 /usr/local/lib/sysctl.d/55-local.conf",
		"kernel.pid_max":     "32768 /lib/sysctl.d/00-old.conf",
	}
	diff := cmp.Diff(want, won(got))
	must.True(t, err == nil && diff == "", "Sysctls() error = %v, last values (-want +got):\n%s", err, diff)
	all := []Sysctl{
		{"vm.swappiness", "60", "/usr/lib/sysctl.d/50-default.conf", 1},
		{"vm.swappiness", "1", "/etc/sysctl.d/99-kafka.conf", 1},
	}
	must.Match(t, all, got["vm.swappiness"], "vm.swappiness in order")
}

func TestLinksAreFollowedWithinTheTree(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	got, err := NewFS(fstest.MapFS{
		"etc/sysctl.conf":                   file("\nvm.swappiness = 5\n"),
		"etc/sysctl.d/99-sysctl.conf":       link("../sysctl.conf"),
		"etc/sysctl.d/zz.conf":              file("vm.swappiness = 6\n"), // not beaten by sysctl.conf, which was read before
		"etc/sysctl.d/50-masked.conf":       link("/dev/null"),
		"usr/lib/sysctl.d/50-masked.conf":   file("kernel.sysrq = 1\n"),
		"etc/sysctl.d/60-absolute.conf":     link("/opt/kafka/sysctl"),
		"opt/kafka/sysctl":                  file("vm.dirty_ratio = 80\n"),
		"usr/lib/sysctl.d/70-emptied.conf":  file("kernel.panic = 1\n"),
		"run/sysctl.d/70-emptied.conf":      file(""),
		"usr/lib/sysctl.d/80-dangling.conf": file("kernel.panic = 2\n"),
	}).Sysctls()
	want := map[string]string{
		"vm.swappiness":  "6 /etc/sysctl.d/zz.conf",
		"vm.dirty_ratio": "80 /etc/sysctl.d/60-absolute.conf",
		"kernel.panic":   "2 /usr/lib/sysctl.d/80-dangling.conf",
	}
	diff := cmp.Diff(want, won(got))
	must.True(t, err == nil && diff == "", "Sysctls() error = %v, last values (-want +got):\n%s", err, diff)
	must.Match(t, (Sysctl{"vm.swappiness", "5", "/etc/sysctl.d/99-sysctl.conf", 2}), got["vm.swappiness"][0], "the first vm.swappiness")
}

func TestLinksInACircleAreAnError(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "etc/sysctl.d"), 0o755))
	for name, to := range map[string]string{"a.conf": "b.conf", "b.conf": "a.conf"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, "etc/sysctl.d", name)))
	}
	got, err := Rooted(dir).Sysctls()
	must.True(t, err != nil, "Sysctls() of links in a circle = %v, want an error", got)
}

func TestAFileThatCannotBeReadIsToldAndTheOthersCount(t *testing.T) {
	got, err := NewFS(fstest.MapFS{
		"etc/sysctl.d/a.conf": {Data: []byte("nowhere"), Mode: fs.ModeSymlink},
		"etc/sysctl.d/b.conf": {Data: []byte("vm.swappiness=1")},
	}).Sysctls()
	must.True(t, err != nil && strings.Contains(err.Error(), "nowhere") && len(got["vm.swappiness"]) == 1,
		"Sysctls() = %v, %v, want vm.swappiness and an error about nowhere", got, err)
}

func TestLinesOfASysctlFile(t *testing.T) {
	for line, want := range must.Rows[map[string]string](t, "sysctl") {
		got := ""
		for _, l := range parseSysctls("/f", line) {
			got += l.Key + "=" + l.Value
		}
		must.Match(t, want, got, "parseSysctls(%q)", line)
	}
}

func TestAPatternCountsForWhatNoFileNames(t *testing.T) {
	got, err := files(map[string]string{
		"proc/sys/net/ipv4/conf/all/rp_filter":      "0",
		"proc/sys/net/ipv4/conf/eth0/rp_filter":     "0",
		"proc/sys/net/ipv4/conf/eth0.200/rp_filter": "0",
		"proc/sys/net/ipv4/conf/lo/rp_filter":       "0",
		"etc/sysctl.d/a.conf":                       "net.ipv4.conf.lo.rp_filter = 1\n",
		"etc/sysctl.d/b.conf":                       "net.ipv4.conf.*.rp_filter = 2\n-net.ipv4.conf.all.rp_filter\nnet.ipv6.*.x = 1\n",
	}).Sysctls()
	want := map[string]string{
		"net.ipv4.conf.lo.rp_filter":       "1 /etc/sysctl.d/a.conf",
		"net.ipv4.conf.eth0.rp_filter":     "2 /etc/sysctl.d/b.conf",
		"net.ipv4.conf.eth0/200.rp_filter": "2 /etc/sysctl.d/b.conf",
	}
	diff := cmp.Diff(want, won(got))
	must.True(t, err == nil && diff == "", "Sysctls() error = %v, last values (-want +got):\n%s", err, diff)
}

func TestTheFileOfAKernelSetting(t *testing.T) {
	for key, want := range map[string]string{
		"vm.swappiness":                     "proc/sys/vm/swappiness",
		"vm/swappiness":                     "proc/sys/vm/swappiness",
		"net.ipv4.conf.eth0/200.forwarding": "proc/sys/net/ipv4/conf/eth0.200/forwarding",
	} {
		must.Match(t, want, SysctlFile(key), "SysctlFile(%s)", key)
	}
}

// FuzzSysctls: no text panics, keys have a file below proc/sys, values have single
// spaces, and every entry has a key, a file and a line.
func FuzzSysctls(f *testing.F) {
	f.Add("vm.swappiness = 1\n-net.ipv4.conf.*.rp_filter = 2\nnet/ipv4/x.y = 3\n-a.b\n# x\n")
	f.Add("[.a = 1\n[-/] = 2\n.. = 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := files(map[string]string{"etc/sysctl.conf": text, "proc/sys/a/b": "1"}).Sysctls()
		must.Hold(t, err == nil, "Sysctls() of %q = %v", text, err)
		for key, list := range all {
			must.True(t, len(list) != 0 && key != "", "Sysctls() of %q has %d entries of %q", text, len(list), key)
			for _, s := range list {
				must.True(t, s.Key == key && s.Line >= 1 && s.File == "/etc/sysctl.conf" && s.Value == strings.Join(strings.Fields(s.Value), " "),
					"Sysctls() of %q has %+v for %q", text, s, key)
			}
		}
	})
}
