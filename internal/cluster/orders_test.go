package cluster

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		out, _, err := w.run(longer(w.order([]string{"a", "b"}), 10*time.Minute), func(r *runOptions) { r.Stop = stop })
		if err != nil {
			t.Fatal(err)
		}
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
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
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
			if _, _, err := w.run(w.order([]string{"a"})); err != nil {
				t.Fatal(err)
			}
		}
		if out := <-long; len(out.Files) != 3 || len(out.Lost) > 0 {
			t.Errorf("files %q, lost %q", out.Files, out.Lost)
		}
		w.end()
	})
}

func TestAnOrderForAnotherRunOfTheSameStreamDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.add("b", "client")
		s, err := w.dial(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		say := func(m toAgent) *fromAgent {
			answer, err := request(t.Context(), s, m)
			if err != nil {
				text := err.Error()
				return &fromAgent{Problem: &text}
			}
			return answer
		}
		o := offered(t)
		say(toAgent{Hello: &hello{Protocol: Protocol}})
		if m := say(toAgent{Offer: o}); m.Accepted == nil {
			b, _ := json.Marshal(m)
			t.Fatalf("the offer: %s", b)
		}
		for name, m := range map[string]toAgent{
			"a cancel":       {Order: &order{Epoch: "old", Do: doCancel}},
			"an opening":     {Open: &open{Epoch: "old"}},
			"a second offer": {Offer: offered(t)},
		} {
			if m := say(m); m.Problem == nil || !strings.Contains(*m.Problem, "this stream") {
				t.Errorf("%s of an old epoch: %+v", name, m)
			}
		}
		<-time.After(2 * runTick)
		if h := w.hosts["b"]; h.count() > 0 || h.agent.busy() != "nightly" {
			t.Errorf("%d processes, busy with %q", h.count(), h.agent.busy())
		}
		w.end()
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
		r := &hostRun{offer: &offer{}, children: []*child{{}}}
		if tc.started {
			r.start = &StartOrder{}
		}
		if tc.settled {
			r.children[0].status.State = partDone
		}
		if !tc.left {
			r.talk = &talk{}
		}
		a := &agent{runs: map[string]*hostRun{"e": r}, order: []string{"e"}}
		if got := len(a.active()) == 1; got != tc.want {
			t.Errorf("%s: busy %v", tc.name, got)
		}
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
		r := &hostRun{offer: &offer{Lasts: tc.lasts}, start: &StartOrder{At: now.Add(-tc.started)}, seen: now.Add(-tc.away)}
		if tc.there {
			r.talk = &talk{}
		}
		if !tc.watched {
			r.children = []*child{{}}
		}
		if got := r.absent(now); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
