package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// subject returns the scene as the charts see it: of all hosts, or of the selected one.
func (s *scene) subject() *scene {
	sub := s.whole()
	if s.many() && s.one {
		h := s.hosts[s.selected]
		sub.data, sub.of, sub.until = h.own, h.short, s.end()
	}
	return sub
}

// whole returns the scene of all hosts: of one there is no heat map.
func (s *scene) whole() *scene {
	sub := *s
	if s.many() {
		sub.of = "all " + s.header.rowName() + "s"
	}
	return &sub
}

// drawSubject says why there is nothing to see of a host that makes no load.
func drawSubject(c chart.Canvas, s *scene) {
	if !s.many() || !s.one || s.hosts[s.selected].Processes > 0 {
		return
	}
	const text = " watched only: it makes no load "
	w, h := c.Size()
	c.Text((w-len(text))/2, h/2, text, theme.Style{FG: theme.Muted})
}

// hostFigures returns how many hosts are there, and how far apart their clocks are.
func (s *scene) hostFigures() []line {
	n, all := s.present(), len(s.hosts)
	color := theme.Good
	if n < all {
		color = theme.Warn
	}
	out := []line{figure(s.header.rowName()+"s", color, fmt.Sprintf("%d/%d", n, all))}
	var offsets []time.Duration
	for _, h := range s.hosts {
		if h.Bound > 0 {
			offsets = append(offsets, h.Offset)
		}
	}
	if len(offsets) > 1 {
		out = append(out, figure("clock spread", theme.Info, theme.Duration(slices.Max(offsets)-slices.Min(offsets))))
	}
	return out
}

// drawHosts is a row for each host, around the selected one where not all have room,
// and below what must be known of them.
func drawHosts(c chart.Canvas, s *scene) {
	w, h := c.Size()
	rows := max(h-3, 0) // within the border and below the head
	if s.flat {
		rows = max(h-2, 0)
	}
	warning := s.hostWarning()
	if warning.long == "" && len(s.hosts) > rows { // the table does not show all
		warning = s.waitingWarning()
	}
	if warning.long != "" {
		rows = max(rows-1, 0)
	}
	first := 0
	last := len(s.hosts)
	if rows < last {
		first = min(max(s.selected-rows/2, 0), last-rows)
		last = first + rows
	}
	b := s.box(paneHosts, map[bool]string{true: "Loads", false: "Hosts"}[s.header.loads()])
	b.table = true
	switch {
	case s.gathering() && s.startsIn > 0:
		b.name = "All hosts start together"
	case s.gathering():
		b.name = fmt.Sprintf("Waiting for hosts %d/%d…", s.present(), len(s.hosts))
	case !s.untimed():
		of := "latency of the last 5 to 10 s"
		if s.Stage == result.Finished {
			of = "latency of the run"
		} else if s.header.loads() {
			of = "latency of the last second"
		}
		b.right = []line{{muted(of)}, {muted("merged from HDR histograms, not averaged")}}
	}
	if last-first < len(s.hosts) {
		b.bottom = append(b.bottom, line{muted(fmt.Sprintf("%d to %d of %d", first+1, last, len(s.hosts)))})
	}
	switch limit := s.bounded().Limit; {
	case limit == "":
	case s.flat: // there is no edge below
		b.right = slices.Insert(b.right, 0, s.bound())
	case limit == verdict.None:
		b.bottom = append(b.bottom, s.bound())
	default:
		const around = 30 // the edge, and which hosts are shown
		b.bottom = append(b.bottom, s.limitLine(c, w-around))
	}
	inner := b.draw(c)
	table := newHostTable(inner.Sub(1, 0, w-4, h), s)
	table.head(-1)
	for i, host := range s.hosts[first:last] {
		if first+i == s.selected {
			inner.Set(0, 1+i, c.Theme().Glyphs.Arrow, theme.Style{FG: theme.Brand})
		}
		table.row(1+i, host)
	}
	if warning.long != "" {
		at := inner.Text(1, 1+last-first, string(c.Theme().Glyphs.Alert)+" ", theme.Style{FG: warning.color})
		inner.Text(at, 1+last-first, warning.fit(c, w-2-at), theme.Style{FG: warning.color})
	}
}

// When a host is called slow, and when its own CPU is held to be why. Hosts with equal
// shares differ by less than a tenth over ten seconds unless something holds one up,
// and where less than a tenth of the CPU is idle, threads wait for each other.
const (
	slowShare = 0.10
	busyShare = 0.90
)

// warning is what must be known of the hosts, and the same in fewer words.
type warning struct {
	long, short string // "": all is well
	color       theme.Color
}

// fit is as much of it as there is room for.
func (w warning) fit(c chart.Canvas, room int) string {
	if chart.Width(w.long) <= room {
		return w.long
	}
	return c.Fit(w.short, room)
}

