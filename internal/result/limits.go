package result

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Limit is an expression of --limit, judged.
type Limit struct {
	Expression string      `json:"expression"`
	Value      *float64    `json:"value,omitempty"` // with "over" that of the worst stretch; nil: there is none, and the limit is not held
	Unit       metric.Unit `json:"unit,omitempty"`
	Held       bool        `json:"held"`
	Note       string      `json:"note,omitempty"` // why there is no value, or none of some stretches

	// With "over"; else 0.
	Stretches      int64 `json:"stretches"`       // whole ones of the measured part that were judged
	StretchesHeld  int64 `json:"stretches_held"`  // those that held
	StretchesEmpty int64 `json:"stretches_empty"` // whole ones that are not judged: nothing was due in them
}

// Shown returns the value for people, "" if there is none.
func (l *Limit) Shown() string {
	if l.Value == nil {
		return ""
	}
	return l.Unit.Show(*l.Value)
}

// judged is an expression, and what of it is known so far.
type judged struct {
	text string
	expr metric.Expr
	bad  error // it cannot be read: the maker of the run has checked it, and a run file may be of another kt

	recent   []span        // the newest stretch; of a condition, its seconds
	worst    *float64      // of the stretches that are over
	of, held int64         // stretches that were judged
	idle     int64         // stretches with nothing to judge
	silent   int64         // of those judged: records were due, and none came back
	point    time.Duration // the longest window: a second, unless the file was thinned
}

// span is some seconds on end, merged.
type span struct {
	window stats.Window
	lag    Lag  // the highest consumer lag at the end of one of them
	behind bool // there was consumer lag at both ends of each
}

func (s *span) add(o *span) {
	s.window.Add(&o.window)
	s.behind, s.lag = s.behind && o.behind, max(s.lag, o.lag)
}

// slack is by how much a stretch may be short of its length: a load ends when its last record is sent.
const slack = 100 * time.Millisecond

// long reports whether seconds are as long as an expression wants them.
func (j *judged) long(first, last *stats.Window) bool {
	return last.End-first.Start+slack >= j.expr.Over
}

func (f *Fold) figures(s *span) *metric.Figures {
	w := &s.window
	figures := &metric.Figures{
		Plan: &f.header.Plan, Window: w, ConsumerLag: int64(s.lag),
		Records: w.RecordsPerSecond(), Bytes: w.BytesPerSecond(),
		ReadRecords: w.ConsumedPerSecond(), ReadBytes: verdict.Per(float64(w.ConsumedBytes), w.Seconds()),
	}
	if f.header.Plan.ReadsOnly() && f.total[stats.Measured].Consumed == 0 { // the time to the first record has no rate
		figures.ReadRecords, figures.ReadBytes = -1, -1
	}
	return ofConsumers(figures)
}

// ofConsumers completes figures by the shares of their window that consumers have.
func ofConsumers(f *metric.Figures) *metric.Figures {
	w := f.Window
	f.Busy, f.Redelivered = share(w.Work, w.ReadTime*time.Duration(f.Plan.Read.Workers())), -1
	if w.Consumed > 0 {
		f.Redelivered = verdict.Per(float64(w.Redelivered()), float64(w.Consumed))
	}
	return f
}

func parsed(texts []string) (all []judged) {
	for _, text := range texts {
		expr, err := metric.Parse(text)
		all = append(all, judged{text: text, expr: expr, bad: err})
	}
	return all
}

// AbortOn sets the conditions that end the run: expressions that were checked.
func (f *Fold) AbortOn(texts []string) { f.conditions = parsed(texts) }

// Broken returns the first condition that came true, and what it was; "": none has.
func (f *Fold) Broken() string { return f.broken }

// judge judges the stretches of the limits that a window completes, and the conditions.
func (f *Fold) judge(w *stats.Window) {
	if !f.settle(w) || f.lean || f.hosted {
		return
	}
	second := func(j *judged) span {
		if n := len(j.recent); n > 0 && w.Start > j.recent[n-1].window.End+slack { // a second is missing: they are not on end
			j.recent = nil
		}
		return span{j.expr.Metric.Keep(&f.header.Plan, w), f.consumerLag.lag, f.lagBefore > 0 && f.consumerLag.now > 0}
	}
	for i := range f.limits {
		j := &f.limits[i]
		if j.bad != nil || j.expr.Over == 0 {
			continue
		}
		j.point = max(j.point, w.End-w.Start)
		one := second(j)
		if j.recent == nil {
			j.recent = []span{{behind: true}}
		}
		stretch := &j.recent[0]
		stretch.add(&one)
		if m := &stretch.window; j.long(m, m) {
			// Records waited for an outcome in about all of the stretch, or for a reader.
			since := m.End - m.Start - slack
			j.close(f.figures(stretch), m.Oldest >= since || m.Offered > 0 && m.End-m.FirstDue >= since || m.Consumed == 0 && stretch.behind)
			j.recent = nil
		}
	}
	for i := range f.conditions {
		c := &f.conditions[i]
		if c.bad != nil || f.broken != "" {
			continue
		}
		if s, whole := f.newest(c, second(c)); whole {
			if v, ok := c.expr.Value(f.figures(&s)); ok && c.expr.Holds(v) {
				f.broken = fmt.Sprintf("%s: %s at %s", c.text, c.expr.Metric.Unit.Show(v), theme.Duration(w.End))
			}
		}
	}
}

