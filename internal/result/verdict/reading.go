package verdict

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// The thresholds of the verdict on reading.
const (
	lagThere       = 0.50 // of the time
	waitShows      = 0.10 // of the readers' time
	heldShows      = 0.50 // of the readers' time
	rebalanceShows = 0.10 // of the readers' time
	fetchShows     = 0.40 // of the time in which a client may have a fetch at a broker
)

// Readers is evidence of a run's readers.
type Readers struct {
	Only   bool // the run writes nothing
	Failed bool // reading could not go on
	Denied bool // a system said that the user lacks rights, and Error which
	Error  string

	Seconds, RecordsPerSecond float64 // from the first record to the last
	Rebalances                int64
	Others                    string // a clause on other members of the group with partitions; "": there are none
	Lag                       Lag

	Processing     time.Duration // of each record
	ProcessingHeld float64       // share of the readers' time in which Processing or a rate held them back

	Idle      time.Duration // without a record before reading was given up
	IdleCause string        // a clause on the events meanwhile; "": none

	// Shares of the time from the first record to the last, of a run that only reads.
	LagThere   float64 // with consumer lag
	Waiting    float64 // of the readers that have partitions
	Held       float64 // in which a rate or a processing time held readers back
	Unassigned float64 // of readers without partitions, in rebalances
	Fetching   float64 // with a fetch at the busiest broker
}

// Lag is the consumer lag of a run.
type Lag struct {
	Records, Left int64   // when sending ended, and at the end of the run; below 0: not known
	Slope         float64 // records a second
	Appended      float64 // records a second
	KeptUp        *bool   // nil: not known
}

// behind reports whether the readers are known not to have kept up.
func (l *Lag) behind() bool { return l.KeptUp != nil && !*l.KeptUp }

// stalled returns the verdict on reading that was given up although records waited.
func (r *Readers) stalled(cpu string) Verdict {
	wait := map[bool]string{true: "waits", false: "wait"}[r.Lag.Left == 1]
	s := fmt.Sprintf("no record came for the last %.1f s although %s %s", r.Idle.Seconds(), theme.Count(r.Lag.Left), wait)
	return stalled(s, r.IdleCause, cpu)
}

// behind returns a clause on the rate by which the readers are too slow.
func (r *Readers) behind() string {
	s := fmt.Sprintf("the consumer lag grew by %s/s to %s: %s/s were written and %s/s read",
		theme.Plural(r.Lag.Slope, "record", "records"), theme.Count(r.Lag.Records), theme.Amount(r.Lag.Appended), theme.Amount(r.Lag.Appended-r.Lag.Slope))
	if r.Processing > 0 {
		s += "; " + r.processing(r.ProcessingHeld)
	}
	return s
}

func (r *Readers) processing(share float64) string {
	return fmt.Sprintf("the processing time of %s for each record took %.0f %% of the readers' time", r.Processing, 100*share)
}

// readKept reports whether the readers kept the target rate.
func (e *Evidence) readKept() bool {
	return e.Target > 0 && e.Read.RecordsPerSecond >= rateKept*e.Target
}

// readInvalid is Invalid of a run that only reads. Only a lack of CPU makes it so: a log may have no more records.
func (e *Evidence) readInvalid() []string {
	if e.Target == 0 || e.Consumed == 0 || e.readKept() || !e.noCPU() {
		return []string{}
	}
	return []string{fmt.Sprintf("kt had no CPU left: it used %.2f of %.4g cores and read %s of %s/s",
		e.CPUCores, e.CoresAvailable, theme.Amount(e.Read.RecordsPerSecond), theme.Plural(e.Target, "record", "records"))}
}

// readVerdict is Verdict of a run that only reads.
func (e *Evidence) readVerdict() Verdict {
	r, cpu, host := e.Read, e.cpu(), e.host()
	waited := fmt.Sprintf("readers waited for records %.0f %% of the time", 100*r.Waiting)
	lag := fmt.Sprintf("there was consumer lag %.0f %% of the time", 100*r.LagThere)
	if r.Lag.Records < 0 {
		lag = "the consumer lag is not known"
	}
	fetching := fmt.Sprintf("a fetch was under way at the busiest broker %.0f %% of the time", 100*r.Fetching)
	switch {
	case e.paused():
		return Verdict{Schedule, e.pause() + "; " + cpu}
	case r.Others != "" && (e.Consumed == 0 || !e.readKept()):
		return Verdict{Members, r.Others + "; " + cpu}
	case e.Throttled >= throttleShows:
		return e.quota()
	case r.Idle > 0 && r.Lag.Left > 0:
		return r.stalled(cpu + e.connects())
	case e.Consumed == 0:
		return Verdict{Unknown, "no record was read" + e.connects()}
	case e.noOverlap():
		return Verdict{Unknown, e.Parts.NoOverlap}
	case r.Seconds < Shortest.Seconds():
		return Verdict{Unknown, "too short: the reading took only " + theme.Duration(time.Duration(r.Seconds*float64(time.Second)))}
	case e.noCPU() && !e.readKept():
		return Verdict{ClientCPU, cpu + "; give it more, or read from more hosts"}
	case r.Unassigned < rebalanceShows && e.stalls():
		return e.stalled(cpu)
	case e.readKept():
		return Verdict{None, fmt.Sprintf("the target of %s/s was kept%s (%s/s read); %s", theme.Plural(e.Target, "record", "records"), e.average(), theme.Amount(r.RecordsPerSecond), cpu)}
	case r.Lag.KeptUp != nil && r.LagThere < lagThere && r.Waiting+r.Held >= waitShows:
		return Verdict{None, fmt.Sprintf("the readers kept up with the producers: %s; %s; %s", waited, lag, cpu)}
	case r.Unassigned >= rebalanceShows:
		return Verdict{Rebalances, fmt.Sprintf("readers had no partitions for %.0f %% of their time, in %s; %s",
			100*r.Unassigned, theme.Plural(r.Rebalances, "rebalance", "rebalances"), cpu)}
	case r.Processing > 0 && r.Held >= heldShows:
		return Verdict{Processing, r.processing(r.Held) + "; " + cpu}
	case e.hostFull():
		return Verdict{HostCPU, host + ", " + cpu + "; " + waited}
	case r.Waiting >= waitShows && r.Fetching >= fetchShows:
		return Verdict{Fetches, fmt.Sprintf("%s although %s, and %s: the broker (its page cache or disk) or the network gave no more; %s, %s",
			waited, lag, fetching, cpu, host)}
	}
	return Verdict{Reader, fmt.Sprintf("%s, %s, and %s: the brokers had time to spare; %s, %s; more --consumers may read more",
		waited, lag, fetching, cpu, host)}
}
