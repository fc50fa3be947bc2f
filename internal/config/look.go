package config

import (
	"errors"

	"github.com/spf13/pflag"
)

// Look is how a command writes for people.
type Look struct {
	NoColor, ASCII bool
	Theme          Theme
}

func (l *Look) define(set *pflag.FlagSet) {
	l.Theme = AutoTheme
	set.BoolVar(&l.NoColor, "no-color", false, "no colours; NO_COLOR does the same")
	set.BoolVar(&l.ASCII, "ascii", false, "only ASCII")
	set.Var(&l.Theme, "theme", "colours for a `BACKGROUND`: light, dark, or auto to ask the terminal")
}

// Theme is the background that colours are for.
type Theme string

// The themes.
const (
	AutoTheme  Theme = "auto"
	LightTheme Theme = "light"
	DarkTheme  Theme = "dark"
)

var _ pflag.Value = (*Theme)(nil)

// String returns the name of the theme.
func (t *Theme) String() string { return string(*t) }

// Set takes one of the names.
func (t *Theme) Set(name string) error {
	switch *t = Theme(name); *t {
	case AutoTheme, LightTheme, DarkTheme:
		return nil
	}
	return errors.New("it must be auto, light or dark")
}

// Type returns the name of the type, for pflag.
func (t *Theme) Type() string { return "theme" }
