package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/theme"
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
	return p.document(run).Write(w)
}

// document returns the page with the run in it.
func (p *runPage) document(run string) *Document {
	return &Document{
		Title: p.command() + " ▸ " + p.say.Subject, Head: p.head(), Timeline: p.timeline, Run: run, Sections: p.sections(),
		Foot: "Made by kt " + p.r.KTVersion + ". This file holds the whole run: kt report FILE reads it.",
	}
}

// maxPoints bounds the points of a chart of each phase.
const maxPoints = 1200

// runPage is the page of a run while it is made.
type runPage struct {
	r        result.Result // its heat map has at most maxColumns
	say      report.Sentences
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
	p := &runPage{r: r, say: report.SentencesOf(r), writes: r.Plan.Writes() || !r.Plan.Reads(), reads: r.Plan.Reads()}
	for _, point := range result.JoinPoints(r.Series, maxPoints) {
		if point.Seconds >= result.ShortRow { // a shorter one has no rate
			p.points = append(p.points, point)
			p.times = append(p.times, point.StartSeconds+point.Seconds/2)
		}
	}
	p.timeline = timelineOf(&p.r)
	return p
}

func (p *runPage) command() string { return "kt " + string(p.r.Plan.Command) }

// sections are the parts of the page, in the order in which a reader needs them.
func (p *runPage) sections() []Section {
	if p.r.NotAddedUp != "" {
		return []Section{
			{ID: "parts", Title: "Processes and hosts", Blocks: []Block{p.processTable(), p.busy()}},
			{ID: "settings", Title: "Settings", Wide: true, Blocks: p.settings()},
			{ID: "environment", Title: "Environment", Blocks: p.environment()},
			{ID: "tune", Title: "Findings of kt tune", Wide: true, Blocks: p.tune()},
		}
	}
	return []Section{
		{ID: "figures", Title: "Figures", Wide: true, Blocks: []Block{p.tiles()}},
		{ID: "limits", Title: "Limits", Wide: true, Blocks: p.limits()},
		{ID: "time", Title: "Over time", Blocks: p.overTime()},
		{ID: "latency", Title: "Latency", Blocks: p.latency()},
		{ID: "client", Title: "Client", Blocks: p.beside()},
		{ID: "happened", Title: "What happened", Wide: true, Blocks: p.happened()},
		{ID: "parts", Title: "Hosts, brokers, partitions", Blocks: p.parts()},
		{ID: "more", Title: "Stages, verification, stability", Wide: true, Blocks: p.conclusions()},
		{ID: "settings", Title: "Settings", Wide: true, Blocks: p.settings()},
		{ID: "environment", Title: "Environment", Blocks: p.environment()},
		{ID: "tune", Title: "Findings of kt tune", Wide: true, Blocks: p.tune()},
	}
}

// head is what the run was, and what limited it.
func (p *runPage) head() Head {
	r := &p.r
	h := Head{
		Command: p.command(), Subject: p.say.Subject, Alerts: p.say.Alerts, Badges: p.badges(),
		Bound: "Bound by " + r.BoundBy.Limit.String(), Evidence: r.BoundBy.Evidence,
	}
	switch r.BoundBy.Limit {
	case verdict.None:
		h.Bound, h.Calm = "No limit reached", true
	case verdict.Unknown:
		h.Bound = "Not known what bound the run"
	}
	if !r.Valid {
		why := strings.Join(p.say.Invalid, "; ")
		h.Alerts = append(h.Alerts, "Not valid: "+why)
		h.Evidence = strings.TrimPrefix(strings.TrimPrefix(h.Evidence, why), "; ") // once is enough
	}
	h.About = p.about()
	var args []string
	for _, arg := range r.Args {
		args = append(args, theme.Quoted(arg))
	}
	h.Line = strings.Join(args, " ")
	if p.say.Ceiling != "" {
		h.Remarks = append(h.Remarks, p.say.Ceiling)
	}
	if text := r.OwnDelay(); text != "" {
		h.Remarks = append(h.Remarks, text+".")
	}
	if r.Note != "" {
		first, size := utf8.DecodeRuneInString(r.Note)
		h.Remarks = append(h.Remarks, string(unicode.ToUpper(first))+r.Note[size:]+".")
	}
	return h
}

// badges are whether the run is valid, and whether it kept its limits.
func (p *runPage) badges() []Badge {
	badges := []Badge{{"valid", true}}
	if !p.r.Valid {
		badges[0] = Badge{"not valid", false}
	}
	all, broken := len(p.r.Limits), 0
	for i := range p.r.Limits {
		if !p.r.Limits[i].Held {
			broken++
		}
	}
	limits := theme.Plural(all, "limit", "limits")
	switch {
	case all == 0:
	case broken > 0:
		badges = append(badges, Badge{fmt.Sprintf("%d of %s not held", broken, limits), false})
	default:
		badges = append(badges, Badge{limits + " held", true})
	}
	return badges
}

// about is when and where the run was, in a few words.
func (p *runPage) about() []string {
	r := &p.r
	var about []string
	if !r.StartedAt.IsZero() {
		about = append(about, r.StartedAt.UTC().Format("2006-01-02 15:04:05 MST"))
	}
	about = append(about, theme.Duration(seconds(r.ElapsedSeconds)))
	if n := len(r.Environment.Cluster.Brokers); n > 0 {
		about = append(about, theme.Plural(n, "broker", "brokers"))
	}
	about = append(about, report.RunTags(r)...)
	switch hosts := len(r.Hosts); {
	case hosts > 1:
		about = append(about, fmt.Sprintf("%s on %s", theme.Plural(len(r.Processes), "process", "processes"), theme.Plural(hosts, "host", "hosts")))
	case r.Environment.Host.Hostname != "":
		about = append(about, "on "+r.Environment.Host.Hostname)
	}
	version, _, _ := strings.Cut(r.KTVersion, " ")
	return append(about, "kt "+version)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func micros[T ~int64](us T) time.Duration { return time.Duration(us) * time.Microsecond }

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
