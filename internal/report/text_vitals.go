package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// maxWatched is how many hosts a summary lists.
const maxWatched = 30

// vitals writes how busy the hosts were that somebody watched.
func (t *text) vitals(r result.Result) {
	var rows, blind []result.HostRow
	for _, h := range r.Hosts {
		if h.Busy != nil {
			rows = append(rows, h)
		} else {
			blind = append(blind, h)
		}
	}
	if len(rows) == 0 {
		return
	}
	t.line("")
	t.caption("how busy the hosts were; dirty pages at most, the busiest disk and network")
	g := &grid{
		heads: []string{"host", "role", "CPU", "steal", "cache", "dirty", "disk", "network out / in", "heap", "GC"},
		left:  map[int]bool{1: true, 6: true, 7: true},
		leave: []string{"cache", "dirty", "steal", "heap", "GC", "role"},
	}
	for _, h := range rows[:min(maxWatched, len(rows))] {
		b := h.Busy
		heap, gc := t.jvm(b.Brokers)
		none := string(t.th.Glyphs.Missing)
		cpu, steal, cache, dirty := none, none, none, none
		if b.Cores > 0 {
			cpu, steal = theme.Percent(b.CPUShare)+fmt.Sprintf(" of %.0f", b.Cores), theme.Percent(b.StealShare)
		}
		if b.MemoryBytes > 0 {
			cache, dirty = theme.Bytes(b.CacheBytes), theme.Bytes(b.DirtyBytesMax)
		}
		g.add(plain, t.name(h.Host), cmp.Or(h.Role, none), cpu, steal, cache, dirty, t.disk(b.Disks), t.network(b.Networks), heap, gc)
	}
	t.draw(g)
	t.maps(rows)
	if n := len(rows) - maxWatched; n > 0 {
		t.line("    " + t.th.Paint(muted, fmt.Sprintf("%c %d more: --output json lists all", t.th.Glyphs.Ellipsis, n)))
	}
	if len(blind) > 0 {
		var names []string
		for _, h := range blind[:min(maxLeftOut, len(blind))] {
			names = append(names, t.name(h.Host))
		}
		if n := len(blind) - maxLeftOut; n > 0 {
			names = append(names, fmt.Sprintf("%d more", n))
		}
		t.caption("not watched: " + strings.Join(names, ", "))
	}
}

// maps warns of brokers that are near the limit of memory mappings.
func (t *text) maps(hosts []result.HostRow) {
	for _, h := range hosts {
		for _, b := range h.Busy.Brokers {
			if m := (host.Maps{PID: b.PID, Used: b.MapsMax, Limit: b.MapsLimit}); m.Near() {
				t.sentence("", warn, t.name(h.Host)+": "+m.String())
			}
		}
	}
}

// disk returns the busiest one.
func (t *text) disk(disks []result.BusyDisk) string {
	if len(disks) == 0 {
		return string(t.th.Glyphs.Missing)
	}
	d := slices.MaxFunc(disks, func(a, b result.BusyDisk) int { return cmp.Compare(a.BusyShare, b.BusyShare) })
	return t.short(d.Name) + " " + theme.Percent(d.BusyShare)
}

// network returns the interface that was used most for its speed; among those that do not
// tell it, most of all.
func (t *text) network(nics []result.BusyNetwork) string {
	if len(nics) == 0 {
		return string(t.th.Glyphs.Missing)
	}
	n := slices.MaxFunc(nics, func(a, b result.BusyNetwork) int {
		return cmp.Or(cmp.Compare(max(a.SentShare, a.ReceivedShare), max(b.SentShare, b.ReceivedShare)),
			cmp.Compare(a.SentMiB+a.ReceivedMiB, b.SentMiB+b.ReceivedMiB))
	})
	if n.SpeedBits == 0 {
		return t.short(n.Name) + " " + theme.Number(n.SentMiB) + " / " + theme.Number(n.ReceivedMiB) + " MiB/s"
	}
	return t.short(n.Name) + " " + theme.Percent(n.SentShare) + " / " + theme.Percent(n.ReceivedShare)
}

// jvm returns the fullest heap of the brokers on a host and what its garbage collection took
// of the time, the worst of each.
func (t *text) jvm(brokers []result.BusyBroker) (heap, gc string) {
	if !slices.ContainsFunc(brokers, result.BusyBroker.Known) {
		none := string(t.th.Glyphs.Missing)
		return none, none
	}
	var used, share float64
	var bytes int64
	for _, b := range brokers {
		if b.HeapMax > 0 {
			used = max(used, float64(b.HeapUsedMax)/float64(b.HeapMax))
		}
		bytes, share = max(bytes, b.HeapUsedMax), max(share, b.GCShare)
	}
	heap = theme.Percent(used)
	if used == 0 {
		heap = theme.Bytes(bytes)
	}
	return heap, theme.Percent(share)
}
