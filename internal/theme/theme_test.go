package theme

import (
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/kt-bench/kt/internal/must"
)

func TestWithoutColoursNothingIsWrittenButTheText(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.Unknown, colorprofile.NoTTY, colorprofile.ASCII} {
		th := New(Options{Profile: p, Dark: true})
		must.Match(t, "text", th.Paint(Style{FG: Bad, BG: Warn, Bold: true}, "text"), "%v", p)
		got := th.Append(nil, Style{FG: Bad, Bold: true})
		must.True(t, len(got) == 0, "%v: %q", p, got)
	}
}

func TestEachProfileUsesItsOwnEscapes(t *testing.T) {
	for p, want := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: "\x1b[38;2;126;231;135mok\x1b[m",
		colorprofile.ANSI256:   "\x1b[38;5;114mok\x1b[m",
		colorprofile.ANSI:      "\x1b[92mok\x1b[m",
	} {
		must.Match(t, want, New(Options{Profile: p, Dark: true}).Paint(Style{FG: Good}, "ok"), "%v", p)
	}
}

func TestEveryColourIsDefinedForBothBackgrounds(t *testing.T) {
	for c := Default + 1; c < numColors; c++ {
		k := tokens[c]
		must.True(t, strings.HasPrefix(k.dark, "#") && strings.HasPrefix(k.light, "#"), "colour %d: %+v", c, k)
	}
}

// Quantiles are told apart by their colours, also over SSH.
func TestTheColoursOfQuantilesDifferInEveryProfile(t *testing.T) {
	for _, dark := range []bool{true, false} {
		for _, p := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256, colorprofile.TrueColor} {
			th := New(Options{Profile: p, Dark: dark})
			seen := map[string]Color{}
			for _, c := range []Color{P50, P90, P99, P999, Bad, Flow} {
				s := th.Paint(Style{FG: c}, "x")
				other, ok := seen[s]
				must.True(t, !ok, "%v, dark %v: colours %d and %d are the same", p, dark, other, c)
				seen[s] = c
			}
		}
	}
}

func TestHeatStaysOnItsRamp(t *testing.T) {
	for share, want := range map[float64]Color{-1: heat0, 0: heat0, 0.5: heat0 + 6, 1: heatLast, 7: heatLast} {
		must.Match(t, want, Heat(share), "Heat(%v)", share)
	}
}

func TestAsciiGlyphsAreASCIIAndNoneIsMissing(t *testing.T) {
	ascii, unicode := reflect.ValueOf(asciiGlyphs), reflect.ValueOf(unicodeGlyphs)
	check := func(name string, r, u rune) {
		must.True(t, r >= ' ' && r <= '~' && u != 0, "%s: %q for %q", name, r, u)
	}
	for i := range ascii.NumField() {
		name := ascii.Type().Field(i).Name
		if a, u := ascii.Field(i), unicode.Field(i); a.Kind() == reflect.Array {
			for j := range a.Len() {
				check(name, rune(a.Index(j).Int()), rune(u.Index(j).Int()))
			}
		} else {
			check(name, rune(a.Int()), rune(u.Int()))
		}
	}
}

func TestFoldGivesOneASCIICharacterForEach(t *testing.T) {
	for r, want := range map[rune]rune{'a': 'a', 'µ': 'u', '→': '>', '…': '~', '界': '?', '\x1b': '?', '\n': '?'} {
		must.Match(t, want, Fold(r), "Fold(%q)", r)
	}
}
