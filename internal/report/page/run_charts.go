package page

import (
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// line is a line of a chart over time; of is nil: the run has none.
type line struct {
	doc.Series
	of func(x *result.Point) float64
}

// chart returns a chart over the time of the run, with the lines that have a value.
func (p *runPage) chart(id, title, about string, unit doc.Unit, lines ...line) *doc.Chart {
	c := &doc.Chart{ID: id, Title: title, About: about, X: p.times, XUnit: timeUnit, Unit: unit, Log: unit.Name == latencyUnit.Name, Time: p.timeline}
	for _, l := range lines {
		if l.of == nil {
			continue
		}
		l.Values = make(doc.Values, len(p.points))
		for i := range p.points {
			l.Values[i] = l.of(&p.points[i])
		}
		add(c, l.Series)
	}
	return c
}

// add adds a line, unless it has no value.
func add(c *doc.Chart, s doc.Series) {
	if slices.ContainsFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) }) {
		c.Series = append(c.Series, s)
	}
}

// us is a latency in seconds; NaN where there is none.
func us[T ~int64](v T) float64 {
	if v == 0 || result.Micros(v) == result.Failed {
		return math.NaN()
	}
	return float64(v) / 1e6
}

// sections are the charts of the run.
func (p *runPage) sections() []doc.Section {
	return []doc.Section{
		{ID: "time", Title: "Over time", Columns: true, Blocks: []doc.Block{p.throughput(), p.quantiles()}},
		{ID: "latency", Title: "Latency", Columns: true, Blocks: []doc.Block{p.heat(), p.percentiles()}},
		{ID: "client", Title: "Client", Columns: true, Blocks: p.client()},
	}
}

func (p *runPage) throughput() *doc.Chart {
	rate := func(is bool, of func(x *result.Point) int64) func(x *result.Point) float64 {
		if !is {
			return nil
		}
		return func(x *result.Point) float64 { return float64(of(x)) / x.Seconds }
	}
	read := doc.Series{Name: "consumed", Class: "flow", Fill: true}
	if p.writes {
		read = doc.Series{Name: "consumed", Class: "read", Dash: []int{5, 3}}
	}
	lines := []line{
		{doc.Series{Name: p.r.Outcome(), Class: "flow", Fill: true}, rate(p.writes, func(x *result.Point) int64 { return x.Acknowledged })},
		{read, rate(p.reads, func(x *result.Point) int64 { return x.Consumed })},
		{doc.Series{Name: "failed", Class: "bad"}, rate(p.r.Records.Failed > 0, func(x *result.Point) int64 { return x.Failed })},
	}
	if targets := p.r.Targets(); targets != nil {
		end := p.r.SendingSeconds
		if !p.writes {
			end = p.r.ElapsedSeconds
		}
		lines = append(lines, line{doc.Series{Name: "target", Class: "target", Dash: []int{2, 3}}, func(x *result.Point) float64 {
			if x.StartSeconds >= end {
				return math.NaN()
			}
			return targets.Rate(seconds(x.StartSeconds + x.Seconds/2))
		}})
	}
	return p.chart("throughput", "Throughput", "records a second", rateUnit, lines...)
}

// headline returns the headline latencies of a point: p50, p90, p99 and p99.9.
func (p *runPage) headline(x *result.Point) [4]result.Micros {
	if p.reads {
		return [...]result.Micros{x.EndToEndP50, x.EndToEndP90, x.EndToEndP99, x.EndToEndP999}
	}
	return [...]result.Micros{x.P50, x.P90, x.P99, x.P999}
}

// quantiles is the headline latency over time. Dashes tell the lines apart without colours.
func (p *runPage) quantiles() *doc.Chart {
	lines := []line{
		{Series: doc.Series{Name: "p50", Class: "p50"}},
		{Series: doc.Series{Name: "p90", Class: "p90", Dash: []int{7, 3}}},
		{Series: doc.Series{Name: "p99", Class: "p99"}},
		{Series: doc.Series{Name: "p99.9", Class: "p999", Dash: []int{3, 2}}},
		{doc.Series{Name: "oldest waiting", Class: "bad"}, oldest},
	}
	for i := range lines[:4] {
		lines[i].of = func(x *result.Point) float64 { return us(p.headline(x)[i]) }
	}
	return p.chart("quantiles", "Latency", p.latencyName(), latencyUnit, lines...)
}

