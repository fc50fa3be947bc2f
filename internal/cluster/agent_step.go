package cluster

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// step does what is due, and reports whether the run is over.
func (r *hostRun) step(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decide(now)
	for _, c := range r.children {
		if c.spawned && !c.gone && !c.killAt.IsZero() && now.After(c.killAt) && c.kill != nil {
			c.kill()
			c.killAt = now.Add(abortGrace) // it is tried again
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
		r.tellAll(now, doStop, ToProcess{Stop: true}, drainWithin)
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
	// A finish deletes the topic, and hosts that this one knows nothing of may load it yet.
	for _, c := range r.children {
		c.hangUp()
		c.due(now.Add(finishGrace))
	}
	return r.gone()
}

// beginWithin is how long after the start a process may take to say that it has begun.
const beginWithin = 2 * time.Second

// begun reports whether all processes have begun, or should have: to one that is stopped
// before, it means that there is to be no load.
func (r *hostRun) begun(now time.Time) bool {
	for _, c := range r.children {
		if c.status.State == partReady && now.Before(r.start.At.Add(beginWithin)) {
			return false
		}
	}
	return !now.Before(r.start.At)
}

// decide notes what the agent orders by itself.
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
			c.due(now.Add(stopGrace)) // also where a stop came before, which lets it drain
		}
	case limit > 0 && now.Sub(r.start.At) > limit+overtime && !r.ordered[doStop] && !r.written && (!r.settled() || len(r.children) == 0):
		r.order(doStop, now)
		if len(r.children) == 0 {
			r.order(doDrained, now)
		}
		r.a.o.Log(fmt.Sprintf("run %s: stopped, for it is longer than --max-duration %v", r.name, limit))
	}
}

// endAll tells the processes to end, and removes the file of the watch once all are gone.
func (r *hostRun) endAll(now time.Time) {
	r.tellAll(now, doStop, ToProcess{Stop: true}, stopGrace)
	if r.ordered[doAbort] {
		r.tellAll(now, doAbort, ToProcess{Abort: true}, abortGrace)
	}
	if r.watch != nil && r.gone() {
		_ = r.watch.close(result.Interrupted) // the file goes away
		r.watch = nil
	}
}

// tellAll gives an order to each process that is there; one that is still there after
// the grace is killed.
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

// absent reports whether a run whose processes are done need not wait for its
// coordinator.
func (r *hostRun) absent(now time.Time) bool {
	if r.talk != nil {
		return false
	}
	away := now.Sub(r.seen)
	if r.halted.IsZero() && r.offer.Lasts == 0 && len(r.children) == 0 {
		return away > absentWatch
	}
	return away > absentGrace && now.Sub(r.loaded()) > absentGrace
}

// write closes the file of what was watched: all run files of this host are whole then.
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
