package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

// apply handles a notice of a host.
func (s *session) apply(r *remote, n notice) {
	n.Now = time.Now()
	n.Session = sessionView{
		Running: s.stage >= stepRunning && s.stage != stepUndoing, Stopped: s.end.stopped, OverFor: -1, Name: r.peer.Name, Run: s.order.Run, Clock: s.c.Now,
	}
	if !s.overAt.IsZero() {
		n.Session.OverFor = n.Now.Sub(s.overAt)
	}
	for _, o := range s.hosts {
		n.Session.Others = n.Session.Others || o != r && len(o.state.Parts) > 0 && o.state.settled()
	}
	var lines []string
	r.state, lines = r.state.after(n)
	for _, text := range lines {
		s.c.Log(text)
	}
}

// handle takes in news of one host. Before the start it returns any problem of a host as an error.
func (s *session) handle(n hostNews) error {
	r := n.from
	early := s.stage < stepRunning && !s.end.leaving
	switch {
	case r == nil:
		return nil
	case n.text != "":
		s.c.Log(n.text)
	case n.status != nil:
		s.apply(r, notice{Status: n.status})
		s.followFiles(r)
		r.clocks.add(n.clock)
		if moved := r.clocks.moved(n.clock); s.stage >= stepStarting && s.canUndo() && moved.Abs() > clockStep {
			return fmt.Errorf("%s: its clock was set by %v while the start was agreed", r.peer.Name, moved.Round(time.Millisecond))
		}
	default:
		return s.unanswered(r, n.err, early)
	}
	if n.status == nil || !early {
		return nil
	}
	if r.state.ended() || r.state.Stage == stageUndoing {
		return fmt.Errorf("%s has ended the run", r.peer.Name)
	}
	for i, p := range r.state.Parts {
		if p.State == partFailed || p.State == partGone {
			return fmt.Errorf("%s, process %d: %s", r.peer.Name, i+1, p.Text)
		}
	}
	return nil
}

// unanswered handles a request for the state of a run that failed.
func (s *session) unanswered(r *remote, err error, early bool) error {
	var answer *agentError
	switch {
	case early && errors.As(err, &answer):
		return fmt.Errorf("%s refuses: %w", r.peer.Name, err)
	case early && (!errors.Is(err, context.DeadlineExceeded) || time.Since(r.state.Heard) > hangAfter):
		return fmt.Errorf("%s: %w", r.peer.Name, unanswered(err, hangAfter))
	case errors.As(err, &answer) && answer.code == http.StatusNotFound:
		s.apply(r, notice{Unknown: &unknown{answer.alive, err.Error()}})
	case errors.As(err, &answer):
		s.apply(r, notice{Heard: true})
	}
	return nil
}

// tick does everything that depends on the time: deadlines, hosts that fall silent or come back, and the observer.
func (s *session) tick() {
	now := time.Now()
	if !s.end.deadline.IsZero() && now.After(s.end.deadline) {
		s.loseLate()
	}
	over := s.stage >= stepRunning && s.stage != stepUndoing
	for _, r := range s.hosts {
		h := &r.state
		known := h.canOrder() || h.ended() || // orphans cannot be stopped, so a stopped run does not wait for them
			!s.end.stopped && h.Contact == contactOrphaned && now.Sub(h.AtWork) <= awayAfter
		if known && h.Contact != contactLost && !h.settled() {
			over = false
		}
	}
	if lasts := s.hosts[0].offer.Lasts; !s.end.stopped && lasts > 0 && s.elapsed() < lasts {
		over = false // hosts that are away are still making their load
	}
	switch {
	case !over:
		s.overAt = time.Time{}
	case s.overAt.IsZero():
		s.overAt = now
	}
	for _, r := range s.hosts {
		s.apply(r, notice{})
		for i := range r.state.Parts {
			if p := r.state.Parts[i].State; r.state.away() || p == partGone || p == partUnheard { // its run file is not completed
				s.lives[i/s.order.Processes].do(func(l *merge.Live) { l.Gone(fileName(r.peer.Name, i+1)) })
			}
		}
	}
	s.show(false)
}

// followFiles keeps copies of the run files of a host, from the moment when they are known.
func (s *session) followFiles(r *remote) {
	if s.stage >= stepCollecting {
		return
	}
	for process := range len(r.state.Parts) + 1 {
		id, name, shown := r.state.VitalsID, fileName(r.peer.Name, process), s.lives
		if process > 0 {
			k := (process - 1) / s.order.Processes
			id, shown = r.state.Parts[process-1].RunID, s.lives[k:k+1]
		}
		if id == "" {
			continue
		}
		p := &r.offer.Part
		want := fileEntry{RunID: id, Run: p.Run, Epoch: p.Epoch, Host: p.Host, Process: process}
		if f, isNew := s.copies.copyOf(want, func(line []byte) {
			for _, l := range shown {
				l.add(name, line)
			}
		}); isNew {
			r.following.start(f)
		}
	}
}

