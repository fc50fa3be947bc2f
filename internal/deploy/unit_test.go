package deploy

import "testing"

func TestAUnitHasTheWordsOfTheCommandLine(t *testing.T) {
	for _, r := range []struct{ name, word, want string }{
		{"a plain word", "--join", "--join"},
		{"one with a space", "a b", `"a b"`},
		{"a regular expression", `kt-.*\.x`, `"kt-.*\\.x"`},
		{"what systemd would replace", "%h$HOME", "%%h$$HOME"},
		{"a quotation mark", `say "no"`, `"say \"no\""`},
		{"nothing", "", `""`},
	} {
		if got := quoteUnit(r.word); got != r.want {
			t.Errorf("%s: %s, want %s", r.name, got, r.want)
		}
	}
}
