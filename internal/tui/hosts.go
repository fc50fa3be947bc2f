package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/tui/chart"
)

// hostData is what is known about one host of many.
type hostData struct {
	run.Host          // the latest
	name, note string // bounded
	short      string // the name in at most longestHost cells
	share      float64
	part       float64 // of the load, as far as the screen knows
	reported   string  // the state of which there was an event; "": it is there

	own *data // of its processes

	cpu     [recentTicks]float64 // shares of its cores
	samples int
}

// States of a host that the screen knows more of than their names.
const (
	hostLobby     = "lobby"
	hostPreparing = "preparing"
	hostRunning   = "running"
	hostDraining  = "draining"
	hostAway      = "away"
	hostLost      = "lost"
)

func newHost(all *Header, host HostHeader) *hostData {
	h := &hostData{
		Host: run.Host{Name: host.Name, Processes: host.Processes, State: hostLobby},
		name: bounded(host.Name), share: host.Share,
	}
	if h.part = h.share; h.part == 0 {
		watched := func(h HostHeader) bool { return h.Processes == 0 }
		h.part = 1 / float64(max(len(slices.DeleteFunc(slices.Clone(all.Hosts), watched)), 1))
	}
	own := Header{Command: all.Command, Topic: all.Topic, Group: all.Group, TargetRate: all.TargetRate * h.part}
	if host.Command != "" {
		h.part, own.Command, own.TargetRate = 1, host.Command, host.Target
	}
	h.own = newData(own)
	h.own.lean, h.own.silent = true, forever
	return h
}

// longestText bounds what is kept of a text that a host says of itself.
const longestText = 200

// bounded returns what is kept of a text that another host says of itself.
func bounded(text string) string {
	if r := []rune(text); len(r) > longestText {
		text = string(r[:longestText])
	}
	return text
}

// many reports whether the load is made on other hosts than this one.
func (d *data) many() bool { return len(d.hosts) > 0 }

// gathering reports whether the hosts are not ready yet, or have not begun.
func (d *data) gathering() bool { return d.many() && d.Stage < result.WarmingUp }

// observeHosts takes in what each host did in one tick. One that nothing is told of is
// silent.
func (d *data) observeHosts(t *Tick) {
	d.startsIn = t.StartsIn
	if d.many() && !d.gathering() {
		d.silent++
	}
	for _, h := range d.hosts {
		h.own.silent = min(h.own.silent+1, forever)
	}
	for i := range t.Hosts {
		now := &t.Hosts[i]
		at := slices.IndexFunc(d.hosts, func(h *hostData) bool { return h.Name == now.Name })
		if at < 0 {
			at = len(d.hosts)
			d.hosts = append(d.hosts, newHost(&d.header, HostHeader{Name: now.Name}))
			d.nameHosts()
		}
		d.hosts[at].observe(*now, d.Stage)
	}
	if d.Stage == result.Finished { // of the last tick or of an earlier one
		for _, h := range d.hosts {
			h.own.Stage = result.Finished
		}
	}
}

// observe takes in the state of the host, and the snapshot of its processes.
func (h *hostData) observe(now run.Host, stage result.Stage) {
	h.Host, h.note = now, bounded(now.Note)
	if v := now.Vitals; v != nil && v.Cores > 0 {
		h.cpu[h.samples%recentTicks] = v.CPU / v.Cores
		h.samples++
	}
	if now.Snapshot != nil {
		own := *now.Snapshot
		own.Stage, own.Target, own.Targets = stage, own.Target*h.part, own.Targets.Times(h.part)
		h.own.observe(Tick{Snapshot: own})
	}
}

// heard reports whether the host is there.
func (h *hostData) heard() bool { return h.State != hostAway && h.State != hostLost }

// ready reports whether the host can begin.
func (h *hostData) ready() bool {
	return h.heard() && h.State != hostLobby && h.State != hostPreparing && h.State != ""
}

// present counts the hosts that are ready before the load begins, and that are heard
// after that.
func (d *data) present() int {
	n := 0
	for _, h := range d.hosts {
		if d.gathering() && h.ready() || !d.gathering() && h.heard() {
			n++
		}
	}
	return n
}

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
	changed := make(map[string][]*hostData) // by their new states; "": heard again
	for _, h := range d.hosts {
		state := ""
		if !h.heard() {
			state = h.State
		}
		if state != h.reported {
			changed[state] = append(changed[state], h)
		}
		h.reported = state
	}
	var events []stats.Event
	for _, e := range []struct {
		state, what string
		kind        stats.EventKind
	}{{"", "back", kindBack}, {hostAway, "away", kindAway}, {hostLost, "lost", kindLost}} {
		if hosts := changed[e.state]; len(hosts) > 0 {
			events = append(events, stats.Event{At: at, Kind: e.kind, Text: telling(hosts, e.what, e.what)})
		}
	}
	return events
}

// longestHost is in how many cells a host is named.
const longestHost = 20

// nameHosts makes the names short. Where one is too long, all go without the domain that
// they have in common.
func (d *data) nameHosts() {
	if len(d.hosts) == 0 {
		return
	}
	parent := func(domain string) string {
		_, rest, ok := strings.Cut(strings.TrimPrefix(domain, "."), ".")
		return map[bool]string{true: "." + rest}[ok]
	}
	domain, long := parent(d.hosts[0].name), false
	for _, h := range d.hosts {
		long = long || chart.Width(h.name) > longestHost
		for !strings.HasSuffix(h.name, domain) {
			domain = parent(domain)
		}
	}
	for _, h := range d.hosts {
		h.short = h.name
		if long {
			h.short = chart.FitMiddle(strings.TrimSuffix(h.name, domain), longestHost)
		}
	}
}
