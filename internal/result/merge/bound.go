package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// The thresholds of the verdict across hosts. They are judgement, not a standard: from there on,
// too little of the resource is left to hide it. docs/limits.md quotes them.
const (
	linkFull      = 0.90                  // of its speed: headers and gaps between frames leave 94 to 98 % for data
	diskFull      = 0.90                  // of the time with a request: the next one waits
	brokerCPUFull = 0.90                  // of its cores: threads wait for each other before the last core is full
	clientCPUFull = verdict.HostSaturated // of its cores, as in a run of one host
	stealShows    = 0.10                  // of all cores' time
	gcShows       = 0.10                  // of the time: all clients of a broker wait while it collects

	// overSpeed is the share of its speed that no link carries, even if counters are read a
	// little early or late. Above it, the reported speed is wrong.
	overSpeed = 1.10

	// watchedShare is the share of the time for which a host must have been watched. The rest
	// may change a mean by as much, and the thresholds leave a tenth. watchedEdges is for the
	// intervals at either end, which are a second long and count as a whole.
	watchedShare = 0.90
	watchedEdges = 1.0 // seconds

	partsShow = 0.50 // of the processes: the others can make up for fewer
	mostNamed = 3    // hosts in one sentence
)

// boundAcross returns the limit of a merged run, across its hosts. merged is the verdict on all
// parts as if one process had made the load. The first of these rules that fits decides:
//
//   - merged, if records failed or stalled. A stall of some hosts' processes names those hosts.
//   - kt's schedule or CPU, if it was the limit of most processes or makes one not valid.
//   - merged, if it is a quota of the brokers.
//   - merged, if too little was measured.
//   - merged, if it is no limit, and each process had none outside kt.
//   - the saturated resource of a host that is furthest above its threshold.
//   - the gravest limit outside kt of some process, if merged has no limit.
//   - merged.
func boundAcross(hosts []result.HostRow, processes []result.ProcessRow, merged verdict.Verdict) verdict.Verdict {
	processes = slices.DeleteFunc(slices.Clone(processes), func(p result.ProcessRow) bool { return !p.Counted })
	count := len(processes)
	switch stalled := boundBy(processes, verdict.Stalled); {
	case merged.Limit == verdict.Stalled && len(stalled) > 0 && len(hostsIn(stalled)) < len(hostsIn(processes)):
		return partsVerdict(stalled, count, verdict.Stalled, merged)
	case slices.Contains([]verdict.Limit{verdict.Failures, verdict.Stalled, verdict.ReadFailed}, merged.Limit):
		return merged
	}
	for _, limit := range []verdict.Limit{verdict.ClientCPU, verdict.Schedule} {
		bound := boundBy(processes, limit)
		most := len(bound) > 0 && float64(len(bound)) >= partsShow*float64(count)
		invalid := slices.ContainsFunc(bound, func(p result.ProcessRow) bool { return !p.Valid })
		if most || invalid || merged.Limit == limit {
			return partsVerdict(bound, count, limit, merged)
		}
	}
	if merged.Limit == verdict.Throttle {
		return merged
	}
	all := capacitiesOf(hosts)
	ofParts, some := verdict.Verdict{}, false
	for _, limit := range outside {
		if bound := boundBy(processes, limit); merged.Limit == verdict.None && len(bound) > 0 {
			ofParts, some = partsVerdict(bound, count, limit, merged), true
			break
		}
	}
	if merged.Limit == verdict.Unknown || merged.Limit == verdict.None && !some {
		missing := ""
		if len(all) > 0 {
			missing = unwatched(hosts)
		}
		return verdict.Verdict{Limit: merged.Limit, Evidence: sentence(merged.Evidence, nearest(all), missing)}
	}
	limit, clauses := merged.Limit, []string{merged.Evidence}
	switch bound := boundBy(processes, verdict.ClientCPU); {
	case len(all) > 0 && all[0].saturated():
		limit, clauses = verdict.Limit(all[0].name), []string{all[0].words}
		if some {
			clauses = append(clauses, fmt.Sprintf("%s: %s", ofParts.Limit, ofParts.Evidence))
		}
		clauses = append(clauses, alsoInUse(all))
	case some:
		limit, clauses = ofParts.Limit, []string{ofParts.Evidence, nearest(all)}
	case len(bound) > 0:
		clauses = append(clauses, fmt.Sprintf("%d of %s had no CPU left, on %s", len(bound), theme.Plural(count, "process", "processes"), hostsOf(bound)), nearest(all))
	default:
		clauses = append(clauses, nearest(all))
	}
	return verdict.Verdict{Limit: limit, Evidence: sentence(append(clauses, unknownSpeed(hosts), unwatched(hosts))...)}
}

