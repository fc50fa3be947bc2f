package cluster

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/result"
)

// take takes in one event. Before the start every trouble is an error.
func (s *session) take(e event) error {
	l := e.link
	switch {
	case e.up:
		l.up, l.heard = true, time.Now()
		for do := range l.ordered {
			l.tell(toAgent{Order: &order{Epoch: s.order.Epoch, Do: do}})
		}
		return nil
	case e.message == nil:
		l.up = false
		if !s.started {
			return fmt.Errorf("%s: %w", l.peer.Name, e.down)
		}
		return nil
	}
	l.heard = time.Now()
	m := e.message
	switch {
	case e.clock != nil:
		s.compare(l, *e.clock)
	case m.Accepted != nil:
		l.state = max(l.state, linkAccepted)
	case m.Refused != nil:
		return s.refused(l, m.Refused)
	case m.Starting != nil:
		l.state = linkStarting
	case m.Part != nil:
		return s.part(l, m.Part)
	case m.Second != nil:
		s.second(l, m.Second)
	case m.Vitals != nil:
		v := m.Vitals.Vitals
		l.vitals, l.passed = &v, m.Vitals.Passed
	case m.Written != nil:
		l.written = true
		if m.Written.Text != "" {
			l.trouble = "what was watched is not whole: " + m.Written.Text
		}
	case m.Ended != nil:
		l.ended = true
		if !s.started {
			return fmt.Errorf("%s has ended the run", l.peer.Name)
		}
	}
	return nil
}

func (s *session) refused(l *link, r *refused) error {
	switch {
	case l.state < linkAccepted:
		l.trouble = "refuses: " + r.Text // and the others are heard too
		l.up = false                     // it does not take part
		return nil
	case !s.started:
		return &RefusedError{fmt.Errorf("%s refuses: %s", l.peer.Name, r.Text)}
	case !l.ended && l.lost == "":
		s.lose(l, "its agent has forgotten the run: "+r.Text)
	}
	return nil
}

// part takes in how a process is.
func (s *session) part(l *link, p *partStatus) error {
	if p.Epoch != s.order.Epoch || p.Process > len(l.parts) {
		return nil // of another run: stale
	}
	known := &l.parts[p.Process-1]
	known.state, known.done, known.text = p.State, p.Done, p.Text
	if h := p.Header; h != nil && h.Part.Host == l.peer.Name && h.Part.Process == p.Process && h.Part.Epoch == p.Epoch {
		known.header = h
	}
	if p.Start != nil && known.start == nil {
		known.start = p.Start
		if err := s.copies.begin(l, p.Process, known); err != nil {
			s.c.Log(fmt.Sprintf("%s, process %d: no copy is kept here: %v", l.peer.Name, p.Process, err))
		}
	}
	if p.State != partFailed && p.State != partGone {
		return nil
	}
	if !s.started {
		return fmt.Errorf("%s, process %d: %s", l.peer.Name, p.Process, p.Text)
	}
	l.trouble = fmt.Sprintf("process %d: %s", p.Process, p.Text)
	return nil
}

func (s *session) second(l *link, m *partSecond) {
	if m.Epoch != s.order.Epoch || m.Process > len(l.parts) || len(m.Second.Windows) == 0 {
		return
	}
	p := &l.parts[m.Process-1]
	p.stage, p.sample, p.verdict = m.Second.Stage, &m.Second.Sample, m.Second.BoundBy
	if err := s.copies.add(l, m.Process, &m.Second); err != nil {
		s.c.Log(fmt.Sprintf("%s, process %d: no copy is kept here: %v", l.peer.Name, m.Process, err))
	}
	for _, w := range m.Second.Windows {
		s.view.add(l.peer.Name, m.Process, w, s.elapsed())
	}
}

// clockWindow is how long the best comparison of clocks stands, before a newer one takes
// its place: clocks drift by up to 50 µs a second.
const clockWindow = 10 * time.Second

func (s *session) compare(l *link, c clock) {
	if !l.recent.taken.IsZero() && c.taken.Sub(l.recent.taken) > clockWindow {
		l.clock, l.recent = l.recent, clock{}
	}
	l.recent = better(l.recent, c)
	if l.clock.taken.IsZero() {
		l.clock = c
	}
}

// drift is by how much a clock has certainly moved since the start.
func (l *link) drift() time.Duration {
	if l.agreed.taken.IsZero() {
		return 0
	}
	moved := l.clock.offset - l.agreed.offset
	if moved.Abs() <= l.clock.bound()+l.agreed.bound() {
		return 0
	}
	return moved
}

// lose gives a host up.
func (s *session) lose(l *link, why string) {
	l.lost = why
	s.c.Log(fmt.Sprintf("%s is lost: %s", l.peer.Name, why))
}

// look does what is due by time.
func (s *session) look() {
	now := time.Now()
	over := true
	for _, l := range s.links {
		if l.up && now.Sub(l.heard) > hangAfter {
			l.drop() // a new connection may get through
		}
		if (l.up || l.ended) && l.lost == "" && !l.settled() {
			over = false
		}
	}
	if lasts := s.links[0].offer.Lasts; !s.stopped && lasts > 0 && s.elapsed() < lasts {
		over = false // who is away is making its load
	}
	switch {
	case !s.started || !over:
		s.overAt = time.Time{}
	case s.overAt.IsZero():
		s.overAt = now
	default:
		for _, l := range s.links {
			silent := now.Sub(l.heard)
			if !l.up && l.lost == "" && !l.written && min(silent, now.Sub(s.overAt)) > comebackGrace {
				s.lose(l, fmt.Sprintf("it was not heard for %v", silent.Round(time.Second)))
			}
		}
	}
	s.show(false)
}

// hostState is what a host does, in one word.
func (s *session) hostState(l *link) string {
	switch {
	case l.lost != "":
		return "lost"
	case s.stage < Finished && time.Since(l.heard) > awayAfter && !l.ended:
		return "away"
	case l.state < linkAccepted:
		return "lobby"
	case len(l.parts) == 0:
		return "watching"
	case l.state == linkAccepted:
		return "preparing"
	}
	running, draining, waiting, gone := 0, 0, 0, 0
	for i := range l.parts {
		switch p := &l.parts[i]; p.state {
		case partWaiting, partOpening:
			return "preparing"
		case partReady:
			waiting++
		case partRunning:
			running++
			if engine.Stage(p.stage) == engine.Draining {
				draining++
			}
		case partFailed, partGone:
			gone++
		case partDone:
		}
	}
	switch {
	case gone == len(l.parts):
		return "lost"
	case waiting > 0:
		return "ready"
	case running > draining:
		return "running"
	case draining > 0:
		return "draining"
	}
	return "done"
}

// doneOf is how a host's processes ended, in their order.
func (l *link) doneOf() []Done {
	var all []Done
	for i := range l.parts {
		p := &l.parts[i]
		d := Done{Code: 1, Text: p.text}
		switch {
		case p.done != nil:
			d = *p.done
		case l.lost != "":
			d.Text = l.lost
		}
		all = append(all, d)
	}
	return all
}

// boundBy and samples are what the processes that said something said last.
func (l *link) boundBy() (verdicts []result.Verdict) {
	for i := range l.parts {
		if p := &l.parts[i]; p.sample != nil {
			verdicts = append(verdicts, p.verdict)
		}
	}
	return verdicts
}
