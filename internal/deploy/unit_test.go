package deploy

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestAUnitHasTheWordsOfTheCommandLine(t *testing.T) {
	for _, r := range []struct{ name, word, want string }{
		{"a plain word", "--join", "--join"},
		{"one with a space", "a b", `"a b"`},
		{"a regular expression", `kt-.*\.x`, `"kt-.*\\.x"`},
		{"what systemd would replace", "%h$HOME", "%%h$$HOME"},
		{"a quotation mark", `say "no"`, `"say \"no\""`},
		{"nothing", "", `""`},
	} {
		must.Match(t, r.want, quoteUnit(r.word), "%s", r.name)
	}
}

func TestAUnitNamesTheFilesThatTheAgentNeeds(t *testing.T) {
	unit := func(u Unit) string {
		b := new(strings.Builder)
		must.Do(t, u.Write(b))
		return b.String()
	}
	given := unit(Unit{Words: []string{"kt", "agent"}, Key: "/srv/the key", Results: "/srv/$ 5%"})
	must.Has(t, "the unit", given,
		"\n#   chown kt '/srv/the key' && chmod 600 '/srv/the key'\n",
		"\n#   install --directory --owner=kt --mode=0700 '/srv/$ 5%'\n",
		"\nExecStart=kt agent\n", "\nKillMode=process\n", "\nReadWritePaths=\"/srv/$ 5%%\"\n",
	)
	none := unit(Unit{Words: []string{"kt", "agent"}})
	for _, other := range []string{"chown kt", "install", "ReadWritePaths"} {
		if strings.Contains(none, other) {
			t.Errorf("without a key and a folder there is %q in\n%s", other, none)
		}
	}
}
