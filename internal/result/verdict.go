package result

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Verdict names what the run was bound by, and the numbers that say so.
type Verdict struct {
	Limit    Limit  `json:"limit"`
	Evidence string `json:"evidence"` // one sentence with its numbers
}

// Limit is the resource that a run was bound by.
type Limit string

// The limits that kt can tell apart from its own host.
const (
	LimitNone       Limit = "nothing"            // a load that was carried as it was asked for
	LimitUnknown    Limit = "not known"          // too little was measured to tell
	LimitClientCPU  Limit = "client CPU"         // kt's process had no CPU left
	LimitHostCPU    Limit = "host CPU"           // this machine had none left, and kt was not what used it
	LimitSchedule   Limit = "kt's schedule"      // kt sent late with nothing in its way
	LimitFailures   Limit = "failed records"     // so many were not acknowledged that nothing else can be told
	LimitStall      Limit = "a stall"            // the brokers acknowledged nothing, or gave nothing to read, for seconds
	LimitSockets    Limit = "broker connections" // acks=0, and the connections took no more
	LimitThrottle   Limit = "broker throttle"    // a quota
	LimitBrokerAcks Limit = "broker acks"        // the buffer was full, and as many requests in flight as allowed
	LimitClient     Limit = "this producer"      // CPU to spare and requests to spare: one client does no more

	LimitReadFailed Limit = "failed reading"      // it could not go on
	LimitConsumers  Limit = "the consumers"       // the producers write more than the consumers read
	LimitRebalances Limit = "rebalances"          // readers had no partitions
	LimitProcessing Limit = "the processing time" // that was asked for
	LimitFetches    Limit = "broker fetches"      // readers waited for records although there were some
	LimitReader     Limit = "this consumer"       // CPU to spare, and the brokers were faster: one client does no more
)

// The thresholds of the verdict. None has an authority behind it: they are where
// a resource has so little left that it shows, and each verdict prints its number.
const (
	cpuSaturated  = 0.90 // of the cores that kt may use: the scheduler, GC and the kernel's share need the rest
	HostSaturated = 0.95 // of the machine's cores
	throttleShows = 0.05 // of the time
	bufferShows   = 0.10 // of the senders' time
	inFlightShows = 0.50 // of the requests allowed in flight
	rateKept      = 0.99 // of the target
	failuresShow  = 0.01 // of the records offered
	stallShows    = 2 * time.Second

	// StallShowsAtRate is how long a stall must be at a fixed rate, where each record that
	// was due in it has waited.
	StallShowsAtRate = time.Second

	// costShows is how many cores a process must use before its CPU time is a cost of its
	// records: timers, the screen and the garbage collector take a quarter of a core and
	// more about nothing.
	costShows = 1.0

	// waitingShows is how much of a fixed-rate load may wait for its acknowledgement when
	// sending ends, if that is more than 1 - rateKept of all of it: beyond a second of it
	// is no latency any more, but a queue.
	waitingShows = time.Second
)

// poissonSpread is how many standard deviations a Poisson load may come out below
// its target by chance: at n records one of them is 1/√n of the rate.
const poissonSpread = 3

// The bound on kt's own lateness, by which a fixed-rate run is judged.
const (
	// sendDelayFloor is five ticks of the sender: what a busy two-core host does to a
	// one-millisecond timer at its 99th percentile is well below.
	sendDelayFloor = 5 * time.Millisecond

	// sendDelayShare is the share of the measured p99 that kt's own lateness may make
	// up before it distorts the figure.
	sendDelayShare = 0.10
)

// Shortest is the least measured time from which kt draws conclusions.
const Shortest = time.Second

// evidence is what the judgement looks at.
type evidence struct {
	w            *stats.Window
	use          ClientUse
	target       float64 // records a second; 0: unlimited
	sendDelayP99 time.Duration
	bound        time.Duration
	rate         float64 // records a second handed over
	acked        float64 // records a second acknowledged
	wait         float64 // records that waited for their acknowledgement when sending ended
	parts        int     // processes that made the load
	stall        stats.Gap
	cause        string  // of the stall, as far as events tell
	noAcks       bool    // acks=0
	slack        float64 // of the target that rate may fall short by
	busy         float64 // of the cores kt may use
	single       bool    // one record at a time
	read         *reading
	told         *Together // of a merged run
	now          bool      // sending goes on: the verdict is of now
}

