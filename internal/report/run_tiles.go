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
	return doc.Tiles{
		rateTile(r), bandwidthTile(r),
		{Name: "p50", Value: value(l.P50), Notes: []string{name}},
		{Name: "p99", Value: value(l.P99), Notes: []string{"p90 " + value(l.P90)}},
		{Name: "p99.9", Value: value(l.P999), Notes: []string{"max " + value(l.Max)}},
		errorTile(r),
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

func rateTile(r *result.Result) doc.Tile {
	rate, ok := r.Quoted()
	t := doc.Tile{Name: "throughput", Unit: "rec/s", Value: theme.Rate(rate.Records)}
	target, writes := r.Throughput.TargetRecordsPerSecond, writes(&r.Header)
	if !writes && r.Fetch != nil {
		t.Name, target = "read", r.Fetch.TargetRecordsPerSecond
	}
	if !ok {
		return doc.Tile{Name: t.Name, Value: none, Notes: []string{"too short for a rate"}}
	}
	if target > 0 {
		t.Notes = append(t.Notes, "target "+theme.Rate(target))
	}
	if writes && r.Fetch != nil {
		t.Notes = append(t.Notes, "read "+theme.Rate(r.Fetch.RecordsPerSecond))
	}
	peak := 0.0 // the highest rate of a step of the series
	for i := range r.Series {
		x := &r.Series[i]
		n := x.Acknowledged
		if !writes {
			n = x.Consumed
		}
		if x.Seconds >= result.ShortRow && !x.Warmup {
			peak = max(peak, float64(n)/x.Seconds)
		}
	}
	if target == 0 && peak > 0 {
		t.Notes = append(t.Notes, "peak "+theme.Rate(peak))
	}
	return t
}

func bandwidthTile(r *result.Result) doc.Tile {
	rate, ok := r.Quoted()
	if !ok {
		return doc.Tile{Name: "bandwidth", Value: none}
	}
	t := doc.Tile{Name: "bandwidth", Unit: "MiB/s", Value: theme.Number(rate.Bytes / mibBytes)}
	const shows = 1.05 // less is as good as none
	switch ratio := r.Batches.CompressionRatio; {
	case !writes(&r.Header) || ratio == 0:
	case ratio < shows:
		t.Notes = append(t.Notes, "not compressed")
	default:
		t.Notes = append(t.Notes, "compressed "+theme.Ratio(ratio))
	}
	return t
}

// Lost is how many acknowledged records are not in the log; false: that is not known, because not all were checked.
func Lost(r *result.Result) (int64, bool) {
	if v := r.Verify; v != nil && !v.OfAnotherRun && (v.Lost > 0 || v.Complete()) {
		return v.Lost, true
	}
	return 0, false
}

// errorTile has the records that were not acknowledged, and beside them those that were, and are lost.
func errorTile(r *result.Result) doc.Tile {
	rec := &r.Records
	t := doc.Tile{Name: "errors", Value: theme.Rate(float64(rec.Errors()))}
	lost, _ := Lost(r)
	if rec.Errors()+lost+rec.NotInLog > 0 {
		t.Tone = doc.Bad
	}
	for _, part := range []struct {
		how     string
		records int64
	}{{"failed", rec.Failed}, {"unknown", rec.Unknown}, {"never sent", rec.Unsent}, {"lost", lost}, {"not in the log", rec.NotInLog}} {
		if part.records > 0 {
			t.Notes = append(t.Notes, theme.Count(part.records)+" "+part.how)
		}
	}
	of := rec.Offered
	if !writes(&r.Header) {
		of = rec.Consumed
	}
	t.Notes = append(t.Notes, "of "+theme.Count(of))
	return t
}
