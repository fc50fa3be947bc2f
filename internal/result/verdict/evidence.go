package verdict

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Evidence is the numbers by which a run is judged, of its measured part.
type Evidence struct {
	// The load that was asked for.
	Target     float64 // records a second, on average; 0: unlimited
	Poisson    bool    // arrivals are at random
	OneAtATime bool    // one record is in flight at a time
	NoAcks     bool    // acks=0
	Wire       bool    // the wire engine carries it

	// Of a target that was changed: its mean from the first record due to the last one sent, and its last value. 0: it is as Target.
	TargetSending, TargetLast float64

	// The records.
	Measured                                          time.Duration
	Offered, Acknowledged, Failed, Unknown, Unsent    int64
	Consumed, NotInLog                                int64 // NotInLog: counted as acknowledged and not written
	OfferedPerSecond, AcknowledgedPerSecond           float64
	Waiting                                           float64 // records without an acknowledgement when sending ended
	Sending                                           bool    // the senders still send, and Waiting is of now
	WorstError                                        string  // the most frequent one, and what a broker said with it; "": none
	Unanswered                                        int64   // requests that ended without an answer
	FailedConnects                                    int64   // attempts to connect that failed
	OwnSendDelayP99, ResponseP99                      time.Duration
	CPUCores, CoresAvailable, HostCPUCores, HostCores float64
	Senders                                           bool          // BufferFull and InFlight are known
	BufferFull                                        float64       // share of the senders' time
	InFlight                                          float64       // share of the requests allowed in flight
	Throttled                                         float64       // share of the clients' time
	Quota                                             string        // a clause on what throttled them; "": not known
	CPUStopped                                        float64       // share of the periods in which a CPU limit stopped kt
	Paused                                            time.Duration // for which kt itself stood still

	Ceiling float64 // records a second that this host can offer; 0: that is not known

	Stall Stall
	Read  *Readers // nil: the run does not read
	Parts *Parts   // nil: the run is of one process
}

// Stall is the longest time without an acknowledgement while records were outstanding. Of a run that only
// reads, it is the longest time without a record while there was consumer lag.
type Stall struct {
	stats.Gap
	Cause string // a clause on the events meanwhile; "": none
}

// Parts is evidence of a run that was merged of several processes.
type Parts struct {
	Count     int
	NoOverlap string   // reason why there is no overlap; "": there is one
	Invalid   []string // reasons of the parts why they are not valid
}

// The thresholds of the verdict. They are judgement, not a standard: from there on, too little of a resource
// is left to hide it. Each verdict prints its number.
const (
	cpuSaturated  = 0.90 // of the cores that kt may use: the scheduler, GC and the kernel's share need the rest
	throttleShows = 0.05 // of the time
	throttleLoses = 0.50 // of the time: records time out
	stoppedShows  = 0.10 // of the periods of a CPU limit, which are 100 ms: the p99 has most of what comes in one of ten
	pauseShows    = time.Second
	ceilingShows  = 0.95 // of what the host can offer: two calibrations differ by some percent
	ceilingHolds  = 1.10 // of the ceiling: more is more than two calibrations differ by, so it was measured too low
	bufferShows   = 0.10 // of the senders' time
	inFlightShows = 0.50 // of the requests allowed in flight
	rateKept      = 0.99 // of the target
	failuresShow  = 0.01 // of the records offered
	stallShows    = 2 * time.Second

	// HostSaturated is the share of a machine's cores from which on it has no CPU left.
	HostSaturated = 0.95

	// StallAtRate is the shortest stall at a fixed rate. It is below stallShows because each record that was due in it has waited.
	StallAtRate = time.Second

	// waitingShows bounds the records of a fixed-rate load without an acknowledgement when sending ends, if
	// they are more than 1 - rateKept of all: more than a second of the load is a queue.
	waitingShows = time.Second

	// Shortest is the least measured time from which kt draws conclusions.
	Shortest = time.Second
)

// PoissonSpread is the number of standard deviations by which chance may take a Poisson load below its
// target. At n records, one of them is 1/√n of the rate.
const PoissonSpread = 3

