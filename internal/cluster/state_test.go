//go:build !race

package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// hostAt returns a host of one process at a contact, heard at dawn.
func hostAt(c contact) hostState {
	s := newHostState(1, dawn)
	s.Contact, s.Stage, s.Parts[0].State = c, stageRunning, partRunning
	if c == contactOrphaned {
		s.Since, s.AtWork = dawn, dawn
	}
	return s
}

func TestAHostIsHeardAwayOrLostAsItsTableSays(t *testing.T) {
	gone, atWork := &unknown{Text: "the run is not known here"}, &unknown{AtWork: true}
	running := &runStatus{Stage: stageRunning, Parts: []partStatus{{State: partRunning}}}
	for _, tc := range []struct {
		name  string
		from  contact
		after time.Duration // dawn
		n     notice
		want  contact
		says  string
	}{
		{"it answers", contactHeard, time.Second, notice{Status: running}, contactHeard, ""},
		{"it is silent for 3 s", contactHeard, awayAfter + 1, notice{}, contactAway, ""},
		{"it is silent for 5 s", contactHeard, silentAfter, notice{}, contactSilent, "b has not been heard for 5s; its load may go on"},
		{"it was away and answers", contactAway, 4 * time.Second, notice{Heard: true}, contactHeard, ""},
		{"it was silent and answers", contactSilent, time.Minute, notice{Heard: true}, contactHeard, "b is back"},
		{"its agent was started anew, and processes go on", contactHeard, 0, notice{Unknown: atWork}, contactOrphaned, "b: its agent was started anew; its load may go on"},
		{"they still go on", contactOrphaned, 0, notice{Unknown: atWork}, contactOrphaned, ""},
		{"it answers while they go on", contactOrphaned, 0, notice{Heard: true}, contactOrphaned, ""},
		{"they have ended", contactOrphaned, 0, notice{Unknown: gone}, contactForgotten, "b: its load is over"},
		{"its agent was started anew, and no process is left", contactSilent, 10 * time.Second, notice{Unknown: gone}, contactForgotten, "b is back\nb: its agent was started anew, and its processes are gone"},
		{"it is waited for", contactSilent, 20 * time.Second, notice{Session: sessionView{OverFor: time.Second, Others: true}}, contactSilent, "waiting for b until 00:00:10 UTC; the other hosts have finished"},
		{"it was waited for long enough", contactSilent, time.Minute, notice{Session: sessionView{OverFor: 31 * time.Second}}, contactLost, "b: it was not heard for 1m0s; its agent has the rest: kt collect --run nightly when it is back"},
		{"orphans were waited for long enough", contactOrphaned, time.Minute, notice{Session: sessionView{OverFor: 31 * time.Second}}, contactLost, "b: its agent was started anew, and its load may go on; its agent has the rest: kt collect --run nightly when it is done"},
		{"it is given up", contactHeard, 0, notice{GiveUp: "it did not leave within 8s"}, contactLost, "b: it did not leave within 8s; its agent has the rest: kt collect --run nightly when it is back"},
	} {
		n := tc.n
		n.Now = dawn.Add(tc.after)
		n.Session.Name, n.Session.Run, n.Session.Running = "b", "nightly", true
		n.Session.Clock = func() time.Time { return dawn.Add(-19 * time.Second) }
		if tc.n.Session.OverFor == 0 {
			n.Session.OverFor = -1
		}
		got, said := hostAt(tc.from).after(n)
		text := ""
		for i, line := range said {
			if i > 0 {
				text += "\n"
			}
			text += line
		}
		must.True(t, got.Contact == tc.want && text == tc.says,
			"%s: contact %v, want %v; the user hears %q, want %q", tc.name, got.Contact, tc.want, text, tc.says)
	}
}

