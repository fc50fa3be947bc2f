package cmd

import "testing"

func TestTheBackgroundIsThatOfTheFlagBeforeThatOfTheTerminal(t *testing.T) {
	for _, row := range []struct {
		theme    string
		terminal string // COLORFGBG
		dark     bool
	}{
		{"auto", "", true},
		{"auto", "15;0", true},
		{"auto", "0;15", false},
		{"auto", "0;default;7", false},
		{"auto", "7;8", true},
		{"auto", "0;default", true},
		{"light", "15;0", false},
		{"dark", "0;15", true},
	} {
		env := &Env{Getenv: func(string) string { return row.terminal }}
		if got := env.dark(row.theme); got != row.dark {
			t.Errorf("--theme %s and COLORFGBG=%q: dark %t", row.theme, row.terminal, got)
		}
	}
}