// The bound on kt's own lateness, by which a fixed-rate run is judged.
const (
	// sendDelayFloor is five sleeps of the sender, which shares its CPUs with a Kafka client.
	sendDelayFloor = 5 * time.Millisecond

	// sendDelayShare is the share of the measured p99 that may be kt's own lateness.
	sendDelayShare = 0.10

	// wireDelay is two sleeps of the sender. The wire engine measures the brokers, so no latency excuses a sender
	// that is late: the brokers got other bursts than the schedule has.
	wireDelay = 2 * time.Millisecond
)

// bound returns the send delay of kt's own making that still counts as on time.
func (e *Evidence) bound() time.Duration {
	if e.Wire {
		return wireDelay
	}
	return max(sendDelayFloor, time.Duration(sendDelayShare*float64(e.ResponseP99)))
}

// CeilingShare returns the rate as a share of what this host can offer, 0 if that is not known.
func (e *Evidence) CeilingShare() float64 {
	if e.Parts != nil {
		return 0
	}
	return Per(e.OfferedPerSecond, e.Ceiling)
}

// CeilingTooLow reports whether a load offered so much more than a ceiling that the ceiling was measured too low.
func CeilingTooLow(share float64) bool { return share > ceilingHolds }

// slack returns the share of the target that the rate may fall short by.
func (e *Evidence) slack() float64 {
	if e.Poisson {
		return 1 - rateKept + PoissonSpread/math.Sqrt(float64(max(1, e.Offered)))
	}
	return 1 - rateKept
}

// kept reports whether the load was offered at the target rate, and no record that was due was left unsent.
func (e *Evidence) kept() bool {
	return e.onTime() && float64(e.Unsent) <= (1-rateKept)*float64(e.Offered)
}

// onTime reports whether the records that were sent keep the target rate. One record has no rate.
func (e *Evidence) onTime() bool {
	return e.Offered == 1 || e.OfferedPerSecond >= (1-e.slack())*e.sending()
}

func (e *Evidence) sending() float64 { return cmp.Or(e.TargetSending, e.Target) }

func (e *Evidence) last() float64 { return cmp.Or(e.TargetLast, e.Target) }

// lost returns the share of the records offered that were not acknowledged.
func (e *Evidence) lost() float64 {
	return Per(float64(e.Failed+e.Unknown), float64(e.Offered))
}

// stalls reports whether the longest time without a record is worth a verdict.
func (e *Evidence) stalls() bool {
	return e.Stall.Length >= stallShows || e.Target > 0 && e.Stall.Length >= StallAtRate
}

// paused reports whether kt itself stood still.
func (e *Evidence) paused() bool { return e.Paused >= pauseShows }

// stopped reports whether a CPU limit stopped kt so often that latencies show it.
func (e *Evidence) stopped() bool { return e.CPUStopped >= stoppedShows }

// noCPU reports whether kt had no CPU left.
func (e *Evidence) noCPU() bool {
	return e.stopped() || e.CoresAvailable > 0 && e.CPUCores >= cpuSaturated*e.CoresAvailable
}

// hostFull reports whether the machine had no CPU left.
func (e *Evidence) hostFull() bool {
	return e.HostCores > 0 && e.HostCPUCores >= HostSaturated*e.HostCores
}

func (e *Evidence) readsOnly() bool { return e.Read != nil && e.Read.Only }

// Missed returns the share of the target that was reached, and reports whether it is too little, for a run with that limit.
func (e *Evidence) Missed(by Limit) (share float64, missed bool) {
	if e.Target == 0 || by == None || by == Unknown {
		return 0, false
	}
	reached := e.AcknowledgedPerSecond
	if e.readsOnly() {
		reached = e.Read.RecordsPerSecond
	}
	share = reached / e.Target
	return share, share < 1-e.slack()
}

