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

// timelineOf returns the time of a run, with its events, its warm-up and its outages.
func timelineOf(r *result.Result) *Timeline {
	t := &Timeline{Marks: []Mark{}, Bands: []Band{}}
	for i := range r.Series {
		p := &r.Series[i]
		t.To = max(t.To, p.End())
		if p.Warmup && p.Seconds >= result.ShortRow {
			t.warm = max(t.warm, p.End())
		}
	}
	t.To = max(t.To, 1)
	if t.warm > 0 {
		t.Bands = append(t.Bands, Band{0, t.warm, "warmup"})
	}
	for i, e := range r.Events {
		if e.Kind != stats.CatchingUp { // it would mark one every few seconds
			t.Marks = append(t.Marks, Mark{At: e.AtSeconds, Number: i + 1, Class: e.Kind.Gravity().String(), Text: theme.Clean(e.Text)})
		}
	}
	return t.withOutage(r.Outage, r.SendingSeconds)
}

// gapShows is the shortest gap that is shaded.
const gapShows = time.Second

// withOutage shades what a fault did: until the rate was back, and while nothing was acknowledged.
func (t *Timeline) withOutage(o *result.Outage, end float64) *Timeline {
	if o == nil {
		return t
	}
	if o.BeganSeconds != nil {
		to := max(end, *o.BeganSeconds)
		if o.RecoveredMS != nil {
			to = *o.BeganSeconds + millis(*o.RecoveredMS).Seconds()
		}
		t.Bands = append(t.Bands, Band{*o.BeganSeconds, min(to, t.To), "outage"})
	}
	if o.LongestGapMS != nil && o.LongestGapFromSeconds != nil && millis(*o.LongestGapMS) >= gapShows {
		from := *o.LongestGapFromSeconds
		t.Bands = append(t.Bands, Band{from, min(from+millis(*o.LongestGapMS).Seconds(), t.To), "gap"})
	}
	return t
}

// chart returns an empty chart over the time of the run.
func (p *runPage) chart(id, title, about string, unit Unit) *Chart {
	return &Chart{ID: id, Title: title, About: about, X: p.times, XUnit: Time, Unit: unit, Log: unit == Latency, Timeline: p.timeline}
}

// add adds a line, unless it has no value.
func (c *Chart) add(s Series) {
	if slices.ContainsFunc(s.Values, func(v float64) bool { return !math.IsNaN(v) }) {
		c.Series = append(c.Series, s)
	}
}

// values takes one number of each point.
func (p *runPage) values(of func(*result.Point) float64) Values {
	v := make(Values, len(p.points))
	for i := range p.points {
		v[i] = of(&p.points[i])
	}
	return v
}

// us is a latency in seconds; NaN where there is none.
func us[T ~int64](v T) float64 {
	if v == 0 || result.Micros(v) == result.Failed {
		return math.NaN()
	}
	return float64(v) / 1e6
}

// overTime is the throughput and the latency.
func (p *runPage) overTime() []doc.Block {
	if len(p.points) == 0 {
		return nil
	}
	return []doc.Block{p.throughput(), p.quantiles()}
}

func (p *runPage) throughput() *Chart {
	c := p.chart("throughput", "Throughput", "records a second", Rate)
	flow := "flow"
	if p.writes {
		c.add(Series{Name: p.r.Outcome(), Class: flow, Fill: true, Values: p.values(func(x *result.Point) float64 { return float64(x.Acknowledged) / x.Seconds })})
		flow = "read"
	}
	if p.reads {
		s := Series{Name: "consumed", Class: flow, Fill: !p.writes, Values: p.values(func(x *result.Point) float64 { return float64(x.Consumed) / x.Seconds })}
		if p.writes {
			s.Dash = []int{5, 3}
		}
		c.add(s)
	}
	if p.r.Records.Failed > 0 {
		c.add(Series{Name: "failed", Class: "bad", Values: p.values(func(x *result.Point) float64 { return float64(x.Failed) / x.Seconds })})
	}
	if targets := p.r.Targets(); targets != nil {
		c.add(Series{Name: "target", Class: "target", Dash: []int{2, 3}, Values: p.values(func(x *result.Point) float64 {
			if x.StartSeconds >= p.loadEnd() {
				return math.NaN()
			}
			return targets.Rate(seconds(x.StartSeconds + x.Seconds/2))
		})})
	}
	return c
}

