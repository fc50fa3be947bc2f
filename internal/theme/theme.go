package theme

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Options are what the terminal can do.
type Options struct {
	// Profile is how many colours there are. Below colorprofile.ANSI, the zero
	// value included, the theme writes no escape sequence at all, not even bold.
	Profile colorprofile.Profile
	// ASCII replaces every glyph by a printable ASCII character, for terminals
	// and locales that have no UTF-8 or draw box characters two cells wide.
	ASCII bool
	// Dark reports whether the background is dark.
	Dark bool
}

// Theme is the look of one terminal. It does not change once made; share it by
// pointer.
type Theme struct {
	Glyphs Glyphs

	options Options
	fg, bg  [numColors]string // escape sequences that switch a colour on
	bold    string
	reset   string // ends every style
	mark    string // before each sequence of a Marked theme; "" elsewhere
}

// Style is how a piece of text looks. The zero Style is the terminal's own.
type Style struct {
	FG, BG Color
	Bold   bool
}

// New makes the theme for a terminal.
func New(o Options) *Theme {
	t := &Theme{options: o, Glyphs: unicodeGlyphs}
	if o.ASCII {
		t.Glyphs = asciiGlyphs
	}
	if !t.Colored() {
		return t
	}
	t.reset = "\x1b[m"
	t.bold = opening(lipgloss.NewStyle().Bold(true))
	for c := Default + 1; c < numColors; c++ {
		value := t.resolve(c)
		t.fg[c] = opening(lipgloss.NewStyle().Foreground(value))
		t.bg[c] = opening(lipgloss.NewStyle().Background(value))
	}
	return t
}

// opening returns the escape sequence that a style begins with.
func opening(s lipgloss.Style) string {
	before, _, _ := strings.Cut(s.Render("x"), "x")
	return before
}

// resolve returns the colour as this terminal has it.
func (t *Theme) resolve(c Color) color.Color {
	k := tokens[c]
	if t.options.Profile == colorprofile.ANSI {
		if t.options.Dark {
			return t.options.Profile.Convert(k.ansiDark)
		}
		return t.options.Profile.Convert(k.ansiLight)
	}
	hex := lipgloss.LightDark(t.options.Dark)(lipgloss.Color(k.light), lipgloss.Color(k.dark))
	return t.options.Profile.Convert(hex)
}

// On returns the same theme for a dark background or a light one.
func (t *Theme) On(dark bool) *Theme {
	o := t.options
	o.Dark = dark
	return New(o)
}

// Profile returns how many colours the theme writes.
func (t *Theme) Profile() colorprofile.Profile { return t.options.Profile }

// ASCII reports whether only printable ASCII may be written.
func (t *Theme) ASCII() bool { return t.options.ASCII }

// Colored reports whether there are colours at all. Where there are none, what a
// colour says must be said in another way.
func (t *Theme) Colored() bool { return t.options.Profile >= colorprofile.ANSI }

// Shaded reports whether there are colours enough for a gradient. Sixteen are not: a
// ramp turns into patchwork.
func (t *Theme) Shaded() bool { return t.options.Profile >= colorprofile.ANSI256 }

// Paint writes text in a style.
func (t *Theme) Paint(s Style, text string) string {
	if !t.Colored() || s == (Style{}) {
		return text
	}
	return t.fg[s.FG] + t.bg[s.BG] + t.boldIf(s) + text + t.reset
}

// Append ends the style before, begins s, and returns the longer buffer. It is
// for whoever writes many cells in a row and changes the style only where it
// differs.
func (t *Theme) Append(dst []byte, s Style) []byte {
	if !t.Colored() {
		return dst
	}
	dst = append(dst, t.reset...)
	dst = append(dst, t.fg[s.FG]...)
	dst = append(dst, t.bg[s.BG]...)
	return append(dst, t.boldIf(s)...)
}

func (t *Theme) boldIf(s Style) string {
	if s.Bold {
		return t.bold
	}
	return ""
}
