package tui

import (
	"slices"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// action is what a key does.
type action int

// The actions.
const (
	doNothing action = iota
	doStop
	doInterrupt
	doLeave // a replay
	doFreeze
	doZoom
	doNext
	doPrevious
	doBack
	doShorter
	doLonger
	doUnits
	doUp
	doDown
	doOne
	doOrder
	doFaster
	doSlower
	doSave
	doHelp
	doSuspend
)

// binding is a key, or some, with what they do and how that is told.
type binding struct {
	keys   []string // as Bubble Tea names them
	action action
	label  string // the keys, for people
	short  string // in the footer; empty: left to the help
	long   string // in the help
	runs   runs   // that have it
}

// runs are those that a key is for.
type runs int

const (
	allRuns  runs = iota
	ownRuns       // on this host alone
	hostRuns      // on many
	liveRuns      // that go on
	replays
)

// bindings are all the keys there are, the most important first.
var bindings = [...]binding{
	{[]string{"q"}, doStop, "q", "stop+report", "stop and report; again: leave at once", liveRuns},
	{[]string{"ctrl+c"}, doInterrupt, "ctrl+c", "", "the same, with exit code 130", liveRuns},
	{[]string{"q", "ctrl+c"}, doLeave, "q", "leave", "leave the replay; also ctrl+c", replays},
	{[]string{"up"}, doUp, "↑↓", "host", "select a host", hostRuns},
	{[]string{"down"}, doDown, "", "", "", hostRuns},
	{[]string{"up"}, doUp, "↑↓", "", "scroll the table of partitions (4)", ownRuns},
	{[]string{"down"}, doDown, "", "", "", ownRuns},
	{[]string{"o"}, doOrder, "o", "", "sort the partitions (4) by the next column", ownRuns},
	{[]string{"enter"}, doOne, "enter", "one host", "show the charts of the selected host, or all", hostRuns},
	{[]string{"space"}, doFreeze, "space", "freeze", "freeze the display, not the load", liveRuns},
	{[]string{"space"}, doFreeze, "space", "pause", "pause the replay, or go on", replays},
	{[]string{"+", "="}, doFaster, "+ -", "speed", "double or halve the speed of the replay", replays},
	{[]string{"1", "2", "3", "4", "5", "6", "7"}, doZoom, "1-7", "zoom", "show one panel alone; 7: events and outages", ownRuns},
	{[]string{"1", "2", "3", "4", "5", "6"}, doZoom, "1-6", "zoom", "two charts, hosts, heatmap, brokers, events", hostRuns},
	{[]string{"tab"}, doNext, "tab", "next", "show the next panel; shift+tab: the previous", ownRuns},
	{[]string{"tab"}, doNext, "tab", "next", "show the next panel or chart; shift+tab: back", hostRuns},
	{[]string{"shift+tab"}, doPrevious, "", "", "", allRuns},
	{[]string{"0", "esc"}, doBack, "0", "all", "show all panels that fit; also esc", ownRuns},
	{[]string{"esc", "0"}, doBack, "esc", "back", "show all panels, then all hosts; also 0", hostRuns},
	{[]string{"["}, doShorter, "[ ]", "window", "show less or more time: 15s, 60s, 5m, all", allRuns},
	{[]string{"]"}, doLonger, "", "", "", allRuns},
	{[]string{"+", "="}, doFaster, "+ -", "rate", "raise or lower the target rate by 10 %", liveRuns},
	{[]string{"-"}, doSlower, "", "", "", allRuns},
	{[]string{"s"}, doSave, "s", "save", "save this screen as a text file", allRuns},
	{[]string{"u"}, doUnits, "u", "units", "MiB/s, MB/s or Gb/s", allRuns},
	{[]string{"ctrl+z"}, doSuspend, "", "", "", allRuns},
	{[]string{"?"}, doHelp, "?", "help", "show or hide this help", allRuns},
}

// bindings returns the keys of this run.
func (d *data) bindings() []binding {
	has := map[runs]bool{allRuns: true, ownRuns: !d.many(), hostRuns: d.many(), liveRuns: !d.header.Replay, replays: d.header.Replay}
	return slices.DeleteFunc(slices.Clone(bindings[:]), func(b binding) bool { return !has[b.runs] })
}

// actionOf returns what a key does.
func (d *data) actionOf(key string) action {
	for _, b := range d.bindings() {
		if slices.Contains(b.keys, key) {
			return b.action
		}
	}
	return doNothing
}

// name returns what the keys are called on this terminal.
func (b *binding) name(th *theme.Theme) string {
	if b.action == doUp && th.ASCII() { // has no arrows
		return "up/down"
	}
	return b.label
}

// drawFooter tells the keys, as many as fit from the left, and the one that tells all.
// What a user has to know before the keys goes first.
func drawFooter(c chart.Canvas, s *scene) {
	w, _ := c.Size()
	x := 1
	text, color := s.notice, theme.Warn
	switch {
	case s.note != "":
		text, color = s.note, theme.Info
	case s.Stage == result.Finished:
		text, color = "done; q to leave", theme.Good
	case text != "": // it tells what q does
	case s.stopping && (!s.writes || s.gathering()):
		text = "stopping; q again to leave"
	case s.stopping:
		text = "draining: waiting for acks; q again to leave"
	}
	if text != "" {
		room := w - x - 1
		x = c.Text(x, 0, chart.FitMiddle(text, room), theme.Style{FG: color, Bold: true}) + 2 // it ends with the key
	}
	const gap = "  "
	var keys []line
	var help line
	for _, b := range s.bindings() {
		if b.short == "" || (b.action == doStop || b.action == doLeave) && (s.stopping || text != "") {
			continue
		}
		key := line{plain(b.name(c.Theme())), muted(" " + b.short)}
		if b.action == doHelp {
			help = key
			continue
		}
		keys = append(keys, key)
	}
	room := w - x - 1
	shown := fit(keys, gap, room-help.width()-len(gap))
	fit([]line{shown, help}, gap, room).draw(c, x, 0)
}

// drawHelp draws all the keys in a box in the middle. At 60x15 its rows are just as many as fit.
func drawHelp(c chart.Canvas, s *scene) {
	bindings := slices.DeleteFunc(s.bindings(), func(b binding) bool { return b.long == "" })
	label, long := 0, 0
	for _, b := range bindings {
		label, long = max(label, chart.Width(b.name(c.Theme()))), max(long, chart.Width(b.long))
	}
	w, h := c.Size()
	boxW, boxH := min(label+long+8, w), min(len(bindings)+4, h)
	box := c.Sub((w-boxW)/2, (h-boxH)/2, boxW, boxH)
	box.Clear()
	drawBorder(box, theme.Style{FG: theme.Brand})
	box.Text(2, 0, " Keys ", theme.Style{FG: theme.Text, Bold: true})
	top := max(1, (boxH-len(bindings))/2)
	inner := box.Sub(3, top, boxW-5, boxH-1-top)
	for y, b := range bindings {
		inner.Text(0, y, b.name(c.Theme()), theme.Style{FG: theme.Brand, Bold: true})
		inner.Text(label+2, y, inner.Fit(b.long, boxW-5-label-2), theme.Style{FG: theme.Text})
	}
}
