package result

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Verdict returns the verdict on the run so far.
func (f *Fold) Verdict() verdict.Verdict {
	e := f.evidence()
	e.Sending = f.loading
	return e.Verdict()
}

// evidenceOf returns what a window shows of the load, beside its rates and its target.
func (f *Fold) evidenceOf(w *stats.Window) verdict.Evidence {
	use, load := f.client(&f.total[stats.Measured]), &f.header.Plan.Load
	return verdict.Evidence{
		Poisson: load.Arrivals == plan.Poisson, OneAtATime: load.OneAtATime, NoAcks: f.header.Outcome() == Sent, Wire: f.header.Plan.Engine == plan.Wire,
		Measured: w.End - w.Start, Offered: w.Offered, Acknowledged: w.Acknowledged, Failed: w.Failed, Unknown: w.Unknown, Unsent: w.Unsent, Consumed: w.Consumed,
		OwnSendDelayP99: w.OwnSendDelay.ValueAtQuantile(0.99), ResponseP99: w.Response.Served().ValueAtQuantile(0.99),
		CPUCores: use.CPUCores, CoresAvailable: use.CoresAvailable, HostCPUCores: use.HostCPUCores, HostCores: use.HostCores,
		Senders: w.ShardTime > 0, BufferFull: share(w.BufferFull, w.ShardTime), InFlight: use.InFlightShare, FailedConnects: w.FailedConnects,
	}
}

// evidence returns the evidence on the run so far.
func (f *Fold) evidence() verdict.Evidence {
	w := &f.total[stats.Measured]
	e, t := f.evidenceOf(w), f.throughput()
	e.OfferedPerSecond, e.AcknowledgedPerSecond = t.OfferedRecordsPerSecond, t.RecordsPerSecond
	e.Waiting, e.WorstError = float64(f.waiting), Errors(w.Errors).Worst()
	e.Throttled, e.Quota = max(throttled(w)), f.line.quota
	e.CPUStopped, e.Paused = f.client(w).CPUStoppedShare, time.Duration(w.PausedNS)
	e.Read, e.Stall.Gap = f.readingEvidence(w), f.longestGap()
	if ends := f.trailer.LogEnds; ends != nil {
		e.NotInLog = max(0, w.Acknowledged+f.total[stats.Warmup].Acknowledged-(ends.After-ends.Before))
	}
	if e.Target = t.TargetRecordsPerSecond; f.varies() {
		e.TargetSending, e.TargetLast = e.Target, f.schedule.Rate(w.End)
		if f.together.Overlap == nil {
			e.TargetSending = f.schedule.Mean(w.FirstDue, w.LastSent)
		}
	}
	if said := f.line.said[e.WorstError]; said != "" {
		e.WorstError += " (" + said + ")"
	}
	if fault := f.line.fault; fault == nil || fault.with == stats.FirstError { // else the fault is the cause
		for _, b := range w.Brokers {
			e.Unanswered += b.Failed
		}
	}
	if c := f.header.Ceiling; c != nil && w.End-w.Start >= verdict.Shortest {
		e.Ceiling = c.RecordsPerSecond
	}
	if merged := &f.together; merged.Count > 0 {
		e.Parts = &merged.Parts
		if o := merged.Overlap; o != nil {
			e.Waiting = float64(max(0, o.Offered-o.Acknowledged-o.Failed-o.Unknown))
		}
		if e.Read == nil || !e.Read.Only {
			e.Stall.Gap = merged.Stall
		}
	}
	if e.Stall.Length >= verdict.StallAtRate {
		// The stall of a whole run may be another one than the longest gap of a part.
		known, to := f.line.gap, e.Stall.From+e.Stall.Length
		if e.Stall.Cause = f.line.cause; e.Stall.Cause == "" || known.From >= to || e.Stall.From >= known.From+known.Length {
			e.Stall.Cause = f.line.explain(e.Stall.From, to)
		}
		if strings.Contains(e.Stall.Cause, stats.KtIsThrottled) { // a quota that was told late is no stall either
			e.Stall = verdict.Stall{}
		}
	}
	return e
}

