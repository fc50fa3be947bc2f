package stats

import (
	"cmp"
	"slices"
	"time"
)

// Gap is a time without an acknowledgement, or without a record to read.
type Gap struct {
	From   time.Duration `json:"from_ns"` // from the start of the run
	Length time.Duration `json:"length_ns"`
}

// Longer returns the longer of two gaps, and the earlier of two that are equally long.
func (g Gap) Longer(o Gap) Gap {
	if o.Length > g.Length || o.Length == g.Length && o.Length > 0 && o.From < g.From {
		return o
	}
	return g
}

// Wait measures how long records have waited for an acknowledgement, of any broker or of one partition.
type Wait struct {
	answered time.Duration // newest acknowledgement
	since    time.Duration // since when records that failed had waited
	failed   bool          // since is set
}

// Acknowledged notes the acknowledgement of a record, and returns the gap that it ends.
func (w *Wait) Acknowledged(sent, at time.Duration) Gap {
	g := w.Open(sent, at)
	w.answered, w.failed = max(w.answered, at), false
	return g
}

// Answered notes an acknowledgement that ends no gap of interest.
func (w *Wait) Answered(at time.Duration) { w.answered = max(w.answered, at) }

// Failed notes a record that failed, and returns the open gap.
func (w *Wait) Failed(sent, at time.Duration) Gap {
	g := w.Open(sent, at)
	w.since, w.failed = at-g.Length, true
	return g
}

// Open returns the gap up to at: the time without an acknowledgement in which the record that was sent at
// sent, or one that failed, has waited.
func (w *Wait) Open(sent, at time.Duration) Gap {
	from := max(w.answered, sent)
	if w.failed {
		from = min(from, w.since)
	}
	if at <= from {
		return Gap{}
	}
	return Gap{From: from, Length: at - from}
}

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	LeaderMoved     EventKind = "leader_moved"     // partitions have another leader
	LeaderLost      EventKind = "leader_lost"      // partitions have no leader
	ISRShrank       EventKind = "isr_shrank"       // replicas of partitions have fallen out of sync
	CatchingUp      EventKind = "catching_up"      // lag of a broker with replicas out of sync
	ISRGrew         EventKind = "isr_grew"         // replicas of partitions are in sync again
	InSync          EventKind = "in_sync"          // all replicas of all partitions are in sync again
	BrokerGone      EventKind = "broker_gone"      // a broker does not answer
	BrokerBack      EventKind = "broker_back"      // a broker answers again
	ControllerMoved EventKind = "controller_moved" // another controller leads the cluster
	FirstError      EventKind = "first_error"      // the first record failed, after records had been acknowledged
	FirstSuccess    EventKind = "first_success"    // the first record was acknowledged after first_error
	ProducerRenewed EventKind = "producer_renewed" // a producer goes on under another producer id
	Rebalance       EventKind = "rebalance"        // a reader's group rebalanced
	Exec            EventKind = "exec"             // the user's own command was started
	ExecEnded       EventKind = "exec_ended"
	RateChanged     EventKind = "rate_changed"           // the user has changed the target rate
	StageBegan      EventKind = "stage_began"            // a stage of the target begins
	LogDirForecast  EventKind = "log_dir_forecast"       // when a log directory of a broker will be full
	LogDirFull      EventKind = "log_dir_full"           // it is, or as full as the load may make it
	MapsNear        EventKind = "memory_maps_near_limit" // a broker on this host is near vm.max_map_count
	AlarmOn         EventKind = "alarm_on"               // RabbitMQ or Pulsar throttles clients: an alarm, a limit of a rate or a queue
	AlarmOff        EventKind = "alarm_off"              // it throttles none any more
	LogDirFailed    EventKind = "log_dir_failed"         // its disk has failed
	TooLarge        EventKind = "too_large"              // a batch was passed over, because it is too large to read
	BundleUnloaded  EventKind = "bundle_unloaded"        // partitions of Pulsar were unloaded, and are loaded again by a broker
	PartitionsAdded EventKind = "partitions_added"       // the topics that are read got partitions
	OffsetReset     EventKind = "offset_reset"           // the log does not hold a committed offset
	RecordsDeleted  EventKind = "records_deleted"        // before they were read
	TransactionOpen EventKind = "transaction_open"       // records wait behind it, and are not read
	Backlog         EventKind = "backlog"                // the readers of a --backlog pause, go on, or have caught up
	Paused          EventKind = "paused"                 // kt itself stood still
	OtherMembers    EventKind = "other_members"          // members of the group that are not of the load have partitions
	MemberGone      EventKind = "member_gone"            // a share group has lost members
	LocksExpired    EventKind = "locks_expired"          // records of a share group came again that kt had not released
	GroupChanged    EventKind = "group_changed"          // the settings of a share group were changed

	RecordsFail   = "records fail: "    // begins the text of a first_error, before its code and what the broker said
	KtIsThrottled = "kt is throttled: " // begins the text of an alarm_on, before the reason
)

