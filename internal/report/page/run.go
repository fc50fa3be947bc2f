package page

import (
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Run writes the page of a run.
func Run(w io.Writer, r result.Result, _ report.Options) error {
	of, err := report.Document(r)
	if err != nil {
		return err
	}
	p := newRunPage(r)
	run, err := p.r.Embed(of)
	if err != nil {
		return err
	}
	return p.write(w, run)
}

// write writes the page with the run in it.
func (p *runPage) write(w io.Writer, run string) error {
	d := report.RunDoc(&p.r, report.Options{})
	place := func(id string, charts []doc.Section) {
		if at := slices.IndexFunc(d.Sections, func(s doc.Section) bool { return s.ID == id }); at >= 0 {
			d.Sections = slices.Insert(d.Sections, at+1, charts...)
		}
	}
	for i := range p.r.Loads {
		l, charts := &p.r.Loads[i], new(doc.Document)
		charts.Add(l.Name, &doc.Document{Sections: newRunPage(l.Result).charts()[:2]}) // the client is that of all
		place(l.Name+"-figures", charts.Sections)
	}
	if len(p.r.Loads) == 0 {
		place("figures", p.charts())
	}
	return write(w, d, "Made by kt "+p.r.KTVersion+". This file holds the whole run: kt report FILE reads it.", run)
}

// charts returns the sections with the charts of a run.
func (p *runPage) charts() []doc.Section {
	heat := p.chart("heat", "Latency heat map", "", latencyUnit)
	if p.r.Plan.ReadsOnly() && p.r.Latency.EndToEnd == nil {
		heat.Title = "Fetch time heat map"
	}
	heat.X, heat.Heat = nil, newHeat(p.r.Heat, p.timeline)
	return []doc.Section{
		{ID: "time", Title: "Over time", Columns: true, Blocks: append([]doc.Block{p.throughput(), p.quantiles()}, p.shareGroup()...)},
		{ID: "latency", Title: "Latency", Columns: true, Blocks: []doc.Block{heat, p.percentiles()}},
		{ID: "client", Title: "Client", Columns: true, Blocks: p.client()},
	}
}

// maxPoints bounds the points of a chart of each phase.
const maxPoints = 1200

// runPage is the page of a run while it is made.
type runPage struct {
	r        result.Result  // its heat map has at most maxColumns
	points   []result.Point // of the charts
	times    doc.Values     // middles of the points
	timeline *doc.Timeline
	warm     float64 // when the warm-up ended; 0: there was none

	writes, reads bool
}

func newRunPage(r result.Result) *runPage {
	r.Heat = slices.Clone(result.JoinHeat(r.Heat, maxColumns))
	for i := range r.Heat { // as the page holds them, so that the page of a page is the same
		c := &r.Heat[i]
		c.Start, c.End = c.Start.Truncate(time.Millisecond), c.End.Truncate(time.Millisecond)
	}
	p := &runPage{r: r, writes: r.Plan.Writes() || !r.Plan.Reads(), reads: r.Plan.Reads()}
	for _, point := range result.JoinPoints(r.Series, maxPoints) {
		if point.Seconds >= result.ShortRow { // a shorter one has no rate
			p.points = append(p.points, point)
			p.times = append(p.times, point.StartSeconds+point.Seconds/2)
		}
	}
	p.time()
	return p
}

// time sets the time of the run, with its events, its warm-up, and what a fault did: until the rate was back, and while nothing was acknowledged.
func (p *runPage) time() {
	t := &doc.Timeline{Marks: []doc.Event{}, Bands: []doc.Band{}}
	p.timeline = t
	for i := range p.r.Series {
		x := &p.r.Series[i]
		t.To = max(t.To, x.End())
		if x.Warmup && x.Seconds >= result.ShortRow {
			p.warm = max(p.warm, x.End())
		}
	}
	t.To = max(t.To, 1)
	if p.warm > 0 {
		t.Bands = append(t.Bands, doc.Band{To: p.warm, Class: "warmup"})
	}
	for i, e := range p.r.Events {
		if e.Kind != stats.CatchingUp { // it would mark one every few seconds
			t.Marks = append(t.Marks, doc.Event{At: e.AtSeconds, Number: i + 1, Class: e.Kind.Gravity().String(), Text: theme.Clean(e.Text)})
		}
	}
	o := p.r.Outage
	if o != nil && o.BeganSeconds != nil {
		to := max(p.r.SendingSeconds, *o.BeganSeconds)
		if o.RecoveredMS != nil {
			to = *o.BeganSeconds + float64(*o.RecoveredMS)/1000
		}
		t.Bands = append(t.Bands, doc.Band{From: *o.BeganSeconds, To: min(to, t.To), Class: "outage"})
	}
	if o != nil && o.LongestGapMS != nil && o.LongestGapFromSeconds != nil && *o.LongestGapMS >= 1000 { // a shorter one is not shaded
		from := *o.LongestGapFromSeconds
		t.Bands = append(t.Bands, doc.Band{From: from, To: min(from+float64(*o.LongestGapMS)/1000, t.To), Class: "gap"})
	}
}

// The units of charts. The script writes numbers in the same way.
var (
	latencyUnit    = doc.Unit{Name: "latency", Text: duration, Tick: func(s float64) string { return theme.TickDuration(seconds(s)) }}
	timeUnit       = doc.Unit{Name: "time", Text: duration, Tick: latencyUnit.Tick}
	rateUnit       = doc.Unit{Name: "rate", Text: func(v float64) string { return theme.Rate(v) + "/s" }, Tick: theme.Tick}
	countUnit      = doc.Unit{Name: "count", Text: theme.Rate, Tick: theme.Tick}
	percentileUnit = doc.Unit{Name: "percentile", Text: percentile, Tick: percentile}
	coresUnit      = doc.Unit{Name: "cores", Text: theme.Number, Tick: func(v float64) string {
		return strconv.FormatFloat(doc.Significant(v), 'f', -1, 64) // two decimals are too few for a part of a core
	}}
)

func duration(s float64) string { return theme.Duration(seconds(s)) }

// percentile writes 1/(1-p): 100 is the 99th percentile.
func percentile(v float64) string {
	return strconv.FormatFloat(100-100/v, 'f', max(0, int(math.Log10(v))-2), 64) + "%"
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// line is a line of a chart over time, if the run has it.
type line struct {
	doc.Series
	is bool
	of func(x *result.Point) float64
}

// chart returns a chart over the time of the run, with the lines that have a value.
func (p *runPage) chart(id, title, about string, unit doc.Unit, lines ...line) *doc.Chart {
	c := &doc.Chart{ID: id, Title: title, About: about, X: p.times, XUnit: timeUnit, Unit: unit, Log: unit.Name == latencyUnit.Name, Time: p.timeline}
	for _, l := range lines {
		for i := range p.points {
			if l.is {
				l.Values = append(l.Values, l.of(&p.points[i]))
			}
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

func (p *runPage) throughput() *doc.Chart {
	rate := func(is bool, s doc.Series, of func(x *result.Point) int64) line {
		return line{s, is, func(x *result.Point) float64 { return float64(of(x)) / x.Seconds }}
	}
	read, end := doc.Series{Name: "consumed", Class: "flow", Fill: true}, p.r.ElapsedSeconds
	if p.writes {
		read, end = doc.Series{Name: "consumed", Class: "read", Dash: []int{5, 3}}, p.r.SendingSeconds
	}
	targets := p.r.Targets()
	return p.chart("throughput", "Throughput", "records a second", rateUnit,
		rate(p.writes, doc.Series{Name: p.r.Outcome(), Class: "flow", Fill: true}, func(x *result.Point) int64 { return x.Acknowledged }),
		rate(p.reads, read, func(x *result.Point) int64 { return x.Consumed }),
		rate(p.r.Records.Failed > 0, doc.Series{Name: "failed", Class: "bad"}, func(x *result.Point) int64 { return x.Failed }),
		line{doc.Series{Name: "target", Class: "target", Dash: []int{2, 3}}, targets != nil, func(x *result.Point) float64 {
			if x.StartSeconds >= end {
				return math.NaN()
			}
			return targets.Rate(seconds(x.StartSeconds + x.Seconds/2))
		}})
}

// headline returns the headline latencies of a point: p50, p90, p99 and p99.9.
func (p *runPage) headline(x *result.Point) [4]result.Micros {
	if p.reads {
		return [...]result.Micros{x.EndToEndP50, x.EndToEndP90, x.EndToEndP99, x.EndToEndP999}
	}
	return [...]result.Micros{x.P50, x.P90, x.P99, x.P999}
}

// quantiles is the headline latency over time. Dashes tell the lines apart without colours. The age of the oldest record is shown where it
// stands out from the latencies, as on the screen.
func (p *runPage) quantiles() *doc.Chart {
	const shows, usual = 100_000, 3 // µs, and times the p99
	lines := []line{
		{Series: doc.Series{Name: "p50", Class: "p50"}},
		{Series: doc.Series{Name: "p90", Class: "p90", Dash: []int{7, 3}}},
		{Series: doc.Series{Name: "p99", Class: "p99"}},
		{Series: doc.Series{Name: "p99.9", Class: "p999", Dash: []int{3, 2}}},
	}
	for i := range lines {
		lines[i].is, lines[i].of = true, func(x *result.Point) float64 { return us(p.headline(x)[i]) }
	}
	return p.chart("quantiles", "Latency", p.latencyName(), latencyUnit, append(lines, line{doc.Series{Name: "oldest waiting", Class: "bad"}, true, func(x *result.Point) float64 {
		if x.P99 > 0 && x.P99 != result.Failed && x.Oldest < max(shows, usual*int64(x.P99)) {
			return math.NaN()
		}
		return us(x.Oldest)
	}})...)
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

// shareGroup is what a share group did over time; nil: the run reads in none.
func (p *runPage) shareGroup() []doc.Block {
	limits := p.r.Environment.Share
	if limits == nil {
		return nil
	}
	rate := func(name, class string, dash []int, of func(x *result.Point) int64) line {
		return line{doc.Series{Name: name, Class: class, Dash: dash}, true, func(x *result.Point) float64 { return float64(of(x)) / x.Seconds }}
	}
	return []doc.Block{
		p.chart("deliveries", "Share group", "records a second", rateUnit,
			rate("acquired", "flow", nil, func(x *result.Point) int64 { return x.Consumed }),
			rate("accepted", "good", []int{5, 3}, func(x *result.Point) int64 { return x.Accepted }),
			rate("delivered again", "bad", nil, func(x *result.Point) int64 { return x.Redelivered })),
		p.chart("locks", "Record locks", "of the partition with most, of "+theme.Count(limits.Locks), countUnit,
			line{doc.Series{Name: "locks", Class: "info", Fill: true}, true, func(x *result.Point) float64 { return float64(x.Locks) }}),
	}
}

// client is what else went on over time.
func (p *runPage) client() []doc.Block {
	lag := p.r.ConsumerLag
	return []doc.Block{
		p.chart("send-delay", "Send delay", "p99, due → handed to the client", latencyUnit,
			line{doc.Series{Name: "p99", Class: "p99"}, p.writes && p.r.Plan.RecordsPerSecond() > 0, func(x *result.Point) float64 { return us(x.SendDelayP99) }}),
		p.chart("lag", "Consumer lag", "records that wait to be read", countUnit,
			line{doc.Series{Name: "records", Class: "info", Fill: true}, lag != nil && lag.Max > 0, (*result.Point).Lag}),
		p.chart("cpu", "CPU of kt", "cores in use, of "+theme.Number(p.r.Client.CoresAvailable), coresUnit,
			line{doc.Series{Name: "cores", Class: "info", Fill: true}, true, func(x *result.Point) float64 {
				if x.CPUCores == 0 {
					return math.NaN()
				}
				return x.CPUCores
			}}),
	}
}
