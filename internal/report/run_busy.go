package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// busy is how busy the hosts were that somebody watched.
func busy(r *result.Result) *doc.Table {
	t := doc.NewTable("busy", "how busy the hosts were; dirty pages at most, the busiest disk and network",
		"host|name", "role|words|1", "CPU", "steal|4", "cache|6", "dirty|5", "disk|words", "network out / in|words", "heap|3", "GC|2")
	var blind, notes []string
	watched := 0
	for i := range r.Hosts {
		h := &r.Hosts[i]
		b := h.Busy
		if b == nil {
			blind = append(blind, h.Host)
			continue
		}
		if watched++; watched > maxWatched {
			continue
		}
		heap, gc := jvm(b.Brokers)
		cpu, steal, cache, dirty := none, none, none, none
		if b.Cores > 0 {
			cpu, steal = theme.Percent(b.CPUShare)+fmt.Sprintf(" of %.0f", b.Cores), theme.Percent(b.StealShare)
		}
		if b.MemoryBytes > 0 {
			cache, dirty = theme.Bytes(b.CacheBytes), theme.Bytes(b.DirtyBytesMax)
		}
		row := t.Add(h.Host, cmp.Or(h.Role, none), doc.Cell{Text: cpu, Bar: b.CPUShare}, steal, cache, dirty, disk(b.Disks), network(b.Networks), heap, gc)
		row.NoteTone = doc.Warn
		for _, b := range b.Brokers {
			if m := (host.Maps{PID: b.PID, Used: b.MapsMax, Limit: b.MapsLimit}); m.Near() {
				row.Note = m.String()
			}
		}
	}
	if watched > maxWatched {
		notes = append(notes, fmt.Sprintf("%d more: --output json lists all", watched-maxWatched))
	}
	if n := len(blind) - maxLeftOut; n > 0 {
		blind = append(blind[:maxLeftOut], fmt.Sprintf("%d more", n))
	}
	if len(blind) > 0 && watched > 0 {
		notes = append(notes, "not watched: "+strings.Join(blind, ", "))
	}
	t.Note = strings.Join(notes, "; ")
	return t
}

// disk returns the busiest one.
func disk(disks []result.BusyDisk) string {
	if len(disks) == 0 {
		return none
	}
	d := slices.MaxFunc(disks, func(a, b result.BusyDisk) int { return cmp.Compare(a.BusyShare, b.BusyShare) })
	return d.Name + " " + theme.Percent(d.BusyShare)
}

// network returns the interface that was used most for its speed; among those that do not
// tell it, most of all.
func network(nics []result.BusyNetwork) string {
	if len(nics) == 0 {
		return none
	}
	n := slices.MaxFunc(nics, func(a, b result.BusyNetwork) int {
		return cmp.Or(cmp.Compare(max(a.SentShare, a.ReceivedShare), max(b.SentShare, b.ReceivedShare)),
			cmp.Compare(a.SentMiB+a.ReceivedMiB, b.SentMiB+b.ReceivedMiB))
	})
	if n.SpeedBits == 0 {
		return n.Name + " " + theme.Number(n.SentMiB) + " / " + theme.Number(n.ReceivedMiB) + " MiB/s"
	}
	return n.Name + " " + theme.Percent(n.SentShare) + " / " + theme.Percent(n.ReceivedShare)
}

// jvm returns the fullest heap of the brokers on a host and what its garbage collection took
// of the time, the worst of each.
func jvm(brokers []result.BusyBroker) (heap, gc string) {
	if !slices.ContainsFunc(brokers, result.BusyBroker.Known) {
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
