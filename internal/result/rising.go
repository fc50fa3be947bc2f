package result

import (
	"fmt"
	"math"
)

// The rule for a load that is still rising: the first and the last risingEdge of the time over which rates are
// taken are below and above the mean rate by risingShows at least.
const (
	risingEdge  = 3.0 // seconds; the measured time is at least twice as long
	risingShows = 0.10

	// warmRate is the share of the last rate from which on the load counts as warm.
	warmRate = 0.95
)

// stillRising returns a note on a load whose rate grew until its end, or "".
func stillRising(series []Point, t Throughput) string {
	end := t.FirstDueSeconds + t.Seconds
	if t.Seconds < 2*risingEdge || t.RecordsPerSecond == 0 {
		return ""
	}
	first := rateBetween(series, t.FirstDueSeconds, t.FirstDueSeconds+risingEdge)
	last := rateBetween(series, end-risingEdge, end)
	if first > (1-risingShows)*t.RecordsPerSecond || last < (1+risingShows)*t.RecordsPerSecond {
		return ""
	}
	warm := end
	for _, p := range series {
		if !p.Warmup && p.Seconds >= ShortRow && float64(p.Acknowledged)/p.Seconds >= warmRate*last {
			warm = p.StartSeconds
			break
		}
	}
	note := fmt.Sprintf("still rising: the last %.0f s were %.0f %% above the mean; use --warmup %.0fs",
		risingEdge, 100*(last/t.RecordsPerSecond-1), math.Ceil(warm))
	if warm > end-risingEdge {
		note += " and a longer --duration"
	}
	return note
}

// rateBetween returns the mean rate of the points that lie between two times.
func rateBetween(series []Point, from, to float64) float64 {
	records, length := 0.0, 0.0
	for _, p := range series {
		if middle := p.StartSeconds + p.Seconds/2; !p.Warmup && middle >= from && middle <= to {
			records, length = records+float64(p.Acknowledged), length+p.Seconds
		}
	}
	if length == 0 {
		return 0
	}
	return records / length
}
