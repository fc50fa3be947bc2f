package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// collect brings the run files of a run home, and lets the agents end it.
func (s *session) collect(ctx context.Context) (Outcome, error) {
	s.stage = Collecting
	s.tellAll(doDrained)
	err := s.until(ctx, maxRunTime, func() bool {
		for _, l := range s.links {
			if l.lost == "" && !l.written && !l.ended {
				return false
			}
		}
		return true
	})
	if err != nil {
		return Outcome{}, err
	}
	got, err := s.fetch(ctx)
	if err != nil {
		return Outcome{}, err
	}
	o, err := s.outcome(got)
	s.tellAll(doFinish)
	endErr := s.until(ctx, finishGrace+abortGrace, func() bool {
		for _, l := range s.links {
			if l.up && l.lost == "" && !l.ended {
				return false
			}
		}
		return true
	})
	if errors.Is(endErr, errTimeout) {
		s.c.Log("some agents have not ended the run yet; they do so by themselves")
		endErr = nil
	}
	return o, errors.Join(err, endErr)
}

// fetch fetches from all hosts that are there, while the screen goes on.
func (s *session) fetch(ctx context.Context) (map[string]fetched, error) {
	var peers []Peer
	for _, l := range s.links {
		if l.lost == "" {
			peers = append(peers, l.peer)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan []fetched, 1)
	go func() { done <- s.c.fetchAll(ctx, peers, s.order.Epoch, s.copies.root) }()
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
		cancel()
		<-done
		return nil, err
	}
	got := make(map[string]fetched)
	for i, p := range peers {
		got[p.Name] = all[i]
	}
	return got, nil
}

// outcome tells what is there and what is not.
func (s *session) outcome(got map[string]fetched) (Outcome, error) {
	o := Outcome{Done: make(map[string][]Done)}
	var errs []error
	lost := func(l *link, format string, args ...any) {
		o.Lost = append(o.Lost, l.peer.Name+": "+fmt.Sprintf(format, args...))
	}
	for _, l := range s.links {
		if len(l.parts) > 0 {
			o.Done[l.peer.Name] = l.doneOf()
		}
		if l.lost != "" {
			lost(l, "%s; what it measured since is with its agent, if that is there again: kt collect --run %s", l.lost, s.order.Run)
			continue
		}
		f := got[l.peer.Name]
		for _, err := range f.problems {
			lost(l, "%v", err)
		}
		have := make(map[int]bool)
		for _, g := range f.files {
			have[g.entry.Process] = true
			o.Files = append(o.Files, filepath.Join(s.opts.Dir, g.name))
			errs = append(errs, s.copies.remove(l.peer.Name, g.entry.Process))
		}
		for i := range l.parts {
			switch p := &l.parts[i]; {
			case p.state == partGone || p.state == partFailed:
				lost(l, "process %d: %s", i+1, p.text)
			case !have[i+1] && len(f.problems) == 0:
				lost(l, "process %d left no run file", i+1)
			}
		}
	}
	kept, err := s.copies.keep()
	o.Files = append(o.Files, kept...)
	slices.Sort(o.Files)
	return o, errors.Join(append(errs, err)...)
}