// Gravity is how bad an event is.
type Gravity int

// The gravities, the worst last.
const (
	Neutral Gravity = iota // the user's own doing
	Better
	Worse
	Worst
)

// String returns the gravity in one word.
func (g Gravity) String() string { return [...]string{"neutral", "better", "worse", "worst"}[g] }

// Gravity returns how bad an event of the kind is.
func (k EventKind) Gravity() Gravity {
	switch k {
	case Exec, ExecEnded, RateChanged, StageBegan, Backlog:
		return Neutral
	case BrokerBack, ISRGrew, InSync, FirstSuccess, AlarmOff:
		return Better
	case BrokerGone, LeaderLost, FirstError, LogDirFull, LogDirFailed:
		return Worst
	default:
		return Worse
	}
}

// State returns the kind of event that begins the state of an event of the kind, and whether this one ends it; "": it is of none.
func (k EventKind) State() (begins EventKind, ends bool) {
	switch k {
	case FirstError, BrokerGone, AlarmOn:
		return k, false
	case FirstSuccess:
		return FirstError, true
	case BrokerBack:
		return BrokerGone, true
	case AlarmOff:
		return AlarmOn, true
	default:
		return "", false
	}
}

// Event is one event of a run.
type Event struct {
	At   time.Duration `json:"at_ns"` // when kt saw it, from the start of the run
	Kind EventKind     `json:"kind"`

	// Broker is the broker that is gone or back, the former leader or controller, or the one with
	// replicas out of sync, or of the log directory. To is the leader or controller now. -1: none, or several.
	Broker int32 `json:"broker_id"`
	To     int32 `json:"to_broker_id"`

	Partitions []int32 `json:"partitions,omitempty"` // the first MaxEventPartitions of them
	Count      int     `json:"count,omitempty"`      // of partitions, all together
	Text       string  `json:"text"`                 // the event in one sentence

	// Of RateChanged: the target before and from then on, in records a second.
	OldRate float64 `json:"old_rate,omitempty"`
	NewRate float64 `json:"new_rate,omitempty"`
}

// MaxEventPartitions bounds the partitions that one event lists.
const MaxEventPartitions = 16

// mergeEvents sorts events by time and their other fields, so that merging is commutative, and keeps few of each kind.
func mergeEvents(a, b []Event, leftOut *map[string]int64) []Event {
	if len(b) == 0 {
		return a
	}
	merged := append(slices.Clip(a), b...)
	slices.SortStableFunc(merged, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Broker, y.Broker),
			cmp.Compare(x.To, y.To), cmp.Compare(x.Count, y.Count), cmp.Compare(x.Text, y.Text),
			slices.Compare(x.Partitions, y.Partitions), cmp.Compare(x.OldRate, y.OldRate), cmp.Compare(x.NewRate, y.NewRate))
	})
	merged = Few(merged, MostOfKind, func(e *Event) EventKind { return e.Kind }, leftOut)
	return merged[:min(len(merged), MostEvents)]
}

// Bounds of the events of a window, and of a run.
const (
	MostOfKind = 200
	MostEvents = 50 * MostOfKind // kt has fewer kinds; a run file may be from anybody
)

// Few returns at most so many events of each kind, the first and the last ones. It takes their memory, and counts the others in leftOut.
func Few[E any](events []E, most int, kind func(e *E) EventKind, leftOut *map[string]int64) []E {
	if len(events) <= most {
		return events
	}
	all, seen := make(map[EventKind]int), make(map[EventKind]int)
	for i := range events {
		all[kind(&events[i])]++
	}
	kept := events[:0]
	for _, e := range events {
		k := kind(&e)
		n := seen[k]
		if seen[k]++; n < (most+1)/2 || n >= all[k]-most/2 {
			kept = append(kept, e)
			continue
		}
		made(leftOut)[string(k)]++
	}
	return kept
}

func addCounts(to *map[string]int64, counts map[string]int64) {
	for name, n := range counts {
		made(to)[name] += n
	}
}
