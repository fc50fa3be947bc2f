package tune

import (
	"maps"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

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
			must.Err(t, "", validDirty(p.Rule(s)), "profile %s: %s", name, s.ID)
			must.Match(t, name == "minimal", p.Rule(s).Leave(), "profile %s: %s is %q: only the profile minimal leaves it alone", name, s.ID, p.Rule(s))
		}
	}
}
