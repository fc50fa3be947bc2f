package result

import "github.com/kt-bench/kt/internal/plan"

// headline returns the name of the figure to quote, and the reason.
func headline(p *plan.Plan, target float64) (name, note string) {
	switch {
	case p.ReadsOnly():
		return "throughput", "what was read from the first record to the last; what it took to get to the first is told apart"
	case p.Load.OneAtATime:
		return "end_to_end", "one record is in flight at a time and due when it is sent, so nothing queues: this is the least that a record takes"
	case target > 0 && p.Reads():
		return "end_to_end", "latency counts from the moment each record was due until it was polled, so a stall is seen at full weight"
	case target > 0:
		return "response", "latency counts from the moment each record was due, so a stall is seen at full weight"
	}
	return "throughput", "the rate is unlimited, so nothing is due and latency is mostly queueing in the client; set --rate to measure latency"
}
