package theme

import "charm.land/lipgloss/v2"

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
