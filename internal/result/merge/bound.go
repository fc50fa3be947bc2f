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

// The thresholds of the verdict across hosts. They are judgement, not a standard. docs/limits.md quotes them.
const (
	linkFull      = 0.90                  // of its speed: headers and gaps between frames leave 94 to 98 % for data
	diskFull      = 0.90                  // of the time with a request: the next one waits
	brokerCPUFull = 0.90                  // of its cores: threads wait for each other before the last core is full
	clientCPUFull = verdict.HostSaturated // of its cores, as in a run of one host
	stealShows    = 0.10                  // of all cores' time
	gcShows       = 0.10                  // of the time: all clients of a broker wait while it collects
	overSpeed     = 1.10                  // of its speed: no link carries more, so the reported speed is wrong
	watchedShare  = 0.90                  // of the time: the rest may change a mean by as much as the thresholds leave
	watchedEdges  = 1.0                   // seconds: the intervals at either end count as a whole
	partsShow     = 0.50                  // of the processes: the others can make up for fewer
	mostNamed     = 3                     // hosts in one sentence
)

// boundAcross returns the limit of a merged run, across its hosts, by the rules of docs/limits.md. merged is the verdict on all
// parts as if one process had made the load.
func boundAcross(hosts []result.HostRow, processes []result.ProcessRow, merged verdict.Verdict) verdict.Verdict {
	hosts = slices.SortedFunc(slices.Values(hosts), func(a, b result.HostRow) int { return cmp.Compare(a.Host, b.Host) })
	counted := slices.DeleteFunc(slices.Clone(processes), func(p result.ProcessRow) bool { return !p.Counted })
	bound := make(map[verdict.Limit][]result.ProcessRow)
	for _, p := range counted {
		bound[p.BoundBy.Limit] = append(bound[p.BoundBy.Limit], p)
	}
	ofParts := func(limit verdict.Limit) verdict.Verdict {
		return partsVerdict(bound[limit], len(counted), limit, merged)
	}
	switch merged.Limit {
	case verdict.Stalled:
		if len(hostsIn(bound[verdict.Stalled])) < len(hostsIn(counted)) {
			return ofParts(verdict.Stalled)
		}
		return merged
	case verdict.Failures, verdict.ReadFailed:
		return merged
	default:
	}
	for _, limit := range []verdict.Limit{verdict.ClientCPU, verdict.Schedule} {
		most := len(bound[limit]) > 0 && float64(len(bound[limit])) >= partsShow*float64(len(counted))
		invalid := slices.ContainsFunc(bound[limit], func(p result.ProcessRow) bool { return !p.Valid })
		if most || invalid || merged.Limit == limit {
			return ofParts(limit)
		}
	}
	if merged.Limit == verdict.Throttle {
		return merged
	}
	found := merged
	if i := slices.IndexFunc(outside, func(l verdict.Limit) bool { return len(bound[l]) > 0 }); merged.Limit == verdict.None && i >= 0 {
		found = ofParts(outside[i])
	}
	all, limited := capacitiesOf(hosts), found.Limit != verdict.None && found.Limit != verdict.Unknown
	evidence := []string{found.Evidence}
	switch starved := bound[verdict.ClientCPU]; {
	case limited && len(all) > 0 && all[0].saturated():
		evidence = []string{all[0].words}
		if merged.Limit == verdict.None {
			evidence = append(evidence, fmt.Sprintf("%s: %s", found.Limit, found.Evidence))
		}
		found.Limit, evidence = verdict.Limit(all[0].name), append(evidence, alsoInUse(all))
	case limited && len(starved) > 0:
		evidence = append(evidence, fmt.Sprintf("%d of %s had no CPU left, on %s", len(starved), theme.Plural(len(counted), "process", "processes"), hostsOf(starved)), nearest(all))
	default:
		evidence = append(evidence, nearest(all))
	}
	if limited {
		evidence = append(evidence, unknownSpeed(hosts))
	}
	if limited || len(all) > 0 {
		evidence = append(evidence, unwatched(hosts))
	}
	return verdict.Verdict{Limit: found.Limit, Evidence: sentence(evidence...)}
}

// outside are the limits of a part that lie neither in kt nor in its plan, the gravest first.
var outside = []verdict.Limit{verdict.Failures, verdict.Stalled, verdict.Throttle, verdict.HostCPU, verdict.Sockets, verdict.BrokerAcks, verdict.Fetches}