// longestGap returns the longest time in which nothing was acknowledged; of a run that only reads, read.
func (f *Fold) longestGap() stats.Gap {
	if f.header.Plan.ReadsOnly() {
		return f.reads.stall.longest
	}
	return f.total[stats.Measured].Outage
}

// readingEvidence returns the evidence on the readers, nil if there are none.
func (f *Fold) readingEvidence(w *stats.Window) *verdict.Readers {
	p := &f.header.Plan
	if !p.Reads() {
		return nil
	}
	fetch := f.fetch()
	lag := f.consumerLag.result(fetch.RecordsPerSecond, f.replay())
	r := &verdict.Readers{
		Only: p.ReadsOnly(), Failed: f.trailer.ReadEnd == ReadFailed, Error: f.trailer.ReadError,
		Seconds: fetch.Seconds, RecordsPerSecond: fetch.RecordsPerSecond, Rebalances: w.Rebalances,
		Lag:        verdict.Lag{Records: int64(lag.Records), Left: int64(lag.Left), Slope: *cmp.Or(lag.Slope, new(0.0)), Appended: *cmp.Or(lag.Appended, new(0.0)), KeptUp: lag.KeptUp},
		Processing: p.Read.Processing.Mean(), Busy: fetch.BusyShare,
	}
	partitions, threads := f.header.Environment.Partitions(), time.Duration(p.Read.Workers())
	if p.Read.Share != nil { // any number of consumers reads a partition
		partitions = 0
	}
	idle := 0.0 // share of the consumers for which there is no partition: what they do shows nothing
	if partitions > 0 && p.Read.Consumers > partitions {
		idle, r.Assigned = 1-float64(partitions)/float64(p.Read.Consumers), int64(partitions)
	}
	r.Busy = min(1, r.Busy/(1-idle))
	r.Keeps = keepsUp(&p.Read, partitions, &r.Lag)
	r.Locks = f.recordLocks(w, fetch.Seconds)
	if code := Errors(w.FetchErrors).Worst(); !r.Failed && verdict.Denied(code) {
		r.Denied, r.Error = true, theme.Count(w.FetchErrors[code])+" "+code
	}
	r.Others = f.line.others
	if !r.Only {
		return r
	}
	r.Nothing = w.Consumed == 0 && (f.trailer.ReadEnd == ReadAll || p.Read.Share != nil && lag.Left == 0)
	r.Warmed = r.Nothing && f.total[stats.Warmup].Consumed > 0
	r.Joining = !r.Nothing && f.trailer.ReadEnd != ReadStopped && p.System() == plan.Kafka && p.Read.Group != "" && w.Consumed == 0 && w.JoinTime+f.total[stats.Warmup].JoinTime == 0
	if f.trailer.ReadEnd == ReadIdle {
		last := max(w.LastRead, f.total[stats.Warmup].LastRead)
		end := max(w.End, time.Duration(f.trailer.ElapsedSeconds*float64(time.Second)))
		r.Idle, r.IdleCause = end-last, f.line.explain(last, end)
	}
	sum, behind, all := &f.reads.sum, f.reads.sum.behind, &f.reads.sum.window
	if float64(f.reads.old) >= replayed*float64(all.Consumed) { // of a few seconds, the lag at the end of each shows too little
		behind = sum.replaying
	}
	outside := time.Duration(p.Read.Clients()) * (max(0, all.FirstRead-all.Start) + max(0, all.End-all.LastRead))
	total := max(0, all.ReadTime-outside) // of all readers, from the first record to the last
	r.LagThere, r.Held, r.Busy = share(behind, sum.total), min(1, share(w.ReadHeld, total)/(1-idle)), min(1, share(w.Work, total*threads)/(1-idle))
	r.Unassigned, r.Fetching = share(w.RebalanceTime, total), share(slices.Max(append(slices.Collect(maps.Values(sum.fetching)), 0)), total)
	r.Waiting = max(0, share(max(0, all.ReadWait-outside), total)-idle) / (1 - idle)
	return r
}

