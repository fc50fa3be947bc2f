package tune

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/profiles"
)

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
				if s.Takes.accept(rule, s.want()) == nil {
					t.Errorf("%s takes the rule %q, which may lower it", s.ID, rule)
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d rules are lower bounds that kt applies, want 10 or more", seen)
	}
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
