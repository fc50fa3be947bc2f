package engine

import (
	"fmt"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

const (
	rateStep   = 100 * time.Millisecond // the unit of time at which the rate changes
	maxChanges = 1000                   // of the rate, in memory
)

// rates are the changes of a run's target rate. A shard takes each over before it sends a
// record that is due after it.
//
// The moment of a change is agreed in this order: changeRate closes posted, and reads the
// clock after that. A sender reads the clock and looks at posted after that. So a sender that
// finds posted open has read an earlier time than that of the change, and hands over nothing
// that is due later. One that finds it closed waits for mu, and knows the change.
type rates struct {
	mu       sync.Mutex // guards the rest
	schedule plan.Schedule
	changes  []stats.Event // at most maxChanges
	posted   chan struct{} // closed by the next change
	told     int           // changes that a window has
}

func newRates(p *plan.Plan) rates {
	return rates{schedule: p.Schedule(), posted: make(chan struct{})}
}

// now returns the schedule of all shards.
func (c *rates) now() plan.Schedule {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.schedule
}

// changeRate changes the target rate soon. An unlimited rate stays, and so does any when it is
// too late for some shard: it may have sent its last record.
func (r *run) changeRate(perSecond float64) {
	c := &r.rates
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.plan.Load.Rate.IsUnlimited() || r.stage() >= Draining || len(c.changes) == maxChanges || !(perSecond > 0) {
		return
	}
	close(c.posted)
	c.posted = make(chan struct{})
	at := (r.now() + shortSleep).Truncate(rateStep) + rateStep
	if n := len(c.changes); n > 0 && at <= c.changes[n-1].At { // events of one time have no order
		at = c.changes[n-1].At + 1
	}
	if r.plan.Writes() && !c.schedule.Going(&r.plan.Load, at, len(r.shards)) {
		return
	}
	old := c.schedule.Rate(at)
	if old <= 0 {
		return
	}
	c.schedule = c.schedule.Change(at, perSecond)
	c.changes = append(c.changes, stats.Event{
		At: at, Kind: stats.RateChanged, Broker: -1, To: -1, OldRate: old, NewRate: perSecond,
		Text: fmt.Sprintf("target %s records/s (was %s)", plan.Rate{PerSecond: perSecond}, plan.Rate{PerSecond: old}),
	})
}

// Target returns the target rate that a change of it would be a change of, in records a second; 0 when there is
// none or no run is live.
func (s *Status) Target() float64 {
	r := s.run.Load()
	if r == nil {
		return 0
	}
	return r.rates.now().Rate(r.now() + shortSleep + rateStep)
}

// stagesBegun returns an event for each stage of the target that begins in a window, while the load goes on.
func (r *run) stagesBegun(from, to time.Duration) (events []stats.Event) {
	rate, ends := r.plan.Load.Rate, min(to, r.plan.Load.Duration.Std())
	if r.sent > 0 {
		ends = min(ends, r.sent)
	}
	for i, at := range rate.Bounds() {
		if from <= at && at < ends {
			events = append(events, stats.Event{
				At: at, Kind: stats.StageBegan, Broker: -1, To: -1,
				Text: fmt.Sprintf("stage %d of %d: %s", i+1, len(rate.Stages), plan.Rate{Stages: rate.Stages[i : i+1], Bytes: rate.Bytes}),
			})
		}
	}
	return events
}

// mergeWindows is MergeWindows, but for windows of different stages of the target.
func (r *run) mergeWindows(pending, next []stats.Window) []stats.Window {
	rate, n := &r.plan.Load.Rate, 0
	for n < len(pending) && len(next) > 0 && rate.StageAt(pending[n].End-1) != rate.StageAt(next[0].End-1) {
		n++
	}
	return append(pending[:n:n], MergeWindows(pending[n:], next)...)
}

// take returns the changes up to the end of a window that no window has.
func (c *rates) take(end time.Duration) []stats.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.told
	for c.told < len(c.changes) && c.changes[c.told].At <= end {
		c.told++
	}
	return c.changes[from:c.told]
}

// clock returns the time, after which the pacer knows all changes of the rate up to then.
func (s *Shard) clock() time.Duration {
	now := s.Now()
	select {
	case <-s.posted:
	default:
		return now
	}
	c := &s.run.rates
	c.mu.Lock()
	changes := c.changes[s.paced:]
	s.posted = c.posted
	c.mu.Unlock()
	for _, e := range changes {
		s.due, s.more = s.pacer.Change(e.At, e.NewRate/s.run.plan.Part())
	}
	s.paced += len(changes)
	s.mu.Lock()
	s.next = s.due
	s.mu.Unlock()
	return now
}