// partsVerdict names the hosts of the processes that were bound by limit; it is merged if that holds of all together only.
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

// hostsOf names the hosts of processes: "vm16", "vm16, vm17 and vm18", "4 hosts".
func hostsOf(processes []result.ProcessRow) string {
	names := hostsIn(processes)
	if len(names) > mostNamed {
		return fmt.Sprintf("%d hosts", len(names))
	}
	return theme.Listed(names)
}

// hostsIn returns the hosts of processes, each once.
func hostsIn(processes []result.ProcessRow) (names []string) {
	for _, p := range processes {
		names = append(names, p.Host)
	}
	return distinct(names)
}

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

// alsoInUse returns clauses on the saturated resources beside all[0], and on the one that is next to its threshold.
func alsoInUse(all []capacity) string {
	var full []string
	for _, c := range all[1:] {
		if !c.saturated() {
			return sentence(few(full, "; "), "next is "+c.name+": "+c.words)
		}
		full = append(full, c.name+" too: "+c.words)
	}
	return few(full, "; ")
}

// few joins the first of some texts, and tells how many others there are.
func few(texts []string, between string) string {
	if n := len(texts) - mostNamed; n > 0 {
		texts = append(texts[:mostNamed:mostNamed], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, between)
}

// sentence joins the clauses that are not empty.
func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}

// unknownSpeed returns a clause on the busiest link whose speed is not known, and so its use.
func unknownSpeed(hosts []result.HostRow) (clause string) {
	most := 0.0
	for i := range hosts {
		if !watched(&hosts[i]) {
			continue
		}
		for _, n := range hosts[i].Busy.Networks {
			if mib := max(n.SentMiB, n.ReceivedMiB); !hasSpeed(n) && mib > most {
				verb := map[bool]string{true: "received", false: "sent"}[n.ReceivedMiB > n.SentMiB]
				most, clause = mib, fmt.Sprintf("%s's %s %s %.0f MiB/s, and its speed is unknown", hosts[i].Host, n.Name, verb, mib)
			}
		}
	}
	return clause
}

// unwatched returns a clause on hosts that were watched for part of the time, and on brokers' and others that were not.
func unwatched(hosts []result.HostRow) string {
	seen := func(h result.HostRow) bool { return watchedFor(&h) > 0 }
	switch {
	case !slices.ContainsFunc(hosts, seen):
		return "no host was watched: start kt agent on the brokers' hosts and the clients'"
	case !slices.ContainsFunc(hosts, func(h result.HostRow) bool { return isBroker(&h) && seen(h) }):
		return "no broker host was watched: start kt agent on them"
	}
	return lapses(hosts, func(h *result.HostRow) bool { return seen(*h) || isBroker(h) || h.Role == "" && h.Processes == 0 })
}

// lapses names the hosts of a kind that were not watched for long enough: "b was watched for 2 of 60 s, c was not watched".
func lapses(hosts []result.HostRow, is func(h *result.HostRow) bool) string {
	var all []string
	for i := range hosts {
		switch h := &hosts[i]; {
		case watched(h) || !is(h):
		case watchedFor(h) > 0:
			all = append(all, fmt.Sprintf("%s was watched for %.0f of %.0f s", h.Host, h.Busy.Seconds, h.Busy.OfSeconds))
		default:
			all = append(all, h.Host+" was not watched")
		}
	}
	return few(all, ", ")
}

// resources are those of a host, as a verdict names them behind its name, in the order of a sentence.
var resources = []string{"network", "disks", "CPU", "hypervisor", "garbage collection"}

// capacity is the use of one resource on one host: of the disk, the direction of a link or the JVM that is the most in use.
type capacity struct {
	name  string  // "vm14's network"
	share float64 // in use
	shows float64 // the share from which on it is saturated
	words string  // the use as a clause
	rank  int     // of several that are as full: brokers before clients
}

func (c capacity) saturated() bool { return c.share >= c.shows }

// capacitiesOf returns the use of each resource of all watched hosts, the most used for its threshold first. hosts are sorted.
func capacitiesOf(hosts []result.HostRow) (all []capacity) {
	for i := range hosts {
		if h := &hosts[i]; watched(h) {
			all = append(all, capacities(h)...)
		}
	}
	slices.SortStableFunc(all, func(a, b capacity) int {
		return cmp.Or(cmp.Compare(b.share/b.shows, a.share/a.shows), cmp.Compare(a.rank, b.rank))
	})
	return all
}

