package report

import (
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// tiles are the figures to quote, in a page.
func tiles(r *result.Result) doc.Tiles {
	name, l := Headline(r)
	value := func(us result.Micros) string { return latencyOf(&l, us) }
	rate, bandwidth, target := doc.Tile{Name: "throughput", Value: none}, doc.Tile{Name: "bandwidth", Value: none}, r.Throughput.TargetRecordsPerSecond
	errors, of := doc.Tile{Name: "errors", Value: theme.Rate(float64(r.Records.Errors()))}, r.Records.Offered
	if !writes(&r.Header) {
		of = r.Records.Consumed
		if r.Fetch != nil {
			rate.Name, target = "read", r.Fetch.TargetRecordsPerSecond
		}
	}
	quoted, rated := r.Quoted()
	if rated {
		rate.Value, rate.Unit, bandwidth.Value, bandwidth.Unit = theme.Rate(quoted.Records), "rec/s", theme.Number(quoted.Bytes/mibBytes), "MiB/s"
	}
	switch {
	case !rated:
		rate.Notes = []string{"too short for a rate"}
	case target > 0:
		rate.Notes = []string{"target " + theme.Rate(target)}
	}
	lost, _ := Lost(r)
	for _, part := range []count{{r.Records.Failed, "failed"}, {r.Records.Unknown, "unknown"}, {r.Records.Unsent, "never sent"}, {lost, "lost"}, {r.Records.NotInLog, "not in the log"}} {
		if part.n > 0 {
			errors.Tone, errors.Notes = doc.Bad, append(errors.Notes, theme.Count(part.n)+" "+part.what)
		}
	}
	errors.Notes = append(errors.Notes, "of "+theme.Count(of))
	return doc.Tiles{
		rate, bandwidth,
		{Name: "p50", Value: value(l.P50), Notes: []string{name}},
		{Name: "p99", Value: value(l.P99), Notes: []string{"p90 " + value(l.P90)}},
		{Name: "p99.9", Value: value(l.P999), Notes: []string{"max " + value(l.Max)}},
		errors,
	}
}

// Headline is the latency to quote, and its name: that of fetches if no record has one.
func Headline(r *result.Result) (name string, l result.Latency) {
	name, l = r.HeadlineLatency()
	if f := r.Fetch; l.Ranked() == 0 && f != nil && !writes(&r.Header) {
		return "fetch", f.Latency
	}
	return name, l
}

// Lost is how many acknowledged records are not in the log; false: that is not known, because not all were checked.
func Lost(r *result.Result) (int64, bool) {
	if v := r.Verify; v != nil && !v.OfAnotherRun && (v.Lost > 0 || v.Complete()) {
		return v.Lost, true
	}
	return 0, false
}
