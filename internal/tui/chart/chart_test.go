package chart

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/theme"
)

// looks are the kinds of terminal, by name.
func looks() map[string]*theme.Theme {
	return map[string]*theme.Theme{
		"plain":    theme.New(theme.Options{Dark: true}),
		"ascii":    theme.New(theme.Options{ASCII: true}),
		"colour":   theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true}),
		"sixteen":  theme.New(theme.Options{Profile: colorprofile.ANSI}),
		"coloured": theme.New(theme.Options{Profile: colorprofile.ANSI256, ASCII: true}),
	}
}

func plain() *theme.Theme { return theme.New(theme.Options{Dark: true}) }
func ascii() *theme.Theme { return theme.New(theme.Options{ASCII: true}) }

// ramp is n samples of a second each, with the values 0, 1, 2 and so on.
func ramp(n int) []Sample {
	out := make([]Sample, n)
	for i := range out {
		out[i] = Sample{float64(i), float64(i + 1), float64(i)}
	}
	return out
}

func TestRoundUpGivesTheNextRoundNumber(t *testing.T) {
	for v, want := range map[float64]float64{
		0: 1, -5: 1, 0.3: 0.5, 1: 1, 1.01: 2, 2.1: 2.5, 2.6: 5, 5.1: 10, 826e3: 1e6, 1.1e6: 2e6,
		math.Inf(1): 1, math.MaxFloat64: 1, 1e-320: 1,
	} {
		got := RoundUp(v)
		must.True(t, math.Abs(got-want) <= 1e-9*want, "RoundUp(%v) = %v, want %v", v, got, want)
	}
	must.Match(t, 1, RoundUp(math.NaN()), "RoundUp(NaN)")
}

func TestLinearAxisHasRoundTicks(t *testing.T) {
	for top, want := range map[float64][]float64{
		826e3: {0, 250e3, 500e3, 750e3, 1e6},
		1.3e6: {0, 500e3, 1e6, 1.5e6, 2e6},
		0:     {0, 0.25, 0.5, 0.75, 1},
	} {
		must.Match(t, want, Linear(top, 4).Ticks, "Linear(%v)", top)
	}
}

func TestLogarithmicAxisCoversWholeDecades(t *testing.T) {
	a := Decades(3.4e-3, 62e-3)
	must.Match(t, []float64{1e-3, 1e-2, 1e-1}, a.Ticks, "a.Ticks")
	for v, want := range map[float64]float64{1e-3: 0, 1e-2: 0.5, 1e-1: 1, 5: 1, 0: 0, 1e-9: 0} {
		got := a.Pos(v)
		must.True(t, math.Abs(got-want) <= 1e-9, "Pos(%v) = %v, want %v", v, got, want)
	}
	must.True(t, math.IsNaN(a.Pos(math.NaN())), "NaN has a position")
	got := Decades(math.NaN(), math.Inf(1))
	must.True(t, len(got.Ticks) >= 3, "axis of nonsense: %+v", got)
}

func TestTicksThatCrowdAreLeftOutEvenly(t *testing.T) {
	a := Linear(1e6, 4)
	for rows, want := range map[int]map[int]float64{
		9: {0: 1e6, 2: 750e3, 4: 500e3, 6: 250e3, 8: 0},
		5: {0: 1e6, 2: 500e3, 4: 0},
		3: {0: 1e6, 2: 0},
		1: {0: 1e6},
		0: {},
	} {
		must.Match(t, want, a.visibleTicks(rows), "%d rows", rows)
	}
}

func TestResampleTakesEverySampleOnceWhenPlacesAreLong(t *testing.T) {
	got := Resample(ramp(6), 0, 6, 3, Mean)
	must.Match(t, []float64{0.5, 2.5, 4.5}, got, "got")
	got = Resample(ramp(6), 0, 6, 3, Max)
	must.Match(t, []float64{1, 3, 5}, got, "got")
}

func TestResampleRepeatsASampleWhenPlacesAreShort(t *testing.T) {
	got := Resample(ramp(2), 0, 2, 6, Max)
	must.Match(t, []float64{0, 0, 0, 1, 1, 1}, got, "got")
}

func TestResampleLeavesGaps(t *testing.T) {
	nan := math.NaN()
	samples := []Sample{{0, 1, 5}, {1, 2, nan}, {3, 4, 7}}
	got := Resample(samples, -1, 5, 6, Max)
	equalNaN := cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })
	diff := cmp.Diff([]float64{nan, 5, nan, nan, 7, nan}, got, equalNaN)
	must.True(t, diff == "", "%v", diff)
	for _, v := range Resample(samples, 3, 3, 2, Max) {
		must.True(t, math.IsNaN(v), "%v in no time", v)
	}
}

