package merge

import (
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
	if merged.Limit == verdict.None {
		ofParts, some = gravestOfParts(processes, merged)
	}
	switch {
	case merged.Limit == verdict.Unknown || merged.Limit == verdict.None && !some:
		missing := ""
		if len(all) > 0 {
			missing = unwatched(hosts)
		}
		return verdict.Verdict{Limit: merged.Limit, Evidence: sentence(merged.Evidence, nearest(all), missing)}
	case len(all) > 0 && all[0].saturated():
		top, parts := all[0], ""
		if some {
			parts = fmt.Sprintf("%s: %s", ofParts.Limit, ofParts.Evidence)
		}
		return verdict.Verdict{Limit: verdict.Limit(top.name()), Evidence: sentence(top.words, parts, alsoInUse(all), unknownSpeed(hosts), unwatched(hosts))}
	case some:
		return verdict.Verdict{Limit: ofParts.Limit, Evidence: sentence(ofParts.Evidence, nearest(all), unknownSpeed(hosts), unwatched(hosts))}
	}
	short := ""
	if bound := boundBy(processes, verdict.ClientCPU); len(bound) > 0 {
		short = fmt.Sprintf("%d of %s had no CPU left, on %s", len(bound), theme.Plural(count, "process", "processes"), hostsOf(bound))
	}
	return verdict.Verdict{Limit: merged.Limit, Evidence: sentence(merged.Evidence, short, nearest(all), unknownSpeed(hosts), unwatched(hosts))}
}

// outside are the limits of a part that lie neither in kt nor in its plan, the gravest first.
var outside = []verdict.Limit{verdict.Failures, verdict.Stalled, verdict.Throttle, verdict.HostCPU, verdict.Sockets, verdict.BrokerAcks, verdict.Fetches}

// gravestOfParts returns the gravest limit outside kt that some process had. ok is false if none
// had one.
func gravestOfParts(processes []result.ProcessRow, merged verdict.Verdict) (v verdict.Verdict, ok bool) {
	for _, limit := range outside {
		if bound := boundBy(processes, limit); len(bound) > 0 {
			return partsVerdict(bound, len(processes), limit, merged), true
		}
	}
	return verdict.Verdict{}, false
}

// nearest returns a clause on the resource that is the most used for its threshold.
func nearest(all []capacity) string {
	switch {
	case len(all) == 0:
		return ""
	case all[0].saturated():
		return "yet saturated: " + all[0].name() + ", " + all[0].words
	}
	return "no watched resource was saturated, the busiest was " + all[0].name() + ": " + all[0].words
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
		Limit: limit + verdict.Limit(" on "+hostsOf(bound)),
		Evidence: sentence(fmt.Sprintf("%d of %s; process %d of %s: %s",
			len(bound), theme.Plural(of, "process", "processes"), first.Process, first.Host, first.BoundBy.Evidence)),
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
func hostsIn(processes []result.ProcessRow) []string {
	var names []string
	for _, p := range processes {
		names = append(names, p.Host)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// listed joins names: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// alsoInUse returns clauses on what was in use beside all[0], which was saturated: other saturated
// resources, the rest of its host, and the busiest other hosts.
func alsoInUse(all []capacity) string {
	top, parts := all[0], []string(nil)
	more := 0
	for _, c := range all[1:] {
		switch {
		case !c.saturated():
		case len(parts) == mostNamed:
			more++
		case c.host == top.host:
			parts = append(parts, fmt.Sprintf("its %s too: %s", c.resource, c.words))
		default:
			parts = append(parts, c.name()+" too: "+c.words)
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	var rest []string
	busiest := func(whose string, which []resource, is func(capacity) bool) {
		for _, k := range which {
			most := capacity{share: -1}
			for _, c := range all {
				if c.resource == k && is(c) && !c.saturated() && c.share > most.share {
					most = c
				}
			}
			if most.share >= 0 {
				rest = append(rest, fmt.Sprintf("%s %s at %.0f %%", whose, k, 100*most.share))
			}
		}
	}
	alike, others := "other clients'", "brokers'"
	if top.broker {
		alike, others = "other brokers'", "clients'"
	}
	busiest("its", []resource{resourceNetwork, resourceDisks, resourceCPU}, func(c capacity) bool { return c.host == top.host })
	busiest(alike, []resource{top.resource}, func(c capacity) bool { return c.host != top.host && c.broker == top.broker })
	busiest(others, []resource{resourceNetwork, resourceDisks, resourceCPU}, func(c capacity) bool { return c.host != top.host && c.broker != top.broker })
	return sentence(append(parts, strings.Join(rest, ", "))...)
}

// unknownSpeed returns a clause on the busiest link whose speed is not known, and so its use.
func unknownSpeed(hosts []result.HostRow) string {
	most, text := 0.0, ""
	for _, h := range hosts {
		if !watched(h) {
			continue
		}
		for _, n := range h.Busy.Networks {
			mib, verb := n.SentMiB, "sent"
			if n.ReceivedMiB > n.SentMiB {
				mib, verb = n.ReceivedMiB, "received"
			}
			clause := fmt.Sprintf("%s's %s %s %.0f MiB/s, and its speed is unknown", h.Host, n.Name, verb, mib)
			if !hasSpeed(n) && (mib > most || mib == most && mib > 0 && clause < text) {
				most, text = mib, clause
			}
		}
	}
	return text
}

// unwatched returns a clause on brokers that were not watched and hosts that were watched for part
// of the time; "" if there are none.
func unwatched(hosts []result.HostRow) string {
	parts, never := notWatched(hosts)
	seen, some := len(parts) > 0, len(parts) > 0
	for _, h := range hosts {
		some = some || watched(h)
		seen = seen || isBroker(h) && watched(h)
	}
	switch {
	case !some:
		return "no host was watched: start kt agent on the brokers' hosts and the clients'"
	case !seen:
		return "no broker host was watched: start kt agent on them"
	}
	short, none := listed(parts), ""
	if len(parts) > mostNamed {
		short = fmt.Sprintf("%d hosts were not watched all the time", len(parts))
	}
	if len(never) > mostNamed {
		none = fmt.Sprintf("%d brokers' hosts were not watched", len(never))
	} else if len(never) > 0 {
		none = "not watched: " + listed(never)
	}
	return sentence(short, none)
}

// notWatched returns a clause for each host that was watched for too short a time, and the names of
// the hosts that were never watched: those of brokers, and those that had nothing else to do.
func notWatched(hosts []result.HostRow) (parts, never []string) {
	for _, h := range hosts {
		if s := watchedTooShort(h); s != "" {
			parts = append(parts, s)
		} else if !watched(h) && (isBroker(h) || h.Role == "" && h.Processes == 0) {
			never = append(never, h.Host)
		}
	}
	slices.Sort(parts)
	slices.Sort(never)
	return parts, never
}

// sentence joins the clauses that are not empty.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
