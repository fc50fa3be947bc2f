package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Times of a host that a coordinator follows.
const (
	awayAfter   = 3 * time.Second // without an answer, though it is asked every second
	silentAfter = 5 * time.Second // from which on the user hears that a host is away
	// The wait for hosts that are away, after the load of all others has ended.
	comebackGrace = 30 * time.Second
)

// contact is what a coordinator knows of a host beside its run, as ARCHITECTURE.md draws it.
type contact int

const (
	contactHeard     contact = iota
	contactAway              // it was not heard for awayAfter
	contactSilent            // the user has heard so
	contactOrphaned          // its agent was started anew, and its load may go on
	contactForgotten         // its agent was started anew, and its processes are gone
	contactLost              // it was given up
)

// hostState is a coordinator's view of one host. It is a value: after returns the view after some news.
type hostState struct {
	Contact contact
	Stage   stage      // of its run, as its agent reported last
	Parts   []partView // by their numbers - 1
	Heard   time.Time  // when its agent answered last
	Since   time.Time  // when its load was orphaned
	AtWork  time.Time  // when an agent last confirmed that orphans go on
	Until   time.Time  // when it will be given up; zero: no deadline yet
	Trouble string     // the newest problem of the host, or ""
	Lost    string     // why it was given up
	Vitals  string     // a problem of the file with the host's vitals, or ""

	VitalsID string // the run id of that file; "": not known
}

// partView is a coordinator's view of one process.
type partView struct {
	partStatus
	Stopped bool // if unheard: the user had stopped the load before
}

func newHostState(processes int, now time.Time) hostState {
	s := hostState{Parts: make([]partView, processes), Heard: now}
	for i := range s.Parts {
		s.Parts[i].State = partWaiting
	}
	return s
}

// notice is one event of a host: exactly one of the fields is set, or none when time has passed.
type notice struct {
	Now     time.Time
	Heard   bool       // the agent answered
	Status  *runStatus // its answer about the run
	Unknown *unknown   // it does not know the run
	GiveUp  string     // why the host is given up; "": it is not
	Session sessionView
}

// unknown is the answer of an agent that does not know the run.
type unknown struct {
	AtWork bool // processes of an earlier agent go on
	Text   string
}

// sessionView is what a host's state needs of the whole run.
type sessionView struct {
	Running bool          // the load was begun, and the run is not undone
	Stopped bool          // by the user, or by a condition
	OverFor time.Duration // since no other host is at work; below 0: one is
	Others  bool          // another host has finished
	Name    string        // of the host
	Run     string
	Clock   func() time.Time // for deadlines that a user reads
}

// after returns the view after a notice, and lines for the user.
func (s hostState) after(n notice) (hostState, []string) {
	s.Parts = slices.Clone(s.Parts)
	v := view{hostState: s, notice: n}
	if n.Heard || n.Status != nil || n.Unknown != nil {
		v.hear()
	}
	switch {
	case n.GiveUp != "":
		v.lose(n.GiveUp)
	case n.Unknown != nil:
		v.unknown(*n.Unknown)
	case n.Status != nil:
		v.update(n.Status)
	case !n.Heard:
		v.tick()
	}
	return v.hostState, v.lines
}

// view is a hostState while a notice is handled.
type view struct {
	hostState
	notice
	lines []string
}

// report tells the user something about the host.
func (v *view) report(text string) { v.lines = append(v.lines, v.Session.Name+text) }

// hear notes a sign of life of the agent. A host whose load is orphaned counts as away all the same.
func (v *view) hear() {
	v.hostState.Heard = v.Now
	if v.Contact == contactSilent {
		v.report(" is back")
	}
	if v.Contact <= contactSilent {
		v.Contact, v.Until = contactHeard, time.Time{}
	}
}

// update takes over the state of the run. Whoever is done stays done, and a process keeps its first run id.
func (v *view) update(r *runStatus) {
	if v.ended() || r.Stage < v.Stage {
		return // an answer that was overtaken by another
	}
	v.Stage, v.VitalsID = r.Stage, cmp.Or(v.VitalsID, r.Vitals)
	if r.Problem != "" {
		v.Vitals = "watching is incomplete: " + r.Problem
	}
	for i := range v.Parts[:min(len(v.Parts), len(r.Parts))] {
		p := &v.Parts[i]
		if p.State.settled() {
			continue
		}
		id := cmp.Or(p.RunID, r.Parts[i].RunID)
		p.partStatus = r.Parts[i]
		p.RunID = id
		if p.State == partFailed || p.State == partGone {
			v.Trouble = fmt.Sprintf("process %d: %s", i+1, p.Text)
		}
	}
}

// renewed is the reason why an agent does not know the run.
const renewed = "its agent was started anew"

// unknown handles an agent that does not know the run. The host is away until no process writes to its run file.
func (v *view) unknown(u unknown) {
	switch {
	case v.ended() || v.Contact == contactLost:
	case v.Stage == stageNone: // it never had the offer
		v.Contact = contactForgotten
	case u.AtWork:
		v.AtWork = v.Now
		if v.Contact != contactOrphaned {
			v.Contact, v.Since = contactOrphaned, v.Now
			v.Trouble = renewed + "; its load may go on"
			v.report(": " + v.Trouble)
		}
	default:
		v.forget(u.Text)
	}
}

