// Package tui shows a run while it goes on, and takes keys.
//
//	screen := tui.NewScreen(ctx, tui.NewModel(header, tui.Options{Theme: th, Stop: stop, Abort: abort}), nil, os.Stderr)
//	go func() { defer screen.Quit(); run.Run(ctx, request, screen) }()
//	err := screen.Run(ctx)
//
// [Model] is the only Bubble Tea model. It draws the newest [result.Snapshot] and adds
// nothing up by itself: beside the snapshot it keeps events that only it finds, such as stalls. layout turns the size of the terminal into
// rectangles, and every pane is a function that draws the data into its rectangle: no pane
// has a state, a clock or a key of its own. The role of a run, to send or to read or both,
// decides which numbers the panes are about.
//
// Where the load is made on many hosts, the snapshot of a [Tick] is that of all hosts
// together, and each host is a row of a table with a snapshot of its own: so the charts can
// be about one host as well as about all.
//
// The screen must not disturb what it measures: it is drawn a few times a
// second, and charts move once a second, with the data.
package tui