// recordLocks returns the evidence on the locks of a share group, of a window in which records came for so many seconds.
func (f *Fold) recordLocks(w *stats.Window, seconds float64) verdict.RecordLocks {
	read, limits := &f.header.Plan.Read, f.header.Environment.Share
	if limits == nil || read.Processing.IsZero() {
		return verdict.RecordLocks{}
	}
	asked := make(map[string]int64)
	for _, s := range f.header.ConsumerConfig {
		asked[s.Name], _ = strconv.ParseInt(s.Value, 10, 64)
	}
	const poll = 100 * time.Millisecond // of work, or one record: more is not polled at once
	behind := time.Duration(asked["fetch.max.wait.ms"]) * time.Millisecond
	if behind < 2*max(poll, read.Processing.Mean()) || float64(w.AckTime.ValueAtQuantile(0.5)) < 0.9*float64(behind) {
		behind = 0
	}
	return verdict.RecordLocks{
		Duration: time.Duration(limits.LockMillis) * time.Millisecond,
		Behind:   behind, Asked: asked["max.poll.records"], Limit: limits.Locks, Partitions: int64(f.header.Environment.Partitions()), Used: w.Locks, Held: w.Held,
		Consumers: int64(read.Consumers), Threads: int64(read.Workers()), Working: verdict.Per(w.Work.Seconds(), seconds*float64(read.Workers()*max(1, read.Groups))),
	}
}

// throttled returns the shares of the producers' time and of the readers' for which brokers throttled them.
func throttled(w *stats.Window) (sending, reading float64) {
	var sent, read time.Duration
	for _, b := range w.Brokers {
		sent, read = sent+b.Throttle, read+b.Fetch.Throttle
	}
	return share(sent, w.ShardTime), share(read, w.ReadTime)
}

// AddUnknown adds a run that verifies and left no verdict: its acknowledged records are unchecked.
func (f *Fold) AddUnknown(v *ledger.Verdict) {
	if p := &f.header.Plan; p.Verify && p.Reads() {
		acknowledged := f.total[stats.Measured].Acknowledged + f.total[stats.Warmup].Acknowledged
		v.Add(&ledger.Verdict{Issued: acknowledged, Acknowledged: acknowledged, Unchecked: acknowledged, PartsUnknown: 1})
	}
}

// NotChecked returns a clause with the number of records that verification did not check; "": it checked all.
func NotChecked(v *ledger.Verdict) string {
	unchecked, all := v.Unchecked+v.Undecided, v.Acknowledged*int64(max(1, v.Readers))
	text := fmt.Sprintf("%s of %s not checked", theme.Count(unchecked), theme.Plural(all, "acknowledged record was", "acknowledged records were"))
	if unchecked == v.NotCopied {
		text = strings.Replace(text, "not checked", "not copied yet", 1)
	}
	parts := theme.Plural(v.PartsUnknown, "process", "processes") + " of the run left no verification"
	switch {
	case v.OfAnotherRun:
		return "the topic holds records of another run, so nothing was compared"
	case unchecked > 0 && v.PartsUnknown > 0:
		return text + ", because " + parts
	case v.PartsUnknown > 0:
		return parts
	case unchecked > 0:
		return text
	case v.TooLarge > 0:
		return theme.Plural(v.TooLarge, "offset was", "offsets were") + " not checked: their batches are too large to read"
	case v.LateUndecided > 0:
		return theme.Plural(v.LateUndecided, "record is", "records are") + " duplicated or reordered: which is forgotten"
	case !v.CutAt.IsZero():
		return LedgerEnds(v)
	}
	return ""
}

// LedgerEnds returns a sentence about a ledger that was cut off.
func LedgerEnds(v *ledger.Verdict) string {
	why := "kt was killed, had no room for it, or writes it still"
	if v.LedgerDamaged {
		why = "what lies behind was changed or damaged"
	}
	return fmt.Sprintf("the ledger ends at %s UTC, because %s; %s checked", v.CutAt.UTC().Format(time.DateTime+".000"), why,
		theme.Plural(v.UnknownRead+v.Unissued, "record that was read has no outcome in it, and is not", "records that were read have no outcome in it, and are not"))
}