// FullBroker returns the resource of a watched broker host that is the most used for its threshold, and its use as a clause. A disk that
// is busy with reading more than it writes is a page cache that is too small. host is "" where none is full, or none was watched.
func FullBroker(hosts []result.HostRow) (host, resource, words string) {
	all := capacitiesOf(WatchedBrokers(hosts))
	if len(all) == 0 || !all[0].saturated() {
		return "", "", ""
	}
	resource = resources[all[0].rank]
	host = strings.TrimSuffix(all[0].name, "'s "+resource)
	i := slices.IndexFunc(hosts, func(h result.HostRow) bool { return h.Host == host })
	if resource == "disks" && slices.ContainsFunc(hosts[i].Busy.Disks, func(d result.BusyDisk) bool { return d.BusyShare >= diskFull && d.ReadMiB > d.WrittenMiB }) {
		resource = "page cache"
	}
	return host, resource, all[0].words
}

// WatchedBrokers returns the hosts of brokers that were watched for long enough.
func WatchedBrokers(hosts []result.HostRow) []result.HostRow {
	return slices.DeleteFunc(slices.Clone(hosts), func(h result.HostRow) bool { return !isBroker(&h) || !watched(&h) })
}

// capacities returns the use of each resource of a host.
func capacities(h *result.HostRow) (all []capacity) {
	add := func(resource string, shows, share float64, words string, args ...any) {
		c := capacity{h.Host + "'s " + resource, share, shows, fmt.Sprintf(words, args...), slices.Index(resources, resource)}
		if !isBroker(h) {
			c.rank += len(resources)
		}
		if n := len(all); n == 0 || all[n-1].name != c.name {
			all = append(all, c)
		} else if share > all[n-1].share {
			all[n-1] = c
		}
	}
	cpuFull := brokerCPUFull
	if !isBroker(h) {
		cpuFull = clientCPUFull
	}
	for _, n := range h.Busy.Networks {
		if !hasSpeed(n) {
			continue
		}
		name, speed := "", fmt.Sprintf("%.4g Gb/s", float64(n.SpeedBits)/1e9) // as makers write it
		if n.SpeedBits < 1e9 {
			speed = fmt.Sprintf("%.3g Mb/s", float64(n.SpeedBits)/1e6)
		}
		if len(h.Busy.Networks) > 1 {
			name = n.Name + " at "
		}
		add("network", linkFull, n.SentShare, "%s%.0f %% of %s sent", name, 100*n.SentShare, speed)
		add("network", linkFull, n.ReceivedShare, "%s%.0f %% of %s received", name, 100*n.ReceivedShare, speed)
	}
	for _, d := range h.Busy.Disks {
		if isBroker(h) { // a load makes no use of a client's
			add("disks", diskFull, d.BusyShare, "%s busy for %.0f %% of the time", d.Name, 100*d.BusyShare)
		}
	}
	if b := h.Busy; b.Cores > 0 {
		add("CPU", cpuFull, b.CPUShare, "%.0f %% of its %.0f cores in use", 100*b.CPUShare, b.Cores)
		add("hypervisor", stealShows, b.StealShare, "it gave %.0f %% of the time of %.0f cores to others", 100*b.StealShare, b.Cores)
	}
	for _, j := range h.Busy.Brokers {
		if isBroker(h) && j.Known() {
			add("garbage collection", gcShows, j.GCShare, "it stopped the broker for %.0f %% of the time", 100*j.GCShare)
		}
	}
	return all
}

// watchedFor returns for how many seconds a host was watched.
func watchedFor(h *result.HostRow) float64 {
	return cmp.Or(h.Busy, new(result.Busy)).Seconds
}

// watched reports whether a host was watched for long enough.
func watched(h *result.HostRow) bool {
	return watchedFor(h) > 0 && h.Busy.Seconds >= h.Busy.OfSeconds*watchedShare-watchedEdges
}

// isBroker reports whether a host is a broker's: by its role, or if it has none by a broker's JVM.
func isBroker(h *result.HostRow) bool {
	return h.Role == "broker" || h.Role == "" && h.Busy != nil && len(h.Busy.Brokers) > 0
}

// hasSpeed reports whether the speed of an interface is known and can be right.
func hasSpeed(n result.BusyNetwork) bool {
	return n.SpeedBits > 0 && max(n.SentShare, n.ReceivedShare) <= overSpeed
}
