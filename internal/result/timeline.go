package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Event is an event of the run.
type Event struct {
	AtSeconds  float64         `json:"at_seconds"` // when kt saw it, from the start of the run
	Kind       stats.EventKind `json:"kind"`
	Broker     int32           `json:"broker_id"`    // the one concerned; -1: none, or several
	To         int32           `json:"to_broker_id"` // the leader or controller now; -1: none, or several
	Partitions []int32         `json:"partitions,omitempty"`
	Count      int             `json:"partition_count,omitempty"` // Partitions may list fewer
	Text       string          `json:"text"`

	// Of rate_changed: the target before and from then on.
	OldRate float64 `json:"old_records_per_second,omitempty"`
	NewRate float64 `json:"new_records_per_second,omitempty"`
}

// Outage is the longest time without an acknowledgement, and the effect of a fault on the run. Times
// are from the start of the fault; nil: it did not happen.
type Outage struct {
	LongestGapMS          *int64   `json:"longest_gap_ms,omitempty"` // in which records waited and none was acknowledged
	LongestGapFromSeconds *float64 `json:"longest_gap_from_seconds,omitempty"`
	LongestGapOf          string   `json:"longest_gap_of,omitempty"` // in a merged result: its process, "vm15/2"

	BeganSeconds   *float64        `json:"began_seconds,omitempty"`  // since the start of the run
	BeganWith      stats.EventKind `json:"began_with,omitempty"`     // "": no fault, and all below is nil
	RecordsFailed  *int64          `json:"records_failed,omitempty"` // from that second on, or never answered
	FirstErrorMS   *int64          `json:"first_error_ms,omitempty"`
	FirstSuccessMS *int64          `json:"first_success_ms,omitempty"`
	NewLeaderMS    *int64          `json:"new_leader_ms,omitempty"`
	RecoveredMS    *int64          `json:"rate_recovered_ms,omitempty"`
	InSyncMS       *int64          `json:"in_sync_ms,omitempty"`
}

// timeline holds the events of a run and their effect on the load.
type timeline struct {
	kept    stats.Window      // events alone, without those of rates: few of each kind
	said    map[string]string // what a broker said with an error code, the first time
	others  string            // the newest event of other members of the group
	quota   string            // what throttled kt, of the newest event on it
	from    time.Duration     // start of the measured part; meaningless before its first window
	recent  []loadSecond      // of the measured part
	fault   *fault            // nil: none
	symptom bool              // something but the user's command was amiss in the measured part
	gap     stats.Gap         // the longest one
	cause   string            // of it, as explain says
}

// loadSecond is the load in one second.
type loadSecond struct {
	start, end time.Duration
	rate       float64
	failed     int64
	full       bool // the load went on in all of it
}

// add takes a window. rate is of what was acknowledged in it, or read by a run that only reads.
func (t *timeline) add(w *stats.Window, rate float64, full bool) {
	if w.Warmup {
		return
	}
	if len(t.recent) == 0 {
		t.from = w.Start
	}
	s := loadSecond{w.Start, w.End, rate, w.Failed + w.Unknown, full}
	t.recent = append(t.recent, s)
	for t.recent[0].end < w.End-2*normalTime {
		t.recent = t.recent[1:]
	}
	if t.fault != nil {
		t.fault.add(s)
	}
	if len(w.Events) > 0 {
		t.findFault(w.Events)
	}
}

// keep keeps the events of a window that was added, and what brokers said.
func (t *timeline) keep(w *stats.Window) {
	fresh := stats.Window{EventsLeftOut: w.EventsLeftOut}
	for _, e := range w.Events {
		if e.Kind != stats.RateChanged {
			fresh.Events = append(fresh.Events, e)
		}
		if e.Kind == stats.OtherMembers {
			t.others = e.Text
		}
		if _, why, ok := strings.Cut(e.Text, stats.KtIsThrottled); ok && e.Kind == stats.AlarmOn {
			t.quota = why
		}
		_, what, _ := strings.Cut(e.Text, stats.RecordsFail)
		if code, said, ok := strings.Cut(what, ": "); e.Kind == stats.FirstError && ok && t.said[code] == "" && len(t.said) < stats.MostOfKind {
			t.said[code] = said
		}
	}
	t.kept.Add(&fresh)
}