func TestCanvasClipsAndReplacesWhatIsNotOneCellWide(t *testing.T) {
	c := New(6, 2, plain())
	c.Text(-1, 0, "abc", theme.Style{})
	c.Text(2, 0, "x界\te\u0301yz", theme.Style{})
	c.Set(9, 9, 'x', theme.Style{})
	c.TextRight(6, 1, "µs→", theme.Style{})
	must.Match(t, "bcx??e\n   µs→", c.String(), "the canvas")
	c.Sub(4, 1, 100, 100).Clear()
	c.Sub(-5, -5, 6, 6).Text(0, 0, "###", theme.Style{})
	must.Match(t, "#cx??e\n   µ  ", c.String(), "the canvas")
}

func TestFitEndsInAnEllipsis(t *testing.T) {
	c := New(1, 1, plain())
	for w, want := range map[int]string{-1: "", 0: "", 1: "…", 3: "ab…", 5: "abcde", 9: "abcde"} {
		must.Match(t, want, c.Fit("abcde", w), "Fit(%d)", w)
	}
}

func TestPlotDrawsARampInBraille(t *testing.T) {
	c := New(23, 6, plain())
	Plot{
		Y: Linear(9, 4), X: TimeAxis{From: 0, To: 10, Left: "-10s", Right: "now"}, Label: theme.Tick,
		Series: []Series{{Samples: ramp(10), Combine: Mean}},
	}.Draw(c)
	want := strings.TrimPrefix(`
    10┤┈   ┈   ┈   ┈ ⢀⣀
      │           ⡤⠤⠒⠊ 
     5┤┈   ┈ ⢀⣀⠤⠜⠉ ┈   
      │   ⡤⠤⠒⠊         
     0┤⠤⠜⠉ ┈   ┈   ┈   
      └-10s─────────now`, "\n")
	must.Match(t, want, c.String(), "%s", c)
}

func TestPlotLeavesAGapWhereThereIsNothing(t *testing.T) {
	c := New(17, 4, ascii())
	samples := ramp(10)
	for i := range samples {
		samples[i].Value = 1
		if i == 4 || i == 5 {
			samples[i].Value = math.NaN()
		}
	}
	Plot{
		Y: Linear(2, 1), X: TimeAxis{To: 10}, Label: theme.Tick,
		Series: []Series{{Samples: samples, Combine: Max, Mark: '*'}},
	}.Draw(c)
	want := strings.TrimPrefix(`
     2+.   .   . 
      |****  ****
     0+.   .   . 
      +----------`, "\n")
	must.Match(t, want, c.String(), "%s", c)
}

func TestHeatShowsTwoValuesACell(t *testing.T) {
	th := looks()["colour"]
	for _, row := range []struct {
		upper, lower float64
		r            rune
		s            theme.Style
	}{
		{math.NaN(), -1, ' ', theme.Style{}},
		{0, -1, '▀', theme.Style{FG: theme.Heat(0)}},
		{-1, 1, '▄', theme.Style{FG: theme.Heat(1)}},
		{1, 1, '█', theme.Style{FG: theme.Heat(1)}},
		{0, 1, '▀', theme.Style{FG: theme.Heat(0), BG: theme.Heat(1)}},
	} {
		r, s := heatCell(th, row.upper, row.lower)
		must.True(t, r == row.r && s == row.s, "%v over %v: %q %v", row.upper, row.lower, r, s)
	}
	r, _ := heatCell(plain(), math.NaN(), 1)
	must.True(t, r == '█', "without colour: %q", r)
	r, _ = heatCell(ascii(), 0, -1)
	must.True(t, r == '.', "in ASCII: %q", r)
}

func TestBarsShowTheLongestOfAColumnWhenTheyCrowd(t *testing.T) {
	values := make([]float64, 12)
	values[3], values[8] = 8, 4
	c := New(6, 3, plain())
	Bars{Values: values, Style: func(int) theme.Style { return theme.Style{} }}.Draw(c)
	must.Match(t, " █    \n █  █ \n0     ", c.String(), "the canvas")
}

func TestBarsAreAsWideAsTheyCanBe(t *testing.T) {
	c := New(11, 2, plain())
	Bars{Values: []float64{1, 0.5, 0}, Style: func(int) theme.Style { return theme.Style{} }}.Draw(c)
	must.Match(t, "███ ▄▄▄    \n0   1   2  ", c.String(), "the canvas")
}

func TestGaugeShowsHalvesAndATraceOfLittle(t *testing.T) {
	for share, want := range map[float64]string{0: "────", 0.0001: "╸───", 0.5: "━━──", 0.6: "━━╸─", 1: "━━━━", 9: "━━━━", math.Inf(1): "━━━━"} {
		c := New(4, 1, plain())
		Gauge(c, 0, 0, 4, share, theme.Style{})
		must.Match(t, want, c.String(), "%v", share)
	}
}

func TestSparklineIsRelativeToItsHighest(t *testing.T) {
	c := New(5, 1, plain())
	Sparkline(c, 0, 0, []float64{0, 2, math.NaN(), 4, 1}, 0, theme.Style{})
	must.Match(t, "▁▄ █▂", c.String(), "the canvas")
}