// loadEnd is when the load ended, in seconds of the run.
func (p *runPage) loadEnd() float64 {
	if p.writes {
		return p.r.SendingSeconds
	}
	return p.r.ElapsedSeconds
}

// quantileLines are the quantiles over time, with their looks. Dashes tell them apart without colours.
var quantileLines = []Series{
	{Name: "p50", Class: "p50"}, {Name: "p90", Class: "p90", Dash: []int{7, 3}}, {Name: "p99", Class: "p99"}, {Name: "p99.9", Class: "p999", Dash: []int{3, 2}},
}

// headline returns the headline latencies of a point, as many as there are quantileLines.
func (p *runPage) headline(x *result.Point) [4]result.Micros {
	if p.reads {
		return [...]result.Micros{x.EndToEndP50, x.EndToEndP90, x.EndToEndP99, x.EndToEndP999}
	}
	return [...]result.Micros{x.P50, x.P90, x.P99, x.P999}
}

// quantiles is the headline latency over time.
func (p *runPage) quantiles() *Chart {
	c := p.chart("quantiles", "Latency", p.latencyName(), Latency)
	for i, line := range quantileLines {
		line.Values = p.values(func(x *result.Point) float64 { return us(p.headline(x)[i]) })
		c.add(line)
	}
	c.add(Series{Name: "oldest waiting", Class: "bad", Values: p.values(oldest)})
	return c
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

// latency is the heat map, and the latency by percentile.
func (p *runPage) latency() (blocks []doc.Block) {
	title := "Latency heat map"
	if p.r.Plan.ReadsOnly() && p.r.Latency.EndToEnd == nil {
		title = "Fetch time heat map"
	}
	if h := newHeat("heat", title, p.r.Heat, p.timeline); h != nil {
		blocks = append(blocks, h)
	}
	if c := p.percentiles(); len(c.Series) > 0 {
		blocks = append(blocks, c)
	}
	return blocks
}

// client is what else went on over time.
func (p *runPage) client() (blocks []doc.Block) {
	if p.r.Plan.RecordsPerSecond() > 0 && p.writes {
		c := p.chart("send-delay", "Send delay", "p99, due → handed to the client", Latency)
		c.add(Series{Name: "p99", Class: "p99", Values: p.values(func(x *result.Point) float64 { return us(x.SendDelayP99) })})
		blocks = append(blocks, c)
	}
	if l := p.r.ConsumerLag; l != nil && l.Max > 0 {
		c := p.chart("lag", "Consumer lag", "records that wait to be read", Count)
		c.add(Series{Name: "records", Class: "info", Fill: true, Values: p.values((*result.Point).Lag)})
		blocks = append(blocks, c)
	}
	c := p.chart("cpu", "CPU of kt", "cores in use, of "+theme.Number(p.r.Client.CoresAvailable), Cores)
	c.add(Series{Name: "cores", Class: "info", Fill: true, Values: p.values(func(x *result.Point) float64 {
		if x.CPUCores == 0 {
			return math.NaN()
		}
		return x.CPUCores
	})})
	if len(c.Series) > 0 {
		blocks = append(blocks, c)
	}
	return blocks
}

// percentiles is the distribution of latencies, by 1/(1-p).
func (p *runPage) percentiles() *Chart {
	c := &Chart{ID: "percentiles", Title: "Latency by percentile", About: "of the measured part", XUnit: Percentile, Unit: Latency, Log: true}
	const perDecade, decades = 10, 5
	for i := range perDecade*decades + 1 {
		c.X = append(c.X, math.Pow(10, float64(i)/perDecade))
	}
	add := func(name, class string, dash []int, h *stats.Histogram) {
		v := make(Values, len(c.X))
		for i, x := range c.X {
			v[i] = math.NaN()
			if at := h.ValueAtQuantile(1 - 1/x); at != stats.Never && x <= float64(h.Ranked()) {
				v[i] = max(at, time.Microsecond).Seconds()
			}
		}
		c.add(Series{Name: name, Class: class, Dash: dash, Values: v})
	}
	h := &p.r.Histograms
	add("end to end", "p99", nil, &h.EndToEnd.Histogram)
	if p.writes {
		add("response", "flow", nil, &h.Response.Histogram)
		add("service", "info", []int{6, 3}, &h.Service.Histogram)
	}
	if p.r.Plan.RecordsPerSecond() > 0 {
		add("send delay", "max", []int{2, 3}, &h.SendDelay.Histogram)
	}
	return c
}