// forget marks a host whose processes have all ended, and no agent reported how. Their run files tell.
func (v *view) forget(why string) {
	orphaned := v.Contact == contactOrphaned
	v.Contact, v.Trouble, v.Until = contactForgotten, "", time.Time{}
	for i := range v.Parts {
		if p := &v.Parts[i]; !p.State.settled() {
			p.State, p.Text, p.Stopped = partUnheard, renewed+", and its processes are gone", v.Session.Stopped
			v.Trouble = p.Text
		}
	}
	if len(v.Parts) == 0 && v.Stage < stageWritten {
		v.Vitals = "watching is incomplete: its agent has no data of the run any more: " + why
		v.Trouble = v.Vitals
	}
	switch {
	case orphaned: // their run files may well be complete
		v.Trouble = ""
		v.report(": its load is over")
	case v.Trouble != "":
		v.report(": " + v.Trouble)
	}
}

// lose gives the host up, unless no more news of it can come anyway.
func (v *view) lose(why string) {
	if v.ended() || v.Contact == contactLost {
		return
	}
	v.Lost, v.Until = why, time.Time{}
	v.report(": " + v.missing(v.Session.Run))
	v.Contact = contactLost
}

// missing returns the reason why a host was given up, and what to do about it.
func (s *hostState) missing(run string) string {
	when := "is back"
	if !s.Since.IsZero() {
		when = "is done"
	}
	return fmt.Sprintf("%s; its agent has the rest: kt collect --run %s when it %s", s.Lost, run, when)
}

// tick handles what depends on the time alone.
func (v *view) tick() {
	silence := v.Now.Sub(v.hostState.Heard)
	if v.Contact == contactHeard && silence > awayAfter {
		v.Contact = contactAway
	}
	if v.Contact == contactAway && v.Session.Running && silence >= silentAfter && v.Stage != stageOver {
		v.Contact = contactSilent
		text := fmt.Sprintf(" has not been heard for %v", silentAfter)
		if !v.settled() {
			text += "; its load may go on"
		}
		v.report(text)
	}
	switch {
	case v.Session.OverFor < 0:
		v.Until = time.Time{}
	case v.Contact != contactHeard && v.Contact != contactLost && !v.ended() && v.Stage < stageWritten:
		left := comebackGrace - min(v.silence(v.Now), v.Session.OverFor) // once no other host is at work
		switch {
		case left < 0:
			v.lose(v.awayReason(v.Now))
		case v.Until.IsZero():
			v.Until = v.Session.Clock().Add(left)
			text := fmt.Sprintf("waiting for %s until %s", v.Session.Name, v.Until.UTC().Format("15:04:05 MST"))
			if v.Session.Others {
				text += "; the other hosts have finished"
			}
			v.lines = append(v.lines, text)
		}
	}
}

// awayReason returns the reason for giving up a host that is away.
func (s *hostState) awayReason(now time.Time) string {
	if s.Contact == contactOrphaned {
		return renewed + ", and its load may go on"
	}
	return fmt.Sprintf("it was not heard for %v", s.silence(now).Round(time.Second))
}

// silence returns the time since the last news of the host's load.
func (s *hostState) silence(now time.Time) time.Duration {
	if s.Contact == contactOrphaned {
		return now.Sub(s.Since)
	}
	return now.Sub(s.Heard)
}

// away reports whether the host is silent for longer than awayAfter, or its load is orphaned.
func (s *hostState) away() bool {
	return s.Contact == contactAway || s.Contact == contactSilent || s.Contact == contactOrphaned
}

// canOrder reports whether the agent can give orders to the processes of its host.
func (s *hostState) canOrder() bool { return s.Contact == contactHeard }

// ended reports whether no more news of the run can come from the host.
func (s *hostState) ended() bool { return s.Contact == contactForgotten || s.Stage == stageOver }

// settled reports whether all processes of the host have ended their load.
func (s *hostState) settled() bool {
	return !slices.ContainsFunc(s.Parts, func(p partView) bool { return !p.State.settled() })
}

// word returns the state of the host in one word, for the screen. over reports whether the whole run is.
func (s *hostState) word(over bool) string {
	switch {
	case s.Contact == contactLost:
		return "lost"
	case !over && s.away() && s.Stage != stageOver:
		return "away"
	case s.Stage == stageNone:
		return "lobby"
	case len(s.Parts) == 0:
		return "watching"
	case s.Stage == stageOffered:
		return "preparing"
	}
	n := make(map[partState]int)
	for i := range s.Parts {
		n[s.Parts[i].State]++
	}
	gone := n[partFailed] + n[partGone]
	if over || s.Since.IsZero() {
		gone += n[partUnheard] // else their run files may be complete
	}
	switch {
	case n[partWaiting]+n[partOpening] > 0:
		return "preparing"
	case gone == len(s.Parts):
		return "lost"
	case n[partReady] > 0:
		return "ready"
	case n[partRunning] > 0:
		return "running"
	case n[partDraining] > 0:
		return "draining"
	}
	return "done"
}

// ends returns how the processes of the host ended, in their order.
func (s *hostState) ends() []Ended {
	var all []Ended
	for i := range s.Parts {
		p := &s.Parts[i]
		d := Ended{Code: 1, Text: p.Text}
		switch {
		case p.Ended != nil:
			d = *p.Ended
		case s.Lost != "":
			d.Text = s.Lost
		}
		all = append(all, d)
	}
	return all
}
