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
	if at := slices.IndexFunc(d.Sections, func(s doc.Section) bool { return s.ID == "figures" }); at >= 0 {
		d.Sections = slices.Insert(d.Sections, at+1, p.sections()...)
	}
	return write(w, d, "Made by kt "+p.r.KTVersion+". This file holds the whole run: kt report FILE reads it.", run)
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

// gapShows is the shortest gap that is shaded.
const gapShows = time.Second

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
	if o != nil && o.LongestGapMS != nil && o.LongestGapFromSeconds != nil && *o.LongestGapMS >= gapShows.Milliseconds() {
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