// Whatever is drawn at whatever size: no panic, and the canvas has exactly its
// size, without escapes where there are no colours, and only ASCII where only
// that is wanted.
func FuzzDraw(f *testing.F) {
	f.Add(int8(40), int8(10), 12.5, 60.0, uint8(21))
	f.Add(int8(1), int8(1), 0.0, 0.0, uint8(0))
	f.Add(int8(-3), int8(5), math.Inf(1), -1.0, uint8(255))
	f.Add(int8(9), int8(2), math.NaN(), math.MaxFloat64, uint8(3))
	f.Fuzz(func(t *testing.T, w8, h8 int8, value, seconds float64, n uint8) {
		w, h := int(w8), int(h8)
		samples := ramp(int(n))
		for i := range samples {
			samples[i].Value *= value
		}
		x := TimeAxis{From: 0, To: seconds, Left: "-60s", Right: "now", Warmup: 3, Events: []Event{{At: value}}}
		label := func(v float64) string { return theme.Tick(v) }
		for name, th := range looks() {
			for _, draw := range []func(Canvas){
				Plot{Y: Linear(value, 4), X: x, Label: label, Names: true, Marks: []Mark{{Value: func(float64) float64 { return value }}}, Series: []Series{{
					Name: "p99", Samples: samples, Combine: Mean, Mark: '*', On: 2, Off: 1,
					Fill: theme.Style{FG: theme.FlowFill},
				}}}.Draw,
				Plot{Y: Decades(value, seconds), X: x, Label: label, Series: []Series{{Samples: samples, Combine: Max, Mark: '*'}}}.Draw,
				Heat{Y: Decades(1, value), X: x, Label: label, Share: func(x, y int) float64 { return value * float64(x*y) }}.Draw,
				Bars{Values: Resample(samples, 0, seconds, int(n), Max), Style: func(int) theme.Style { return theme.Style{FG: theme.Info} }}.Draw,
				func(c Canvas) { Gauge(c, 0, 0, w, value, theme.Style{FG: theme.Good}) },
				func(c Canvas) { Sparkline(c, 0, 0, []float64{value, seconds, 1}, 0, theme.Style{}) },
				func(c Canvas) { Ramp(c, 0, 0, w) },
			} {
				c := New(w, h, th)
				draw(c)
				checkSize(t, name, c.String(), max(w, 0), max(h, 0))
			}
		}
	})
}

func checkSize(t *testing.T, look, s string, w, h int) {
	t.Helper()
	if h == 0 {
		must.Match(t, "", s, "%s: on no row", look)
		return
	}
	lines := strings.Split(s, "\n")
	must.Hold(t, len(lines) == h, "%s: %d lines, want %d", look, len(lines), h)
	for _, l := range lines {
		got := ansi.StringWidth(l)
		must.Hold(t, got == w, "%s: %d cells, want %d: %q", look, got, w, l)
	}
	must.Hold(t, look != "plain" && look != "ascii" || !strings.Contains(s, "\x1b"), "%s: escapes in %q", look, s)
	if look == "ascii" && strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		t.Fatalf("%s: %q", look, s)
	}
}

func TestEveryBarHasACharacterAboveIt(t *testing.T) {
	bars := Bars{
		Values: []float64{1, 2, 4}, Bare: true,
		Style: func(int) theme.Style { return theme.Style{} },
		Head:  func(i int) rune { return rune('a' + i) },
	}
	for w, want := range map[int]string{
		5: "a b c\n    █\n▄ █ █",
		2: "ac\n █\n▄█", // each column is the longest of its bars
	} {
		c := New(w, 3, plain())
		bars.Draw(c)
		must.Match(t, want, c.String(), "%d columns", w)
	}
}

func TestALabelOfTheTimeAxisGivesWayToAnEvent(t *testing.T) {
	for at, want := range map[float64]string{
		5:   "└-10s──▼──now",
		9.5: "└-10s───────▼",
		0:   "└▼────────now",
		20:  "└-10s─────now",
		7.4: "└-10s────▼now",
	} {
		c := New(13, 1, plain())
		frame{x: TimeAxis{From: 0, To: 10, Left: "-10s", Right: "now", Events: []Event{{At: at}}}}.time(c)
		must.Match(t, want, c.String(), "at %v", at)
	}
}

func TestNamesAreCutInTheMiddle(t *testing.T) {
	for _, row := range []struct {
		name string
		w    int
		want string
	}{
		{"127.0.0.1:19092", 15, "127.0.0.1:19092"},
		{"127.0.0.1:19092", 10, "127…:19092"},
		{"127.0.0.1:19092", 2, "1…"},
		{"127.0.0.1:19092", 0, ""},
		{"µµµµµµµµ", 4, "µ…µµ"},
	} {
		must.Match(t, row.want, FitMiddle(row.name, row.w), "%q in %d cells", row.name, row.w)
	}
}
