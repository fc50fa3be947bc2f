package cluster

import (
	"fmt"
	"time"

	"github.com/kt-bench/kt/internal/result"
)

// take handles one event. Before the start it returns any problem of a host as an error.
func (s *session) take(e event) error {
	l := e.link
	switch {
	case l == nil:
		return nil
	case e.up:
		l.up = true
		s.hear(l)
		for do := range l.ordered {
			l.tell(toAgent{Order: s.orderTo(do)})
		}
		return nil
	case e.message == nil:
		l.up = false
		if !s.started {
			return fmt.Errorf("%s: %w", l.peer.Name, e.down)
		}
		return nil
	}
	s.hear(l)
	m := e.message
	switch {
	case e.clock != nil:
		s.compare(l, *e.clock)
		if step := l.moved(*e.clock); s.stage >= stageStarting && s.canUndo() && step.Abs() > clockStep {
			return fmt.Errorf("%s: its clock was set by %v while the start was agreed", l.peer.Name, step.Round(time.Millisecond))
		}
	case m.Accepted != nil:
		l.state = max(l.state, linkAccepted)
	case m.Refused != nil:
		return s.refused(l, m.Refused)
	case m.Starting != nil:
		l.state = linkStarting
	case m.Part != nil:
		return s.part(l, m.Part)
	case m.Second != nil:
		s.takeSecond(l, m.Second)
	case m.Vitals != nil:
		v := m.Vitals.Vitals
		l.vitals = &v
	case m.Written != nil:
		l.written = true
		if m.Written.Text != "" {
			l.unwatched = "watching is incomplete: " + m.Written.Text
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
		l.trouble = "refuses: " + r.Text // prepare reports the refusals of all hosts together
		l.up = false                     // it does not take part
		return nil
	case !s.started:
		return fmt.Errorf("%s refuses: %s", l.peer.Name, r.Text)
	case l.ended || l.lost != "":
	case r.AtWork:
		s.orphan(l)
	default:
		s.forgotten(l, r.Text)
	}
	return nil
}

// part takes over the state of a process.
func (s *session) part(l *link, p *partStatus) error {
	if p.Epoch != s.order.Epoch || p.Process > len(l.parts) {
		return nil // of another run: stale
	}
	known := &l.parts[p.Process-1]
	known.state, known.done, known.text = p.State, p.Ended, p.Text
	if h := p.Header; h != nil && h.Part.Host == l.peer.Name && h.Part.Process == p.Process && h.Part.Epoch == p.Epoch {
		known.header = h
	}
	if p.Start != nil && known.start == nil {
		known.start = p.Start
		if err := s.copies.begin(l, p.Process, known); err != nil {
			s.c.Log(fmt.Sprintf("%s, process %d: no copy is kept in %s: %v", l.peer.Name, p.Process, s.opts.Dir, err))
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

func (s *session) takeSecond(l *link, m *partSecond) {
	if m.Epoch != s.order.Epoch || m.Process > len(l.parts) || len(m.Second.Windows) == 0 {
		return
	}
	p := &l.parts[m.Process-1]
	p.stage, p.buffered, p.inFlight = m.Second.Stage, m.Second.Buffered, m.Second.InFlight
	sample := m.Second.Sample // a copy, so that the message with its histograms can be freed
	p.sample = &sample
	if err := s.copies.add(l, m.Process, &m.Second); err != nil {
		s.c.Log(fmt.Sprintf("%s, process %d: no copy is kept in %s: %v", l.peer.Name, m.Process, s.opts.Dir, err))
	}
	for _, w := range m.Second.Windows {
		s.view.add(l.peer.Name, m.Process, w, s.elapsed())
	}
}

// clockWindow is the age at which a comparison of clocks is replaced by a newer one: clocks
// drift by up to 50 µs a second.
const clockWindow = 10 * time.Second

// compare takes over a comparison of clocks. The estimate of a link is the one with the shortest
// round trip of the last whole window.
func (s *session) compare(l *link, c clock) {
	if !l.recent.taken.IsZero() && c.taken.Sub(l.recent.taken) > clockWindow {
		l.clock, l.recent = l.recent, clock{}
	}
	l.recent = better(l.recent, c)
	if l.clock.taken.IsZero() {
		l.clock = c
	}
}

// clockStep is the change from which on a clock was set between the comparison and the start:
// no clock drifts that much in a few seconds.
const clockStep = 20 * time.Millisecond

// drift returns the change of a clock's offset since the start; 0 if the bounds explain it.
func (l *link) drift() time.Duration { return l.moved(l.clock) }

// moved returns the difference of a clock's offset to the one that the start was agreed by; 0 if
// the bounds explain it.
func (l *link) moved(now clock) time.Duration {
	if l.agreed.taken.IsZero() {
		return 0
	}
	moved := now.offset - l.agreed.offset
	if moved.Abs() <= now.bound()+l.agreed.bound() {
		return 0
	}
	return moved
}

// hostState returns the state of a host in one word, for the screen.
func (s *session) hostState(l *link) string {
	switch {
	case l.lost != "":
		return "lost"
	case s.stage < stageFinished && l.isAway(time.Now()) && !l.ended:
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
			if result.Stage(p.stage) == result.Draining {
				draining++
			}
		case partFailed, partGone:
			if !l.unsure || !p.unheard {
				gone++
			}
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

// doneOf returns how a host's processes ended, in their order.
func (l *link) doneOf() []Ended {
	var all []Ended
	for i := range l.parts {
		p := &l.parts[i]
		d := Ended{Code: 1, Text: p.text}
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