// Lost reports whether verification found that acknowledged records are lost, in a workload those of any load.
func (r *Result) Lost() bool {
	v := r.Verify
	return v != nil && v.Lost > 0 && !v.OfAnotherRun || slices.ContainsFunc(r.Loads, func(l LoadResult) bool { return l.Lost() })
}

// Damaged reports whether verification found corrupted records, or duplicated or reordered ones although
// the client's settings exclude them.
func (r *Result) Damaged() bool {
	v := r.Verify
	return v != nil && (v.Corrupted > 0 || !v.RepeatsAllowed && v.Duplicated+v.Reordered+v.LateUndecided > 0)
}

// headline returns the name of the figure to quote, and the reason.
func headline(p *plan.Plan, target float64) (name, note string) {
	switch {
	case p.ReadsOnly():
		return "throughput", "records a second from the first record to the last; the time to the first record is not part of it"
	case p.Load.OneAtATime:
		return "end_to_end", "one record is in flight at a time and due when it is sent, so none queues: this is the shortest time of a record"
	case target > 0 && p.Reads():
		return "end_to_end", "latency counts from the moment each record was due until it was polled, so a stall counts in full"
	case target > 0:
		return "response", "latency counts from the moment each record was due, so a stall counts in full"
	}
	return "throughput", "the rate is unlimited, so no record has a due time, and latency is mostly queueing in the client; set --rate to measure latency"
}

// HeadlineLatency returns the latency to quote, and its name: end to end where records were read with their stamps, else the
// response time. Its count is 0 if nothing was measured.
func (r *Result) HeadlineLatency() (name string, l Latency) {
	switch {
	case r.Latency.EndToEnd != nil:
		return "end to end", *r.Latency.EndToEnd
	case r.Plan.ReadsOnly():
		return "end to end", Latency{}
	}
	return "response", r.Latency.Response
}

// ownDelayShows is the share of the median above which kt's own delay is in the figure that it measures, and not in its noise.
const ownDelayShows = 0.05

// ownDelayShare returns the median of kt's own send delay as a share of the median to quote; nil: one of them was not measured.
func (r *Result) ownDelayShare() *float64 {
	_, l := r.HeadlineLatency()
	own, known := r.Latency.OwnSendDelay, l.P50 != 0 && l.P50 != Failed && r.Throughput.TargetRecordsPerSecond != 0
	return optional(float64(own.P50)/float64(l.P50), known && own.Count > 0)
}

// OwnDelay returns a sentence on kt's part of the median to quote, "" if that is small or not known.
func (r *Result) OwnDelay() string {
	if r.OwnDelayShare == nil || *r.OwnDelayShare <= ownDelayShows {
		return ""
	}
	_, l := r.HeadlineLatency()
	return fmt.Sprintf("kt's own delay is %s of %s (p50)", theme.Duration(r.Latency.OwnSendDelay.P50.Duration()), theme.Duration(l.P50.Duration()))
}

// keepsUp returns how many threads or more consumers would work on as many records a second as are written; "": it is not known, or
// those that there are can, or lag did not grow.
func keepsUp(r *plan.Read, partitions int, lag *verdict.Lag) string {
	const full = 0.95 // of the time, above which waits grow without end
	work, consumers := lag.Appended*r.Processing.Mean().Seconds()/full, float64(r.Consumers)
	if partitions > 0 { // the others have nothing to do
		consumers = min(consumers, float64(partitions))
	}
	if work <= consumers*float64(r.Workers()) || lag.Slope <= lagGrows*lag.Appended {
		return ""
	}
	text := theme.Plural(int(math.Ceil(work/consumers)), "thread", "threads")
	if all := math.Ceil(work / float64(r.Workers())); partitions == 0 || int(all) <= partitions {
		text += " or " + theme.Plural(all-consumers, "more consumer", "more consumers")
	}
	return text
}
