package result

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// The thresholds of the verdict on reading, as little to be believed as the others:
// each verdict prints its number.
const (
	lagThere       = 0.50 // of the time: then there was something to read
	waitShows      = 0.10 // of the readers' time
	heldShows      = 0.50 // of the readers' time
	rebalanceShows = 0.10 // of the readers' time
	fetchShows     = 0.40 // of the time in which a client may have a fetch at a broker
)

// reading is what the judgement knows of a run's readers.
type reading struct {
	only        bool // nobody writes
	failed      bool
	err         string
	fetch       *Fetch
	consumerLag *ConsumerLag
	process     time.Duration
	idle        time.Duration // for so long no record came before reading was given up
	cause       string        // of that, as far as events tell

	// From the first record to the last, of a run that only reads.
	there    float64 // share of the time with consumer lag
	wait     float64 // share of the time of the readers that have partitions
	held     float64 // share of the time in which a rate or a processing time held them back
	unshared float64 // share of the time without partitions, in rebalances
	fetching float64 // share of the time with a fetch at the busiest broker
}

// readingEvidence is nil when nobody reads.
func (f *Fold) readingEvidence(w *stats.Window) *reading {
	p := &f.header.Plan
	if !p.Reads() {
		return nil
	}
	r := &reading{
		only: p.ReadsOnly(), failed: f.trailer.Reading == ReadFailed, err: f.trailer.ReadError,
		fetch: fetchOf(w), process: p.Read.Processing.Std(),
	}
	r.consumerLag = f.consumerLag.result(r.fetch.RecordsPerSecond, f.replay())
	if !r.only {
		return r
	}
	if f.trailer.Reading == ReadIdle {
		last := max(w.LastRead, f.total[stats.Warmup].LastRead)
		end := max(w.End, time.Duration(f.trailer.ElapsedSeconds*float64(time.Second)))
		r.idle, r.cause = end-last, f.line.explain(last, end)
	}
	total, waited := f.reads.times(p.Read.Clients())
	r.there, r.held = f.reads.there(), share(w.ReadHeld, total)
	r.unshared, r.fetching = share(w.RebalanceTime, total), share(f.reads.fetching(), total)
	// Readers without partitions wait all the time, and that tells nothing.
	idle := 0.0
	if n := f.header.Environment.Partitions(); n > 0 && p.Read.Consumers > n {
		idle = 1 - float64(n)/float64(p.Read.Consumers)
	}
	r.wait = max(0, share(waited, total)-idle) / (1 - idle)
	return r
}

func (r *reading) failure() Verdict {
	why := r.err
	if why == "" {
		why = "the error is not known"
	}
	return Verdict{LimitReadFailed, "reading could not go on: " + why}
}

// stalled is the verdict on a run that was given up although records wait.
func (r *reading) stalled(cpu string) Verdict {
	wait := "wait"
	if r.consumerLag.Left == 1 {
		wait = "waits"
	}
	s := fmt.Sprintf("no record came for the last %.1f s although %s %s", r.idle.Seconds(), theme.Count(r.consumerLag.Left), wait)
	if r.cause != "" {
		return Verdict{LimitStall, s + ": " + r.cause}
	}
	return Verdict{LimitStall, s + "; " + cpu}
}

func rebalances(n int64) string { return theme.Plural(n, "rebalance", "rebalances") }

// behind says by how much the readers are too slow.
func (r *reading) behind() string {
	s := fmt.Sprintf("the consumer lag grew by %s/s to %s: %s/s were written and %s/s read",
		theme.Plural(r.consumerLag.Slope, "record", "records"), theme.Count(r.consumerLag.Records), theme.Amount(r.consumerLag.Appended), theme.Amount(r.consumerLag.Appended-r.consumerLag.Slope))
	if r.process > 0 {
		s += fmt.Sprintf("; the processing time of %s for each record took %.0f %% of the readers' time", r.process, 100*r.fetch.HeldShare)
	}
	return s
}

