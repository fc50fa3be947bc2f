package page

import (
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// tiles are the figures to quote.
func (p *runPage) tiles() Tiles {
	tiles := Tiles{p.rateTile(), p.bandwidthTile()}
	tiles = append(tiles, p.latencyTiles()...)
	return append(tiles, p.errorTile())
}

func (p *runPage) rateTile() Tile {
	r := &p.r
	rate, ok := r.Quoted()
	t := Tile{Name: "throughput", Unit: "rec/s", Value: theme.Rate(rate.Records)}
	target := r.Throughput.TargetRecordsPerSecond
	if !p.writes && r.Fetch != nil {
		t.Name, target = "read", r.Fetch.TargetRecordsPerSecond
	}
	if !ok {
		return Tile{Name: t.Name, Value: "–", Notes: []string{"too short for a rate"}}
	}
	if target > 0 {
		t.Notes = append(t.Notes, "target "+theme.Rate(target))
	}
	if p.writes && r.Fetch != nil {
		t.Notes = append(t.Notes, "read "+theme.Rate(r.Fetch.RecordsPerSecond))
	}
	if peak := p.peak(); target == 0 && peak > 0 {
		t.Notes = append(t.Notes, "peak "+theme.Rate(peak))
	}
	return t
}

// peak is the highest rate of a step of the series.
func (p *runPage) peak() (peak float64) {
	for i := range p.r.Series {
		x := &p.r.Series[i]
		n := x.Acknowledged
		if !p.writes {
			n = x.Consumed
		}
		if x.Seconds >= result.ShortRow && !x.Warmup {
			peak = max(peak, float64(n)/x.Seconds)
		}
	}
	return peak
}

func (p *runPage) bandwidthTile() Tile {
	r := &p.r
	rate, ok := r.Quoted()
	t := Tile{Name: "bandwidth", Unit: "MiB/s", Value: theme.Number(rate.Bytes / mibBytes)}
	if !ok {
		return Tile{Name: t.Name, Value: "–"}
	}
	const shows = 1.05 // less is as good as none
	switch ratio := r.Batches.CompressionRatio; {
	case !p.writes || ratio == 0:
	case ratio < shows:
		t.Notes = append(t.Notes, "not compressed")
	default:
		t.Notes = append(t.Notes, "compressed "+theme.Ratio(ratio))
	}
	return t
}

// headline is the latency to quote, and its name: that of fetches if no record has one.
func (p *runPage) headline() (name string, l result.Latency) {
	name, l = p.r.HeadlineLatency()
	if f := p.r.Fetch; l.Ranked() == 0 && f != nil && !p.writes {
		return "fetch", f.Latency
	}
	return name, l
}

func (p *runPage) latencyTiles() Tiles {
	name, l := p.headline()
	value := func(us result.Micros) string { return quantile(l, us) }
	return Tiles{
		{Name: "p50", Value: value(l.P50), Notes: []string{name}},
		{Name: "p99", Value: value(l.P99), Notes: []string{"p90 " + value(l.P90)}},
		{Name: "p99.9", Value: value(l.P999), Notes: []string{"max " + value(l.Max)}},
	}
}

// mibBytes is a MiB in bytes.
const mibBytes = 1 << 20

// lost is how many acknowledged records are not in the log; false: that is not known, because not all were checked.
func (p *runPage) lost() (int64, bool) {
	if v := p.r.Verify; v != nil && !v.OfAnotherRun && (v.Lost > 0 || v.Complete()) {
		return v.Lost, true
	}
	return 0, false
}

// errorTile has the records that were not acknowledged, and beside them those that were, and are lost.
func (p *runPage) errorTile() Tile {
	rec := &p.r.Records
	t := Tile{Name: "errors", Value: theme.Rate(float64(rec.Errors()))}
	lost, _ := p.lost()
	if rec.Errors()+lost+rec.NotInLog > 0 {
		t.Class = "bad"
	}
	for _, part := range []struct {
		how     string
		records int64
	}{{"failed", rec.Failed}, {"unknown", rec.Unknown}, {"never sent", rec.Unsent}, {"lost", lost}, {"not in the log", rec.NotInLog}} {
		if part.records > 0 {
			t.Notes = append(t.Notes, theme.Count(part.records)+" "+part.how)
		}
	}
	of := p.r.Records.Offered
	if !p.writes {
		of = p.r.Records.Consumed
	}
	t.Notes = append(t.Notes, "of "+theme.Count(of))
	return t
}
