package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kt-bench/kt/internal/must"
)

func TestWhatTheGroupsAroundAProcessAllow(t *testing.T) {
	for _, row := range []struct {
		says  string
		files map[string]string
		want  Cgroup
	}{
		{
			"version 2: the tightest of all around it, the kills of its own",
			map[string]string{
				"proc/42/cgroup":                                        "0::/kafka.slice/kafka.service\n",
				"sys/fs/cgroup/kafka.slice/cpu.max":                     "150000 100000\n",
				"sys/fs/cgroup/kafka.slice/cpu.stat":                    "usage_usec 9\nnr_periods 100\nnr_throttled 7\nthrottled_usec 12345\n",
				"sys/fs/cgroup/kafka.slice/memory.max":                  "1073741824\n",
				"sys/fs/cgroup/kafka.slice/memory.events":               "low 0\noom_kill 5\n",
				"sys/fs/cgroup/kafka.slice/pids.max":                    "max\n",
				"sys/fs/cgroup/kafka.slice/io.max":                      "8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=1 wbps=max riops=max wiops=max\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/cpu.max":       "max 100000\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/cpu.stat":      "nr_periods 500\nnr_throttled 3\nthrottled_usec 100\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/memory.max":    "max\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/memory.events": "low 0\noom 2\noom_kill 1\noom_group_kill 0\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/pids.max":      "4096\n",
				"sys/fs/cgroup/kafka.slice/kafka.service/io.max":        "\n",
			},
			Cgroup{
				Layout: "v2", Paths: map[string]string{"": "/kafka.slice/kafka.service"},
				Cores: 1.5, Memory: 1 << 30, Pids: 4096, Periods: 100, Throttled: 7, ThrottledUS: 12345, OOMKills: 1,
				IO: []string{"8:16 rbps=2097152 wbps=max riops=max wiops=120", "8:0 rbps=1 wbps=max riops=max wiops=max"},
			},
		},
		{
			"version 1, cpu and cpuacct mounted together under both names' folder",
			map[string]string{
				"proc/42/cgroup": "5:cpu,cpuacct:/a\n4:memory:/a\n3:pids:/a\n2:blkio:/a\n1:name=systemd:/a\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":          "200000",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us":         "100000",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.stat":                  "nr_periods 10\nnr_throttled 2\nthrottled_time 5000999\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712",
				"sys/fs/cgroup/memory/a/memory.limit_in_bytes":          "4096",
				"sys/fs/cgroup/memory/a/memory.oom_control":             "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
				"sys/fs/cgroup/pids/a/pids.max":                         "100",
				"sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device": "8:16 1048576\n8:0 7\n",
				"sys/fs/cgroup/blkio/a/blkio.throttle.read_iops_device": "8:16 50\n",
				"sys/fs/cgroup/blkio/a/blkio.throttle.io_service_bytes": "8:16 Read 1\n",
				"sys/fs/cgroup/blkio/a/blkio.throttle.read_bps_device":  "",
				"sys/fs/cgroup/systemd/a/cpu.max":                       "1 100000",
			},
			Cgroup{
				Layout: "v1", Paths: map[string]string{"cpu": "/a", "cpuacct": "/a", "memory": "/a", "pids": "/a", "blkio": "/a", "name=systemd": "/a"},
				Cores: 2, Memory: 4096, Pids: 100, Periods: 10, Throttled: 2, ThrottledUS: 5000, OOMKills: 3,
				IO: []string{"8:16 wbps=1048576", "8:0 wbps=7", "8:16 riops=50"},
			},
		},
		{
			"hybrid: memory in version 1 below a path of its own, version 2 beside it and empty",
			map[string]string{
				"proc/42/cgroup": "9:name=systemd:/\n4:memory:/x/y\n1:cpu:/\n0::/\n",
				"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "8192",
				"sys/fs/cgroup/unified/cgroup.procs":           "",
				"sys/fs/cgroup/unified/pids.max":               "77",
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":           "-1",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":          "100000",
			},
			Cgroup{Layout: "hybrid", Paths: map[string]string{"name=systemd": "/", "memory": "/x/y", "cpu": "/", "": "/"}, Memory: 8192, Pids: 77},
		},
		{
			"a container that sees its own group as the root, under the path of the host",
			map[string]string{
				"proc/42/cgroup":              "0::/system.slice/docker-1.scope\n",
				"sys/fs/cgroup/memory.max":    "4096",
				"sys/fs/cgroup/memory.events": "oom_kill 2\n",
			},
			Cgroup{Layout: "v2", Paths: map[string]string{"": "/system.slice/docker-1.scope"}, Memory: 4096, OOMKills: 2},
		},
		{"a kernel without groups", map[string]string{"proc/42/cgroup": ""}, Cgroup{}},
	} {
		got, err := files(row.files).Cgroup(42)
		if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: Cgroup(42) error = %v, (-want +got):\n%s", row.says, err, diff)
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