// show passes every complete second of each load on to its observer, and the state of the hosts while there is none.
func (s *session) show(final bool) {
	if s.opts.Observe == nil {
		return
	}
	for k := range s.lives {
		s.showLoad(k, final)
	}
}

func (s *session) showLoad(k int, final bool) {
	shows := s.lives[k]
	elapsed := s.elapsed()
	if final {
		elapsed = merge.Over
	}
	shown := false
	for s.stage >= stepRunning {
		var second merge.Second
		ok := false
		if shows.do(func(l *merge.Live) { second, ok = l.Next(elapsed) }); !ok {
			break
		}
		s.send(k, second)
		shown = true
		if second.Broken != "" && s.stage == stepRunning && !s.end.stopped {
			s.end.broken = strings.TrimPrefix(s.order.loads()[k].Name+"."+second.Broken, ".")
			s.stopLoad()
		}
	}
	if final || !shown && time.Since(shows.sent) >= time.Second {
		var now merge.Second
		shows.do(func(l *merge.Live) { now = l.Now() })
		s.send(k, now)
	}
}

// steps maps the steps of a session to the stages of a snapshot.
var steps = map[step]result.Stage{
	stepOffering: result.Gathering, stepPreparing: result.Preparing, stepStarting: result.Preparing,
	stepRunning: result.Running, stepCollecting: result.Draining, stepUndoing: result.Preparing, stepFinished: result.Finished,
}

// send gives the observer of a load the state of the run with a second of the load.
func (s *session) send(load int, of merge.Second) {
	s.lives[load].sent = time.Now()
	live := result.Live{Stage: steps[s.stage]}
	for _, r := range s.hosts {
		for i := range r.state.Parts {
			p := &r.state.Parts[i]
			if i/s.order.Processes == load && (p.State == partRunning || p.State == partDraining) && r.state.Contact != contactLost {
				live.Buffered += p.Load.Buffered
				live.InFlight += p.Load.InFlight
			}
		}
	}
	if of.Sample.Interval == 0 { // nothing was sampled
		of.Sample = of.Snapshot.Sample
		of.Sample.Interval = 0
	}
	t := run.Second{Windows: of.Windows, Sample: of.Sample, Snapshot: of.Snapshot, StartsIn: max(0, -s.elapsed())}
	t.Snapshot.Live = live
	for _, r := range s.hosts {
		now := of.Hosts[r.peer.Name]
		note := cmp.Or(r.state.Lost, r.state.Trouble, r.state.Vitals)
		if moved := r.clocks.moved(r.clocks.best); note == "" && moved != 0 {
			note = "its clock has moved by " + moved.Round(10*time.Microsecond).String() + " since the start"
		}
		t.Hosts = append(t.Hosts, run.Host{
			Name: r.peer.Name, Processes: len(r.state.Parts), State: r.state.word(s.stage == stepFinished), Snapshot: now.Snapshot, Vitals: now.Vitals,
			Offset: r.clocks.best.offset, Bound: r.clocks.best.bound(), Seen: r.state.silence(time.Now()), Until: r.state.Until,
			Note: note,
		})
	}
	s.opts.Observe(load, t)
}

// live merges the copies of run files while they grow. Goroutines that follow files add lines.
type live struct {
	mu    sync.Mutex // guards the rest
	merge *merge.Live
	sent  time.Time           // when the observer got its last second; of the session alone
	maker string              // the file of the process that makes the topic
	found *result.Environment // what that has found; nil: nothing yet
}

// fileName names the run file of a process, or of a host's vitals, for errors.
func fileName(host string, process int) string { return fmt.Sprintf("%s-p%d", host, process) }

// do uses the merged files.
func (l *live) do(use func(*merge.Live)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	use(l.merge)
}

// add adds a complete line of a file. A bad line ends the file for the screen.
func (l *live) add(name string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.merge.Add(name, line)
	var of result.Line
	if name == l.maker && bytes.HasPrefix(line, []byte(`{"header":`)) && json.Unmarshal(line, &of) == nil {
		l.found = &of.Header.Environment
	}
}

// made returns what the process that makes the topic has found, or nil.
func (l *live) made() *result.Environment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.found
}
