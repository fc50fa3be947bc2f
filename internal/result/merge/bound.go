package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
)

// The thresholds of the verdict across hosts. As those of one host, none has an authority
// behind it: they are where so little is left that it shows. docs/limits.md says the same
// to users.
const (
	linkFull      = 0.90                  // of its speed, which has headers and gaps between frames in it: data get 94 to 98 %
	diskFull      = 0.90                  // of the time with a request: whatever comes next waits
	brokerCPUFull = 0.90                  // of its cores: threads wait for each other well before the last core is full
	clientCPUFull = verdict.HostSaturated // of its cores: as in a run of one host, so that both say the same
	stealShows    = 0.10                  // of all cores' time: each tenth of a second is somebody else's
	gcShows       = 0.10                  // of the time: while a collection stops a broker, all of its clients wait

	// overSpeed is how much of its speed a link cannot have carried, counters being
	// read a little early or late: what it says is not its speed.
	overSpeed = 1.10

	// watchedShare is for how much of the time a host must have been watched: what was not
	// seen may change a mean by as much, and a tenth is what the thresholds leave. An
	// interval is a second long and counts as a whole, at either end: watchedEdges.
	watchedShare = 0.90
	watchedEdges = 1.0 // seconds

	partsShow = 0.50 // of the processes: with fewer, the others would have made up for them
	mostNamed = 3    // hosts, for a sentence that can be read
)

// boundAcross names what a merged run was bound by, across its hosts. The merged verdict
// is that of all parts together, as if one process had run them. Its rules, in order:
//
//   - records that failed, and stalls, of some hosts if only their parts had them
//   - parts that did not keep their own schedule, or most of which had no CPU left
//   - a quota of the brokers
//   - not known, if too little was measured
//   - nothing, if the load was carried, and no part says that something other than kt was
//     in its way
//   - what was saturated on a host: the most for its threshold
//   - what parts say that were bound by something other than kt, where the whole was not
//   - what the merged verdict says
func boundAcross(hosts []result.HostRow, processes []result.ProcessRow, merged verdict.Verdict) verdict.Verdict {
	processes = slices.DeleteFunc(slices.Clone(processes), func(p result.ProcessRow) bool { return !p.Counted })
	count := len(processes)
	switch who := partsAt(processes, verdict.Stalled); {
	case merged.Limit == verdict.Stalled && len(who) > 0 && len(hostsIn(who)) < len(hostsIn(processes)):
		return partsVerdict(who, count, verdict.Stalled, merged)
	case slices.Contains([]verdict.Limit{verdict.Failures, verdict.Stalled, verdict.ReadFailed}, merged.Limit):
		return merged
	}
	for _, limit := range []verdict.Limit{verdict.ClientCPU, verdict.Schedule} {
		who := partsAt(processes, limit)
		most := len(who) > 0 && float64(len(who)) >= partsShow*float64(count)
		if most || spoilt(who) || merged.Limit == limit {
			return partsVerdict(who, count, limit, merged)
		}
	}
	if merged.Limit == verdict.Throttle {
		return merged
	}
	all := capacitiesOf(hosts)
	said, some := verdict.Verdict{}, false // what parts say of a load that was carried as a whole
	if merged.Limit == verdict.None {
		said, some = heldUp(processes, merged)
	}
	switch {
	case merged.Limit == verdict.Unknown || merged.Limit == verdict.None && !some:
		blind := ""
		if len(all) > 0 {
			blind = unwatched(hosts)
		}
		return verdict.Verdict{Limit: merged.Limit, Evidence: sentence(merged.Evidence, nearest(all), blind)}
	case len(all) > 0 && all[0].saturated():
		top, parts := all[0], ""
		if some {
			parts = fmt.Sprintf("%s: %s", said.Limit, said.Evidence)
		}
		return verdict.Verdict{Limit: verdict.Limit(top.name()), Evidence: sentence(top.words, parts, beside(all), mute(hosts), unwatched(hosts))}
	case some:
		return verdict.Verdict{Limit: said.Limit, Evidence: sentence(said.Evidence, nearest(all), mute(hosts), unwatched(hosts))}
	}
	short := ""
	if who := partsAt(processes, verdict.ClientCPU); len(who) > 0 {
		short = fmt.Sprintf("%d of %s had no CPU left, on %s", len(who), theme.Plural(count, "process", "processes"), hostsOf(who))
	}
	return verdict.Verdict{Limit: merged.Limit, Evidence: sentence(merged.Evidence, short, nearest(all), mute(hosts), unwatched(hosts))}
}