func (f *Fold) evidence() evidence {
	w := &f.total[stats.Measured]
	e := evidence{w: w, use: f.client(w), target: f.header.Plan.RecordsPerSecond(), stall: w.Outage, noAcks: f.setting("acks") == "0"}
	e.single, e.read = f.header.Plan.Load.OneAtATime, f.readingEvidence(w)
	e.sendDelayP99 = w.OwnSendDelay.ValueAtQuantile(0.99)
	e.bound = max(sendDelayFloor, time.Duration(sendDelayShare*float64(w.Response.ValueAtQuantile(0.99))))
	t := throughputOf(w, e.target)
	e.rate, e.acked, e.wait, e.parts = t.OfferedRecordsPerSecond, t.RecordsPerSecond, float64(f.waiting), 1
	if e.told = f.told; e.told != nil {
		e.rate, e.use.CPUCores = e.told.OfferedPerSecond, e.told.Cores
		e.acked, e.wait, e.parts, e.stall = e.told.AcknowledgedPerSecond, e.told.Waiting, e.told.Parts, e.told.Stall
		if e.read != nil {
			e.read.fetch.RecordsPerSecond = e.told.ReadPerSecond
		}
	}
	if e.use.CPUCores < costShows*float64(e.parts) {
		e.use.CPUSecondsPerMillion = 0
	}
	if e.read != nil && e.read.only {
		e.stall = f.reads.stall.longest
	}
	if e.stalls() {
		e.cause = f.line.explain(e.stall.From, e.stall.From+e.stall.Length)
	}
	e.slack = 1 - rateKept
	if f.header.Plan.Load.Arrivals == plan.Poisson {
		e.slack += poissonSpread / math.Sqrt(float64(max(1, w.Offered)))
	}
	if e.use.CoresAvailable > 0 {
		e.busy = e.use.CPUCores / e.use.CoresAvailable
	}
	return e
}