// readKept tells whether the readers took as many records a second as they were to.
func (e *evidence) readKept() bool {
	return e.target > 0 && e.read.fetch.RecordsPerSecond >= rateKept*e.target
}

// readInvalid is invalid of a run that only reads: that a log has no more to give is
// not kt's fault.
func (e *evidence) readInvalid() []string {
	if e.target == 0 || e.w.Consumed == 0 || e.readKept() || e.busy < cpuSaturated {
		return []string{}
	}
	return []string{fmt.Sprintf("kt had no CPU left: it used %.2f of %.0f cores and read %s of %s/s",
		e.use.CPUCores, e.use.CoresAvailable, theme.Amount(e.read.fetch.RecordsPerSecond), theme.Plural(e.target, "record", "records"))}
}

// readVerdict is verdict of a run that only reads.
func (e *evidence) readVerdict(cpu, host string) Verdict {
	r := e.read
	waited := fmt.Sprintf("readers waited for records %.0f %% of the time", 100*r.wait)
	consumerLag := fmt.Sprintf("there was consumer lag %.0f %% of the time", 100*r.there)
	fetching := fmt.Sprintf("a fetch was under way at the busiest broker %.0f %% of it", 100*r.fetching)
	throttled := e.throttled()
	switch {
	case r.idle > 0 && r.consumerLag.Left > 0:
		return r.stalled(cpu)
	case e.w.Consumed == 0:
		return Verdict{LimitUnknown, "nothing was read: too little to tell"}
	case e.told != nil && e.told.NoOverlap != "":
		return e.told.unknown()
	case r.fetch.Seconds < Shortest.Seconds():
		return Verdict{LimitUnknown, fmt.Sprintf("too short: it took %.2f s from the first record to the last: too little to tell", r.fetch.Seconds)}
	case e.busy >= cpuSaturated && !e.readKept():
		return Verdict{LimitClientCPU, cpu + "; give it more, or read from more hosts"}
	case throttled >= throttleShows:
		return Verdict{LimitThrottle, fmt.Sprintf("brokers held kt off for %.0f %% of the time: a quota", 100*throttled)}
	case r.unshared < rebalanceShows && e.stalls():
		return e.stalled(cpu)
	case e.readKept():
		return Verdict{LimitNone, fmt.Sprintf("the target of %s/s was kept (%s/s read); %s", theme.Plural(e.target, "record", "records"), theme.Amount(r.fetch.RecordsPerSecond), cpu)}
	case r.consumerLag.KeptUp != nil && r.there < lagThere && r.wait+r.held >= waitShows:
		return Verdict{LimitNone, fmt.Sprintf("the readers kept up with what was written: %s; %s; %s", waited, consumerLag, cpu)}
	case r.unshared >= rebalanceShows:
		return Verdict{LimitRebalances, fmt.Sprintf("readers had no partitions for %.0f %% of their time, in %s; %s",
			100*r.unshared, rebalances(e.w.Rebalances), cpu)}
	case r.process > 0 && r.held >= heldShows:
		return Verdict{LimitProcessing, fmt.Sprintf("the processing time of %s for each record took %.0f %% of the readers' time; %s", r.process, 100*r.held, cpu)}
	case percent(e.use.HostCPUCores, e.use.HostCores) >= 100*HostSaturated:
		return Verdict{LimitHostCPU, host + ", " + cpu + "; " + waited}
	case r.wait >= waitShows && r.fetching >= fetchShows:
		return Verdict{LimitFetches, fmt.Sprintf("%s although %s, and %s: the broker, from its page cache or disk, or the network gave no more; %s, %s",
			waited, consumerLag, fetching, cpu, host)}
	}
	return Verdict{LimitReader, fmt.Sprintf("%s, %s, and %s: the brokers were not what took the time; %s, %s; more --consumers may read more",
		waited, consumerLag, fetching, cpu, host)}
}
