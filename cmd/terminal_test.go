package cmd

import (
	"os"
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

// A file stands for a terminal that kt is not in the foreground of.
func TestAJobInTheBackgroundHasNoScreen(t *testing.T) {
	file := must.Have(os.Open(os.DevNull))(t)
	defer file.Close()
	env := Env{Getenv: func(name string) string { return map[string]string{"TERM": "xterm"}[name] }, Stdout: file, StdoutTTY: true}
	if _, ok := env.screen(); ok {
		t.Error("the screen is drawn on a terminal that is not kt's: the kernel would stop it")
	}
}

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
		must.Match(t, row.dark, env.dark(row.theme), "--theme %s and COLORFGBG=%q: dark", row.theme, row.terminal)
	}
}