func TestTheWordForAHostIsThatOfItsProcesses(t *testing.T) {
	for _, tc := range []struct {
		stage stage
		parts []partState
		want  string
	}{
		{stageNone, []partState{partWaiting}, "lobby"},
		{stageOffered, []partState{partWaiting}, "preparing"},
		{stageOpening, []partState{partReady, partOpening}, "preparing"},
		{stageOpening, []partState{partReady, partReady}, "ready"},
		{stageRunning, []partState{partRunning, partDraining}, "running"},
		{stageRunning, []partState{partDone, partDraining}, "draining"},
		{stageSettled, []partState{partDone, partGone}, "done"},
		{stageSettled, []partState{partGone, partGone}, "lost"},
		{stageRunning, nil, "watching"},
	} {
		s := newHostState(len(tc.parts), dawn)
		s.Stage = tc.stage
		for i, p := range tc.parts {
			s.Parts[i].State = p
		}
		must.Match(t, tc.want, s.word(false), "%v, %v", tc.stage, tc.parts)
	}
	lost, away := hostAt(contactLost), hostAt(contactOrphaned)
	must.True(t, lost.word(false) == "lost" && away.word(false) == "away",
		"a host that was given up is %q, one with orphans %q", lost.word(false), away.word(false))
}

// TestNoOrderOfNewsBreaksTheViewOfAHost plays random news, and checks what must hold whatever comes.
func TestNoOrderOfNewsBreaksTheViewOfAHost(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		now := dawn
		s := newHostState(r.IntN(3), now)
		back, silent := 0, 0
		for range 200 {
			now = now.Add(time.Duration(r.IntN(4000)) * time.Millisecond)
			n := notice{Now: now, Session: sessionView{Running: r.IntN(8) > 0, Stopped: r.IntN(2) == 0, OverFor: time.Duration(r.IntN(40)-20) * time.Second, Name: "b", Clock: time.Now}}
			switch r.IntN(12) {
			case 0:
				n.Unknown = &unknown{AtWork: r.IntN(2) == 0}
			case 1:
				n.GiveUp = "why"
			case 2, 3, 4:
				status := runStatus{Stage: stage(1 + r.IntN(int(stageOver)))}
				for range r.IntN(4) {
					status.Parts = append(status.Parts, partStatus{State: []partState{partWaiting, partReady, partRunning, partDraining, partDone, partGone}[r.IntN(6)]})
				}
				n.Status = &status
			case 5, 6:
				n.Heard = true
			}
			before := s
			parts := slices.Clone(s.Parts)
			after, said := s.after(n)
			must.Hold(t, slices.Equal(parts, before.Parts), "seed %d: %+v changed the view that was given", seed, n)
			for i := range parts {
				must.Hold(t, !parts[i].State.settled() || after.Parts[i].State == parts[i].State,
					"seed %d: process %d was %s and is %s", seed, i+1, parts[i].State, after.Parts[i].State)
			}
			if after.Stage < before.Stage || before.Contact == contactLost && (after.Contact != contactLost || len(said) > 0) ||
				before.Contact == contactForgotten && after.Contact < contactForgotten {
				t.Fatalf("seed %d: %+v leads from %+v to %+v, %q", seed, n, before, after, said)
			}
			for _, text := range said {
				switch text {
				case "b is back":
					back++
				case "b has not been heard for 5s", "b has not been heard for 5s; its load may go on":
					silent++
				}
			}
			must.Hold(t, back <= silent, "seed %d: it is back %d times, and was silent %d times", seed, back, silent)
			s = after
		}
	}
}

func TestAHostNamesOneRunFileForEachProcess(t *testing.T) {
	s := newHostState(1, dawn)
	for _, id := range []string{"", "R1", "R2", ""} {
		s, _ = s.after(notice{Now: dawn, Status: &runStatus{Stage: stageRunning, Vitals: id, Parts: []partStatus{{State: partRunning, RunID: id}}}})
	}
	must.Match(t, []string{"R1", "R1"}, []string{s.Parts[0].RunID, s.VitalsID}, "the files are %q and %q", s.Parts[0].RunID, s.VitalsID)
}

