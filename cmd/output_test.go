package cmd

import (
	"testing"

	"github.com/kt-bench/kt/internal/config"
)

func TestTheBackgroundIsThatOfTheFlagBeforeThatOfTheTerminal(t *testing.T) {
	for _, row := range []struct {
		theme    config.Theme
		terminal string // COLORFGBG
		dark     bool
	}{
		{config.AutoTheme, "", true},
		{config.AutoTheme, "15;0", true},
		{config.AutoTheme, "0;15", false},
		{config.AutoTheme, "0;default;7", false},
		{config.AutoTheme, "7;8", true},
		{config.AutoTheme, "0;default", true},
		{config.LightTheme, "15;0", false},
		{config.DarkTheme, "0;15", true},
	} {
		env := &Env{Getenv: func(string) string { return row.terminal }}
		if got := env.dark(row.theme); got != row.dark {
			t.Errorf("--theme %s and COLORFGBG=%q: dark %t", row.theme, row.terminal, got)
		}
	}
}
