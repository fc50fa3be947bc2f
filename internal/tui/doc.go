// Package tui shows a run while it goes on, and takes keys.
//
//	screen := tui.NewScreen(tui.NewModel(header, tui.Options{Theme: th, Stop: stop, Abort: abort}), nil, os.Stderr)
//	go func() { defer screen.Quit(); for tick := range ticks { screen.Send(tick) } }()
//	err := screen.Run(ctx)
//
// [Model] is the only Bubble Tea model. What it knows is a list of points, one a
// second, and the numbers of the last second and of the whole run; it keeps no
// window. layout turns the size of the terminal into rectangles, and every pane
// is a function that draws what is known into its rectangle: no pane has a state,
// a clock or a key of its own. What a run does, to send or to read or both, is its
// role: it decides which numbers the panes are about.
//
// Where the load is made on many hosts, the windows of a [Tick] are those of all
// hosts, merged, and each host is a row of a table, with a past of its own: so the
// charts can be about one host as well as about all.
//
// The screen must not disturb what it measures: it is drawn a few times a
// second, and charts move once a second, with the data.
package tui
