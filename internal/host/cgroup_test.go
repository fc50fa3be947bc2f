package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/must"
)

func TestWhatTheGroupsAroundAProcessAllow(t *testing.T) {
	for _, row := range must.Rows[[]struct {
		Says  string
		Files map[string]string
		Want  Cgroup
	}](t, "cgroup") {
		got, err := files(row.Files).Cgroup(42)
		if diff := cmp.Diff(row.Want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: Cgroup(42) error = %v, (-want +got):\n%s", row.Says, err, diff)
		}
	}
}

// FuzzCgroup: no list of groups panics or leads out of the tree, the layout is one
// of the three exactly when there is a group, and the unit is a service.
func FuzzCgroup(f *testing.F) {
	f.Add("9:name=systemd:/system.slice/kafka.service\n4:memory:/process/1\n1:cpu,cpuacct:/\n0::/../..\n", "100 100000")
	f.Add("0::/user@1.service/.service/a.scope/x.service", "oom_kill 1\nnr_periods 5\nthrottled_time -1")
	f.Fuzz(func(t *testing.T, list, content string) {
		got, err := files(map[string]string{
			"proc/42/cgroup":                                     list,
			"sys/fs/cgroup/cpu.max":                              content,
			"sys/fs/cgroup/cpu.stat":                             content,
			"sys/fs/cgroup/memory.max":                           content,
			"sys/fs/cgroup/memory.events":                        content,
			"sys/fs/cgroup/io.max":                               content,
			"sys/fs/cgroup/pids/pids.max":                        content,
			"sys/fs/cgroup/cpu/cpu.stat":                         content,
			"sys/fs/cgroup/blkio/blkio.throttle.read_bps_device": content,
		}).Cgroup(42)
		if unit := unitOf(list); unit != "" && !strings.HasSuffix(unit, ".service") {
			t.Errorf("unitOf(%q) = %q", list, unit)
		}
		if err != nil {
			return
		}
		must.Match(t, len(got.Paths) > 0, got.Layout != "", "Cgroup(42) of %q: layout %q, groups %v", list, got.Layout, got.Paths)
		if got.Cores < 0 || got.Memory < 0 || got.Pids < 0 || got.ThrottledUS < 0 {
			t.Errorf("Cgroup(42) of %q with %q = %+v", list, content, got)
		}
	})
}
