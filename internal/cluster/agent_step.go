package cluster

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// step gives the processes their due orders, kills those past their grace, and reports
// whether the run is over.
func (r *hostRun) step(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide(now)
	for _, c := range r.children {
		if c.spawned && !c.gone && !c.killAt.IsZero() && now.After(c.killAt) && c.kill != nil {
			c.kill()
			c.killAt = now.Add(abortGrace) // then kill is tried again
		}
	}
	if r.undo {
		r.endAll(now)
		return r.gone()
	}
	if r.start == nil {
		return false
	}
	begun := r.begun(now)
	if begun && r.ordered[doAbort] {
		r.tellAll(now, doAbort, ToProcess{Abort: true}, abortGrace)
	}
	if begun && r.ordered[doStop] {
		r.tellAll(now, doStop, ToProcess{Stop: true, Why: r.aborted}, drainWithin)
	}
	if !r.settled() {
		return false
	}
	left := r.quit || r.absent(now)
	if !r.written && (r.ordered[doDrained] || r.ordered[doAbort] || left) {
		r.write()
	}
	if !r.written || !r.ordered[doFinish] && !left {
		return false
	}
	if r.ordered[doFinish] {
		r.tellAll(now, doFinish, ToProcess{Finish: true}, finishGrace)
		return r.gone()
	}
	// A finish deletes the topic, and other hosts may still write to it. So without an order to
	// finish, the agent only closes the input of the processes. They then end by themselves.
	for _, c := range r.children {
		c.hangUp()
		c.due(now.Add(finishGrace))
	}
	return r.gone()
}

// beginWithin is the longest time from the start to a process's report that it has begun.
const beginWithin = 2 * time.Second

// begun reports whether all processes have begun, or beginWithin has passed since the start.
// A process that is stopped before it begins makes no load.
func (r *hostRun) begun(now time.Time) bool {
	for _, c := range r.children {
		if c.status.State == partReady && now.Before(r.start.At.Add(beginWithin)) {
			return false
		}
	}
	return !now.Before(r.start.At)
}

// decide gives the orders that need no coordinator: undo, stop when the agent ends, and stop
// at the agent's limit of duration.
func (r *hostRun) decide(now time.Time) {
	undo := func(why string) { r.undo, r.why = true, why }
	limit := r.a.o.Limits.Duration
	switch {
	case r.undo:
	case r.start == nil && r.talk == nil && now.Sub(r.seen) > lobbyGrace:
		undo(": the coordinator was gone before the start")
	case r.start == nil && now.Sub(r.born) > lobbyTimeout:
		undo(fmt.Sprintf(": it was not started within %v", lobbyTimeout))
	case r.quit && (r.start == nil || now.Before(r.start.At)):
		undo(": the agent ends")
	case r.start == nil:
	case r.quit && !r.settled():
		r.tellAll(now, doStop, ToProcess{Stop: true}, stopGrace)
		for _, c := range r.children {
			c.due(now.Add(stopGrace)) // an earlier stop order allowed more time, to drain
		}
	case limit > 0 && now.Sub(r.start.At) > limit+overtime && !r.ordered[doStop] && !r.written && (!r.settled() || len(r.children) == 0):
		r.order(doStop, now)
		if len(r.children) == 0 {
			r.order(doDrained, now)
		}
		r.a.o.Log(fmt.Sprintf("run %s: stopped, for it is longer than --max-duration %v", r.name, limit))
	}
}

// endAll tells the processes to stop, and closes the host's own run file once all are gone.
func (r *hostRun) endAll(now time.Time) {
	r.tellAll(now, doStop, ToProcess{Stop: true}, stopGrace)
	if r.ordered[doAbort] {
		r.tellAll(now, doAbort, ToProcess{Abort: true}, abortGrace)
	}
	if r.watch != nil && r.gone() {
		_ = r.watch.close(result.Interrupted) // live removes the file
		r.watch = nil
	}
}

// tellAll gives an order to each live process. A process that outlives the grace is killed.
func (r *hostRun) tellAll(now time.Time, order string, m ToProcess, grace time.Duration) {
	for _, c := range r.children {
		if !c.spawned || c.gone {
			continue
		}
		if !c.given[order] {
			c.due(now.Add(grace))
		}
		c.tell(order, m)
	}
}

func (r *hostRun) settled() bool {
	for _, c := range r.children {
		if !c.settled() {
			return false
		}
	}
	return true
}

func (r *hostRun) gone() bool {
	for _, c := range r.children {
		if c.spawned && !c.gone {
			return false
		}
	}
	return true
}

// absent reports whether the coordinator has been away so long that a run with no process at
// work ends without it.
func (r *hostRun) absent(now time.Time) bool {
	if r.talk != nil {
		return false
	}
	away := now.Sub(r.seen)
	if r.halted.IsZero() && r.offer.Lasts == 0 && len(r.children) == 0 {
		return away > absentWatch
	}
	return away > absentGrace && now.Sub(r.loadEnd()) > absentGrace
}

// write closes the host's own run file and reports to the coordinator that this host's run
// files are written.
func (r *hostRun) write() {
	r.written = true
	w := &written{Epoch: r.epoch}
	if r.watch != nil {
		ended := result.Completed
		if r.ordered[doStop] || r.ordered[doAbort] || r.quit {
			ended = result.Interrupted
		}
		if err := r.watch.close(ended); err != nil {
			w.Text = clean(err.Error(), maxText)
			r.a.o.Log(fmt.Sprintf("run %s: %v", r.name, err))
		}
	}
	r.out.flag(fromAgent{Written: w})
}