var dawn = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ranTo returns a run of one process at a stage, at dawn.
func ranTo(at stage) runState {
	s := newRunState(1, dawn)
	s.Stage = at
	p := &s.Parts[0]
	if at >= stageOpening {
		p.State, p.Live = partReady, true
	}
	if at >= stageStarting && at != stageUndoing {
		s.Start = dawn.Add(time.Second)
	}
	if at >= stageRunning && at != stageUndoing {
		s.Start, p.State, p.Orders = dawn.Add(-10*time.Second), partRunning, orderStart
	}
	if at >= stageSettled && at != stageUndoing {
		p.State = partDone
	}
	if at == stageOver {
		p.Live = false
	}
	return s
}

func TestARunGoesOnAsItsTableSays(t *testing.T) {
	for _, tc := range []struct {
		name string
		from stage
		e    event
		want stage
		do   string // actions
	}{
		{"it is opened", stageOffered, event{Kind: evOpen}, stageOpening, "spawn"},
		{"it is opened again", stageOpening, event{Kind: evOpen}, stageOpening, ""},
		{"it is started", stageOpening, event{Kind: evStart, Start: dawn.Add(time.Second)}, stageStarting, "tell start, begin watch"},
		{"its process begins before the start", stageStarting, event{Kind: evBegan, Process: 1}, stageStarting, ""},
		{"its process says no word at the start", stageStarting, event{Kind: evTick, Now: dawn.Add(time.Second)}, stageStarting, ""},
		{"its process begins", stageStarting, event{Kind: evBegan, Process: 1, Now: dawn.Add(time.Second)}, stageRunning, ""},
		{"its process dies at the start", stageStarting, event{Kind: evExited, Process: 1, Now: dawn.Add(time.Second)}, stageSettled, ""},
		{"its process says no word for long", stageStarting, event{Kind: evTick, Now: dawn.Add(time.Second + beginWithin)}, stageRunning, ""},
		{"a cancel before the offer was opened", stageOffered, event{Kind: evEnd, Order: order{Cancel: true}}, stageOver, "close watch, remove, end"},
		{"a stop while it is opened", stageOpening, event{Kind: evEnd, Order: order{Stop: true}}, stageUndoing, "tell stop"},
		{"a stop before the start", stageStarting, event{Kind: evEnd, Order: order{Stop: true}}, stageStarting, ""},
		{"a cancel before the start", stageStarting, event{Kind: evEnd, Order: order{Cancel: true}}, stageUndoing, "tell stop"},
		{"its coordinator is gone before the start", stageOpening, event{Kind: evTick, Now: dawn.Add(prepareGrace + 1)}, stageUndoing, "tell stop"},
		{"its coordinator is there, and gives no start", stageOpening, event{Kind: evTick, Now: dawn.Add(prepareTimeout + 1)}, stageUndoing, "tell stop"},
		{"the agent ends before the start", stageStarting, event{Kind: evQuit}, stageUndoing, "tell stop"},
		{"a stop", stageRunning, event{Kind: evEnd, Order: order{Stop: true}}, stageRunning, "tell stop"},
		{"an abort", stageRunning, event{Kind: evEnd, Order: order{Abort: true}}, stageRunning, "tell abort, tell stop"},
		{"a cancel in the run", stageRunning, event{Kind: evEnd, Order: order{Cancel: true}}, stageRunning, "tell stop"},
		{"the agent ends", stageRunning, event{Kind: evQuit}, stageRunning, "tell stop"},
		{"its process is done", stageRunning, event{Kind: evEnded, Process: 1}, stageSettled, ""},
		{"its process dies", stageRunning, event{Kind: evExited, Process: 1}, stageSettled, ""},
		{"the load of all hosts is over", stageSettled, event{Kind: evEnd, Order: order{Drained: true}}, stageWritten, "close watch"},
		{"nobody is there any more", stageSettled, event{Kind: evTick, Now: dawn.Add(2 * absentGrace)}, stageEnding, "close watch, hang up"},
		{"all files are collected", stageWritten, event{Kind: evEnd, Order: order{Finish: true}}, stageEnding, "tell finish"},
		{"its process is gone", stageEnding, event{Kind: evExited, Process: 1}, stageOver, "end"},
		{"its process is gone, and it is undone", stageUndoing, event{Kind: evExited, Process: 1}, stageOver, "close watch, remove, end"},
		{"an order to a run that is over", stageOver, event{Kind: evEnd, Order: order{Abort: true}}, stageOver, ""},
	} {
		e := tc.e
		if e.Now.IsZero() {
			e.Now = dawn
		}
		s := ranTo(tc.from)
		if tc.from == stageUndoing {
			s.Parts[0].Orders |= orderStop
		}
		got, actions, err := next(terms{Lasts: time.Second}, s, e)
		must.True(t, err == nil && got.Stage == tc.want, "%s: %v becomes %v, want %v, error %v", tc.name, tc.from, got.Stage, tc.want, err)
		must.Match(t, tc.do, tell(actions), "%s: the agent has to", tc.name)
	}
}