// findFault finds the event that began the fault, and follows its effects. It may be told after them. Events may be dropped afterwards.
func (t *timeline) findFault(fresh []stats.Event) {
	all, began := inOrder(slices.Concat(t.kept.Events, fresh)), stats.Event{}
	if t.fault != nil {
		began = stats.Event{At: t.fault.at, Kind: t.fault.with}
	}
	for _, e := range all {
		if e.At < t.from || begins[e.Kind] == 0 {
			continue
		}
		t.symptom = t.symptom || e.Kind != stats.Exec
		if cmp.Or(-cmp.Compare(begins[e.Kind], begins[began.Kind]), cmp.Compare(e.At, began.At)) < 0 { // the zero event ranks below all
			began = e
		}
	}
	switch f := t.fault; {
	case began.Kind == "":
		return
	case f != nil && f.at == began.At && f.with == began.Kind:
		all = inOrder(fresh)
	default:
		normal := slices.DeleteFunc(slices.Clone(t.recent), func(s loadSecond) bool {
			return !s.full || s.end > began.At || s.start < began.At-normalTime
		})
		t.fault = &fault{at: began.At, with: began.Kind, after: recovery{bar: recovered * median(normal)}}
		for _, s := range t.recent {
			t.fault.add(s)
		}
	}
	for _, e := range all {
		t.fault.addEvent(e)
	}
}

// explain returns a clause on the event that may have caused a stall, in it or up to a second before; "": there is none.
func (t *timeline) explain(from, to time.Duration) string {
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderLost, stats.LeaderMoved, stats.AlarmOn, stats.Exec} {
		for _, e := range t.kept.Events {
			last := to
			if kind == stats.Exec { // a later one may have ended it
				last = min(to, from+time.Second)
			}
			if e.Kind != kind || e.At < from-time.Second || e.At > last {
				continue
			}
			what := e.Text
			if kind == stats.Exec { // its text may be long
				what = "the user's command is started"
			}
			return fmt.Sprintf("at %s %s, see the timeline", theme.Duration(e.At), what)
		}
	}
	return ""
}

// begins has the ranks of events as the beginning of a fault: the user's own command is above symptoms.
var begins = map[stats.EventKind]int{stats.Exec: 2, stats.BrokerGone: 1, stats.LeaderLost: 1, stats.LeaderMoved: 1, stats.FirstError: 1}

// events returns the events by time, with the changes of the target and the partitions in which records fail.
func (f *Fold) events() []stats.Event {
	events, all := inOrder(slices.Concat(f.line.kept.Events, f.rates)), f.header.Environment.Partitions()
	for i := range events {
		if e := &events[i]; e.Kind == stats.FirstError && len(e.Partitions) > 0 && e.Count < all {
			names := make([]string, len(e.Partitions))
			for i, number := range e.Partitions {
				names[i] = strings.TrimPrefix(f.header.Environment.PartitionName(number), "p")
			}
			e.Text += fmt.Sprintf(" (%d of %d partitions: %s)", e.Count, all, strings.Join(names, " "))
		}
	}
	return events
}

// listed returns events as a document has them.
func listed(events []stats.Event) (list []Event) {
	for _, e := range events {
		list = append(list, Event{
			AtSeconds: e.At.Seconds(), Kind: e.Kind, Broker: e.Broker, To: e.To, Partitions: e.Partitions, Count: e.Count, Text: e.Text,
			OldRate: e.OldRate, NewRate: e.NewRate,
		})
	}
	return list
}