// The age of the oldest record is shown where it stands out from the latencies, as on the screen.
const (
	ageShows  = 100_000 // µs
	agesUsual = 3       // times the p99
)

func oldest(x *result.Point) float64 {
	if x.P99 > 0 && x.P99 != result.Failed && x.Oldest < max(ageShows, agesUsual*int64(x.P99)) {
		return math.NaN()
	}
	return us(x.Oldest)
}

// latencyName says from when to when the latency counts.
func (p *runPage) latencyName() string {
	atRate := p.r.Plan.RecordsPerSecond() > 0
	switch {
	case p.reads && p.writes && !atRate && !p.r.Plan.Load.OneAtATime:
		return "sent → polled, mostly queueing: the rate is unlimited"
	case p.reads:
		return "due → polled"
	case atRate:
		return "due → " + p.r.Outcome()
	}
	return "sent → acknowledged, mostly queueing: the rate is unlimited"
}

func (p *runPage) heat() *doc.Chart {
	c := p.chart("heat", "Latency heat map", "", latencyUnit)
	if p.r.Plan.ReadsOnly() && p.r.Latency.EndToEnd == nil {
		c.Title = "Fetch time heat map"
	}
	c.X, c.Heat = nil, newHeat(p.r.Heat, p.timeline)
	return c
}

// percentiles is the distribution of latencies, by 1/(1-p).
func (p *runPage) percentiles() *doc.Chart {
	c := &doc.Chart{ID: "percentiles", Title: "Latency by percentile", About: "of the measured part", XUnit: percentileUnit, Unit: latencyUnit, Log: true}
	const perDecade, decades = 10, 5
	for i := range perDecade*decades + 1 {
		c.X = append(c.X, math.Pow(10, float64(i)/perDecade))
	}
	h := &p.r.Histograms
	for _, of := range []struct {
		doc.Series
		is bool
		h  *stats.Histogram
	}{
		{doc.Series{Name: "end to end", Class: "p99"}, true, &h.EndToEnd.Histogram},
		{doc.Series{Name: "response", Class: "flow"}, p.writes, &h.Response.Histogram},
		{doc.Series{Name: "service", Class: "info", Dash: []int{6, 3}}, p.writes, &h.Service.Histogram},
		{doc.Series{Name: "send delay", Class: "max", Dash: []int{2, 3}}, p.r.Plan.RecordsPerSecond() > 0, &h.SendDelay.Histogram},
	} {
		for _, x := range c.X {
			v := math.NaN()
			if at := of.h.ValueAtQuantile(1 - 1/x); of.is && at != stats.Never && x <= float64(of.h.Ranked()) {
				v = max(at, time.Microsecond).Seconds()
			}
			of.Values = append(of.Values, v)
		}
		add(c, of.Series)
	}
	return c
}

// client is what else went on over time.
func (p *runPage) client() (blocks []doc.Block) {
	if p.r.Plan.RecordsPerSecond() > 0 && p.writes {
		blocks = append(blocks, p.chart("send-delay", "Send delay", "p99, due → handed to the client", latencyUnit,
			line{doc.Series{Name: "p99", Class: "p99"}, func(x *result.Point) float64 { return us(x.SendDelayP99) }}))
	}
	if l := p.r.ConsumerLag; l != nil && l.Max > 0 {
		blocks = append(blocks, p.chart("lag", "Consumer lag", "records that wait to be read", countUnit,
			line{doc.Series{Name: "records", Class: "info", Fill: true}, (*result.Point).Lag}))
	}
	return append(blocks, p.chart("cpu", "CPU of kt", "cores in use, of "+theme.Number(p.r.Client.CoresAvailable), coresUnit,
		line{doc.Series{Name: "cores", Class: "info", Fill: true}, func(x *result.Point) float64 {
			if x.CPUCores == 0 {
				return math.NaN()
			}
			return x.CPUCores
		}}))
}
