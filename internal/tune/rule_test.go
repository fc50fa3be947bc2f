package tune

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

// The kernel takes a number that begins with 0 for an octal one. kt writes and compares decimal ones.
func TestARuleIsDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"010": "10", ">= 0262144": "262144", "04096 - 0016777216": "4096 - 16777216", "0": "0", "0|01": "0|1", "00": "0", "<=0.50": "0.50", "performance": "performance",
	} {
		r, err := ParseRule(text)
		must.True(t, err == nil && r.Value == want, "%q is %q, %v, want %q", text, r.Value, err, want)
	}
	r, _ := ParseRule("010")
	must.True(t, r.Holds("10") && !r.Holds("8") && r.Target("60") == "10", "%+v", r)
}

// A profile of the user's is read as it stands in its file.
func TestAProfileIsReadAsItStandsInItsFile(t *testing.T) {
	for text, want := range map[string]string{
		"settings: {vm.swappiness: ~}":                     "profile ./p.yaml, line 1: vm.swappiness: ~ is no value",
		"settings:\n  vm.swappiness: !!int 010":            "line 2: vm.swappiness: !!int 010: leave the tag out",
		"settings: {vm.swappiness: 0x10}":                  "vm.swappiness: ",
		"settings: {vm.swappiness: 1}\n---\nbase: latency": "only the part above the first --- would count",
		"settings: {vm.swappiness: 1, vm.swappiness: 2}":   "already defined",
	} {
		_, err := LoadProfile("./p.yaml", profiles.Of("tune"), func(string) ([]byte, error) { return []byte(text), nil })
		must.Err(t, want, err, "%q", text)
	}
	p, err := LoadProfile("./p.yaml", profiles.Of("tune"), func(string) ([]byte, error) { return []byte("settings: {vm.swappiness: 010, cpu.governor: }"), nil })
	must.True(t, err == nil && p.rules["vm.swappiness"].Value == "10" && p.rules["cpu.governor"].Leave(), "%+v, %v", p, err)
}

func TestAProfileCanOnlyRaiseWhatIsNeverLowered(t *testing.T) {
	seen := 0
	for _, name := range ProfileNames(profiles.Of("tune")) {
		p := must.Have(LoadProfile(name, profiles.Of("tune"), nil))(t)
		for _, s := range Catalogue() {
			if !s.Applies || p.Rule(s).Op != AtLeast {
				continue
			}
			seen++
			for _, rule := range []Rule{{Equal, "1000"}, {AtMost, "1000"}, {Equal, "many"}} {
				must.True(t, s.Takes.accept(rule, s.want()) != nil, "%s takes the rule %q, which may lower it", s.ID, rule)
			}
		}
	}
	must.True(t, seen >= 10, "%d rules are lower bounds that kt applies, want 10 or more", seen)
}

