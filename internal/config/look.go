package config

import "github.com/spf13/pflag"

// Look is how a command writes for people.
type Look struct {
	NoColor, ASCII bool
	Theme          string // one of Themes
}

// Themes are the backgrounds that colours are for; auto: that of the terminal.
var Themes = []string{"auto", "light", "dark"}

func (l *Look) define(set *pflag.FlagSet) {
	set.BoolVar(&l.NoColor, "no-color", false, "no colours; NO_COLOR does the same")
	set.BoolVar(&l.ASCII, "ascii", false, "only ASCII")
	set.StringVar(&l.Theme, "theme", "auto", "colours for a `BACKGROUND`: light, dark, or auto to ask the terminal")
}

func (l *Look) check(nearest Nearest) error { return oneOf("theme", l.Theme, Themes, nearest) }
