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

// maxEvents bounds the list of events.
const maxEvents = 1000

// timeline holds the events of a run and their effect on the load.
type timeline struct {
	events  []stats.Event
	leftOut int64
	from    time.Duration // start of the measured part; meaningless before its first window
	recent  []loadSecond  // of the measured part
	fault   *fault        // nil: none
}

// loadSecond is the load in one second.
type loadSecond struct {
	start, end time.Duration
	rate       float64
	failed     int64
	full       bool // the load went on in all of it
}

// add takes a window. rate is of what was acknowledged in it, or read by a run
// that only reads.
func (t *timeline) add(w *stats.Window, rate float64, full bool) {
	for _, e := range w.Events {
		if len(t.events) == maxEvents {
			t.leftOut++
			continue
		}
		t.events = append(t.events, e)
	}
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
		t.look()
	}
}

// look finds the event that began the fault. It may be reported after its effects.
func (t *timeline) look() {
	began := -1
	for i, e := range t.events {
		switch {
		case e.At < t.from || begins(e.Kind) == 0:
		case began < 0 || earlier(e, t.events[began]):
			began = i
		}
	}
	if began < 0 {
		return
	}
	e := t.events[began]
	if f := t.fault; f != nil && f.at == e.At && f.with == e.Kind {
		return
	}
	t.fault = &fault{at: e.At, with: e.Kind, after: recovery{bar: recovered * median(before(t.recent, e.At))}}
	for _, s := range t.recent {
		t.fault.add(s)
	}
}

// explain returns a clause on the event that may have caused a stall: of a broker, in it or up to a second before, or the
// user's command at its beginning. "" if there is none.
func (t *timeline) explain(from, to time.Duration) string {
	events := inOrder(t.events)
	for _, kind := range []stats.EventKind{stats.BrokerGone, stats.LeaderLost, stats.LeaderMoved, stats.AlarmOn, stats.Exec} {
		for _, e := range events {
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

// text returns the rest of the text of an event, behind a beginning: of the newest event of a kind with that beginning. It is
// empty if there is none.
func (t *timeline) text(kind stats.EventKind, begins string) (text string) {
	for _, e := range t.events {
		if _, rest, ok := strings.Cut(e.Text, begins); ok && e.Kind == kind {
			text = rest
		}
	}
	return text
}

// begins returns the rank of an event as the beginning of a fault: 2 for the user's own command, 1 for
// a symptom, 0 for others.
func begins(kind stats.EventKind) int {
	switch kind {
	case stats.Exec:
		return 2
	case stats.BrokerGone, stats.LeaderLost, stats.LeaderMoved, stats.FirstError:
		return 1
	default:
		return 0
	}
}

// earlier reports whether a is the beginning of a fault rather than b.
func earlier(a, b stats.Event) bool {
	x, y := begins(a.Kind), begins(b.Kind)
	return x > y || x == y && a.At < b.At
}

// list returns the events by time.
func (t *timeline) list() []Event {
	var list []Event
	for _, e := range inOrder(t.events) {
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
	if f != nil && t.harmless(f) {
		f = nil
	}
	if f == nil && gap == nil {
		return nil
	}
	o := new(Outage)
	if gap != nil {
		o.LongestGapMS, o.LongestGapFromSeconds = &gap.LengthMS, &gap.FromSeconds
	}
	if f != nil {
		t.after(f, o)
	}
	return o
}

// harmless reports whether the user's command had no visible effect: no symptom, no failed record and no
// lower rate.
func (t *timeline) harmless(f *fault) bool {
	if f.with != stats.Exec || f.failed > 0 || f.after.low {
		return false
	}
	return !slices.ContainsFunc(t.events, func(e stats.Event) bool {
		return e.At >= t.from && e.Kind != stats.Exec && begins(e.Kind) > 0
	})
}

// after sets the effects of a fault.
func (t *timeline) after(f *fault, o *Outage) {
	began, failed := f.at.Seconds(), f.failed
	o.BeganSeconds, o.BeganWith, o.RecordsFailed = &began, f.with, &failed
	if at, ok := f.after.at(); ok {
		f.note(&o.RecoveredMS, at)
	}
	var left []int32 // brokers that lost leaders
	var elected bool // leaders move back: the elections that the fault caused are over
	for _, e := range inOrder(t.events) {
		if e.At < f.at {
			continue
		}
		switch e.Kind {
		case stats.FirstError:
			f.note(&o.FirstErrorMS, e.At)
		case stats.FirstSuccess:
			f.note(&o.FirstSuccessMS, e.At)
		case stats.InSync:
			f.note(&o.InSyncMS, e.At)
		case stats.LeaderMoved, stats.LeaderLost:
			moved := e.Kind == stats.LeaderMoved
			elected = elected || moved && e.Broker >= 0 && slices.Contains(left, e.To)
			if moved && !elected {
				o.NewLeaderMS = nil // the last one counts
				f.note(&o.NewLeaderMS, e.At)
			}
			if e.Broker >= 0 {
				left = append(left, e.Broker)
			}
		default:
		}
	}
}

// fault is a fault and its effect on the load.
type fault struct {
	at     time.Duration
	with   stats.EventKind
	failed int64
	after  recovery
}

func (f *fault) add(s loadSecond) {
	if s.end > f.at {
		f.failed += s.failed
		f.after.add(s)
	}
}

// note sets a time from the start of the fault, unless it is set.
func (f *fault) note(ms **int64, at time.Duration) {
	if *ms == nil {
		d := max(0, at-f.at).Milliseconds()
		*ms = &d
	}
}
