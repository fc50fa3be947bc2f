package result

import "github.com/kt-bench/kt/internal/plan"

// headline returns the name of the figure to quote, and the reason.
func headline(p *plan.Plan, target float64) (name, note string) {
	switch {
	case p.ReadsOnly():
		return "throughput", "records a second from the first record to the last; the time to the first record is not part of it"
	case p.Load.OneAtATime:
		return "end_to_end", "one record is in flight at a time and due when it is sent, so none queues: this is the shortest time of a record"
	case target > 0 && p.Reads():
		return "end_to_end", "latency counts from the moment each record was due until it was polled, so a stall counts in full"
	case target > 0:
		return "response", "latency counts from the moment each record was due, so a stall counts in full"
	}
	return "throughput", "the rate is unlimited, so no record has a due time, and latency is mostly queueing in the client; set --rate to measure latency"
}

// HeadlineLatency returns the latency to quote, and its name: end to end where records were read with their stamps, else the
// response time. Its count is 0 if nothing was measured.
func (r *Result) HeadlineLatency() (name string, l Latency) {
	switch {
	case r.Latency.EndToEnd != nil:
		return "end to end", *r.Latency.EndToEnd
	case r.Plan.ReadsOnly():
		return "end to end", Latency{}
	}
	return "response", r.Latency.Response
}
