package engine

import (
	"math"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// catchUp is the longest delay that readers at a rate make up for. After a longer one, no record was there to read.
const catchUp = time.Second

// pace is how far readers at a rate have read. The rate is for all of them together, because some may have nothing to
// read. It begins with the first record, and begins anew with the first one after a time without any: neither joining
// nor idleness is made up for.
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
