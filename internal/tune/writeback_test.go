package tune

import (
	"maps"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

func TestUnwrittenData(t *testing.T) {
	const (
		asItComes  = "proc/sys/vm/dirty_background_ratio = 10\nproc/sys/vm/dirty_background_bytes = 0"
		asBytes    = "proc/sys/vm/dirty_background_ratio = 0\nproc/sys/vm/dirty_background_bytes = 8000000000"
		throughput = "5% 5s"
		latency    = "5% 400MB 1s"
		advice     = " | kt tune --probe finds a value in bytes"
	)
	disk := func(mib int64) func(*Machine) { return func(m *Machine) { m.Bandwidth = mib << 20 } }
	boot := func(key, value, file string) func(*Machine) {
		return func(m *Machine) {
			m.Sysctls = map[string][]host.Sysctl{key: {{Key: key, Value: value, File: file, Line: 3}}}
		}
	}
	lookAt(t, []row{
		{
			"as it comes, and no disk was measured", "vm.dirty_background", throughput, asItComes, "", memoryOf(64),
			"warn 10 % (≤ 5 %) | … | /proc/sys/vm/dirty_background_ratio: 10 → 5 [dirty_background_bytes: 0], kept",
		},
		{
			"bytes where a share is wanted", "vm.dirty_background", throughput, asBytes, "", memoryOf(64),
			"warn 8000000000 bytes (≤ 5 %) | … | /proc/sys/vm/dirty_background_ratio: 0 → 5 [dirty_background_bytes: 8000000000], kept",
		},
		{
			"a share where bytes are wanted", "vm.dirty_background", latency, asItComes, "", memoryOf(64),
			"warn 10 % (≤ 400000000 bytes) | … | /proc/sys/vm/dirty_background_bytes: 0 → 400000000 [dirty_background_ratio: 10], kept",
		},
		{
			"a disk of 200 MiB/s", "vm.dirty_background", throughput, asItComes, "", with(memoryOf(64), disk(200)),
			"warn 10 % (≤ 1048576000 bytes) | /proc/sys/vm/dirty_background_bytes: 0 → 1048576000 [dirty_background_ratio: 10], kept",
		},
		{
			"a disk that is faster than the memory is large", "vm.dirty_background", throughput, asItComes, "", with(memoryOf(4), disk(2000)),
			"warn 10 % (≤ 5 %) | /proc/sys/vm/dirty_background_ratio: 10 → 5 [dirty_background_bytes: 0], kept",
		},
		{"as wanted", "vm.dirty_background", throughput, "proc/sys/vm/dirty_background_ratio = 5\nproc/sys/vm/dirty_background_bytes = 0", "", memoryOf(64), "ok 5 % (≤ 5 %)"},
		{
			"within a tenth of what was measured", "vm.dirty_background", throughput, "proc/sys/vm/dirty_background_ratio = 0\nproc/sys/vm/dirty_background_bytes = 1100000000", "", with(memoryOf(64), disk(200)),
			"ok 1100000000 bytes (≤ 1048576000 bytes)",
		},
		{
			"nothing may wait", "vm.dirty_background", throughput, "proc/sys/vm/dirty_background_ratio = 0\nproc/sys/vm/dirty_background_bytes = 0", "", memoryOf(64),
			"warn 0 % (≤ 5 %) | … | /proc/sys/vm/dirty_background_ratio: 0 → 5 [dirty_background_bytes: 0], kept",
		},
		{"left alone", "vm.dirty_background", "leave", asItComes, "", memoryOf(64), "info 10 % (left alone)"},
		{"of no known size", "vm.dirty_background", throughput, asItComes, "", nil, "unknown 10 % (5% 5s) | …"},
		{"half of the pair is missing", "vm.dirty_background", throughput, "proc/sys/vm/dirty_background_ratio = 10", "", memoryOf(64), "not_applicable | …"},
		{
			"right now, and wrong after a reboot", "vm.dirty_background", throughput, "proc/sys/vm/dirty_background_ratio = 5\nproc/sys/vm/dirty_background_bytes = 0", "", with(memoryOf(64), boot("vm.dirty_background_ratio", "20", "/etc/sysctl.d/50-other.conf")),
			"warn 5 % (≤ 5 %) | 20 /etc/sysctl.d/50-other.conf | /etc/sysctl.d/50-other.conf: 20 % → 5 %; sysctl.d vm.dirty_background_ratio = 5",
		},
		{
			"a file that wins", "vm.dirty_background", throughput, asItComes, "", with(memoryOf(64), disk(2000), boot("vm.dirty_background_bytes", "9000000000", "/etc/sysctl.conf")),
			"warn 10 % (≤ 5 %) | /etc/sysctl.conf /etc/sysctl.d/zz-kt.conf | /proc/sys/vm/dirty_background_ratio: 10 → 5 [dirty_background_bytes: 0], kept",
		},

		{
			"as it comes", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 20\nproc/sys/vm/dirty_bytes = 0", "", memoryOf(64),
			"warn 20 % (≥ 60 %) | … | /proc/sys/vm/dirty_ratio: 20 → 60 [dirty_bytes: 0], kept",
		},
		{
			"a large memory, and no disk was measured", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 20\nproc/sys/vm/dirty_bytes = 0", "", memoryOf(128),
			"warn 20 % (≥ 60 %) | 60 128 76.8 | $ kt tune --probe --apply",
		},
		{
			"a large memory, no disk was measured, and a file lowers it at boot", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 60\nproc/sys/vm/dirty_bytes = 0", "", with(memoryOf(128), boot("vm.dirty_ratio", "20", "/etc/sysctl.d/50-other.conf")),
			"warn 60 % (≥ 60 %) | 20 /etc/sysctl.d/50-other.conf 60 128 76.8 | $ kt tune --probe --apply",
		},
		{
			"a large memory and a disk of 400 MiB/s", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 5\nproc/sys/vm/dirty_bytes = 0", "", with(memoryOf(128), disk(400)),
			"warn 5 % (≥ 12582912000 bytes) | /proc/sys/vm/dirty_bytes: 0 → 12582912000 [dirty_ratio: 5], kept",
		},
		{
			"a share that needs no measurement", "vm.dirty_limit", "60%", "proc/sys/vm/dirty_ratio = 20\nproc/sys/vm/dirty_bytes = 0", "", memoryOf(128),
			"warn 20 % (≥ 60 %) | /proc/sys/vm/dirty_ratio: 20 → 60 [dirty_bytes: 0], kept",
		},
		{
			"a large memory, and the lower threshold", "vm.dirty_background", throughput, asItComes, "", memoryOf(128),
			"warn 10 % (≤ 5 %) | … | /proc/sys/vm/dirty_background_ratio: 10 → 5 [dirty_background_bytes: 0], kept",
		},
		{"higher than wanted", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 80\nproc/sys/vm/dirty_bytes = 0", "", memoryOf(64), "ok 80 % (≥ 60 %)"},
		{
			"as it comes, on a large machine with a slow disk", "vm.dirty_limit", "60% 30s min8GiB", "proc/sys/vm/dirty_ratio = 20\nproc/sys/vm/dirty_bytes = 0", "", with(memoryOf(256), disk(100)),
			"ok 20 % (≥ 8589934592 bytes)",
		},
		{
			"as TuneD sets it for latency", "vm.dirty_limit", "40% 30s min8GiB", "proc/sys/vm/dirty_ratio = 10\nproc/sys/vm/dirty_bytes = 0", "", with(memoryOf(64), disk(100)),
			"warn 10 % (≥ 8589934592 bytes) | /proc/sys/vm/dirty_bytes: 0 → 8589934592 [dirty_ratio: 10], kept",
		},
	})
}

func TestWhatAPairWillBeAfterAReboot(t *testing.T) {
	m := &Machine{Sysctls: map[string][]host.Sysctl{
		"vm.dirty_ratio": {{Key: "vm.dirty_ratio", Value: "20", File: "/usr/lib/sysctl.d/10-a.conf", Line: 1}, {Key: "vm.dirty_ratio", Value: "30", File: "/etc/sysctl.d/60-b.conf", Line: 4}},
		"vm.dirty_bytes": {{Key: "vm.dirty_bytes", Value: "1000", File: "/etc/sysctl.d/60-b.conf", Line: 9}},
	}}
	got, file := dirtyLimit.persisted(m)
	if want := (dirtyValue{bytes: 1000}); got != want || file != "/etc/sysctl.d/60-b.conf" {
		t.Errorf("persisted = %v in %s, want %v, the last line of /etc/sysctl.d/60-b.conf", got, file, want)
	}
	m.Sysctls["vm.dirty_bytes"][0].Value = "plenty"
	if got, file := dirtyLimit.persisted(m); file != "" {
		t.Errorf("persisted = %v in %s, want nothing: the last line has no number", got, file)
	}
}

func TestRulesForUnwrittenData(t *testing.T) {
	for _, row := range []struct {
		says, text string
		want       dirtyAmount
		wrong      string // part of the error
	}{
		{"a share", "5%", dirtyAmount{"share": 5}, ""},
		{"a size in each unit", "400MB", dirtyAmount{"size": 400e6}, ""},
		{"a binary size", "1.5GiB", dirtyAmount{"size": 3 << 29}, ""},
		{"all of it", "60%  30s min8GiB 9GB", dirtyAmount{"share": 60, "time": 30, "min": 8 << 30, "size": 9e9}, ""},
		{"nothing", "", nil, "no share"},
		{"seconds alone, which an unmeasured disk has not", "5s", nil, "no share"},
		{"a bound without seconds", "5% min8GiB", dirtyAmount{}, `"min" is for seconds`},
		{"two shares", "5% 6%", nil, "already"},
		{"a share of nothing", "0%", nil, "whole percent"},
		{"more than everything", "101%", nil, "whole percent"},
		{"part of a percent", "0.5%", nil, "whole percent"},
		{"seconds that are none", "5% NaNs", nil, "whole percent"},
		{"hours", "5% 3601s", nil, "whole percent"},
		{"a number alone", "5", nil, "whole percent"},
		{"a tiny size", "0.1MB", nil, "whole percent"},
		{"a size that is none", "infGB", nil, "whole percent"},
	} {
		got, err := parseDirty(row.text)
		switch {
		case row.wrong == "" && err != nil:
			t.Errorf("%s: parseDirty(%q): %v", row.says, row.text, err)
		case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
			t.Errorf("%s: parseDirty(%q) = %v, want an error with %q", row.says, row.text, err, row.wrong)
		case !maps.Equal(got, row.want):
			t.Errorf("%s: parseDirty(%q) = %+v, want %+v", row.says, row.text, got, row.want)
		}
	}
	if err := validDirty(Rule{AtLeast, "5"}); err == nil {
		t.Error(`validDirty(≥ 5) = nil, want an error: which side is good follows from the setting`)
	}
	if err := validDirty(Rule{}); err != nil {
		t.Errorf("validDirty of a rule that leaves it alone = %v, want nil", err)
	}
}

func TestTheRulesOfTheShippedProfilesForUnwrittenDataAreGood(t *testing.T) {
	shipped := profiles.Of("tune")
	for _, name := range ProfileNames(shipped) {
		p := must.Have(LoadProfile(name, shipped, nil))(t)
		for _, s := range Catalogue() {
			if !s.Takes.Dirty {
				continue
			}
			if err := validDirty(p.Rule(s)); err != nil {
				t.Errorf("profile %s: %s: %v", name, s.ID, err)
			}
			if p.Rule(s).Leave() != (name == "minimal") {
				t.Errorf("profile %s: %s is %q: only the profile minimal leaves it alone", name, s.ID, p.Rule(s))
			}
		}
	}
}

func TestWritingBack(t *testing.T) {
	live := func(dirty, writing, limit int64) func(*Machine) {
		return with(grew("nr_dirty", 0, dirty), grew("nr_writeback", 0, writing), grew("nr_dirty_threshold", limit, limit))
	}
	lookAt(t, []row{
		{"young", "vm.dirty_expire_centisecs", "<=500", "proc/sys/vm/dirty_expire_centisecs = 500", "", nil, "ok 500 (≤ 500)"},
		{"old", "vm.dirty_expire_centisecs", "<=500", "proc/sys/vm/dirty_expire_centisecs = 3000", "", nil, "info 3000 (≤ 500) | $ sysctl -w vm.dirty_expire_centisecs=500"},
		{"left alone", "vm.dirty_expire_centisecs", "leave", "proc/sys/vm/dirty_expire_centisecs = 3000", "", nil, "info 3000 (left alone)"},

		{"often", "vm.dirty_writeback_centisecs", "<=500", "proc/sys/vm/dirty_writeback_centisecs = 500", "", nil, "ok 500 (≤ 500)"},
		{"never", "vm.dirty_writeback_centisecs", "<=500", "proc/sys/vm/dirty_writeback_centisecs = 0", "", nil, "info 0 (≤ 500) | $ sysctl -w vm.dirty_writeback_centisecs=500"},

		{"little", "vm.dirty_live", "", "", "", live(100, 100, 1000), "ok 20 % (≤ 70 %)"},
		{"at the limit", "vm.dirty_live", "", "", "", live(600, 300, 1000), "warn 90 % (≤ 70 %)"},
		{"no limit", "vm.dirty_live", "", "", "", live(600, 300, 0), "not_applicable | …"},
	})
}