// The thresholds of the verdict on reading.
const (
	lagThere       = 0.50 // of the time
	waitShows      = 0.10 // of the readers' time
	heldShows      = 0.50 // of the readers' time
	rebalanceShows = 0.10 // of the readers' time
	fetchShows     = 0.40 // of the time in which a client may have a fetch at a broker
	locksShow      = 0.80 // of the locks of a partition
	allLocksShow   = 0.95 // the same, where the consumers hold fewer records than there are locks
	consumersBusy  = 0.90 // of the consumers
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
	Locks                     RecordLocks

	Processing time.Duration // of each record, in the mean
	Busy       float64       // share of the time of the consumers' threads, in which they worked
	Assigned   int64         // consumers of a group that can have partitions, and only their time is in the shares; 0: all can
	Keeps      string        // a clause on how many threads or consumers would keep up with what is written; "": not known

	Nothing   bool          // there was nothing to read
	Warmed    bool          // the warm-up read all
	Joining   bool          // no reader had joined the group when the run ended
	Idle      time.Duration // without a record before reading was given up
	IdleCause string        // a clause on the events meanwhile; "": none

	// Shares of the time from the first record to the last, of a run that only reads.
	LagThere   float64 // with consumer lag
	Waiting    float64 // of the readers that have partitions
	Held       float64 // in which a rate or a processing time held readers back
	Unassigned float64 // of readers without partitions, in rebalances
	Fetching   float64 // with a fetch at the busiest broker
}

// RecordLocks are the record locks of a share group: records of a partition from the first that is not settled to the last that was
// delivered. The zero value is of no share group.
type RecordLocks struct {
	Limit, Partitions int64   // locks of a partition, and how many there are
	Used, Held        int64   // most of a partition, and most that one consumer had
	Asked             int64   // records, by a fetch; 0: not known
	Consumers         int64   // of a group, 1 or more
	Threads           int64   // of a consumer
	Working           float64 // consumers of a group that worked on records at once, in the mean

	Duration time.Duration // of a lock; 0: not known

	Behind time.Duration // fetch.max.wait.ms, where most acknowledgements took as long without work that says why; 0: they did not
}

// usedUp reports whether consumers without records waited for locks: they could hold more than there are, or all were seen to be used.
func (l *RecordLocks) usedUp() bool {
	used := float64(l.Used) >= locksShow*float64(l.Limit) && !l.Enough() || float64(l.Used) >= allLocksShow*float64(l.Limit)
	return l.Limit > 0 && (used || l.Behind > 0) && l.Working < consumersBusy*float64(l.Consumers)
}

// Enough reports whether there are as many locks as all consumers can have records.
func (l *RecordLocks) Enough() bool { return l.Held*l.Consumers <= l.Limit*l.Partitions }

// RunOut returns a clause on locks that end before a consumer is done with all records that it has, with so much processing time for
// each; "": they do not.
func (l *RecordLocks) RunOut(each time.Duration) string {
	if n := l.Duration * time.Duration(l.Threads) / max(1, each); l.Duration > 0 && time.Duration(l.Held) > n {
		return fmt.Sprintf("%s × %s is above the lock of %s (share.record.lock.duration.ms), so records come again: --share-max-records %d, or a longer lock",
			theme.Plural(l.Held, "record", "records"), theme.Duration(each), theme.Duration(l.Duration), max(1, n/2))
	}
	return ""
}

// Helps returns what would let more consumers work.
func (l *RecordLocks) Helps() string {
	const twice = 2 // a fetch brings whole batches, so more than it asks for
	all := l.Limit * l.Partitions
	switch n := all / (twice * l.Consumers); {
	case l.Behind > 0:
		return fmt.Sprintf("acknowledgements wait behind fetches, up to fetch.max.wait.ms (%d): --share-acquire-mode record_limit or --command-property fetch.max.wait.ms=50",
			l.Behind.Milliseconds())
	case l.Enough() || n < l.Threads: // all of them could have records
		return "more locks or partitions"
	case l.Asked > 0 && l.Asked <= n:
		return "--share-acquire-mode record_limit, as batches are larger than --share-max-records,"
	default:
		return fmt.Sprintf("--share-max-records %d", n)
	}
}

// Lag is the consumer lag of a run.
type Lag struct {
	Records, Left int64   // when sending ended, and at the end of the run; below 0: not known
	Slope         float64 // records a second
	Appended      float64 // records a second
	KeptUp        *bool   // nil: not known
}

// readKept reports whether the readers kept the target rate.
func (e *Evidence) readKept() bool {
	return e.Target > 0 && e.Read.RecordsPerSecond >= rateKept*e.Target
}
