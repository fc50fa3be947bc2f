package result

import (
	"fmt"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

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

// ownDelayShows is the share of the median above which kt's own delay is in the figure that it measures, and not in its noise.
const ownDelayShows = 0.05

// ownDelayShare returns the median of kt's own send delay as a share of the median to quote; nil: one of them was not measured.
func (r *Result) ownDelayShare() *float64 {
	_, l := r.HeadlineLatency()
	if l.P50 == 0 || l.P50 == Failed || r.Latency.OwnSendDelay.Count == 0 || r.Throughput.TargetRecordsPerSecond == 0 {
		return nil
	}
	share := float64(r.Latency.OwnSendDelay.P50) / float64(l.P50)
	return &share
}

// OwnDelay returns a sentence on kt's part of the median to quote, "" if that is small or not known.
func (r *Result) OwnDelay() string {
	if r.OwnDelayShare == nil || *r.OwnDelayShare <= ownDelayShows {
		return ""
	}
	_, l := r.HeadlineLatency()
	return fmt.Sprintf("kt's own delay is %s of %s (p50)", theme.Duration(r.Latency.OwnSendDelay.P50.Duration()), theme.Duration(l.P50.Duration()))
}
