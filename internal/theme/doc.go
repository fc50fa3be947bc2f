// Package theme decides how kt looks: its colours, its glyphs, and how every
// number is written, on the screen and in a report alike.
//
//	theme.Rate(826_400)                  // 826k
//	theme.Duration(3440 * time.Microsecond) // 3.44ms
//	th := theme.New(theme.Options{Profile: colorprofile.TrueColor, Dark: true})
//	th.Paint(theme.Style{FG: theme.Good}, "ok")
//
// Colours are named by what they mean and never by their hue, so that a light
// background or a terminal of 16 colours is a matter of this package alone.
// Without colours nothing is written but the text itself.
package theme