func TestRulesOfAProfile(t *testing.T) {
	for _, row := range []struct {
		says, id, rule string
		wrong          string // what the error must hold; "": the rule is taken
	}{
		{"left alone", "fs.nr_open", "", ""},
		{"raised", "fs.nr_open", ">= 2000000", ""},
		{"one value, which may lower", "fs.nr_open", "1000", `kt only ever raises this: take ">= 4096", with your own value, or leave it empty`},
		{"an upper bound", "net.core.somaxconn", "<= 128", "kt only ever raises this"},
		{"not a whole number", "limits.nofile", ">= 1e6", "take a whole number, as"},
		{"any number is none", "vm.max_map_count", ">= -", "take a whole number, as"},
		{"two where one is meant", "net.core.rmem_max", ">= 4096 8192", "take a whole number, as"},
		{"three of which two may be any", "net.ipv4.tcp_rmem", ">= - - 16777216", ""},
		{"three", "net.ipv4.tcp_wmem", ">= 4096 65536 16777216", ""},
		{"one where three are meant", "net.ipv4.tcp_wmem", ">= 16777216", `take 3 whole numbers, or - for any, as ">= 4096 4096 4096"`},
		{"read-ahead that would be lowered", "disk.read_ahead_kb", "8", "kt only ever raises this"},
		{"words for a number", "vm.swappiness", "abc def", `"abc def": take a whole number from 0 to 200`},
		{"out of range", "vm.swappiness", "500", "from 0 to 200"},
		{"a bound out of range", "vm.swappiness", "<=201", "from 0 to 200"},
		{"one of two numbers", "vm.zone_reclaim_mode", "0|1", ""},
		{"a number without an upper bound", "vm.dirty_expire_centisecs", "-5", "take a whole number of 0 or more"},
		{"a word for a switch", "net.ipv4.tcp_sack", "on", "from 0 to 1"},
		{"a fraction of a figure", "cpu.steal", "<= 0.5", ""},
		{"no figure", "cpu.steal", "little", `"little": take a number`},
		{"not a number in the other sense", "cpu.load", "<= nan", "take a number"},
		{"infinite", "cpu.load", "<= inf", "take a number"},
		{"a word of the kernel's", "thp.enabled", "madvise|never", ""},
		{"a word that it does not have", "thp.enabled", "madvice", "take always, madvise or never; did you mean madvise?"},
		{"a number for a word", "cpu.governor", ">= 1", "take performance,"},
		{"a scheduler", "disk.scheduler", "kyber|none", ""},
		{"no scheduler", "disk.scheduler", "mq_deadline", "did you mean mq-deadline?"},
		{"one word only", "limits.memlock", "65536", "take unlimited"},
	} {
		r := must.Have(ParseRule(row.rule))(t)
		s := settingOf(t, row.id)
		switch err := s.Takes.accept(r, s.want()); {
		case row.wrong == "" && err != nil:
			t.Errorf("%s: Valid(%q) of %s = %v, want nil", row.says, row.rule, row.id, err)
		case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
			t.Errorf("%s: Valid(%q) of %s = %v, want an error with %q", row.says, row.rule, row.id, err, row.wrong)
		}
	}
}

// A peer of an agent with --allow-tune may ask for any value, so each target bounds what kt sets.
func TestEveryTargetHasARangeOfSaneValues(t *testing.T) {
	far := fmt.Sprint(uint64(math.MaxInt64))
	for _, target := range targets() {
		n := 1
		for _, three := range []string{"1 1 1", "1 1"} {
			if target.Holds.accept(three, "") == nil {
				n = len(strings.Fields(three))
				break
			}
		}
		bad := strings.TrimSpace(strings.Repeat(far+" ", n))
		if target.Holds.accept("schedutil", "") == nil {
			bad = "userspace"
		}
		err := target.Sane.accept(bad, "")
		must.True(t, err != nil, "%s: kt would set %s", target.Path, bad)
		err = target.Sane.accept(bad, bad)
		must.True(t, err == nil, "%s: the value that is there is refused: %v", target.Path, err) // as a journal puts it back
	}
}

func TestSysctlToRefusesWhatIsOutOfRange(t *testing.T) {
	for _, r := range []struct{ key, old, value, want string }{
		{"vm.max_map_count", "65530", "1", `"1" is out of range, which is 65530 to 16777216`},
		{"vm.max_map_count", "65530", "262144", ""},
		{"vm.max_map_count", "65530", "0262144", ""},
		{"vm.swappiness", "60", "010", ""},
		{"vm.swappiness", "60", "0x10", "out of range"},
		{"net.core.rmem_max", "212992", "0", "65536 to 1073741824"},
		{"net.core.somaxconn", "4096", "0", "128 to 65535"},
		{"fs.nr_open", "1048576", "1024", "1048576 to 1073741824"},
		{"fs.nr_open", "65536", "100000", ""}, // nearer to the range than before
		{"vm.swappiness", "180", "180", ""},   // the machine's own
		{"vm.swappiness", "180", "190", "0 to 180"},
		{"net.ipv4.tcp_rmem", "4096 131072 6291456", "4096 131072 0", "65536 to 1073741824"},
		{"net.ipv4.tcp_rmem", "4096 131072 6291456", "4096", "is not 3 whole numbers"},
		{"net.ipv4.tcp_rmem", "512 131072 6291456", "512 131072 16777216", ""},
		{"vm.dirty_bytes", "0", "8192", "8388608 to"}, // the ratio is in force, so 0 is no old value
		{"vm.dirty_background_ratio", "10", "100", "1 to 50"},
		{"net.ipv4.tcp_slow_start_after_idle", "1", "255", "0 to 1"},
	} {
		tree := NewTree(t.TempDir(), "kt-test")
		putText(t, tree.root, "/proc/sys/"+sysctlPath(r.key), r.old+"\n")
		if other := otherOfPair("/proc/sys/" + sysctlPath(r.key)); other != "" {
			putText(t, tree.root, other, "20\n")
		}
		c, err := tree.SysctlTo(r.key, r.value)
		must.True(t, err != nil || c.New == strings.TrimLeft(r.value, "0"),
			"%s to %s writes %q, which the kernel takes for octal", r.key, r.value, c.New)
		must.True(t, (r.want == "") == (err == nil) && (err == nil || strings.Contains(err.Error(), r.want)),
			"%s from %s to %s: %v, want %q", r.key, r.old, r.value, err, r.want)
	}
}

func TestAChangeOutOfRangeIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	unit := DropIn("kafka.service")
	for want, c := range map[string]Change{
		"1024 to 1073741824": {Setting: "limits.nofile", Kind: Prlimit, Path: "/proc/7/limits", PID: 7, Old: "100000 100000", New: "10 10"},
		"LimitNOFILE=10":     {Setting: "limits.nofile", Kind: KeepOnly, Path: unit, New: "10", Keep: []Line{{File: unit, Head: "[Service]", Text: "LimitNOFILE=10"}}},
		"vm.swappiness":      {Setting: "vm.swappiness", Kind: KeepOnly, Path: SysctlFile, New: "150", Keep: []Line{{File: SysctlFile, Text: "vm.swappiness = 150"}}},
		"none of the words":  {Setting: "cpu.governor", Kind: WriteFile, Path: "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", Old: "performance", New: "userspace"},
	} {
		must.Err(t, want, checkChanges([]Change{c}), "%s", c.Describe())
	}
}

// fits validates rows against checks.schema.json, which editors use.
func fits(t *testing.T, rows string) error {
	t.Helper()
	var v any
	must.Do(t, yaml.Unmarshal([]byte(rows), &v))
	doc := must.Have(jsonschema.UnmarshalJSON(strings.NewReader(string(must.Have(json.Marshal(v))(t)))))(t)
	return must.Have(jsonschema.NewCompiler().Compile("checks.schema.json"))(t).Validate(doc)
}

// fieldsOf are the names that a type has in YAML.
func fieldsOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTheSchemaOfChecksKnowsEveryFieldAndWord(t *testing.T) {
	err := fits(t, string(checksYAML))
	must.True(t, err == nil, "%v", err)
	type object struct {
		Properties map[string]struct {
			Properties map[string]any
			Enum       []string
			Items      struct{ Properties map[string]any }
		}
	}
	var schema struct {
		Defs map[string]object `json:"$defs"`
	}
	must.Do(t, json.Unmarshal(must.Have(os.ReadFile("checks.schema.json"))(t), &schema))
	row := schema.Defs["check"].Properties
	for name, pair := range map[string][2][]string{
		"a row":      {fieldsOf(Setting{}), slices.Sorted(maps.Keys(row))},
		"read":       {fieldsOf(Read{}), slices.Sorted(maps.Keys(row["read"].Properties))},
		"takes":      {fieldsOf(Takes{}), slices.Sorted(maps.Keys(row["takes"].Properties))},
		"sets":       {fieldsOf(target{}), slices.Sorted(maps.Keys(row["sets"].Items.Properties))},
		"what needs": {slices.Sorted(maps.Keys(requirements))[1:], slices.Sorted(slices.Values(row["needs"].Enum))},
	} {
		must.Match(t, pair[0], pair[1], "%s: kt and checks.schema.json know other fields", name)
	}
}

