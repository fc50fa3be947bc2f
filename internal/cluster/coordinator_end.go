package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
)

// Times of a session that ends.
const (
	drainGrace   = 3 * time.Minute            // draining may take the delivery timeout of two minutes
	leaveGrace   = abortGrace + 3*time.Second // agents kill processes abortGrace after the order; the rest is for their files
	undoTimeout  = stopGrace + 2*abortGrace
	noticeAfter  = time.Second     // if undoing takes longer, the user hears about it
	followGrace  = 5 * time.Second // for those who follow files that are complete; fetching goes on where they end
	leaveTimeout = 2 * time.Second // an order reaches every reachable agent within it
)

// within sets the deadline for the hosts that the step waits for, unless it is sooner already.
func (s *session) within(d time.Duration) {
	if at := time.Now().Add(d); s.end.deadline.IsZero() || at.Before(s.end.deadline) {
		s.end.deadline = at
	}
}

// awaits reports whether the step still waits for a host: for its run files while collecting, for its processes before.
func (s *session) awaits(r *remote) bool {
	switch {
	case r.state.Contact == contactLost || r.state.ended():
		return false
	case s.stage == stepCollecting:
		return r.state.Stage < stageWritten
	}
	return !r.state.settled()
}

func (s *session) unawaited(r *remote) bool { return !s.awaits(r) }

// loseAway gives up the hosts that the step waits for and that are away.
func (s *session) loseAway() {
	now := time.Now()
	for _, r := range s.hosts {
		if s.awaits(r) && r.state.away() {
			s.apply(r, notice{GiveUp: r.state.awayReason(now)})
		}
	}
}

// loseLate gives up the hosts that the step still waits for after its deadline.
func (s *session) loseLate() {
	s.loseAway()
	why := fmt.Sprintf("its processes did not finish within %v of the end of the load", drainGrace)
	switch {
	case s.end.leaving:
		why = fmt.Sprintf("it did not leave within %v", leaveGrace)
	case s.stage == stepCollecting:
		why = fmt.Sprintf("it did not write its run files within %v", drainGrace)
	}
	for _, r := range s.hosts {
		if s.awaits(r) {
			s.apply(r, notice{GiveUp: why})
		}
	}
	if s.end.leaving && s.end.giveUp != nil {
		s.end.giveUp()
	}
}

// collect completes the copies of the run files and tells the agents to end the run.
func (s *session) collect(ctx context.Context) (outcome, error) {
	s.stage = stepCollecting
	if !s.end.leaving {
		s.end.deadline = time.Now().Add(drainGrace)
	}
	s.orderAll(order{Drained: true})
	if err := s.until(ctx, maxRunTime, s.all(s.unawaited)); err != nil {
		return outcome{}, err
	}
	if !s.end.leaving {
		s.end.deadline = time.Time{} // a fetch goes on as long as bytes arrive
	}
	got, err := s.fetch(ctx)
	if err != nil {
		return outcome{}, err
	}
	o := s.outcome(got)
	if !s.finish() {
		return o, nil // each agent ends the run by itself, absentGrace after the coordinator is gone
	}
	ending, left := finishGrace+abortGrace, s.end.leaving
	if left {
		ending = leaveTimeout
	}
	err = s.until(ctx, ending, s.all(func(r *remote) bool {
		return s.end.leaving && !left || !r.state.canOrder() || r.state.ended() // an abort only now costs no file
	}))
	switch {
	case errors.Is(err, errTimeout):
		s.c.Log("some agents have not ended the run yet; they do so by themselves")
	case err != nil:
		s.leave()
	}
	return o, nil
}

// fetch completes the copies of all hosts that are not lost, when nobody follows the files any more.
func (s *session) fetch(ctx context.Context) (map[*remote]fetched, error) {
	var hosts []*remote
	var peers []Peer
	for _, r := range s.hosts {
		if r.state.Contact == contactLost {
			r.following.stop()
			continue
		}
		late := time.AfterFunc(followGrace, r.following.stop)
		defer late.Stop()
		hosts, peers = append(hosts, r), append(peers, r.peer)
	}
	var all []fetched
	most := fileMost(s.elapsed())
	err := s.await(ctx, maxRunTime, func(ctx context.Context) {
		for _, r := range s.hosts {
			defer context.AfterFunc(ctx, r.following.stop)()
		}
		for _, r := range s.hosts {
			r.following.live.Wait()
		}
		// Only files that the host was asked to write: agents may share a folder.
		expects := func(p *Peer, e fileEntry) bool { return e.Host == p.Name && e.Process <= len(s.hosts[0].offer.Shares) }
		all = s.c.fetchAll(ctx, peers, s.order.Epoch, expects, most, s.copies)
	})
	if err != nil {
		return nil, err
	}
	got := make(map[*remote]fetched)
	for i, r := range hosts {
		got[r] = all[i]
	}
	return got, nil
}

// outcome returns the outcome of the run, from the files that were fetched.
func (s *session) outcome(got map[*remote]fetched) outcome {
	o := outcome{Ended: make(map[string][]Ended)}
	for _, r := range s.hosts {
		f := got[r]
		for _, g := range f.files {
			o.Files = append(o.Files, g.path())
			state := s.stateOf(r, g)
			if state == result.PartComplete || state == result.PartLate || state == result.PartStopped && r.state.Parts[g.entry.Process-1].Stopped {
				p := &r.state.Parts[g.entry.Process-1]
				p.State, p.Ended = partDone, &Ended{}
			}
		}
		for _, text := range s.lostOf(r, f) {
			o.Lost = append(o.Lost, r.peer.Name+": "+text)
		}
		if len(r.state.Parts) > 0 {
			o.Ended[r.peer.Name] = r.state.ends()
		}
	}
	for _, f := range s.copies.open {
		if f.file != nil && f.lines.started { // it is not complete, and has a load
			o.Files = append(o.Files, f.path())
		}
	}
	slices.Sort(o.Files)
	return o
}