// hostWarning tells who is gone before who is slow, and who makes a load before who is
// only watched.
func (s *scene) hostWarning() warning {
	if s.Stage == result.Finished {
		return warning{}
	}
	for _, loaded := range []bool{true, false} {
		in := func(state string) []*hostData {
			return slices.DeleteFunc(slices.Clone(s.hosts), func(h *hostData) bool { return h.State != state || loaded != (h.Processes > 0) })
		}
		if lost := in(hostLost); len(lost) > 0 {
			text := telling(lost, "is", "are") + " lost"
			w := warning{text, text, theme.Bad}
			if len(lost) == 1 {
				w.long += ", silent for " + wholeSeconds(lost[0].Seen)
			}
			if loaded {
				w.long += ": its figures until then are shown separately"
			}
			return w
		}
		if away := in(hostAway); len(away) > 0 {
			longest := slices.MaxFunc(away, func(a, b *hostData) int { return cmp.Compare(a.Seen, b.Seen) })
			text := telling(away, "has", "have") + " been silent for " + wholeSeconds(longest.Seen)
			w := warning{text, text, theme.Warn}
			if loaded && !s.gathering() && !s.overdue() {
				w.long += map[bool]string{true: ": their load may go on", false: ": its load may go on"}[len(away) > 1]
			}
			return w
		}
	}
	return s.slowWarning()
}

// waitingWarning names who is not ready, before the load begins.
func (s *scene) waitingWarning() warning {
	missing := slices.DeleteFunc(slices.Clone(s.hosts), (*hostData).ready)
	if !s.gathering() || len(missing) == 0 {
		return warning{}
	}
	text := telling(missing, "is", "are") + " not ready"
	return warning{text, text, theme.Warn}
}

// telling returns the first of the hosts, how many others, and the verb.
func telling(hosts []*hostData, one, several string) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.short
	}
	if len(hosts) > 1 {
		one = several
	}
	return named(names) + " " + one
}

// named returns the first of several names, and the second or how many others.
func named(names []string) string {
	switch len(names) {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	}
	return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
}

// wholeSeconds writes "12 s", and a longer time in two units.
func wholeSeconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return theme.Duration(d.Round(time.Second))
}

// wholePercent returns a share without decimals.
func wholePercent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// slowWarning names the slowest host, and why it is slow if its CPU tells.
func (s *scene) slowWarning() warning {
	slow := s.slowHosts()
	if len(slow) == 0 {
		return warning{}
	}
	h, verb, share := slow[0].host, byWay(s.main, "sends", "reads"), ""
	if slices.ContainsFunc(s.hosts, func(o *hostData) bool { return o.weight() != h.weight() && o.Processes > 0 }) {
		share = " for its share"
	}
	less := fmt.Sprintf("%s %s %s less", h.short, verb, wholePercent(slow[0].behind))
	w := warning{less + share + " than the median", less, theme.Warn}
	last := h.own.Recent[max(len(h.own.Recent)-recentTicks, 0):] // a record that has waited unusually long: then its rate says nothing of its CPU
	stalled := slices.ContainsFunc(last, func(p result.Point) bool { return h.own.ageOf(&p) > 0 })
	busy, cpu := 0.0, h.cpu[:min(h.samples, recentTicks)]
	for _, v := range cpu {
		busy += v
	}
	if busy /= float64(max(len(cpu), 1)); busy >= busyShare && s.goingOn() == "" && !stalled {
		text := wholePercent(busy) + " busy"
		w.long += " and its CPU is " + text + ": the host, not Kafka, limits it"
		w.short += ": its CPU is " + text
	}
	return w
}

// slowHost is a host that does less than the others.
type slowHost struct {
	host   *hostData
	behind float64 // the median, as a share of it
}

// slowHosts are those that do less than the median of all that make a load, each for
// its share: the slowest first. A host that keeps its target rate is not slow: the others
// then do more than theirs, after an outage say.
func (s *scene) slowHosts() []slowHost {
	if s.Stage < result.WarmingUp || s.Stage > result.Running || s.header.loads() { // loads are unlike
		return nil
	}
	var rates []float64 // over the last ticks, for the weights of those that have enough of them
	var reporting []*hostData
	for _, h := range s.hosts {
		if h.State == hostRunning && h.Processes > 0 && h.own.silent < patience && h.own.Placed >= recentTicks {
			rates, reporting = append(rates, h.own.numbersOf(&h.own.Tail).flow[h.own.main].Records/h.weight()), append(reporting, h)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	sorted, n := slices.Sorted(slices.Values(rates)), len(rates)
	usual := (sorted[(n-1)/2] + sorted[n/2]) / 2
	var slow []slowHost
	for i, h := range reporting {
		target := h.own.Targets.Mean(max(h.own.At-recentTicks*time.Second, 0), h.own.At)
		kept := target > 0 && rates[i]*h.weight() > (1-slowShare)*target
		if behind := 1 - rates[i]/usual; usual > 0 && behind >= slowShare && !kept {
			slow = append(slow, slowHost{h, behind})
		}
	}
	slices.SortStableFunc(slow, func(a, b slowHost) int { return cmp.Compare(b.behind, a.behind) })
	return slow
}

// weight returns which part of the load the host makes, compared with the others.
func (h *hostData) weight() float64 {
	if h.share > 0 {
		return h.share
	}
	return float64(h.Processes)
}