// newest returns what a condition is judged by: the last seconds if it is over some, else the newest one with the counts so far.
func (f *Fold) newest(c *judged, second span) (s span, whole bool) {
	if c.expr.Over == 0 {
		if k := c.expr.Metric.Kind; k == metric.Count || k == metric.Longest {
			second.window = f.total[stats.Measured].Counts()
		}
		return second, true
	}
	c.recent = append(c.recent, second)
	for len(c.recent) > 1 && c.long(&c.recent[1].window, &second.window) {
		c.recent = c.recent[1:]
	}
	for i := range c.recent {
		s.add(&c.recent[i])
	}
	return s, c.long(&s.window, &s.window)
}

// close judges a stretch that is over. One without a latency or rate is judged if records waited in it: it is not held.
func (j *judged) close(figures *metric.Figures, waited bool) {
	v, ok := j.expr.Value(figures)
	if !ok && (j.expr.Metric.Kind == metric.PerSecond || j.expr.Metric.IsDistribution()) {
		if !waited {
			j.idle++
			return
		}
		j.silent++
	}
	if j.of++; !ok {
		return
	}
	if v != metric.Failed && j.expr.Holds(v) {
		j.held++
	}
	if j.worst == nil || j.expr.Worse(v, *j.worst) {
		j.worst = &v
	}
}

// judgedLimits judges the limits of the run, by the figures of its result.
func (f *Fold) judgedLimits(r *Result) (all []Limit) {
	whole, seconds := r.whole, r.Throughput.Seconds
	if f.header.Plan.ReadsOnly() {
		seconds = r.Fetch.Seconds
	}
	for _, j := range f.limits {
		if j.expr.Over > 0 && j.of+j.idle == 0 && seconds >= j.expr.Over.Seconds() { // windows were cut late, on a busy machine
			j.close(whole, false)
		}
		l := j.result(whole)
		if f.judged != nil && j.expr.Over > 0 && j.point > j.expr.Over+slack {
			l = Limit{Expression: j.text, Note: fmt.Sprintf("not known: old seconds of the run file were added up to points of %v", j.point.Round(time.Second))}
		}
		all = append(all, l)
	}
	return all
}

// Figures returns the figures of the whole run. Those of a page are what its document has.
func (r *Result) Figures() *metric.Figures {
	if r.whole != nil {
		return r.whole
	}
	h := &r.Histograms
	w := stats.Window{
		Offered: r.Records.Offered, Acknowledged: r.Records.Acknowledged, Failed: r.Records.Failed, Unknown: r.Records.Unknown, Unsent: r.Records.Unsent,
		Response: h.Response.Histogram, Service: h.Service.Histogram, SendDelay: h.SendDelay.Histogram, Errors: r.Errors,
	}
	w.Consumed, w.EndToEnd = r.Records.Consumed, h.EndToEnd.Histogram
	w.Transactions, w.Aborted, w.FailedConnects = r.Client.Transactions, r.Client.Aborted, r.Client.FailedConnects
	if o := r.Outage; o != nil && o.LongestGapMS != nil {
		w.Outage.Length = time.Duration(*o.LongestGapMS) * time.Millisecond
	}
	if r.Fetch != nil && r.Fetch.Share != nil {
		s := r.Fetch.Share
		w.Accepted, w.Released, w.Rejected, w.Archived, w.Deliveries = s.Accepted, s.Released, s.Rejected, s.Archived, s.Deliveries
	}
	figures := r.rated(&w)
	if l := r.ConsumerLag; l != nil {
		figures.ConsumerLag = int64(l.Max)
	}
	if r.Fetch != nil {
		figures.Busy = r.Fetch.BusyShare
	}
	return figures
}

