package page

import (
	"io"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
)

// Run writes the page of a run.
func Run(w io.Writer, r result.Result, _ report.Options) error {
	doc, err := report.Document(r)
	if err != nil {
		return err
	}
	p := newRunPage(r)
	run, err := p.r.Embed(doc)
	if err != nil {
		return err
	}
	return p.document(run).write(w)
}

// document returns the page with the run in it.
func (p *runPage) document(run string) *document {
	d := report.RunDoc(&p.r, report.Options{})
	if at := slices.IndexFunc(d.Sections, func(s doc.Section) bool { return s.ID == "figures" }); at >= 0 {
		d.Sections = slices.Insert(d.Sections, at+1,
			doc.Section{ID: "time", Title: "Over time", Columns: true, Blocks: p.overTime()},
			doc.Section{ID: "latency", Title: "Latency", Columns: true, Blocks: p.latency()},
			doc.Section{ID: "client", Title: "Client", Columns: true, Blocks: p.client()})
	}
	return &document{Document: d, Foot: "Made by kt " + p.r.KTVersion + ". This file holds the whole run: kt report FILE reads it.", Timeline: p.timeline, run: run}
}

// maxPoints bounds the points of a chart of each phase.
const maxPoints = 1200

// runPage is the page of a run while it is made.
type runPage struct {
	r        result.Result  // its heat map has at most maxColumns
	points   []result.Point // of the charts
	times    Values         // middles of the points
	timeline *Timeline

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
	p.timeline = timelineOf(&p.r)
	return p
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func micros[T ~int64](us T) time.Duration { return time.Duration(us) * time.Microsecond }

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
