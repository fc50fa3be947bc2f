//go:build !race

package cluster

import (
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
		if got.Contact != tc.want || text != tc.says {
			t.Errorf("%s: contact %v, want %v; the user hears %q, want %q", tc.name, got.Contact, tc.want, text, tc.says)
		}
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
	if lost.word(false) != "lost" || away.word(false) != "away" {
		t.Errorf("a host that was given up is %q, one with orphans %q", lost.word(false), away.word(false))
	}
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
			if !slices.Equal(parts, before.Parts) {
				t.Fatalf("seed %d: %+v changed the view that was given", seed, n)
			}
			for i := range parts {
				if parts[i].State.settled() && after.Parts[i].State != parts[i].State {
					t.Fatalf("seed %d: process %d was %s and is %s", seed, i+1, parts[i].State, after.Parts[i].State)
				}
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
			if back > silent {
				t.Fatalf("seed %d: it is back %d times, and was silent %d times", seed, back, silent)
			}
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
