package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// binding is a key, or some, with what they do and how that is told.
type binding struct {
	keys  string // as Bubble Tea names them
	label string // the keys, for people
	short string // in the footer; empty: left to the help
	long  string // in the help
	runs  runs   // that have it
	do    func(m *Model, key string) tea.Cmd
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

// Keys that the footer leaves out or shows at its end, and one that has another name in ASCII.
const (
	keyStop = "q"
	keyHelp = "?"
	keyUp   = "up"
)

// bindings returns the keys of this run, the most important first.
func (d *data) bindings() []binding {
	move := func(by int) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd { m.move(by); return nil }
	}
	turn := func(by int) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd { m.turn(by); return nil }
	}
	faster := func(up bool) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd { m.changeRate(up); return nil }
	}
	look := func(change func(s *scene)) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd { change(&m.scene); return nil }
	}
	stop := func(m *Model, _ string) tea.Cmd { return m.stop(m.options.Stop) }
	interrupt := func(m *Model, _ string) tea.Cmd { return m.stop(m.options.Interrupt) }
	leave := func(m *Model, _ string) tea.Cmd { return m.leave() }
	freeze := func(m *Model, _ string) tea.Cmd { m.freeze(); return nil }
	zoom := func(m *Model, key string) tea.Cmd { m.scene.zoom = m.data.panes()[key[0]-'0']; return nil }
	order, one, back := look(func(s *scene) { s.order++ }), look(func(s *scene) { s.one = !s.one }), look((*scene).back)
	shorter, longer := look(func(s *scene) { s.span = max(s.span-1, 0) }), look(func(s *scene) { s.span = min(s.span+1, span(len(spans)-1)) })
	units := look(func(s *scene) { s.unit = (s.unit + 1) % unit(len(units)) })
	help := look(func(s *scene) { s.help = !s.help })
	save := func(m *Model, _ string) tea.Cmd { return m.save() }
	suspend := func(*Model, string) tea.Cmd { return tea.Suspend }

	has := map[runs]bool{allRuns: true, ownRuns: !d.many(), hostRuns: d.many(), liveRuns: !d.header.Replay, replays: d.header.Replay}
	all := []binding{
		{keyStop, "q", "stop+report", "stop and report; again: leave at once", liveRuns, stop},
		{"ctrl+c", "ctrl+c", "", "the same, with exit code 130", liveRuns, interrupt},
		{keyStop + " ctrl+c", "q", "leave", "leave the replay; also ctrl+c", replays, leave},
		{keyUp, "↑↓", "host", "select a host", hostRuns, move(-1)},
		{keyUp, "↑↓", "", "scroll the table of partitions (4)", ownRuns, move(-1)},
		{"down", "", "", "", allRuns, move(1)},
		{"o", "o", "", "sort the partitions (4) by the next column", ownRuns, order},
		{"enter", "enter", "one host", "show the charts of the selected host, or all", hostRuns, one},
		{"space", "space", "freeze", "freeze the display, not the load", liveRuns, freeze},
		{"space", "space", "pause", "pause the replay, or go on", replays, freeze},
		{"+ =", "+ -", "speed", "double or halve the speed of the replay", replays, faster(true)},
		{"1 2 3 4 5 6 7", "1-7", "zoom", "show one panel alone; 7: events and outages", ownRuns, zoom},
		{"1 2 3 4 5 6", "1-6", "zoom", "two charts, hosts, heatmap, brokers, events", hostRuns, zoom},
		{"tab", "tab", "next", "show the next panel; shift+tab: the previous", ownRuns, turn(1)},
		{"tab", "tab", "next", "show the next panel or chart; shift+tab: back", hostRuns, turn(1)},
		{"shift+tab", "", "", "", allRuns, turn(-1)},
		{"0 esc", "0", "all", "show all panels that fit; also esc", ownRuns, back},
		{"esc 0", "esc", "back", "show all panels, then all hosts; also 0", hostRuns, back},
		{"[", "[ ]", "window", "show less or more time: 15s, 60s, 5m, all", allRuns, shorter},
		{"]", "", "", "", allRuns, longer},
		{"+ =", "+ -", "rate", "raise or lower the target rate by 10 %", liveRuns, faster(true)},
		{"-", "", "", "", allRuns, faster(false)},
		{"s", "s", "save", "save this screen as a text file", allRuns, save},
		{"u", "u", "units", "MiB/s, MB/s or Gb/s", allRuns, units},
		{"ctrl+z", "", "", "", allRuns, suspend},
		{keyHelp, "?", "help", "show or hide this help", allRuns, help},
	}
	for i := range all { // of what rows are
		b := &all[i]
		b.short, b.long = strings.ReplaceAll(b.short, "host", d.header.rowName()), strings.ReplaceAll(b.long, "host", d.header.rowName())
	}
	return slices.DeleteFunc(all, func(b binding) bool { return !has[b.runs] })
}

// is reports whether a key is one of the binding.
func (b *binding) is(key string) bool { return slices.Contains(strings.Fields(b.keys), key) }

// name returns what the keys are called on this terminal.
func (b *binding) name(th *theme.Theme) string {
	if b.is(keyUp) && th.ASCII() { // has no arrows
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
		if b.short == "" || b.is(keyStop) && (s.stopping || text != "") {
			continue
		}
		key := line{plain(b.name(c.Theme())), muted(" " + b.short)}
		if b.is(keyHelp) {
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
