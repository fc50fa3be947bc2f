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
	switch {
	case f.Group != "":
		return "group " + f.Group + " (" + f.Resource + ")"
	case f.Broker == "":
		return "all brokers (" + f.Resource + ")"
	}
	return "broker " + f.Broker + " (" + f.Resource + ")"
}

// brokerSum is what all loads of a run asked of one broker.
type brokerSum struct {
	id       int32
	requests float64
	seconds  float64 // of all requests
	throttle time.Duration
}

func (b *brokerSum) add(r *result.BrokerRequests) {
	b.requests += float64(r.Requests)
	b.seconds += float64(r.Requests) * time.Duration(r.Latency.Mean*1000).Seconds()
	b.throttle += time.Duration(r.ThrottleMS) * time.Millisecond
}

// mean returns the mean time of a request.
func (b *brokerSum) mean() time.Duration {
	return time.Duration(verdict.Per(b.seconds, b.requests) * float64(time.Second))
}

// firstOut returns the resource that ran out first in a run that did not hold; nil: it is not known, or kt was the limit. Where agents
// watched the brokers' hosts a host that is full counts. Else it is what Kafka tells: a quota, a full log directory, a group that fell
// behind, and how long requests take by broker.
func firstOut(r *result.Result) *FirstOut {
	loads := r.Loads
	if len(loads) == 0 {
		loads = []result.LoadResult{{Result: *r}}
	}
	worst := &loads[max(0, slices.IndexFunc(loads, func(l result.LoadResult) bool { return l.Name == r.Suffered }))].Result
	brokers := make(map[int32]*brokerSum)
	for i := range loads {
		for _, b := range loads[i].Brokers {
			sum := cmp.Or(brokers[b.ID], &brokerSum{id: b.ID})
			if brokers[b.ID] = sum; !worst.Plan.ReadsOnly() {
				sum.add(&b.BrokerRequests)
			} else if b.Fetch != nil {
				sum.add(b.Fetch)
			}
		}
	}
	var all []*brokerSum
	for _, b := range brokers {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *brokerSum) int { return cmp.Or(cmp.Compare(b.throttle, a.throttle), cmp.Compare(a.id, b.id)) })
	limit := worst.BoundBy.Limit
	switch group := groupOf(worst); {
	case limit == verdict.Throttle && len(all) > 0 && all[0].throttle > 0:
		return &FirstOut{Resource: "quota", Broker: fmt.Sprint(all[0].id), Evidence: "it made clients wait for " + theme.Duration(all[0].throttle) + " in all"}
	case slices.Contains([]verdict.Limit{verdict.ClientCPU, verdict.HostCPU, verdict.Ceiling, verdict.Schedule, verdict.Client}, limit):
		return nil
	default:
		if host, resource, words := merge.FullBroker(r.Hosts); host != "" {
			return &FirstOut{Resource: resource, Broker: host, Evidence: words}
		}
		for i := range loads {
			if j := slices.IndexFunc(loads[i].Events, func(e result.Event) bool { return e.Kind == stats.LogDirFull || e.Kind == stats.LogDirFailed }); j >= 0 {
				e := loads[i].Events[j]
				return &FirstOut{Resource: "log directory", Broker: fmt.Sprint(e.Broker), Evidence: e.Text}
			}
		}
		if group != "" && limit != verdict.Fetches && limit != verdict.Stalled {
			return &FirstOut{Resource: "reading", Group: group, Evidence: worst.BoundBy.Evidence}
		}
	}
	return slowest(all)
}

// groupOf returns the group of a load that reads and fell behind; "": it is no such load.
func groupOf(r *result.Result) string {
	if lag := r.ConsumerLag; lag == nil || lag.KeptUp == nil || *lag.KeptUp {
		return ""
	}
	return cmp.Or(r.Plan.Read.Group, "without a name")
}

// standsOut is how many times as long as with the other brokers the requests to one take that stands out.
const standsOut = 1.5

// slowest returns the broker whose requests take longest, or all of them alike; nil: no request was answered.
func slowest(all []*brokerSum) *FirstOut {
	all = slices.DeleteFunc(slices.Clone(all), func(b *brokerSum) bool { return b.mean() == 0 })
	slices.SortStableFunc(all, func(a, b *brokerSum) int { return cmp.Compare(b.mean(), a.mean()) })
	if len(all) == 0 {
		return nil
	}
	first := &FirstOut{Resource: "requests", Broker: fmt.Sprint(all[0].id), Evidence: "its requests take " + theme.Duration(all[0].mean()) + " in the mean"}
	switch others := all[1:]; {
	case len(others) == 0:
	case float64(all[0].mean()) > standsOut*float64(others[0].mean()):
		first.Evidence += ", those of the next slowest broker, " + fmt.Sprint(others[0].id) + ", " + theme.Duration(others[0].mean())
	default:
		first.Broker = ""
		first.Evidence = "requests take " + theme.Duration(others[len(others)-1].mean()) + " to " + theme.Duration(all[0].mean()) + " in the mean, and no broker stands out"
	}
	return first
}
