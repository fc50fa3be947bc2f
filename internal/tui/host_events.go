package tui

import (
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// What happens to the hosts of a run. Only the screen tells of it: in the files are the
// seconds that are missing.
const (
	kindAway stats.EventKind = "host_away"
	kindLost stats.EventKind = "host_lost"
	kindBack stats.EventKind = "host_back"
)

// hostEvents returns the hosts that are not as they were before: those of one kind are one
// event, for a switch that fails takes all away that are behind it. heard: there was a second
// of load.
func (d *data) hostEvents(heard bool) []stats.Event {
	if d.gathering() { // the table tells who is missing, and no time has begun
		return nil
	}
	at := d.At
	if !heard { // time goes on
		at += time.Duration(d.silent) * time.Second
	}
	var away, lost, back []*hostData
	for _, h := range d.hosts {
		state := ""
		if !h.heard() {
			state = h.State
		}
		if state == h.reported {
			continue
		}
		switch state {
		case hostAway:
			away = append(away, h)
		case hostLost:
			lost = append(lost, h)
		default:
			back = append(back, h)
		}
		h.reported = state
	}
	var events []stats.Event
	report := func(kind stats.EventKind, what string, hosts []*hostData) {
		if len(hosts) > 0 {
			events = append(events, stats.Event{At: at, Kind: kind, Text: telling(hosts, what, what)})
		}
	}
	report(kindBack, "back", back)
	report(kindAway, "away", away)
	report(kindLost, "lost", lost)
	return events
}

// unheard reports whether the load goes on and none of the hosts tells of it any more.
func (d *data) unheard() bool {
	return d.silent > 0 && d.begun() && d.Stage >= result.WarmingUp && d.Stage < result.Draining
}

// longestHost is in how many cells a host is named.
const longestHost = 20

// nameHosts makes the names short. Where one is too long, all go without the domain that
// they have in common.
func (d *data) nameHosts() {
	domain := ""
	for i, h := range d.hosts {
		if i == 0 {
			domain = h.name
		}
		domain = commonEnd(domain, h.name)
	}
	if dot := strings.IndexByte(domain, '.'); dot >= 0 {
		domain = domain[dot:]
	} else {
		domain = ""
	}
	long := false
	for _, h := range d.hosts {
		long = long || chart.Width(h.name) > longestHost
	}
	for _, h := range d.hosts {
		h.short = h.name
		if long {
			h.short = chart.FitMiddle(strings.TrimSuffix(h.name, domain), longestHost)
		}
	}
}

// commonEnd returns what both end with.
func commonEnd(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return a[len(a)-n:]
}
