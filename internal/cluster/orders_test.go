package cluster

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
)

func TestAHostThatWasCutOffIsStoppedWhenItIsBack(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		stop := make(chan struct{})
		go func() {
			<-time.After(10 * time.Second)
			w.hosts["b"].setCut(true)
			<-time.After(5 * time.Second)
			close(stop)
			<-time.After(20 * time.Second) // what was said meanwhile went nowhere
			w.hosts["b"].setCut(false)
		}()
		out, _ := must.Both(w.run(longer(w.order([]string{"a", "b"}), 10*time.Minute), func(r *runOptions) { r.Stop = stop }))(t)
		if len(out.Lost) > 0 || len(loads(out.Files)) != 4 {
			t.Errorf("lost %q, files %q", out.Lost, out.Files)
		}
		for _, f := range loads(out.Files) {
			if r := partOf(t, f); r.Ended != result.Interrupted || r.ElapsedSeconds > 60 {
				t.Errorf("%s ended %s after %.0f s", f, r.Ended, r.ElapsedSeconds)
			}
		}
	})
}

func TestTheFilesOfARunThatGoesOnAreKept(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", func(o *AgentOptions) { o.Keep, o.Parallel = 1, 2 })
		long := make(chan outcome, 1)
		go func() {
			out, _, err := w.run(longer(w.order([]string{"a"}), time.Minute))
			if err != nil {
				t.Error(err)
			}
			long <- out
		}()
		<-time.After(5 * time.Second)
		for range 3 {
			must.Both(w.run(w.order([]string{"a"})))(t)
		}
		if out := <-long; len(out.Files) != 3 || len(out.Lost) > 0 {
			t.Errorf("files %q, lost %q", out.Files, out.Lost)
		}
	})
}

func TestAnOrderForAnotherRunDoesNothing(t *testing.T) {
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		o := offered(t)
		for range 2 { // the same offer again is accepted
			must.Do(t, w.put(t, o))
		}
		other := offered(t)
		other.Part.Epoch, other.Args = o.Part.Epoch, []string{"kt", "produce", "--more"}
		must.Err(t, "was used before", w.put(t, other), "another offer of this epoch")
		for _, order := range []order{{Cancel: true}, {Open: 1}, {Start: &StartOrder{}}, {Stop: true}} {
			must.Err(t, "the run is not known here", w.post(t, "b", "old", order), "%+v of an old epoch", order)
		}
		<-time.After(2 * runTick)
		if h := w.hosts["b"]; h.count() > 0 || h.agent.busy() != "nightly" {
			t.Errorf("%d processes, busy with %q", h.count(), h.agent.busy())
		}
	})
}

func TestAHostIsBusyUntilItsLoadIsOverOrItsCoordinatorIsGone(t *testing.T) {
	for _, tc := range []struct {
		name                   string
		started, settled, left bool
		want                   bool
	}{
		{"it is prepared", false, false, false, true},
		{"its coordinator left before the start", false, false, true, true},
		{"the load goes on", true, false, false, true},
		{"the load goes on without its coordinator", true, false, true, true},
		{"the load is over, and its coordinator asks for the files", true, true, false, true},
		{"the load is over, and nobody asks for its files", true, true, true, false},
	} {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := newRunState(1, now)
		if tc.started {
			s.Stage, s.Start, s.Parts[0].State = stageRunning, now, partRunning
		}
		if tc.settled {
			s.Stage, s.Parts[0].State = stageSettled, partDone
		}
		if tc.left {
			now = now.Add(2 * awayAfter)
		}
		must.Match(t, tc.want, s.busy(terms{}, now), "%s: busy", tc.name)
	}
}

func TestARunWaitsForItsCoordinatorAsLongAsItMayComeBack(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name        string
		there       bool
		started     time.Duration // ago
		away, lasts time.Duration
		watched     bool // it makes no load
		want        bool
	}{
		{"the coordinator is there", true, time.Hour, time.Hour, time.Minute, false, false},
		{"it left long after the end", false, time.Hour, time.Second, time.Minute, false, false},
		{"it left long ago, and other hosts make their load yet", false, 10 * time.Minute, 9 * time.Minute, 10 * time.Minute, false, false},
		{"it left long ago, and the load is over", false, 12 * time.Minute, 9 * time.Minute, 10 * time.Minute, false, true},
		{"it left a while ago, and nobody knows when the load is over", false, 10 * time.Minute, 2 * time.Minute, 0, true, false},
		{"it left long ago, and nobody knows when the load is over", false, time.Hour, 11 * time.Minute, 0, true, true},
	} {
		m := change{runState: runState{Start: now.Add(-tc.started), Heard: now.Add(-tc.away)}, terms: terms{Lasts: tc.lasts}, now: now}
		if tc.there {
			m.Heard = now
		}
		if !tc.watched {
			m.Parts = make([]process, 1)
		}
		must.Match(t, tc.want, m.absent(), "%s", tc.name)
	}
}