// tell lists actions for people.
func tell(actions []action) string {
	names := map[actionKind]string{doSpawn: "spawn", doOrder: "", doKill: "kill", doBeginWatch: "begin watch", doCloseWatch: "close watch", doLog: "log", doRemove: "remove", doEnd: "end"}
	orders := map[orders]string{orderStart: "tell start", orderStop: "tell stop", orderAbort: "tell abort", orderFinish: "tell finish", hungUp: "hang up"}
	text := ""
	for _, a := range actions {
		if text != "" {
			text += ", "
		}
		text += names[a.Do] + orders[a.Order]
	}
	return text
}

func TestAnOrderThatComesTooLateIsRefused(t *testing.T) {
	for _, tc := range []struct {
		from stage
		e    event
		want string
	}{
		{stageOffered, event{Kind: evStart, Start: dawn}, errNotPrepared.Error()},
		{stageOpening, event{Kind: evStart, Start: dawn.Add(time.Hour)}, "the start is 1h0m0s away"},
		{stageRunning, event{Kind: evStart, Start: dawn}, errNotPrepared.Error()},
		{stageRunning, event{Kind: evOpen}, errNotPrepared.Error()},
		{stageUndoing, event{Kind: evStart, Start: dawn}, errNotPrepared.Error()},
		{stageOver, event{Kind: evOpen}, errNotPrepared.Error()},
	} {
		tc.e.Now = dawn
		s := ranTo(tc.from)
		got, actions, err := next(terms{}, s, tc.e)
		must.True(t, err != nil && err.Error() == tc.want && len(actions) == 0 && got.Stage == s.Stage,
			"%v: %v, %v, error %v", tc.from, got.Stage, actions, err)
	}
	s := newRunState(2, dawn)
	s.Stage, s.Parts[0].State, s.Parts[1].State = stageOpening, partReady, partOpening
	_, _, err := next(terms{}, s, event{Kind: evStart, Now: dawn, Start: dawn})
	must.True(t, err != nil && err.Error() == "process 2 is opening", "a start of processes that are not ready: %v", err)
}

// TestNoOrderOfEventsBreaksARun plays random events, and checks what must hold whatever happens.
func TestNoOrderOfEventsBreaksARun(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := &playedRun{t: t, seed: seed, processes: r.IntN(4), terms: terms{Lasts: time.Duration(r.IntN(60)) * time.Second}}
		if r.IntN(3) == 0 {
			w.terms.Limit = 20 * time.Second
		}
		w.play(r)
	}
}

// playedRun is a run of which random events are played.
type playedRun struct {
	t         *testing.T
	seed      uint64
	processes int
	terms     terms

	state   runState
	live    []bool // processes
	ends    []int  // of the load of each process
	spawned []int
	over    int
	stopped bool // an order to end the load was given before the start was agreed
	begun   bool // a load was made
}

