package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kt-bench/kt/internal/must"
)

// fixture is one of the machines in testdata/hosts.
func fixture(name string) FS { return NewFS(os.DirFS(filepath.Join("testdata", "hosts", name))) }

func TestFactsComeFromTheFileTree(t *testing.T) {
	for name, want := range must.Rows[map[string]Facts](t, "facts") {
		var got Facts
		got.readLinux(fixture(name))
		must.Match(t, want, got, "readLinux(%s)", name)
	}
}

func TestAnEmptyTreeLeavesFactsEmptyAndNamesTheSources(t *testing.T) {
	var got Facts
	got.readLinux(NewFS(fstest.MapFS{}))
	var names []string
	for _, u := range got.Unavailable {
		name, _, _ := strings.Cut(u, ":")
		names = append(names, name)
	}
	must.Match(t, []string{"machine", "clock_source", "hypervisor", "cgroup"}, names, "unavailable")
	got.Unavailable = nil
	must.Match(t, Facts{}, got, "the other fields")
}

func TestAMalformedFileIsNoLimitAndNoPanic(t *testing.T) {
	for _, content := range []string{"", "max", "x y", "1", "1 0", "-1 100000", "9223372036854775807", "1\x00"} {
		tree := fstest.MapFS{}
		for _, name := range []string{
			"sys/fs/cgroup/cpu.max", "sys/fs/cgroup/memory.max",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us", "sys/fs/cgroup/cpu/cpu.cfs_period_us",
			"sys/class/net/eth0/type", "sys/class/net/eth0/speed", "proc/cpuinfo",
		} {
			tree[name] = &fstest.MapFile{Data: []byte(content)}
		}
		tree["proc/self/cgroup"] = &fstest.MapFile{Data: []byte("1:cpu:/../..\n0::/../x\n")}
		var got Facts
		got.readLinux(NewFS(tree))
		if got.NetworkSpeed != 0 || got.Hypervisor || content != "1" && got.MemoryLimitBytes != 0 {
			t.Errorf("readLinux with %q in every file = %+v, want nothing", content, got)
		}
	}
}

func TestAMalformedCgroupListIsNamed(t *testing.T) {
	_, err := NewFS(fstest.MapFS{"proc/self/cgroup": {Data: []byte("nonsense\n")}}).Cgroup(0)
	must.Err(t, "nonsense", err, "Cgroup(0) error")
}
