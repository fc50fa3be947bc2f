package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"
)

// collect fetches the run files and tells the agents to end the run.
func (s *session) collect(ctx context.Context) (outcome, error) {
	s.stage = stageCollecting
	if !s.leaving {
		s.deadline = time.Now().Add(drainGrace)
	}
	s.tellAll(doDrained)
	if err := s.until(ctx, maxRunTime, s.all(s.unawaited)); err != nil {
		return outcome{}, err
	}
	if !s.leaving {
		s.deadline = time.Time{} // a fetch goes on as long as bytes arrive
	}
	got, err := s.fetch(ctx)
	if err != nil {
		return outcome{}, err
	}
	o, err := s.outcome(got)
	if !s.finish() {
		return o, err // each agent ends the run by itself, absentGrace after the coordinator is gone
	}
	ending, left := finishGrace+abortGrace, s.leaving
	if left {
		ending = leaveTimeout
	}
	endErr := s.until(ctx, ending, s.all(func(l *link) bool {
		return s.leaving && !left || !l.up || l.lost != "" || l.ended // an abort only now costs no file
	}))
	switch {
	case errors.Is(endErr, errTimeout):
		s.c.Log("some agents have not ended the run yet; they do so by themselves")
	case endErr != nil:
		s.leave()
	}
	return o, err
}

// fetch fetches the run files of all hosts that are not lost, and handles events meanwhile.
func (s *session) fetch(ctx context.Context) (map[string]fetched, error) {
	var peers []Peer
	for _, l := range s.links {
		if l.lost == "" {
			peers = append(peers, l.peer)
		}
	}
	fetching, giveUp := context.WithCancel(context.WithoutCancel(ctx)) // the wait below ends with ctx
	defer giveUp()
	s.giveUp = giveUp
	done := make(chan []fetched, 1)
	want := wanted{run: s.order.Epoch, of: s.expects, most: fileMost(s.elapsed()), quota: s.quota}
	go func() { done <- s.c.fetchAll(fetching, peers, want, s.copies.root) }()
	var all []fetched
	arrived := func() bool {
		select {
		case all = <-done:
			return true
		default:
			return false
		}
	}
	if err := s.until(ctx, maxRunTime, arrived); err != nil {
		giveUp()
		<-done
		return nil, err
	}
	got := make(map[string]fetched)
	for i, p := range peers {
		got[p.Name] = all[i]
	}
	return got, nil
}

// expects reports whether a run file is one that the host was asked to write. Agents that share
// a folder list each other's files too.
func (s *session) expects(p *Peer, e fileEntry) bool {
	return e.Host == p.Name && (e.Process == 0 || e.Process <= s.order.Processes)
}

// outcome returns the outcome of the run, from the files that were fetched.
func (s *session) outcome(got map[string]fetched) (outcome, error) {
	o := outcome{Ended: make(map[string][]Ended)}
	var errs []error
	for _, l := range s.links {
		f := got[l.peer.Name]
		s.settle(l, f.files)
		for _, text := range s.lostOf(l, f) {
			o.Lost = append(o.Lost, l.peer.Name+": "+text)
		}
		if len(l.parts) > 0 {
			o.Ended[l.peer.Name] = l.doneOf()
		}
		for _, g := range f.files {
			o.Files = append(o.Files, filepath.Join(s.opts.Dir, g.name))
			errs = append(errs, s.copies.remove(l.peer.Name, g.entry.Process))
		}
	}
	kept, err := s.copies.keep()
	o.Files = append(o.Files, kept...)
	slices.Sort(o.Files)
	return o, errors.Join(append(errs, err)...)
}

// lostOf returns a sentence for each process or file of a host that is missing.
func (s *session) lostOf(l *link, f fetched) []string {
	if l.lost != "" {
		return []string{s.missing(l)}
	}
	var lost []string
	if l.unwatched != "" {
		lost = append(lost, l.unwatched)
	}
	for _, err := range f.problems {
		lost = append(lost, s.problem(err))
	}
	have := make(map[int]bool)
	for _, g := range f.files {
		have[g.entry.Process] = true
	}
	for i := range l.parts {
		switch p := &l.parts[i]; {
		case p.unheard: // one sentence for all processes of the host
			if !slices.Contains(lost, p.text) {
				lost = append(lost, p.text)
			}
		case p.state == partGone || p.state == partFailed:
			lost = append(lost, fmt.Sprintf("process %d: %s", i+1, p.text))
		case !have[i+1] && len(f.problems) == 0:
			lost = append(lost, fmt.Sprintf("process %d left no run file", i+1))
		}
	}
	return lost
}

// problem returns the reason why run files are missing.
func (s *session) problem(err error) string {
	var here *fs.PathError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Sprintf("not all of its run files came within %v; they are with its agent: kt collect --run %s", leaveGrace, s.order.Run)
	case errors.As(err, &here): // of this machine, because errors of an agent arrive as text
		return fmt.Sprintf("%v; files go to %s", err, s.opts.Dir)
	}
	return err.Error()
}
