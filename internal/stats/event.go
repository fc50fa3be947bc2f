package stats

import (
	"cmp"
	"slices"
	"time"
)

// Gap is a time in which something was missing.
type Gap struct {
	From   time.Duration `json:"from_ns"` // since the start of the run
	Length time.Duration `json:"length_ns"`
}

// longer returns the longer of two gaps, and the earlier of two that are equally long.
func (g Gap) longer(o Gap) Gap {
	if o.Length > g.Length || o.Length == g.Length && o.Length > 0 && o.From < g.From {
		return o
	}
	return g
}

// shift moves a gap by d; one of no length is nowhere.
func (g *Gap) shift(d time.Duration) {
	if g.Length > 0 {
		g.From += d
	}
}

// Wait follows for how long records have waited for an acknowledgement, of any
// broker or of one partition. The zero value has seen nothing.
type Wait struct {
	answered time.Duration // newest acknowledgement
	since    time.Duration // from when records have been waiting that failed meanwhile
	failed   bool          // there are such
}

// Acknowledged notes the acknowledgement of a record, and returns the time before it
// in which records waited and none was acknowledged.
func (w *Wait) Acknowledged(sent, at time.Duration) Gap {
	g := w.Open(sent, at)
	w.answered, w.failed = max(w.answered, at), false
	return g
}

// Answered notes that a record was acknowledged then, in whose wait nobody was interested.
func (w *Wait) Answered(at time.Duration) { w.answered = max(w.answered, at) }

// Failed notes a record that failed, and returns for how long none has been
// acknowledged.
func (w *Wait) Failed(sent, at time.Duration) Gap {
	g := w.Open(sent, at)
	w.since, w.failed = at-g.Length, true
	return g
}

// Open returns the time up to at in which the record sent then, or one that failed, has
// waited and none was acknowledged.
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

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	LeaderMoved     EventKind = "leader_moved"     // partitions have another leader
	LeaderLost      EventKind = "leader_lost"      // partitions have no leader
	ISRShrank       EventKind = "isr_shrank"       // replicas of partitions have fallen out of sync
	CatchingUp      EventKind = "catching_up"      // how far a broker is behind whose replicas are out of sync
	ISRGrew         EventKind = "isr_grew"         // replicas of partitions are in sync again
	InSync          EventKind = "in_sync"          // all replicas of all partitions are, after some were not
	BrokerGone      EventKind = "broker_gone"      // a broker does not answer
	BrokerBack      EventKind = "broker_back"      // it does again
	ControllerMoved EventKind = "controller_moved" // another controller leads the cluster
	FirstError      EventKind = "first_error"      // the first record failed, after records had been acknowledged
	FirstSuccess    EventKind = "first_success"    // the first record was acknowledged after that
	Rebalance       EventKind = "rebalance"        // a reader's partitions were shared out anew
	Exec            EventKind = "exec"             // the user's own command was started
	ExecEnded       EventKind = "exec_ended"
)

// Event is something that happened at one moment of a run.
type Event struct {
	At   time.Duration `json:"at_ns"` // when kt saw it, since the start of the run
	Kind EventKind     `json:"kind"`

	// Broker is the one concerned: gone, back, the leader or controller before, or
	// the one whose replicas are out of sync. To is the leader or controller now.
	// -1: none, or several.
	Broker int32 `json:"broker_id"`
	To     int32 `json:"to_broker_id"`

	Partitions []int32 `json:"partitions,omitempty"` // the first MaxEventPartitions of them
	Count      int     `json:"count,omitempty"`      // of partitions, all together
	Text       string  `json:"text"`                 // the event in one sentence
}

// MaxEventPartitions bounds what one event lists.
const MaxEventPartitions = 16

// mergeEvents keeps the order of the times; of two events at one time, the order
// of their kinds, brokers and texts, so that merging stays commutative.
func mergeEvents(a, b []Event) []Event {
	if len(b) == 0 {
		return a
	}
	merged := append(slices.Clip(a), b...)
	slices.SortStableFunc(merged, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Broker, y.Broker),
			cmp.Compare(x.To, y.To), cmp.Compare(x.Count, y.Count), cmp.Compare(x.Text, y.Text),
			slices.Compare(x.Partitions, y.Partitions))
	})
	return merged
}
