package engine

import (
	"fmt"
	"math"
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

// changeRate changes the target rate soon, unless it is unlimited or some shard may have sent its last record.
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

// catchUp is the longest delay that readers at a rate make up for. After a longer one, no record was there to read.
const catchUp = time.Second

// pace is how far readers at a rate have read, all together, because some may have nothing to read. It begins with the first record,
// also after a time without any: neither joining nor idleness is made up for.
type pace struct {
	position float64       // in the schedule
	last     time.Duration // when a record was read; 0: none was
}

// idle reports whether no record came for longer than catchUp, although one was allowed.
func (p *pace) idle(s plan.Schedule, now time.Duration) bool {
	return p.last == 0 || now-max(p.last, s.Due(p.position+1)) > catchUp
}

// took notes records that were read.
func (r *run) took(n int, now time.Duration) {
	if !r.paced() {
		return
	}
	rs, schedule := r.readers, r.rates.now()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.pace.idle(schedule, now) {
		rs.pace.position = schedule.Position(now) - 1
	}
	rs.pace.position += float64(n)
	rs.pace.last = max(now, 1)
}

// paced reports whether a rate holds the readers back.
func (r *run) paced() bool { return !r.plan.Writes() && !r.plan.Load.Rate.IsUnlimited() }

// allowance returns the records that a reader may take now, or the time that it has to wait.
func (r *run) allowance(now time.Duration) (limit int, hold time.Duration) {
	if !r.paced() {
		return math.MaxInt32, 0
	}
	rs, schedule := r.readers, r.rates.now()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	p := &rs.pace
	if p.idle(schedule, now) {
		return 1, 0
	}
	p.position = max(p.position, schedule.Position(max(0, now-catchUp))-1)
	const exact = 1e-6 // of a record: positions are rounded
	if due := schedule.Position(now) - p.position + exact; due >= 1 {
		return int(min(due, math.MaxInt32)), 0
	}
	return 0, min(max(schedule.Due(p.position+1)-now, mostNap), maxHold)
}

// The shortest sleep of a sender, the nap: each sleep costs a wake-up, and a record that falls due in it is late
// by half of its length in the mean.
const (
	leastNap = 60 * time.Microsecond // of one sender, and of n senders n times as much: all together wake 17,000 times a second at most
	mostNap  = time.Millisecond      // also the shortest pause of a reader

	// napShare is the nap's share of the median service time. The mean wait is half of it, and with the kernel's delay less than a twentieth.
	napShare = 0.08

	// napPerRecord is the least nap for each record of a second. What falls due in a nap goes in one request where nothing else waits,
	// and small requests cost CPU at a high rate: a quarter more at 1,000,000/s.
	napPerRecord = time.Nanosecond
)

// nap returns the shortest sleep of each sender after a second in which they offered so many records with these service times.
func nap(service *stats.Histogram, offered int64, senders int) time.Duration {
	least := max(leastNap*time.Duration(senders), napPerRecord*time.Duration(offered))
	return min(mostNap, max(least, time.Duration(napShare*float64(service.ValueAtQuantile(0.5)))))
}

// takeNap sets the nap of all senders by the windows of the last second.
func (r *run) takeNap(last *stats.Phases) {
	w := &last[stats.Measured]
	if w.Acknowledged == 0 {
		w = &last[stats.Warmup]
	}
	r.nap.Store(int64(nap(&w.Service, w.Offered, len(r.shards))))
}
