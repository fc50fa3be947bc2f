package tune

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// In what is wanted, R and B are the two files of a pair.
func TestUnwrittenData(t *testing.T) {
	const back, limit, low, high = "background_", "", "5% 5s", "60% 30s min8GiB"
	for _, r := range []struct {
		says, pair, rule     string
		ratio, bytes, ratioB int64 // what there is, and after the next boot
		memory, disk         int64 // GiB, MiB/s
		want                 string
	}{
		{"as it comes, and no disk was measured", back, low, 10, 0, 0, 64, 0, "warn 10 % (≤ 5 %) | … | R: 10 → 5 [B: 0], kept"},
		{"bytes where a share is wanted", back, low, 0, 8e9, 0, 64, 0, "warn 8000000000 bytes (≤ 5 %) | … | R: 0 → 5 [B: 8000000000], kept"},
		{"a share where bytes are wanted", back, "5% 400MB 1s", 10, 0, 0, 64, 0, "warn 10 % (≤ 400000000 bytes) | … | B: 0 → 400000000 [R: 10], kept"},
		{"a disk of 200 MiB/s", back, low, 10, 0, 0, 64, 200, "warn 10 % (≤ 1048576000 bytes) | B: 0 → 1048576000 [R: 10], kept"},
		{"a disk that is faster than the memory is large", back, low, 10, 0, 0, 4, 2000, "warn 10 % (≤ 5 %) | R: 10 → 5 [B: 0], kept"},
		{"as wanted", back, low, 5, 0, 0, 64, 0, "ok 5 % (≤ 5 %)"},
		{"within a tenth of what was measured", back, low, 0, 11e8, 0, 64, 200, "ok 1100000000 bytes (≤ 1048576000 bytes)"},
		{"nothing may wait", back, low, 0, 0, 0, 64, 0, "warn 0 % (≤ 5 %) | … | R: 0 → 5 [B: 0], kept"},
		{"left alone", back, "leave", 10, 0, 0, 64, 0, "info 10 % (left alone)"},
		{"of no known size", back, low, 10, 0, 0, 0, 0, "unknown 10 % (5% 5s) | …"},
		{"right now, and wrong after a reboot", back, low, 5, 0, 20, 64, 0, "warn 5 % (≤ 5 %) | 20 /etc/sysctl.d/50-other.conf | /etc/sysctl.d/50-other.conf: 20 % → 5 %; sysctl.d vm.dirty_background_ratio = 5"},
		{"a large memory, and the lower threshold", back, low, 10, 0, 0, 128, 0, "warn 10 % (≤ 5 %) | … | R: 10 → 5 [B: 0], kept"},
		{"a limit as it comes", limit, high, 20, 0, 0, 64, 0, "warn 20 % (≥ 60 %) | … | R: 20 → 60 [B: 0], kept"},
		{"a large memory, and no disk was measured", limit, high, 20, 0, 0, 128, 0, "warn 20 % (≥ 60 %) | 60 128 76.8 | $ kt tune --probe --apply"},
		{"the same, and a file lowers it at boot", limit, high, 60, 0, 20, 128, 0, "warn 60 % (≥ 60 %) | 20 /etc/sysctl.d/50-other.conf 60 128 76.8 | $ kt tune --probe --apply"},
		{"a large memory and a disk of 400 MiB/s", limit, high, 5, 0, 0, 128, 400, "warn 5 % (≥ 12582912000 bytes) | B: 0 → 12582912000 [R: 5], kept"},
		{"a share that needs no measurement", limit, "60%", 20, 0, 0, 128, 0, "warn 20 % (≥ 60 %) | R: 20 → 60 [B: 0], kept"},
		{"higher than wanted", limit, high, 80, 0, 0, 64, 0, "ok 80 % (≥ 60 %)"},
		{"a large machine with a slow disk", limit, high, 20, 0, 0, 256, 100, "ok 20 % (≥ 8589934592 bytes)"},
		{"as TuneD sets it for latency", limit, "40% 30s min8GiB", 10, 0, 0, 64, 100, "warn 10 % (≥ 8589934592 bytes) | B: 0 → 8589934592 [R: 10], kept"},
	} {
		id, name := "vm.dirty_limit", "dirty_"+r.pair
		if r.pair == back {
			id = "vm.dirty_background"
		}
		set := with(memoryOf(r.memory), func(m *Machine) {
			m.Bandwidth = r.disk << 20
			if r.ratioB > 0 {
				m.Sysctls = sysctlAtBoot("vm."+name+"ratio", strconv.FormatInt(r.ratioB, 10), "/etc/sysctl.d/50-other.conf")
			}
		})
		files := fmt.Sprintf("proc/sys/vm/%sratio = %d\nproc/sys/vm/%sbytes = %d", name, r.ratio, name, r.bytes)
		want := strings.NewReplacer("| R:", "| /proc/sys/vm/"+name+"ratio:", "| B:", "| /proc/sys/vm/"+name+"bytes:", "[R:", "["+name+"ratio:", "[B:", "["+name+"bytes:").Replace(r.want)
		lookAt(t, []row{{r.says, id, r.rule, files, "", set, want}})
	}
	lookAt(t, []row{
		{"half of the pair is missing", "vm.dirty_background", low, "proc/sys/vm/dirty_background_ratio = 10", "", memoryOf(64), "not_applicable | …"},
		{
			"a file that wins", "vm.dirty_background", low, "proc/sys/vm/dirty_background_ratio = 10\nproc/sys/vm/dirty_background_bytes = 0", "",
			with(memoryOf(4), func(m *Machine) {
				m.Sysctls = sysctlAtBoot("vm.dirty_background_bytes", "9000000000", "/etc/sysctl.conf")
			}),
			"warn 10 % (≤ 5 %) | /etc/sysctl.conf /etc/sysctl.d/zz-kt.conf | /proc/sys/vm/dirty_background_ratio: 10 → 5 [dirty_background_bytes: 0], kept",
		},
	})
}

// sysctlAtBoot is a file that sets a kernel setting.
func sysctlAtBoot(key, value, file string) map[string][]host.Sysctl {
	return map[string][]host.Sysctl{key: {{Key: key, Value: value, File: file, Line: 3}}}
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