// setting is the value of an effective setting, "" when there is none.
func (f *Fold) setting(name string) string {
	for _, s := range f.header.Config {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// Verdict is what the run is bound by, as far as it has come.
func (f *Fold) Verdict() Verdict {
	e := f.evidence()
	e.now = f.loading
	return e.verdict()
}

// invalid gives the reasons why a fixed-rate run does not measure what it says:
// kt itself did not keep the schedule. Back-pressure of the brokers is no such
// reason, and an unlimited rate has no schedule to miss.
func (e *evidence) invalid() []string {
	reasons := []string{}
	if e.told != nil {
		return append(reasons, e.told.Invalid...)
	}
	if e.read != nil && e.read.only {
		return e.readInvalid()
	}
	if e.target == 0 || e.w.Offered == 0 || e.single {
		return reasons
	}
	if e.sendDelayP99 > e.bound {
		reasons = append(reasons, fmt.Sprintf(
			"kt missed its own schedule: of the records that nothing held up, 1 %% left more than %s late (bound: %s)",
			round(e.sendDelayP99), round(e.bound)))
	}
	switch {
	case e.kept():
	case e.busy >= cpuSaturated:
		reasons = append(reasons, fmt.Sprintf(
			"kt had no CPU left: it used %.2f of %.0f cores and handed over %s of %s/s",
			e.use.CPUCores, e.use.CoresAvailable, theme.Amount(e.rate), theme.Plural(e.target, "record", "records")))
	case e.use.BufferFullShare < bufferShows && e.w.ShardTime > 0:
		reasons = append(reasons, fmt.Sprintf(
			"kt handed over %s of %s/s although it waited for the brokers only %.0f %% of the time",
			theme.Amount(e.rate), theme.Plural(e.target, "record", "records"), 100*e.use.BufferFullShare))
	}
	return reasons
}

// kept tells whether the load was offered at the target rate, with nothing due
// left unsent.
func (e *evidence) kept() bool {
	onTime := e.w.Offered == 1 || e.rate >= (1-e.slack)*e.target // one record has no rate
	return onTime && float64(e.w.Unsent) <= (1-rateKept)*float64(e.w.Offered)
}

// carried tells whether what was offered was acknowledged as fast as it came. One record
// a process is no queue, however low the rate: the last one may be on its way. A second
// of the load is that of the target: a few records may have no rate.
func (e *evidence) carried() bool {
	return e.wait <= max(float64(e.parts), waitingShows.Seconds()*e.target, (1-rateKept)*float64(e.w.Offered))
}

// missed returns the share of the target that was reached, and reports whether that is too
// little, by what the run was bound by.
func (e *evidence) missed(by Limit) (share float64, missed bool) {
	if e.target == 0 || by == LimitNone || by == LimitUnknown {
		return 0, false
	}
	reached := e.acked
	if e.read != nil && e.read.only {
		reached = e.read.fetch.RecordsPerSecond
	}
	share = reached / e.target
	return share, share < 1-e.slack
}

// verdict names the limit: kt's own faults first, then what the brokers said,
// then what was full.
func (e *evidence) verdict() Verdict {
	cpu := fmt.Sprintf("kt used %.2f of %.0f cores", e.use.CPUCores, e.use.CoresAvailable)
	host := fmt.Sprintf("this machine's CPUs were %.0f %% busy", percent(e.use.HostCPUCores, e.use.HostCores))
	if e.told != nil {
		host = fmt.Sprintf("the clients' CPUs were %.0f %% busy", percent(e.use.HostCPUCores, e.use.HostCores))
	}
	full := fmt.Sprintf("senders waited for acknowledgements %.0f %% of the time, with %.0f %% of the requests allowed in flight in use",
		100*e.use.BufferFullShare, 100*e.use.InFlightShare)
	throttled := e.throttled()
	switch {
	case e.read != nil && e.read.failed:
		return e.read.failure()
	case e.read != nil && e.read.only:
		return e.readVerdict(cpu, host)
	case e.lost() >= failuresShow:
		return Verdict{LimitFailures, fmt.Sprintf("%.1f %% of the records were not acknowledged%s%s; %s", 100*e.lost(), e.worst(), e.stallToo(), full)}
	case e.stalls():
		return e.stalled(full + "; " + cpu)
	case e.told != nil && e.told.NoOverlap != "":
		return e.told.unknown()
	case e.w.End-e.w.Start < Shortest:
		return Verdict{LimitUnknown, "too short: less than 1 s was measured"}
	case e.w.Acknowledged == 0:
		return Verdict{LimitUnknown, "nothing was acknowledged: too little to tell"}
	case e.busy >= cpuSaturated && (e.target == 0 || !e.kept()):
		return Verdict{LimitClientCPU, cpu + "; give it more, or offer the load from more hosts"}
	case len(e.invalid()) > 0:
		return Verdict{LimitSchedule, e.invalid()[0] + "; " + cpu + "; " + host}
	case throttled >= throttleShows:
		return Verdict{LimitThrottle, fmt.Sprintf("brokers held kt off for %.0f %% of the time: a quota", 100*throttled)}
	case e.single:
		return Verdict{LimitNone, "one record was in flight at a time: nothing is loaded, and its latency is what there is; " + cpu}
	case e.read != nil && e.read.consumerLag.behind():
		return Verdict{LimitConsumers, e.read.behind() + "; " + cpu + ", " + host + "; " + full}
	case e.target > 0 && e.kept() && e.carried():
		return Verdict{LimitNone, fmt.Sprintf("the target of %s/s was kept (%s/s offered); %s", theme.Plural(e.target, "record", "records"), theme.Amount(e.rate), cpu)}
	case percent(e.use.HostCPUCores, e.use.HostCores) >= 100*HostSaturated:
		return Verdict{LimitHostCPU, host + ", " + cpu + "; " + full}
	case e.target > 0 && e.kept():
		return e.queued(cpu + ", " + host)
	case e.use.BufferFullShare >= bufferShows && e.use.InFlightShare >= inFlightShows:
		return Verdict{LimitBrokerAcks, full + "; " + cpu + ", " + host}
	}
	if e.noAcks && e.use.BufferFullShare >= bufferShows {
		return Verdict{LimitSockets, fmt.Sprintf("senders waited %.0f %% of the time for the connections to take more; %s; %s", 100*e.use.BufferFullShare, cpu, host)}
	}
	return Verdict{LimitClient, full + "; " + cpu + ", " + host + "; more --producers may offer more"}
}

// unknown is the verdict where parts have no overlap.
func (p *Together) unknown() Verdict {
	if p.Short {
		return Verdict{LimitUnknown, "too short: " + p.NoOverlap}
	}
	return Verdict{LimitUnknown, p.NoOverlap}
}

// queued is of a target that was offered and not carried.
func (e *evidence) queued(busy string) Verdict {
	limit, did := LimitBrokerAcks, "acknowledged"
	if e.noAcks {
		limit, did = LimitSockets, "taken by the connections"
	}
	when := "waited when sending ended"
	if e.now {
		when = "wait now"
	}
	return Verdict{limit, fmt.Sprintf("%s/s were offered and %s/s %s: %s, %.1f s of the load, %s; %s",
		theme.Plural(e.rate, "record", "records"), theme.Amount(e.acked), did, theme.Plural(e.wait, "record", "records"), e.wait/e.target, when, busy)}
}

// stalls reports whether the longest time without an acknowledgement, or of a run that only
// reads without a record, is worth a verdict.
func (e *evidence) stalls() bool {
	if e.target > 0 {
		return e.stall.Length >= StallShowsAtRate
	}
	return e.stall.Length >= stallShows
}

// stallText is written as the summary writes the longest gap, of which the document has
// the milliseconds: it is the same one.
func (e *evidence) stallText() string {
	length := e.stall.Length.Truncate(time.Millisecond)
	did := "acknowledged"
	if e.read != nil && e.read.only {
		did = "read"
	}
	return fmt.Sprintf("nothing was %s for %s, from %s on", did, theme.Duration(length), theme.Duration(e.stall.From))
}

// stallToo names a stall beside a graver verdict.
func (e *evidence) stallToo() string {
	if !e.stalls() {
		return ""
	}
	return "; " + e.stallText()
}

// stalled points to what happened meanwhile, if something did: what was busy tells
// little then.
func (e *evidence) stalled(busy string) Verdict {
	s := e.stallText() + ", although records were outstanding"
	if e.read != nil && e.read.only {
		s = e.stallText() + ", although records waited"
	}
	if e.cause != "" {
		return Verdict{LimitStall, s + ": " + e.cause}
	}
	return Verdict{LimitStall, s + "; " + busy}
}

// lost is the share of the records offered that were not acknowledged.
func (e *evidence) lost() float64 {
	if e.w.Offered == 0 {
		return 0
	}
	return float64(e.w.Failed+e.w.Unknown) / float64(e.w.Offered)
}

// worst names the most frequent error, if there is one.
func (e *evidence) worst() string {
	most := ""
	for _, code := range slices.Sorted(maps.Keys(e.w.Errors)) {
		if most == "" || e.w.Errors[code] > e.w.Errors[most] {
			most = code
		}
	}
	if most == "" {
		return ""
	}
	return ", most of them " + most
}

// throttled is the share of the producers' time, or of the readers', for which
// brokers held them off.
func (e *evidence) throttled() float64 {
	var sending, reading time.Duration
	for _, b := range e.w.Brokers {
		sending += b.Throttle
		reading += b.Fetch.Throttle
	}
	return max(share(sending, e.w.ShardTime), share(reading, e.w.ReadTime))
}

func percent(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * part / whole
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