func TestAWrongRowIsRefusedWithItsPlace(t *testing.T) {
	const good = "- group: memory\n  checks:\n    - id: a.b\n      title: x\n      roles: [broker]\n      severity: info\n      confidence: doc\n" +
		"      why: x\n      sources: [x]\n      read: {file: sys/x}\n"
	if _, err := readRows([]byte(good)); err != nil || fits(t, good) != nil {
		t.Fatalf("the row that others are made of: %v, %v", err, fits(t, good))
	}
	second := good[strings.Index(good, "    - id"):]
	for _, row := range []struct {
		name, old, new, want string
		schema               bool // refuses it too
	}{
		{"a field that there is not", "title", "tilte", "line 4: field tilte not found", true},
		{"a severity that there is not", "info", "bad", "line 3, column 7: a.b: there is no severity", true},
		{"no title", "title: x", "title: ''", "line 3, column 7: a.b: it lacks a title", true},
		{"a need that there is not", "why:", "needs: luck\n      why:", `line 3, column 7: a.b: needs: there is no "luck"`, true},
		{"a range that is none", "why:", "takes: {number: 1..2}\n      why:", "line 3, column 7: a.b: takes: number:", true},
		{"a rule that is none", "why:", "want: '>= x'\n      why:", "line 3, column 7: a.b: a rule of it: ", false},
		{"a range of the kernel's that is none", "why:", "sets: [{path: /sys/x, holds: 9..1}]\n      why:", "not a range of whole numbers", false},
		{"a file without sane values", "why:", "sets: [{path: /sys/x, holds: 0..9}]\n      why:", "line 3, column 7: a.b: sets: /sys/x: ", false},
		{"a file that may hold anything", "why:", "sets: [{path: /sys/x, sane: 0..9}]\n      why:", "line 3, column 7: a.b: sets: /sys/x: ", false},
		{"a group that there is not", "memory", "luck", `line 3, column 7: a.b: there is no group "luck"`, true},
		{"no way to read", "read: {file: sys/x}", "detail: x", "line 3, column 7: a.b: it has neither a function nor a way to read", false},
		{"a fact that there is not", "{file: sys/x}", "{value: luck * 2}", `line 3, column 7: a.b: there is no fact "luck"`, false},
		{"a fact that there is not, in words", "{file: sys/x}", "{file: sys/x, note: '{luck|bytes}'}", `line 3, column 7: a.b: there is no fact "luck"`, false},
		{"a case whose condition is none", "{file: sys/x}", "{file: sys/x, cases: [{if: value, note: x}]}", `line 3, column 7: a.b: cases: "value" is no condition`, false},
		{"two values without an operator", "{file: sys/x}", "{value: total:cpu.steal load nodes}", `"load" is no operator`, false},
		{"an operator without a value", "{file: sys/x}", "{value: cpus *}", `"cpus *" lacks a value or an operator`, false},
		{"an operator for a value", "{file: sys/x}", "{value: cpus * max}", `there is no fact "max"`, false},
		{"words of no expression", "{file: sys/x}", "{file: sys/x, note: '{ }'}", `" " lacks a value or an operator`, false},
		{"a pattern that is none", "{file: sys/x}", "{file: sys/x, cases: [{if: \"value like '['\", note: x}]}", "missing closing ]", false},
		{"the same row twice", "\n", "\n", "", false},
	} {
		text := strings.Replace(good, row.old, row.new, 1)
		if row.want == "" {
			text, row.want = good+second, "line 11, column 7: a.b: it stands there twice"
		}
		_, err := readRows([]byte(text))
		must.True(t, err != nil && strings.Contains(err.Error(), row.want), "%s: %v, want %q", row.name, err, row.want)
		must.True(t, !row.schema || fits(t, text) != nil, "%s fits checks.schema.json", row.name)
	}
	for id := range functions() {
		must.True(t, slices.Contains(IDs(), id), "%s is a function without a row", id)
	}
}

func TestWhatAPairWillBeAfterAReboot(t *testing.T) {
	m := &Machine{Sysctls: map[string][]host.Sysctl{
		"vm.dirty_ratio": {{Key: "vm.dirty_ratio", Value: "20", File: "/usr/lib/sysctl.d/10-a.conf", Line: 1}, {Key: "vm.dirty_ratio", Value: "30", File: "/etc/sysctl.d/60-b.conf", Line: 4}},
		"vm.dirty_bytes": {{Key: "vm.dirty_bytes", Value: "1000", File: "/etc/sysctl.d/60-b.conf", Line: 9}},
	}}
	got, file := dirtyPair{name: "vm.dirty"}.persisted(m)
	if want := (dirtyValue{1000, "bytes"}); got != want || file != "/etc/sysctl.d/60-b.conf" {
		t.Errorf("persisted = %v in %s, want %v, the last line of /etc/sysctl.d/60-b.conf", got, file, want)
	}
	m.Sysctls["vm.dirty_bytes"][0].Value = "plenty"
	if got, file := (dirtyPair{name: "vm.dirty"}).persisted(m); file != "" {
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
	err := validDirty(Rule{AtLeast, "5"})
	must.True(t, err != nil, `validDirty(≥ 5) = nil, want an error: which side is good follows from the setting`)
	err = validDirty(Rule{})
	must.True(t, err == nil, "validDirty of a rule that leaves it alone = %v, want nil", err)
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
