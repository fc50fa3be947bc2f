package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// backlog is the state of a load whose readers pause until a backlog waits for them.
type backlog struct {
	held   atomic.Bool   // they pause
	read   atomic.Int64  // records that all groups have read
	failed atomic.Int64  // records that no reader will get
	rest   time.Duration // of the load, when the readers have caught up; 0: it has no end
}

const (
	backlogTick  = 100 * time.Millisecond
	leastBacklog = 1000 // records that always may be left: those on their way
)

// makeBacklog holds the readers after the warm-up until the backlog of the plan is there, and ends the load some time after they have
// caught up.
func (r *run) makeBacklog(ctx context.Context) {
	p, b := &r.plan, &r.backlog
	if p.Read.Backlog == 0 {
		return
	}
	groups, want := int64(max(1, p.Read.Groups)), int64(float64(p.Read.Backlog)/p.Payload.MeanBytes())
	waiting := func() int64 {
		sent := -b.failed.Load()
		for _, s := range r.shards {
			s.mu.Lock()
			sent += s.settled.records
			s.mu.Unlock()
		}
		return sent*groups - b.read.Load()
	}
	until := func(done func() bool) bool {
		for !done() {
			select {
			case <-r.stop:
				return false
			case <-ctx.Done():
				return false
			case <-time.After(backlogTick):
			}
		}
		return true
	}
	from := p.Load.Warmup.Duration.Std()
	note := func(format string, records int64) {
		now := r.now()
		text := fmt.Sprintf(format, records, (now - from).Round(backlogTick))
		r.beside.Add(stats.Event{At: now, Kind: stats.Backlog, Broker: -1, To: -1, Text: text})
		from = now
	}
	defer b.held.Store(false)
	if !until(func() bool { return r.now() >= from }) {
		return
	}
	b.held.Store(true)
	if !until(func() bool { return waiting() >= want }) {
		return
	}
	note("a backlog of %d records waits after a pause of %s: the consumers go on", waiting())
	b.held.Store(false)
	left := max(leastBacklog, int64(p.Read.BacklogLeft*float64(want)))
	if !until(func() bool { return waiting() <= left }) {
		return
	}
	note("%d records of the backlog are left after %s", max(0, waiting())) // one may be read before its acknowledgement is seen
	if end := r.now() + b.rest; b.rest > 0 && until(func() bool { return r.now() >= end }) {
		r.stopSending()
	}
}