// outside are the limits of a part that are neither kt nor what it was asked for, the
// gravest first.
var outside = []verdict.Limit{verdict.Failures, verdict.Stalled, verdict.Throttle, verdict.HostCPU, verdict.Sockets, verdict.BrokerAcks, verdict.Fetches}

// heldUp returns what parts say that were bound by something other than kt: others made up for
// them, or were spared. ok is false when there are none.
func heldUp(processes []result.ProcessRow, merged verdict.Verdict) (v verdict.Verdict, ok bool) {
	for _, limit := range outside {
		if who := partsAt(processes, limit); len(who) > 0 {
			return partsVerdict(who, len(processes), limit, merged), true
		}
	}
	return verdict.Verdict{}, false
}

// nearest tells what was closest to its limit.
func nearest(all []capacity) string {
	switch {
	case len(all) == 0:
		return ""
	case all[0].saturated():
		return "saturated all the same: " + all[0].name() + ", " + all[0].words
	}
	return "nothing that was watched was saturated, nearest to it was " + all[0].name() + ": " + all[0].words
}

// partsAt returns the processes that were bound by something by themselves.
func partsAt(processes []result.ProcessRow, limit verdict.Limit) []result.ProcessRow {
	var who []result.ProcessRow
	for _, p := range processes {
		if p.BoundBy.Limit == limit {
			who = append(who, p)
		}
	}
	return who
}

// spoilt reports whether one of the processes makes the whole not valid.
func spoilt(who []result.ProcessRow) bool {
	return slices.ContainsFunc(who, func(p result.ProcessRow) bool { return !p.Valid })
}

// partsVerdict names the hosts on which parts were the limit themselves.
func partsVerdict(who []result.ProcessRow, of int, limit verdict.Limit, merged verdict.Verdict) verdict.Verdict {
	if len(who) == 0 {
		return merged // only all of them together
	}
	first := who[0]
	return verdict.Verdict{
		Limit: limit + verdict.Limit(" on "+hostsOf(who)),
		Evidence: sentence(fmt.Sprintf("%d of %s; process %d of %s: %s",
			len(who), theme.Plural(of, "process", "processes"), first.Process, first.Host, first.BoundBy.Evidence)),
	}
}

// hostsOf names the hosts of processes: "vm16", "vm16 and vm18", "4 hosts".
func hostsOf(who []result.ProcessRow) string {
	names := hostsIn(who)
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

func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// beside tells what else was in use when the first of all was saturated: whatever was
// saturated too, the rest of its host, and the busiest of the others.
func beside(all []capacity) string {
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
	tell := func(whose string, which []resource, is func(capacity) bool) {
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
	mine, yours := "other clients'", "brokers'"
	if top.broker {
		mine, yours = "other brokers'", "clients'"
	}
	tell("its", []resource{resourceNetwork, resourceDisks, resourceCPU}, func(c capacity) bool { return c.host == top.host })
	tell(mine, []resource{top.resource}, func(c capacity) bool { return c.host != top.host && c.broker == top.broker })
	tell(yours, []resource{resourceNetwork, resourceDisks, resourceCPU}, func(c capacity) bool { return c.host != top.host && c.broker != top.broker })
	return sentence(append(parts, strings.Join(rest, ", "))...)
}

// mute tells of the busiest link whose speed is not known: nobody can say how full it is.
func mute(hosts []result.HostRow) string {
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
			told := fmt.Sprintf("%s's %s %s %.0f MiB/s, and does not tell its speed", h.Host, n.Name, verb, mib)
			if !tellsSpeed(n) && (mib > most || mib == most && mib > 0 && told < text) {
				most, text = mib, told
			}
		}
	}
	return text
}

// unwatched names brokers that were not watched, and hosts that were watched for a part of
// the time only; "" when each was watched.
func unwatched(hosts []result.HostRow) string {
	parts, blind := blindHosts(hosts)
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
	if len(blind) > mostNamed {
		none = fmt.Sprintf("%d brokers' hosts were not watched", len(blind))
	} else if len(blind) > 0 {
		none = "not watched: " + listed(blind)
	}
	return sentence(short, none)
}

// blindHosts returns the hosts that were watched for too short a time, each with how long that
// was, and those that were not watched at all and are brokers', or were only to be watched.
func blindHosts(hosts []result.HostRow) (parts, blind []string) {
	for _, h := range hosts {
		if s := fragment(h); s != "" {
			parts = append(parts, s)
		} else if !watched(h) && (isBroker(h) || h.Role == "" && h.Processes == 0) {
			blind = append(blind, h.Host)
		}
	}
	slices.Sort(parts)
	slices.Sort(blind)
	return parts, blind
}

// sentence joins what there is to say.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
