package study

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// FirstOut is the resource that ran out first: of a broker where one is named, of a group of consumers, or of all brokers alike.
type FirstOut struct {
	Resource string `json:"resource"`         // of a watched host: CPU, disks, page cache, network, hypervisor or garbage collection; else quota, log directory, requests or reading
	Broker   string `json:"broker,omitempty"` // its number, or the name of its host; "": a group, or no broker stands out
	Group    string `json:"group,omitempty"`
	Evidence string `json:"evidence"` // with its numbers
}

// String returns the resource with its owner: "broker 2 (network)", "group shipping (reading)".
func (f FirstOut) String() string {
	owner := "broker " + f.Broker
	if f.Group != "" {
		owner = "group " + f.Group
	} else if f.Broker == "" {
		owner = "all brokers"
	}
	return owner + " (" + f.Resource + ")"
}

// loadsOf returns the results of the loads of a run: of a run by itself that of the run.
func loadsOf(r *result.Result) []result.LoadResult {
	if len(r.Loads) > 0 {
		return r.Loads
	}
	return []result.LoadResult{{Result: *r}}
}

// firstOut returns the resource that ran out first in a run that did not hold; nil: it is not known, or kt was the limit. Where agents
// watched the brokers' hosts a host that is full counts. Else it is what Kafka tells: a quota, a full log directory, a group that fell
// behind, and how long requests take by broker.
func firstOut(r *result.Result) *FirstOut {
	loads := loadsOf(r)
	worst := &loads[max(0, slices.IndexFunc(loads, func(l result.LoadResult) bool { return l.Name == r.Suffered }))].Result
	var brokers []result.BrokerRow // of all loads together
	var events []result.Event
	for i := range loads {
		events = append(events, loads[i].Events...)
		for _, b := range loads[i].Brokers {
			if worst.Plan.ReadsOnly() {
				b.BrokerRequests = *cmp.Or(b.Fetch, new(result.BrokerRequests))
			}
			j := slices.IndexFunc(brokers, func(o result.BrokerRow) bool { return o.ID == b.ID })
			if j < 0 {
				brokers = append(brokers, b)
				continue
			}
			sum := &brokers[j]
			time := float64(sum.Latency.Mean)*float64(sum.Requests) + float64(b.Latency.Mean)*float64(b.Requests)
			sum.Requests, sum.ThrottleMS = sum.Requests+b.Requests, sum.ThrottleMS+b.ThrottleMS
			sum.Latency.Mean = result.Micros(verdict.Per(time, float64(sum.Requests)))
		}
	}
	if limit := worst.BoundBy.Limit; limit == verdict.Throttle && len(brokers) > 0 {
		most := slices.MaxFunc(brokers, func(a, b result.BrokerRow) int { return cmp.Compare(a.ThrottleMS, b.ThrottleMS) })
		return &FirstOut{Resource: "quota", Broker: fmt.Sprint(most.ID), Evidence: "it made clients wait for " + theme.Duration(time.Duration(most.ThrottleMS)*time.Millisecond) + " in all"}
	} else if ofClient(limit) && limit != verdict.Reader || limit == verdict.Ceiling {
		return nil
	}
	if host, resource, words := merge.FullBroker(r.Hosts); host != "" {
		return &FirstOut{Resource: resource, Broker: host, Evidence: words}
	}
	if i := slices.IndexFunc(events, func(e result.Event) bool { return e.Kind == stats.LogDirFull || e.Kind == stats.LogDirFailed }); i >= 0 {
		return &FirstOut{Resource: "log directory", Broker: fmt.Sprint(events[i].Broker), Evidence: events[i].Text}
	}
	lag := worst.ConsumerLag
	if waits := worst.BoundBy.Limit == verdict.Fetches || worst.BoundBy.Limit == verdict.Stalled; lag != nil && lag.KeptUp != nil && !*lag.KeptUp && !waits {
		return &FirstOut{Resource: "reading", Group: cmp.Or(worst.Plan.Read.Group, "without a name"), Evidence: worst.BoundBy.Evidence}
	}
	return slowest(brokers)
}

// slowest returns the broker whose requests take longest, or all of them alike; nil: no request was answered.
func slowest(brokers []result.BrokerRow) *FirstOut {
	const standsOut = 1.5 // times as long as with the next slowest
	brokers = slices.DeleteFunc(brokers, func(b result.BrokerRow) bool { return b.Latency.Mean <= 0 })
	slices.SortFunc(brokers, func(a, b result.BrokerRow) int { return cmp.Compare(b.Latency.Mean, a.Latency.Mean) })
	if len(brokers) == 0 {
		return nil
	}
	mean := func(i int) string { return theme.Duration(brokers[i].Latency.Mean.Duration()) }
	first := &FirstOut{Resource: "requests", Broker: fmt.Sprint(brokers[0].ID), Evidence: "its requests take " + mean(0) + " in the mean"}
	if len(brokers) > 1 && float64(brokers[0].Latency.Mean) > standsOut*float64(brokers[1].Latency.Mean) {
		first.Evidence += fmt.Sprintf(", those of the next slowest broker, %d, %s", brokers[1].ID, mean(1))
	} else if len(brokers) > 1 {
		first.Broker, first.Evidence = "", "requests take "+mean(len(brokers)-1)+" to "+mean(0)+" in the mean, and no broker stands out"
	}
	return first
}
