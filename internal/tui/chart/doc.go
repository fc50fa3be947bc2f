// Package chart draws charts with characters.
//
// A [Canvas] is a rectangle of cells that clips whatever is drawn on it, so that
// a chart can neither spill nor panic at a size that nobody thought of. Plot
// draws lines with two by four dots a cell, Heat two values a cell, Bars eighths
// of a cell. Each has a form without colour and one of ASCII alone; the canvas's
// theme says which is drawn.
//
//	c := chart.New(60, 12, th)
//	chart.Plot{Y: chart.Linear(826e3, 4), Series: series, Label: theme.Tick}.Draw(c)
//	fmt.Println(c)
package chart
