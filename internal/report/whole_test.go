package report

import (
	"testing"

	"github.com/kt-bench/kt/internal/study"
)

// What is not known of a system is not told as a result.
func TestTheTableOfSystemsTellsWhatIsNotKnown(t *testing.T) {
	spread := func(v float64) study.Spread { return study.Spread{Median: v, Low: v, High: v, N: 1} }
	for want, s := range map[string]study.Standing{
		"no rate holds":                          {Peak: new(study.PeakRate), Over: true},
		"– (not over)":                           {Peak: new(study.PeakRate)},
		"10,000 records/s (not over)":            {Peak: &study.PeakRate{RecordsPerSecond: 10_000}},
		"at least 5 records/s with acks=all":     {Peak: &study.PeakRate{RecordsPerSecond: 5, ClientBound: true}, At: "acks=all", Over: true},
		"3 failed, 0 lost, 990 not checked":      {Cell: &study.CellFigures{Faults: study.Faults{Failed: spread(3), Lost: spread(0), Unchecked: spread(990)}}, Over: true},
		"0 failed, 2 lost, none taken for 1.00s": {Cell: &study.CellFigures{Faults: study.Faults{Failed: spread(0), Lost: spread(2), Unchecked: spread(0), Gap: spread(1000)}}, Over: true},
		"7 records/s with batch-size=1MiB":       {By: study.Throughput, At: "batch-size=1MiB", Cell: &study.CellFigures{Measures: study.Measures[study.Spread]{Throughput: spread(7)}}, Over: true},
		"p50 2.00ms, p99 4.00ms (not over)":      {By: study.P99, Cell: &study.CellFigures{Measures: study.Measures[study.Spread]{Latency: study.Latency[study.Spread]{P50: spread(2000), P99: spread(4000)}}}},
	} {
		if got := foundOf(&s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