func inOrder(events []stats.Event) []stats.Event {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b stats.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// outage returns the outage of the run, nil if there was neither a gap nor a fault.
func (t *timeline) outage(longest stats.Gap) *Outage {
	f, gap := t.fault, gapOf(longest)
	if f != nil && f.with == stats.Exec && f.failed == 0 && !f.after.low && !t.symptom {
		f = nil // the user's command had no visible effect
	}
	if f == nil && gap == nil {
		return nil
	}
	o := new(Outage)
	if f != nil {
		began, failed := f.at.Seconds(), f.failed
		*o = f.effect
		o.BeganSeconds, o.BeganWith, o.RecordsFailed = &began, f.with, &failed
		r := &f.after
		for i, s := range r.pending {
			if !r.found && !r.stays(r.pending[i:]) {
				continue
			}
			if i == 0 && !r.fell { // the rate never fell
				s.end = 0
			}
			f.note(&o.RecoveredMS, s.end) // the fault may have lasted until then
			break
		}
	}
	if gap != nil {
		o.LongestGapMS, o.LongestGapFromSeconds = &gap.LengthMS, &gap.FromSeconds
	}
	return o
}

// fault is a fault and its effect on the load.
type fault struct {
	at     time.Duration
	with   stats.EventKind
	failed int64
	after  recovery

	effect  Outage  // the times of events
	left    []int32 // brokers that lost leaders
	elected bool    // leaders move back: the elections that the fault caused are over
}

func (f *fault) add(s loadSecond) {
	if s.end > f.at {
		f.failed += s.failed
		f.after.add(s)
	}
}

// addEvent takes an event. Events come in the order of their times, but for those that are told late.
func (f *fault) addEvent(e stats.Event) {
	if e.At < f.at {
		return
	}
	switch e.Kind {
	case stats.FirstError:
		f.note(&f.effect.FirstErrorMS, e.At)
	case stats.FirstSuccess:
		f.note(&f.effect.FirstSuccessMS, e.At)
	case stats.InSync:
		f.note(&f.effect.InSyncMS, e.At)
	case stats.LeaderMoved, stats.LeaderLost:
		moved := e.Kind == stats.LeaderMoved
		f.elected = f.elected || moved && e.Broker >= 0 && slices.Contains(f.left, e.To)
		if moved && !f.elected {
			f.effect.NewLeaderMS = nil // the last one counts
			f.note(&f.effect.NewLeaderMS, e.At)
		}
		if e.Broker >= 0 && !slices.Contains(f.left, e.Broker) {
			f.left = append(f.left, e.Broker)
		}
	default:
	}
}

// note sets a time from the start of the fault, unless an earlier one is set.
func (f *fault) note(ms **int64, at time.Duration) {
	if d := max(0, at-f.at).Milliseconds(); *ms == nil || d < **ms {
		*ms = &d
	}
}

// A rate is back from the first second that reaches its share of the normal rate, if the median of the
// seconds after it does too and each is at least half of it. If each had to reach the same share,
// a pause that moves records from one second to the next would be an outage.
const (
	recovered  = 0.95             // of the median before
	normalTime = 30 * time.Second // before, at most
	stayTime   = 10 * time.Second // after, or to the end of the load
	collapsed  = 0.5              // of the rate that counts as back
)

// median returns the median rate, 0 if there is none.
func median(of []loadSecond) float64 {
	of = slices.SortedFunc(slices.Values(of), func(a, b loadSecond) int { return cmp.Compare(a.rate, b.rate) })
	if n := len(of); n > 0 {
		return (of[(n-1)/2].rate + of[n/2].rate) / 2
	}
	return 0
}

// recovery finds the second from which on the rate is back.
type recovery struct {
	bar     float64      // the rate that counts as back; 0: not known
	pending []loadSecond // a second that may be the one, and those after it
	found   bool         // pending[0] is the one
	fell    bool         // there were seconds before pending[0]
	low     bool         // there was a second below the bar
}

func (r *recovery) add(s loadSecond) {
	if !s.full || r.bar <= 0 {
		return
	}
	r.low = r.low || s.rate < r.bar
	if r.found {
		return
	}
	r.pending = append(r.pending, s)
	const tolerance = stayTime / 20 // of a clock that ticks once a second
	for len(r.pending) > 0 && s.end-r.pending[0].start >= stayTime-tolerance {
		if r.found = r.stays(r.pending); r.found {
			return
		}
		r.pending, r.fell = r.pending[1:], true
	}
}

func (r *recovery) stays(s []loadSecond) bool {
	return s[0].rate >= r.bar && median(s) >= r.bar &&
		!slices.ContainsFunc(s, func(s loadSecond) bool { return s.rate < collapsed*r.bar })
}