// stateOf returns the state of the part in a file, if no agent reported about it.
func (s *session) stateOf(r *remote, g gotFile) result.PartState {
	if n := g.entry.Process; n < 1 || n > len(r.state.Parts) || r.state.Parts[n-1].State != partUnheard {
		return ""
	}
	set := merge.NewSet()
	defer set.Close()
	if err := set.Offer(g.name, g.path(), false); err != nil || set.Len() == 0 {
		return result.PartLost // merging it reports why
	}
	return set.RunFiles()[0].State
}

// lostOf returns a sentence for each process or file of a host that is missing.
func (s *session) lostOf(r *remote, f fetched) []string {
	if r.state.Contact == contactLost {
		return []string{r.state.missing(s.order.Run)}
	}
	var lost []string
	if r.state.Vitals != "" {
		lost = append(lost, r.state.Vitals)
	}
	for _, err := range f.problems {
		var here *fs.PathError
		text := err.Error()
		switch {
		case errors.Is(err, context.Canceled):
			text = fmt.Sprintf("not all of its run files came within %v; they are with its agent: kt collect --run %s", leaveGrace, s.order.Run)
		case errors.As(err, &here): // of this machine, because errors of an agent arrive as text
			text = fmt.Sprintf("%v; files go to %s", err, s.opts.Dir)
		}
		lost = append(lost, text)
	}
	have := make(map[int]bool)
	for _, g := range f.files {
		have[g.entry.Process] = true
	}
	for i := range r.state.Parts {
		switch p := &r.state.Parts[i]; {
		case p.State == partUnheard: // one sentence for all processes of the host
			if !slices.Contains(lost, p.Text) {
				lost = append(lost, p.Text)
			}
		case p.State == partGone || p.State == partFailed:
			lost = append(lost, fmt.Sprintf("process %d: %s", i+1, p.Text))
		case !have[i+1] && len(f.problems) == 0:
			lost = append(lost, fmt.Sprintf("process %d left no run file", i+1))
		}
	}
	return lost
}

// undo undoes the preparation on all hosts. It waits for unreachable agents only when they might make the load.
func (s *session) undo() {
	if s.wires.cut == nil {
		return // nobody was asked
	}
	s.stage, s.end.stopped = stepUndoing, true
	s.orderAll(order{Cancel: true})
	undone := s.all(func(r *remote) bool { // slower agents finish by themselves
		return !r.state.canOrder() && s.agreed.IsZero() || r.state.Stage == stageNone || r.state.ended()
	})
	if !s.end.leaving {
		err := s.until(context.Background(), noticeAfter, undone)
		if errors.Is(err, errTimeout) {
			s.c.Log("undoing the preparation on the hosts")
			_ = s.until(context.Background(), undoTimeout-noticeAfter, undone) // an abort sets leaving
		}
	}
	if s.end.leaving {
		s.leave()
	}
}

// finish tells the agents to end the run, and reports whether it did: a host may still write to a topic that is to go.
func (s *session) finish() bool {
	if s.end.finishing {
		return true
	}
	s.end.finishing = true
	maker, kept := s.hosts[0], false
	at := slices.IndexFunc(s.hosts, func(r *remote) bool { return len(r.state.Parts) > 0 && !r.state.settled() })
	for k, l := range s.order.loads() {
		t := &l.Plan.Topic
		if t.Delete && at >= 0 {
			s.c.Log(fmt.Sprintf("topic %s is not deleted: %s may still write to it", t.Short(), s.hosts[at].peer.Name))
			kept = true
			continue
		}
		env := s.lives[k].made()
		made := env == nil || slices.ContainsFunc(env.AllTopics(), func(t result.Topic) bool { return t.Created })
		if t.Delete && made && (maker.state.Parts[k*s.order.Processes].State != partDone || maker.state.Contact == contactLost || maker.state.ended()) {
			s.c.Log(fmt.Sprintf("topic %s is not deleted: the process that made it is gone", t.Short()))
		}
	}
	if !kept {
		s.orderAll(order{Finish: true})
	}
	return !kept
}

// leave tells all agents to end the run at once, and returns the names of hosts that may not have got the order.
func (s *session) leave() (deaf []string) {
	s.end.stopped, s.end.leaving = true, true
	s.orderAll(order{Abort: true, Drained: true})
	s.finish()
	_ = s.until(context.Background(), leaveTimeout, s.all(func(r *remote) bool { // agents that take longer have the order
		return !r.state.canOrder() || r.state.Stage == stageNone || r.state.ended()
	}))
	for _, r := range s.hosts {
		if h := &r.state; !h.ended() && len(h.Parts) > 0 && !h.settled() && !h.canOrder() {
			deaf = append(deaf, r.peer.Name)
		}
	}
	return deaf
}

// aborted returns the error of a run that leave has ended. deaf are the hosts that leave returned.
func (s *session) aborted(deaf []string) error {
	but := ""
	if len(deaf) > 0 {
		but = ", but for " + strings.Join(deaf, ", ") + ", where the load may go on"
	}
	return fmt.Errorf("%w%s; their agents have the results: kt collect --run %s", errAborted, but, s.order.Run)
}