// rated returns the figures of a window with what the document has beside it.
func (r *Result) rated(w *stats.Window) *metric.Figures {
	figures := &metric.Figures{
		Plan: &r.Plan, Window: w, ConsumerLag: -1, NotInLog: r.Records.NotInLog, Cores: cmp.Or(r.Client.CPUCores, -1), Verify: r.Verify,
		Records: -1, Bytes: -1, ReadRecords: -1, ReadBytes: -1, Roughness: -1, BusiestKey: -1, BusiestPartition: r.busiestPartition(),
		WireBytes: -1,
	}
	if b := &r.Batches; b.RecordsMean > 0 {
		figures.WireBytes = b.BytesMean * b.CompressedShare / b.RecordsMean
	}
	if rate, ok := r.Written(); ok {
		figures.Records, figures.Bytes = rate.Records, rate.Bytes
	}
	if rate, ok := r.Read(); ok {
		figures.ReadRecords, figures.ReadBytes = rate.Records, rate.Bytes
	}
	if s := r.Skew; s != nil && s.BusiestKey != nil {
		figures.BusiestKey = *s.BusiestKey
	}
	if s := r.Stability; s != nil {
		figures.Roughness = s.Variation
	}
	return ofConsumers(figures)
}

// result returns the limit as the figures of the whole run and its stretches have it.
func (j *judged) result(whole *metric.Figures) Limit {
	l := Limit{Expression: j.text}
	switch {
	case j.bad != nil:
		l.Note = "this kt cannot read it: " + j.bad.Error()
		return l
	case j.expr.Over > 0:
		l.Value, l.Stretches, l.StretchesHeld, l.StretchesEmpty = j.worst, j.of, j.held, j.idle
		l.Held = j.of > 0 && j.expr.Enough(j.held, j.of)
	default:
		if v, ok := j.expr.Value(whole); ok {
			l.Value, l.Held = &v, v != metric.Failed && j.expr.Holds(v)
		}
	}
	failed := l.Value != nil && *l.Value == metric.Failed
	if l.Value != nil && !failed {
		l.Unit = j.expr.Metric.Unit
	}
	switch {
	case failed:
		l.Value, l.Note = nil, "failed: records that were not acknowledged rank above all others"
	case j.silent > 0:
		l.Note = fmt.Sprintf("records were due in %d of %s, and none came back", j.silent, theme.Plural(j.of, "stretch", "stretches"))
	case l.Value != nil:
	case whole.Verify != nil && j.expr.Metric.AtEnd && j.expr.Over == 0 && NotChecked(whole.Verify) != "":
		l.Note = "not known: " + NotChecked(whole.Verify)
	case whole.Window.LagUnknown > 0 && j.expr.Metric.Name == metric.ConsumerLag:
		l.Note = "not known: the system did not tell the consumer lag in all seconds"
	case j.expr.Over > 0 && j.of == 0 && j.idle == 0:
		l.Note = "no stretch of " + j.expr.Over.String() + " was measured"
	case j.expr.Metric.Kind == metric.PerSecond:
		l.Note = "too short for a rate: less than 1s was measured"
	default:
		l.Note = "there was nothing to measure it of"
	}
	return l
}

// settle reports whether stretches and conditions are judged by the next window: it is of the measured part, and has the load in
// all of it. One that was cut after the planned end, or is the rest of a second after the last whole one, does not count, nor one
// of a pause between stages unless a record failed in it.
func (f *Fold) settle(w *stats.Window) (steady bool) {
	work, load := f.work(w), &f.header.Plan.Load
	lasts := work.took > 0              // to the end of the window
	first := load.Warmup.Duration.Std() // while nothing is measured, the measured part begins with the end of the warm-up
	if m := f.work(&f.total[stats.Measured]); m.records > 0 {
		first = m.first
	}
	switch {
	case f.header.Plan.ReadsOnly():
		lasts = work.fills(w)
	case !lasts && w.Offered > 0: // the clients of a producer that has sent its last record are at work for no time
		interval := (w.End - w.Start) / time.Duration(w.Offered)
		lasts = max(w.LastDue, w.LastSent)+interval+slack >= w.End
	}
	d := load.Duration.Std()
	fills := (d <= 0 || w.End <= d+slack) &&
		(w.End-w.Start+slack >= time.Second || slices.Contains(load.Rate.Bounds(), w.End) || w.End%time.Second == 0)
	steady = !w.Warmup && w.End > w.Start && w.Start >= max(f.warm, first-slack) && lasts && fills && (w.Failed > 0 || !f.paused(w.Start, w.End))
	if w.Warmup && work.took > 0 {
		f.warm = w.End
	}
	return steady
}
