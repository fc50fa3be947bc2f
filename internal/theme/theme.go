package theme

import (
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
		k := tokens[c]
		value := lipgloss.LightDark(o.Dark)(lipgloss.Color(k.light), lipgloss.Color(k.dark))
		if o.Profile == colorprofile.ANSI {
			value = lipgloss.LightDark(o.Dark)(k.ansiLight, k.ansiDark)
		}
		value = o.Profile.Convert(value)
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

// Color is a colour by its meaning.
type Color uint8

// The colours of kt.
const (
	Default  Color = iota // the terminal's own
	Text                  // what is to be read first
	Muted                 // labels, units, what is true but not news
	Border                // frames and axes
	Grid                  // lines behind a chart
	Brand                 // kt's own name and the progress of a run
	Flow                  // throughput
	FlowFill              // the area under it
	Good                  // as it should be
	Warn                  // worth a look
	Bad                   // trouble, and nothing else
	P50                   // quantiles: one hue, from faint to strong
	P90
	P99
	P999
	Info   // neutral numbers and bars
	Ground // text on a coloured ground

	heat0
	heatLast  = heat0 + HeatSteps - 1
	numColors = heatLast + 1
)

// Hex returns a colour as a page or a picture has it, "#1f2328"; "" for Default.
func Hex(c Color, dark bool) string {
	if dark {
		return tokens[c].dark
	}
	return tokens[c].light
}

// HeatSteps is the length of the ramp of Heat.
const HeatSteps = 13

// Heat returns a colour of the ramp from few (0) to many (1); values outside are
// taken to the nearer end.
func Heat(share float64) Color {
	return heat0 + Color(min(max(share, 0), 1)*(HeatSteps-1))
}

// token is one colour on every kind of terminal.
type token struct {
	dark, light         string
	ansiDark, ansiLight lipgloss.ANSIColor
}

// tokens holds hues that stay apart in 256 colours too, which is what most
// sessions over SSH have. The ramp is matplotlib's inferno, from the background
// up: a light terminal reads it backwards.
var tokens = [numColors]token{
	Text:     {"#e4e6e8", "#1f2328", 15, 0},
	Muted:    {"#8c8f94", "#59636e", 7, 8},
	Border:   {"#4c535c", "#afb8c1", 8, 7},
	Grid:     {"#343a42", "#d1d9e0", 8, 7},
	Brand:    {"#f58a1f", "#c05a00", 3, 3},
	Flow:     {"#56d4dd", "#1b7c83", 14, 6},
	FlowFill: {"#24565c", "#a6d8dc", 6, 14},
	Good:     {"#7ee787", "#1a7f37", 10, 2},
	Warn:     {"#e3b341", "#9a6700", 11, 3},
	Bad:      {"#ff6b64", "#cf222e", 9, 1},
	P50:      {"#7a76b8", "#7b70b8", 4, 12},
	P90:      {"#9a8ee0", "#7050c8", 12, 4},
	P99:      {"#bf9ffa", "#5a32a8", 5, 13},
	P999:     {"#ecc8ff", "#360a73", 13, 5},
	Info:     {"#79c0ff", "#0969da", 12, 4},
	Ground:   {"#0d1117", "#ffffff", 0, 15},

	heat0:      {"#3a1272", "#f3d24a", 4, 7},
	heat0 + 1:  {"#451173", "#f7c232", 4, 7},
	heat0 + 2:  {"#501172", "#fbb01a", 5, 3},
	heat0 + 3:  {"#5d126e", "#fb9b06", 5, 3},
	heat0 + 4:  {"#781c6d", "#f37819", 5, 3},
	heat0 + 5:  {"#932667", "#ed6925", 1, 1},
	heat0 + 6:  {"#ae305c", "#dd513a", 1, 1},
	heat0 + 7:  {"#c73e4c", "#bc3754", 9, 1},
	heat0 + 8:  {"#dd513a", "#932667", 9, 5},
	heat0 + 9:  {"#ed6925", "#781c6d", 3, 5},
	heat0 + 10: {"#f8850f", "#57106e", 3, 5},
	heat0 + 11: {"#f9c932", "#320a5e", 11, 4},
	heatLast:   {"#fcffa4", "#140b34", 15, 0},
}

// Glyphs are the characters that kt draws with. Each is one cell wide.
type Glyphs struct {
	TopLeft, TopRight, BottomLeft, BottomRight rune
	Horizontal, Vertical                       rune

	Tick, Axis, Corner, Base, Gridline rune // of a chart

	GaugeFull, GaugeHalf, GaugeEmpty rune

	Dot       rune // before a state
	Arrow     rune // from the command to its topic
	Separator rune // between parts of a line
	Alert     rune // before a line that wants to be read
	Event     rune // something happened here, on a time axis
	Ellipsis  rune
	Missing   rune // a number that there is none of
	Cross     rune // before a check that failed

	Eighths [9]rune // bars, from nothing to a full cell
	Shades  [7]rune // density, from nothing to full
}

var unicodeGlyphs = Glyphs{
	TopLeft: '╭', TopRight: '╮', BottomLeft: '╰', BottomRight: '╯',
	Horizontal: '─', Vertical: '│',
	Tick: '┤', Axis: '│', Corner: '└', Base: '─', Gridline: '┈',
	GaugeFull: '━', GaugeHalf: '╸', GaugeEmpty: '─',
	Dot: '●', Arrow: '▸', Separator: '·', Alert: '▲', Event: '▼', Ellipsis: '…', Missing: '–',
	Cross:   '✕',
	Eighths: [9]rune{' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'},
	Shades:  [7]rune{' ', '·', ':', '░', '▒', '▓', '█'},
}

var asciiGlyphs = Glyphs{
	TopLeft: '+', TopRight: '+', BottomLeft: '+', BottomRight: '+',
	Horizontal: '-', Vertical: '|',
	Tick: '+', Axis: '|', Corner: '+', Base: '-', Gridline: '.',
	GaugeFull: '=', GaugeHalf: '-', GaugeEmpty: '.',
	Dot: '*', Arrow: '>', Separator: '|', Alert: '!', Event: 'v', Ellipsis: '~', Missing: '-',
	Cross:   'x',
	Eighths: [9]rune{' ', '_', '.', ':', '-', '=', '+', '*', '#'},
	Shades:  [7]rune{' ', '.', ':', '-', '+', '*', '#'},
}

// Fold returns the ASCII character that stands for a character of kt's own texts, one
// for one; '?' for all others.
func Fold(r rune) rune {
	if c, known := folds[r]; known {
		return c
	}
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

var folds = map[rune]rune{
	'µ': 'u', 'μ': 'u', '·': '|', '→': '>', '▸': '>', '–': '-', '—': '-', '─': '-', '━': '-', '−': '-', '…': '~',
	'≤': '<', '≥': '>', '×': 'x', '’': '\'', '‘': '\'', '“': '"', '”': '"',
}