// outside are the limits of a part that lie neither in kt nor in its plan, the gravest first.
var outside = []verdict.Limit{verdict.Failures, verdict.Stalled, verdict.Throttle, verdict.HostCPU, verdict.Sockets, verdict.BrokerAcks, verdict.Fetches}

// nearest returns a clause on the resource that is the most used for its threshold.
func nearest(all []capacity) string {
	if len(all) == 0 {
		return ""
	}
	if top := all[0]; top.saturated() {
		return "yet saturated: " + top.name + ", " + top.words
	}
	return "no watched resource was saturated, the busiest was " + all[0].name + ": " + all[0].words
}

// boundBy returns the processes whose own verdict is limit.
func boundBy(processes []result.ProcessRow, limit verdict.Limit) []result.ProcessRow {
	return slices.DeleteFunc(slices.Clone(processes), func(p result.ProcessRow) bool { return p.BoundBy.Limit != limit })
}

// partsVerdict returns a verdict that names the hosts of the processes that were bound by limit,
// or merged if it holds only of all processes together.
func partsVerdict(bound []result.ProcessRow, of int, limit verdict.Limit, merged verdict.Verdict) verdict.Verdict {
	if len(bound) == 0 {
		return merged
	}
	first := bound[0]
	return verdict.Verdict{
		Limit:    limit + verdict.Limit(" on "+hostsOf(bound)),
		Evidence: fmt.Sprintf("%d of %s; process %d of %s: %s", len(bound), theme.Plural(of, "process", "processes"), first.Process, first.Host, first.BoundBy.Evidence),
	}
}

// hostsOf names the hosts of processes: "vm16", "vm16 and vm18", "4 hosts".
func hostsOf(processes []result.ProcessRow) string {
	names := hostsIn(processes)
	if len(names) > mostNamed {
		return fmt.Sprintf("%d hosts", len(names))
	}
	return listed(names)
}

// hostsIn returns the hosts of processes, each once.
func hostsIn(processes []result.ProcessRow) (names []string) {
	for _, p := range processes {
		names = append(names, p.Host)
	}
	return distinct(names)
}

// listed joins names: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// alsoInUse returns clauses on the saturated resources beside all[0], and on the one that is next to its threshold.
func alsoInUse(all []capacity) string {
	var parts []string
	rest := slices.IndexFunc(all, func(c capacity) bool { return !c.saturated() })
	for i, c := range all[1:] {
		switch {
		case i+1 == rest:
			return sentence(append(parts, "next is "+c.name+": "+c.words)...)
		case i < mostNamed:
			parts = append(parts, c.name+" too: "+c.words)
		case i+2 == rest || i+2 == len(all):
			parts = append(parts, fmt.Sprintf("and %d more", i+1-mostNamed))
		}
	}
	return sentence(parts...)
}

// unknownSpeed returns a clause on the busiest link whose speed is not known, and so its use.
func unknownSpeed(hosts []result.HostRow) string {
	most, text := 0.0, ""
	for i := range hosts {
		if !watched(&hosts[i]) {
			continue
		}
		for _, n := range hosts[i].Busy.Networks {
			mib, verb := n.SentMiB, "sent"
			if n.ReceivedMiB > n.SentMiB {
				mib, verb = n.ReceivedMiB, "received"
			}
			clause := fmt.Sprintf("%s's %s %s %.0f MiB/s, and its speed is unknown", hosts[i].Host, n.Name, verb, mib)
			if !hasSpeed(n) && (mib > most || mib == most && mib > 0 && clause < text) {
				most, text = mib, clause
			}
		}
	}
	return text
}

// unwatched returns a clause on hosts that were watched for part of the time, and on brokers' and others that were not.
func unwatched(hosts []result.HostRow) string {
	watchedAtAll := func(h result.HostRow) bool { return h.Busy != nil && h.Busy.Seconds > 0 }
	switch {
	case !slices.ContainsFunc(hosts, watchedAtAll):
		return "no host was watched: start kt agent on the brokers' hosts and the clients'"
	case !slices.ContainsFunc(hosts, func(h result.HostRow) bool { return isBroker(&h) && watchedAtAll(h) }):
		return "no broker host was watched: start kt agent on them"
	}
	return lapses(hosts, func(h *result.HostRow) bool {
		return watchedAtAll(*h) || isBroker(h) || h.Role == "" && h.Processes == 0
	})
}

// lapses names the hosts of a kind that were not watched for long enough: "b was watched for 2 of 60 s, c was not watched".
func lapses(hosts []result.HostRow, is func(h *result.HostRow) bool) string {
	var all []string
	for i := range hosts {
		switch h := &hosts[i]; {
		case watched(h) || !is(h):
		case h.Busy != nil && h.Busy.Seconds > 0:
			all = append(all, fmt.Sprintf("%s was watched for %.0f of %.0f s", h.Host, h.Busy.Seconds, h.Busy.OfSeconds))
		default:
			all = append(all, h.Host+" was not watched")
		}
	}
	slices.Sort(all)
	return strings.Join(some(all), ", ")
}