func (w *playedRun) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *playedRun) play(r *rand.Rand) {
	now := dawn
	w.state = newRunState(w.processes, now)
	w.live, w.ends, w.spawned = make([]bool, w.processes), make([]int, w.processes), make([]int, w.processes)
	for step := range 400 {
		now = now.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
		e := event{Kind: eventKind(r.IntN(int(evExited) + 1)), Now: now, Start: now.Add(time.Duration(r.IntN(3000)) * time.Millisecond)}
		e.Order = []order{{Stop: true}, {Abort: true}, {Cancel: true}, {Drained: true}, {Finish: true}, {Abort: true, Drained: true, Finish: true}}[r.IntN(6)]
		if step < 20 { // else hardly any run begins
			e.Kind = []eventKind{evOpen, evReady, evStart, evBegan, evHeard, evTick, evDraining, evHeard}[r.IntN(8)]
		}
		if step > 300 { // nobody is there any more, and kills succeed
			e.Kind = []eventKind{evTick, evExited}[r.IntN(2)]
			now = now.Add(30 * time.Second)
			e.Now = now
		}
		if e.Kind >= evReady {
			if w.processes == 0 {
				continue
			}
			e.Process = 1 + r.IntN(w.processes)
			if !w.live[e.Process-1] {
				continue // it says nothing
			}
		}
		w.happen(e)
	}
	if w.state.Stage != stageOver || w.over != 1 {
		w.fail("in the end it is %v, and was over %d times: %+v", w.state.Stage, w.over, w.state)
	}
}

func (w *playedRun) happen(e event) {
	before := w.state
	parts := slices.Clone(before.Parts)
	after, actions, err := next(w.terms, before, e)
	if !slices.Equal(parts, before.Parts) {
		w.fail("%+v changed the state that was given", e)
	}
	if err != nil {
		if len(actions) > 0 {
			w.fail("%+v is refused, and has the actions %v", e, actions)
		}
		return
	}
	w.state = after
	if after.Stage < before.Stage {
		w.fail("%+v leads from %v back to %v", e, before.Stage, after.Stage)
	}
	if e.Kind == evEnd && e.Order.stops() {
		w.stopped = w.stopped || before.Start.IsZero()
	}
	w.begun = w.begun || after.Stage >= stageRunning && after.Stage < stageUndoing
	if e.Kind == evExited {
		w.live[e.Process-1] = false
	}
	for i := range after.Parts {
		was, is := before.Parts[i].State, after.Parts[i].State
		if was.settled() && was != is {
			w.fail("process %d was %s and is %s", i+1, was, is)
		}
		if !was.settled() && is.settled() {
			if w.ends[i]++; w.ends[i] > 1 {
				w.fail("the load of process %d ended twice", i+1)
			}
		}
	}
	for _, a := range actions {
		w.act(a)
	}
}

func (w *playedRun) act(a action) {
	if a.Process > 0 && a.Do != doSpawn && !w.live[a.Process-1] {
		w.fail("process %d is not alive, and has to be told %v", a.Process, a)
	}
	switch a.Do {
	case doSpawn:
		w.live[a.Process-1] = true
		if w.spawned[a.Process-1]++; w.spawned[a.Process-1] > 1 || w.stopped {
			w.fail("process %d is started %d times, stopped before: %v", a.Process, w.spawned[a.Process-1], w.stopped)
		}
	case doOrder:
		if a.Order == orderStart && (w.stopped || w.state.Stage == stageUndoing) {
			w.fail("a start after a stop")
		}
	case doEnd:
		w.over++
		if slices.Contains(w.live, true) {
			w.fail("it is over, and processes are alive")
		}
	case doRemove:
		if w.begun {
			w.fail("the files of a load are removed")
		}
	case doKill, doBeginWatch, doCloseWatch, doLog:
	}
}

func TestStagesHaveNames(t *testing.T) {
	for s := stageOffered; s <= stageOver; s++ {
		text, _ := s.MarshalText()
		var got stage
		err := got.UnmarshalText(text)
		must.True(t, err == nil && got == s && fmt.Sprint(s) == string(text), "%v reads as %v, %v", s, got, err)
	}
	must.Match(t, `no run is "?[2J"`, fmt.Sprint(new(stage).UnmarshalText([]byte("\x1b[2J"))), "the error")
}
