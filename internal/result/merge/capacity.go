package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/result"
)

// resource is a resource of a host, as a verdict names it behind the host's name.
type resource string

const (
	resourceNetwork resource = "network"
	resourceDisks   resource = "disks"
	resourceCPU     resource = "CPU"
	resourceSteal   resource = "hypervisor"
	resourceGC      resource = "garbage collection"
)

// resources are all of them, in the order of a sentence.
var resources = []resource{resourceNetwork, resourceDisks, resourceCPU, resourceSteal, resourceGC}

// capacity is the use of one resource on one host.
type capacity struct {
	host     string
	broker   bool
	resource resource
	share    float64
	shows    float64 // the share from which on it is saturated
	words    string  // the share as a clause
}

func (c capacity) saturated() bool { return c.share >= c.shows }

// name returns "vm14's network".
func (c capacity) name() string { return c.host + "'s " + string(c.resource) }

// capacitiesOf returns the capacities of all watched hosts: the most used for its threshold first,
// and brokers before clients.
func capacitiesOf(hosts []result.HostRow) []capacity {
	var all []capacity
	for _, h := range hosts {
		if watched(h) {
			all = append(all, hostCapacities(h)...)
		}
	}
	slices.SortStableFunc(all, func(a, b capacity) int {
		return cmp.Or(
			cmp.Compare(b.share/b.shows, a.share/a.shows),
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.host, b.host),
		)
	})
	return all
}

// rank orders capacities that are equally full: brokers first, then by resource.
func rank(c capacity) int {
	n := slices.Index(resources, c.resource)
	if !c.broker {
		n += len(resources)
	}
	return n
}

// watched reports whether a host was watched for long enough.
func watched(h result.HostRow) bool {
	return h.Busy != nil && h.Busy.Seconds > 0 && h.Busy.Seconds >= h.Busy.OfSeconds*watchedShare-watchedEdges
}

// isBroker reports whether a host is a broker's: by its role, or if it has none by a broker's JVM.
func isBroker(h result.HostRow) bool {
	return h.Role == "broker" || h.Role == "" && h.Busy != nil && len(h.Busy.Brokers) > 0
}

// hostCapacities returns one capacity of each resource: that of the fullest disk or link.
func hostCapacities(h result.HostRow) []capacity {
	b, broker := h.Busy, isBroker(h)
	fullest := make(map[resource]capacity)
	add := func(k resource, share, shows float64, format string, args ...any) {
		if old, ok := fullest[k]; !ok || share > old.share {
			fullest[k] = capacity{h.Host, broker, k, share, shows, fmt.Sprintf(format, args...)}
		}
	}
	for _, n := range b.Networks {
		if !hasSpeed(n) {
			continue
		}
		name := ""
		if len(b.Networks) > 1 {
			name = n.Name + " at "
		}
		add(resourceNetwork, n.SentShare, linkFull, "%s%.0f %% of %s sent", name, 100*n.SentShare, bitRate(n.SpeedBits))
		add(resourceNetwork, n.ReceivedShare, linkFull, "%s%.0f %% of %s received", name, 100*n.ReceivedShare, bitRate(n.SpeedBits))
	}
	if b.Cores > 0 {
		shows := clientCPUFull
		if broker {
			shows = brokerCPUFull
		}
		add(resourceCPU, b.CPUShare, shows, "%.0f %% of its %.0f cores in use", 100*b.CPUShare, b.Cores)
		add(resourceSteal, b.StealShare, stealShows, "it gave %.0f %% of the time of %.0f cores to others", 100*b.StealShare, b.Cores)
	}
	if broker { // a load makes no use of a client's disks
		for _, d := range b.Disks {
			add(resourceDisks, d.BusyShare, diskFull, "%s busy for %.0f %% of the time", d.Name, 100*d.BusyShare)
		}
		for _, j := range b.Brokers {
			if !j.Known() {
				continue
			}
			add(resourceGC, j.GCShare, gcShows, "it stopped the broker for %.0f %% of the time", 100*j.GCShare)
		}
	}
	var all []capacity
	for _, k := range resources {
		if c, ok := fullest[k]; ok {
			all = append(all, c)
		}
	}
	return all
}

// hasSpeed reports whether the speed of an interface is known and can be right.
func hasSpeed(n result.BusyNetwork) bool {
	return n.SpeedBits > 0 && max(n.SentShare, n.ReceivedShare) <= overSpeed
}

// bitRate writes a speed as makers do: "10 Gb/s", "2.5 Gb/s", "100 Mb/s".
func bitRate(bits int64) string {
	if bits < 1e9 {
		return fmt.Sprintf("%.3g Mb/s", float64(bits)/1e6)
	}
	return fmt.Sprintf("%.4g Gb/s", float64(bits)/1e9)
}
