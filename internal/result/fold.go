package result

import (
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// mib is the unit of Kafka's own tools, which print it as MB.
const mib = 1 << 20

// Fold makes a result of the windows and samples of a run. Its memory does not grow with the length of the run.
type Fold struct {
	header      Header
	start       *Start
	trailer     Trailer
	total       stats.Phases
	series      series
	heat        []HeatColumn // of its headline latency, or of fetches while no record has one; snapshots hold them
	fetched     bool         // the heat is of fetches
	points      steps
	second      []stats.Window // of the newest second, until its sample comes
	use         host.Sample    // of the measured part
	loading     bool           // the load went on in the last window
	waiting     int64          // measured records without an outcome, in the last window in which any was offered
	consumerLag consumerLag
	lagBefore   int64 // at the start of the last window
	reads       reads // of a run that only reads
	line        timeline
	rates       []stats.Event  // changes of the target, in the order of their times; at most maxRates
	schedule    plan.Schedule  // the target over time
	stages      []stats.Window // of the target; nil: nothing is measured yet
	stage       int            // the number of the one in which the load was last
	now         now
	limits      []judged      // of the header; nil: the run is judged by none
	conditions  []judged      // that end the run
	broken      string        // the first of them that came true, and what it was; "": none has
	anew        bool          // limits are others than those of the run
	judged      *Result       // of a file that was thinned; nil: it is to be made of the windows
	warm        time.Duration // until when a client warmed up
	hosted      bool          // the fold is of one host of many

	lean     bool     // of one part of many: it keeps only the data of a process row
	together Together // Count 0: not a merged run
}

// NewFold returns an empty fold. Until Finish is called, the run counts as cut off.
func NewFold(h Header) *Fold {
	return &Fold{
		header: h, trailer: Trailer{Ended: CutOff}, now: newNow(&h), schedule: h.Plan.Schedule(), limits: parsed(h.Limits),
		line: timeline{said: map[string]string{}}, consumerLag: consumerLag{lag: NotKnown, max: NotKnown, partitions: map[int32]level{}},
	}
}

// Begin sets the start of the load.
func (f *Fold) Begin(s Start) { f.start = &s }

// AddLine adds a line of the run file after its header.
func (f *Fold) AddLine(l *Line) {
	switch {
	case l.Window != nil:
		f.AddWindow(*l.Window)
	case l.Sample != nil:
		f.AddSample(*l.Sample)
	case l.Start != nil:
		f.Begin(*l.Start)
	case l.Trailer != nil:
		f.Finish(*l.Trailer)
	case l.Result != nil:
		f.judged = &l.Result.Result
	}
}

// AddWindow adds a window.
func (f *Fold) AddWindow(w stats.Window) {
	f.retarget(w.Events)
	work := f.work(&w)
	loading := work.took > 0
	full := work.fills(&w) && w.Seconds() > 0 && !f.paused(w.Start, w.End)
	f.lagBefore = f.consumerLag.now
	f.consumerLag.add(&w, loading && !f.joining(&w))
	if f.header.Plan.ReadsOnly() {
		f.reads.add(&w, f.lagBefore, f.consumerLag.now)
	}
	f.line.add(&w, f.evened(work.rate, w.Start, w.End), full)
	f.line.keep(&w)
	if f.lean { // the row of a process needs no more
		lean := w.Counts()
		if !w.Warmup {
			lean.OwnSendDelay, lean.Service, lean.Response, lean.EndToEnd = w.OwnSendDelay, w.Service, w.Response, w.EndToEnd
		}
		w = lean
	} else {
		if n := len(f.second); n > 0 && (f.second[n-1].Warmup == w.Warmup || f.second[n-1].End <= w.Start) {
			f.place(host.Sample{})
		}
		f.second = append(f.second, w) // until all windows of its second have come
	}
	w.Events, w.EventsLeftOut = nil, nil // the timeline keeps them
	w.Outage = MeasuredGap(&f.total[stats.Measured], &w)
	f.total[stats.PhaseOf(w.Warmup)].Add(&w)
	if g, l := f.longestGap(), &f.line; g.Length >= verdict.StallAtRate && (g.From != l.gap.From || w.End-g.From-g.Length <= normalTime) {
		l.gap, l.cause = g, l.explain(g.From, g.From+g.Length) // while its events are new: they may be dropped later
	}
	f.judge(&w)
	if w.Warmup {
		return
	}
	f.loading = loading
	f.addStage(&w, loading)
	if t := &f.total[stats.Measured]; w.Offered > 0 {
		f.waiting = t.Offered - t.Acknowledged - t.Failed - t.Unknown
	}
}

// joining reports whether the readers have nothing yet, of a run that only reads: how much waits until then says nothing of them.
func (f *Fold) joining(w *stats.Window) bool {
	return f.header.Plan.ReadsOnly() && w.Consumed+f.total[stats.Warmup].Consumed+f.total[stats.Measured].Consumed == 0
}

// place adds the gathered windows to the series and to the snapshot.
func (f *Fold) place(h host.Sample) {
	if len(f.second) == 0 {
		return
	}
	for i, p := range f.points.of(f.second, h) {
		f.series.add(p, &f.second[i])
		if p.Seconds >= ShortRow || p.Acknowledged+p.Failed+p.Consumed+p.Events > 0 {
			p.CPUCores = p.knownCPU()
			f.now.place(p)
		}
	}
	f.addHeat(f.second)
	f.now.follow(f.second, f.points.consumerLag, f.hosted)
	f.second = f.second[:0]
}

// MeasuredGap returns the part of a window's gap in which measured records waited. before has the counts of the measured windows before it.
func MeasuredGap(before, w *stats.Window) stats.Gap {
	g, first := w.Outage, w.FirstDue
	if before.Offered > 0 {
		first = before.FirstDue
	} else if w.Offered == 0 {
		return stats.Gap{}
	}
	if early := first - g.From; early > 0 {
		g.From, g.Length = first, g.Length-early
	}
	if w.Warmup || g.Length <= 0 {
		return stats.Gap{}
	}
	return g
}

// fullShare is the share of a window in which a load goes on that went on in all of it: windows are cut a little early or late.
const fullShare = 0.9

// work is what a window shows of the load: of sending, or of a run that only reads of reading.
type work struct {
	records     int64
	first, last time.Duration // when the first and the last of them were due, or read
	took        time.Duration // for which the clients were at work, added up
	rate        float64       // of the records that were acknowledged, or read
	clients     int
}

func (f *Fold) work(w *stats.Window) work {
	p := &f.header.Plan
	if p.ReadsOnly() {
		return work{w.Consumed, w.FirstRead, w.LastRead, w.ReadTime, w.ConsumedPerSecond(), p.Read.Clients()}
	}
	return work{w.Offered, w.FirstDue, w.LastDue, w.ShardTime, w.RecordsPerSecond(), p.Producers}
}

// fills reports whether all clients were at work in about all of a window.
func (k *work) fills(w *stats.Window) bool {
	return k.took.Seconds() >= fullShare*w.Seconds()*float64(max(1, k.clients))
}

// AddSample adds a sample of the host: after the windows of its interval.
func (f *Fold) AddSample(s host.Sample) {
	f.place(s)
	f.now.Sample = s
	m := &f.total[stats.Measured]
	if draining := !f.loading && f.use.Interval > 0; m.IsZero() || s.At <= m.Start || draining { // it would lower the mean of the load
		return
	}
	if f.header.Plan.ReadsOnly() {
		f.reads.addUse(s)
	} else {
		f.use.Add(s)
	}
}

// client returns kt's own use in the measured part; of a run that only reads, while it read.
func (f *Fold) client(m *stats.Window) ClientUse {
	u := &f.use
	if f.header.Plan.ReadsOnly() {
		if u = &f.reads.sum.use; u.Interval == 0 { // nothing was read
			u = &f.reads.all.use
		}
	}
	records, seconds, processes := m.Acknowledged, u.Interval.Seconds(), 1
	if m.Offered == 0 {
		records = m.Consumed
	}
	c := ClientUse{
		CPUSeconds: u.ProcessCPU * seconds, CPUSecondsPerMillion: verdict.Per(u.ProcessCPU*seconds, float64(records)) * 1e6,
		CPUCores: u.ProcessCPU, CoresAvailable: u.Cores, HostCPUCores: u.HostCPU, HostCores: u.HostCores,
		PeakResidentBytes: u.RSS, GCCPUCores: min(u.GCCPU, u.ProcessCPU), // Go estimates that of the collector from the clock, which may be more
		GCPauseMaxUS:    time.Duration(u.GCPauseMax).Microseconds(),
		CPUStoppedShare: u.Stopped, NetSentMiBPerSecond: verdict.Per(float64(u.NetSent)/mib, seconds),
		BufferFullShare: share(m.BufferFull, m.ShardTime), InFlightShare: share(m.InFlightUse, m.ConnTime),
		Transactions: m.Transactions, Aborted: m.Aborted, FailedConnects: m.FailedConnects,
	}
	if f.together.Count > 0 {
		c.CPUCores, processes = f.together.Cores, f.together.Count
	}
	if c.CPUCores < costShows*float64(processes) {
		c.CPUSecondsPerMillion = 0
	}
	return c
}

// Finish sets the trailer.
func (f *Fold) Finish(t Trailer) { f.trailer = t }

// Result returns the document of the run so far. Of a file that was thinned it is as it was judged, but for other limits.
func (f *Fold) Result() Result {
	f.place(host.Sample{}) // without one that came
	if f.judged == nil {
		return f.result()
	}
	r, anew := *f.judged, f.result()
	r.whole = anew.whole
	if f.anew {
		r.Header.Limits, r.Limits = f.header.Limits, anew.Limits
	}
	return r
}

func (f *Fold) result() Result {
	m := &f.total[stats.Measured]
	e := f.evidence()
	r := Result{
		Header:     f.header,
		Trailer:    f.trailer,
		Invalid:    e.Invalid(),
		BoundBy:    e.Verdict(),
		Records:    f.records(m),
		Errors:     errorsOf(m.Errors),
		Throughput: f.throughput(),
		Latency: Latencies{
			Response: LatencyOf(&m.Response), Service: LatencyOf(&m.Service),
			SendDelay: LatencyOf(&m.SendDelay), OwnSendDelay: LatencyOf(&m.OwnSendDelay), EndToEnd: EndToEndOf(&m.EndToEnd),
		},
		Client:     f.client(m),
		Series:     append([]Point{}, f.series.points...),
		Heat:       f.heat,
		Histograms: Histograms{Response: distribution(m.Response), Service: distribution(m.Service), SendDelay: distribution(m.SendDelay), EndToEnd: distribution(m.EndToEnd)},
		Start:      f.start,

		Outage: f.line.outage(m.Outage), Events: listed(f.events()), EventsLeftOut: f.line.kept.EventsLeftOut, Said: f.line.said,
	}
	for i := range r.Series {
		r.Series[i].CPUCores = r.Series[i].knownCPU()
	}
	r.Valid = len(r.Invalid) == 0
	r.Records.NotInLog, r.Records.SentOnly = e.NotInLog, e.NoAcks
	share := e.CeilingShare()
	r.TargetReached, r.CeilingShare = optional(e.Missed(r.BoundBy.Limit)), optional(share, share > 0)
	r.Headline, r.Note = headline(&f.header.Plan, e.Target)
	r.Notice = strings.Join(f.header.Notices(), "; ")
	if f.trailer.Ended == CutOff {
		r.ElapsedSeconds = max(m.End, f.total[stats.Warmup].End).Seconds()
		r.SendingSeconds = r.ElapsedSeconds
		if unknown := new(ledger.Verdict); r.Verify == nil {
			if f.AddUnknown(unknown); unknown.PartsUnknown > 0 {
				r.Verify = unknown
			}
		}
	}
	r.Warmup, r.Stages = f.warmup(), f.stageRows()
	f.reading(&r)
	r.OwnDelayShare = r.ownDelayShare()
	r.Stability = f.stability(&r)
	r.Partitions = f.partitions(m)
	r.Skew = r.skew(m)
	r.Topics, r.TopicsLeftOut = f.topics()
	r.Brokers = f.brokers(m)
	produced, _ := m.Traffic()
	r.Batches = batchesOf(&produced)
	r.Batches.SpanMax = m.OpSpan.Microseconds()
	r.Replay = r.replay(&produced, m.Acknowledged)
	whole := *m
	whole.Unknown = r.Records.Unknown
	r.whole = r.rated(&whole)
	r.whole.ConsumerLag = int64(f.consumerLag.max)
	r.Limits = f.judgedLimits(&r)
	r.Doubt()
	return r
}

// warmup returns the figures of the warm-up, nil if there was none.
func (f *Fold) warmup() *Warmup {
	w := &f.total[stats.Warmup]
	if w.Offered == 0 && w.Consumed == 0 {
		return nil
	}
	return &Warmup{
		Records: f.records(w), Bytes: w.Bytes, Response: LatencyOf(&w.Response), Errors: errorsOf(w.Errors),
		FirstDueSeconds: w.FirstDue.Seconds(), Histogram: distribution(w.Response),
		ConsumedBytes: w.ConsumedBytes, EndToEnd: EndToEndOf(&w.EndToEnd), Rebalances: optional(rebalancesOf(w), f.header.Plan.Reads()),
	}
}

// reading sets the figures of reading, if the run reads.
func (f *Fold) reading(r *Result) {
	if !f.header.Plan.Reads() {
		return
	}
	m, w := &f.total[stats.Measured], &f.total[stats.Warmup]
	r.Fetch = f.fetch()
	r.Fetch.Deleted, r.Fetch.Withheld = m.Deleted+w.Deleted, m.Withheld+w.Withheld
	r.JoinMS = max(m.JoinTime, w.JoinTime).Milliseconds()
	r.Rebalances = new(rebalancesOf(m))
	r.ConsumerLag = f.consumerLag.result(r.Fetch.RecordsPerSecond, f.replay())
	if r.Fetch.Seconds < verdict.Shortest.Seconds() {
		r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond = 0, 0
	}
	if f.header.Plan.ReadsOnly() {
		r.Fetch.TargetRecordsPerSecond = r.Throughput.TargetRecordsPerSecond
	}
}

// replay reports whether the run only read records that had been written before it began.
func (f *Fold) replay() bool {
	p := &f.header.Plan
	switch {
	case !p.ReadsOnly():
		return false
	case p.Read.From.Latest && f.reads.within > 0: // records of the first second were written in it
		return false
	}
	r, old := &f.reads, float64(f.reads.old)
	if r.over > 0 { // an estimate of how many of old were written in the first window
		old -= float64(r.appended) * float64(r.within) / float64(r.over)
	}
	return p.Read.ToEnd || float64(r.sum.window.Consumed) <= old
}