// some returns the first names, and how many others there are.
func some(names []string) []string {
	if n := len(names) - mostNamed; n > 0 {
		return append(names[:mostNamed:mostNamed], fmt.Sprintf("%d more", n))
	}
	return names
}

// sentence joins the clauses that are not empty.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// resources are those of a host, as a verdict names them behind its name, in the order of a sentence.
var resources = []struct {
	name           string
	broker, client float64 // the share from which on it is saturated; 0: a load makes no use of it there
	ofCores        bool    // it is known with their number
	uses           func(b *result.Busy) []use
}{
	{"network", linkFull, linkFull, false, networkUses},
	{"disks", diskFull, 0, false, func(b *result.Busy) (all []use) {
		for _, d := range b.Disks {
			all = append(all, use{d.BusyShare, fmt.Sprintf("%s busy for %.0f %% of the time", d.Name, 100*d.BusyShare)})
		}
		return all
	}},
	{"CPU", brokerCPUFull, clientCPUFull, true, func(b *result.Busy) []use {
		return []use{{b.CPUShare, fmt.Sprintf("%.0f %% of its %.0f cores in use", 100*b.CPUShare, b.Cores)}}
	}},
	{"hypervisor", stealShows, stealShows, true, func(b *result.Busy) []use {
		return []use{{b.StealShare, fmt.Sprintf("it gave %.0f %% of the time of %.0f cores to others", 100*b.StealShare, b.Cores)}}
	}},
	{"garbage collection", gcShows, 0, false, func(b *result.Busy) (all []use) {
		for _, j := range b.Brokers {
			if j.Known() {
				all = append(all, use{j.GCShare, fmt.Sprintf("it stopped the broker for %.0f %% of the time", 100*j.GCShare)})
			}
		}
		return all
	}},
}

// use is how much of a resource is in use, also as a clause.
type use struct {
	share float64
	words string
}

func networkUses(b *result.Busy) (all []use) {
	for _, n := range b.Networks {
		if !hasSpeed(n) {
			continue
		}
		name, speed := "", fmt.Sprintf("%.4g Gb/s", float64(n.SpeedBits)/1e9) // as makers write it
		if n.SpeedBits < 1e9 {
			speed = fmt.Sprintf("%.3g Mb/s", float64(n.SpeedBits)/1e6)
		}
		if len(b.Networks) > 1 {
			name = n.Name + " at "
		}
		all = append(all, use{n.SentShare, fmt.Sprintf("%s%.0f %% of %s sent", name, 100*n.SentShare, speed)},
			use{n.ReceivedShare, fmt.Sprintf("%s%.0f %% of %s received", name, 100*n.ReceivedShare, speed)})
	}
	return all
}

// capacity is the use of one resource on one host.
type capacity struct {
	use
	shows float64 // the share from which on it is saturated
	name  string  // "vm14's network"
	rank  int     // of several that are as full
}

func (c capacity) saturated() bool { return c.share >= c.shows }

// capacitiesOf returns one capacity of each resource of all watched hosts, that of the fullest disk or link: the most used for its
// threshold first, and brokers before clients.
func capacitiesOf(hosts []result.HostRow) (all []capacity) {
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b result.HostRow) int { return cmp.Compare(a.Host, b.Host) })
	for i := range hosts {
		h := &hosts[i]
		if !watched(h) {
			continue
		}
		for rank, r := range resources {
			c := capacity{shows: r.broker, name: h.Host + "'s " + r.name, rank: rank}
			if !isBroker(h) {
				c.shows, c.rank = r.client, rank+len(resources)
			}
			if uses := r.uses(h.Busy); c.shows > 0 && len(uses) > 0 && (!r.ofCores || h.Busy.Cores > 0) {
				c.use = slices.MaxFunc(uses, func(a, b use) int { return cmp.Compare(a.share, b.share) })
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b capacity) int {
		return cmp.Or(cmp.Compare(b.share/b.shows, a.share/a.shows), cmp.Compare(a.rank, b.rank))
	})
	return all
}

// watched reports whether a host was watched for long enough.
func watched(h *result.HostRow) bool {
	return h.Busy != nil && h.Busy.Seconds > 0 && h.Busy.Seconds >= h.Busy.OfSeconds*watchedShare-watchedEdges
}

// isBroker reports whether a host is a broker's: by its role, or if it has none by a broker's JVM.
func isBroker(h *result.HostRow) bool {
	return h.Role == "broker" || h.Role == "" && h.Busy != nil && len(h.Busy.Brokers) > 0
}

// hasSpeed reports whether the speed of an interface is known and can be right.
func hasSpeed(n result.BusyNetwork) bool {
	return n.SpeedBits > 0 && max(n.SentShare, n.ReceivedShare) <= overSpeed
}
