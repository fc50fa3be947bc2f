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
	t := Tile{Name: "throughput", Unit: "rec/s", Value: theme.Rate(r.Throughput.RecordsPerSecond)}
	target := r.Throughput.TargetRecordsPerSecond
	if !p.writes && r.Fetch != nil {
		t.Name, t.Value = "read", theme.Rate(r.Fetch.RecordsPerSecond)
		target = r.Fetch.TargetRecordsPerSecond
	}
	if tooShort(r, p.writes) {
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

// tooShort reports whether there was no time for a rate.
func tooShort(r *result.Result, writes bool) bool {
	if !writes && r.Fetch != nil {
		return r.Fetch.RecordsPerSecond == 0
	}
	return r.Throughput.Seconds < 1
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
	t := Tile{Name: "bandwidth", Unit: "MiB/s", Value: theme.Number(r.Throughput.MiBPerSecond)}
	if !p.writes && r.Fetch != nil {
		t.Value = theme.Number(r.Fetch.MiBPerSecond)
	}
	if tooShort(r, p.writes) {
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

// headline is the latency to quote, and its name.
func (p *runPage) headline() (name string, l result.Latency) {
	if e := p.r.Latency.EndToEnd; p.reads && e != nil {
		return "end to end", *e
	}
	if p.writes {
		return "response", p.r.Latency.Response
	}
	if f := p.r.Fetch; f != nil {
		return "fetch", f.Latency
	}
	return "latency", result.Latency{}
}

func (p *runPage) latencyTiles() Tiles {
	name, l := p.headline()
	value := func(us int64) string {
		if l.Count == 0 {
			return "–"
		}
		return theme.Duration(micros(us))
	}
	return Tiles{
		{Name: "p50", Value: value(l.P50), Notes: []string{name}},
		{Name: "p99", Value: value(l.P99), Notes: []string{"p90 " + value(l.P90)}},
		{Name: "p99.9", Value: value(l.P999), Notes: []string{"max " + value(l.Max)}},
	}
}

func (p *runPage) errorTile() Tile {
	rec := &p.r.Records
	lost := int64(0)
	if v := p.r.Verify; v != nil && !v.OfAnotherRun {
		lost = v.Lost
	}
	n := rec.Failed + rec.Unknown + lost
	t := Tile{Name: "errors", Value: theme.Rate(float64(n))}
	if n > 0 {
		t.Class = "bad"
		for _, part := range []struct {
			n    int64
			what string
		}{{rec.Failed, "failed"}, {rec.Unknown, "unknown"}, {lost, "lost"}} {
			if part.n > 0 {
				t.Notes = append(t.Notes, theme.Count(part.n)+" "+part.what)
			}
		}
	}
	of := rec.Offered
	if !p.writes {
		of = rec.Consumed
	}
	t.Notes = append(t.Notes, "of "+theme.Count(of))
	return t
}
