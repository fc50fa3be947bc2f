package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/run"
)

func TestAProcessThatNeverEndsIsGivenUp(t *testing.T) {
	for _, tc := range []struct {
		name string
		stop time.Duration
		most time.Duration
	}{
		{"when the load should be over", 0, 30*time.Second + drainGrace},
		{"after a stop", 10 * time.Second, 10*time.Second + drainGrace},
	} {
		bubbleOf(t, tc.name, []string{"a", "b"}, func(t *testing.T, w *world) {
			// The agent answers, but not even a kill ends the process.
			w.hosts["b"].behave = func(int) behaviour { return behaviour{forever: true, deaf: true} }
			w.hosts["b"].agent.o.Spawn = immortal(w.hosts["b"])
			stop := closed(tc.stop)
			began := time.Now()
			out, _ := must.Both(w.run(longer(w.order([]string{"a", "b"}), 30*time.Second), func(r *runOptions) { r.Stop = stop }))(t)
			took := time.Since(began)
			must.True(t, took <= tc.most+10*time.Second, "it took %v", took)
			out.left(t, 4, "b: its processes did not finish within 3m0s of the end of the load")
			mortal(w.hosts["b"])
		})
	}
}

// immortal starts processes that ignore kills until mortal is called.
func immortal(h *testHost) func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		p, err := h.spawn(ctx)
		if err == nil {
			kill := p.Kill
			h.mu.Lock()
			h.kills = append(h.kills, kill)
			h.mu.Unlock()
			p.Kill = func() error { return nil }
		}
		return p, err
	}
}

func mortal(h *testHost) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, kill := range h.kills {
		_ = kill()
	}
}

func TestASilentHostIsTold(t *testing.T) {
	bubble(t, []string{"a", "b", "broker"}, func(t *testing.T, w *world) {
		w.cut("b", 10*time.Second, 22*time.Second)
		w.cut("broker", 10*time.Second, 22*time.Second)
		w.cut("b", 34*time.Second, 0)
		must.Both(w.run(longer(w.order([]string{"a", "b"}, "broker"), 40*time.Second)))(t)
		for text, want := range map[string]int{
			"b has not been heard for 5s; its load may go on": 2,
			"b is back":                            1,
			"broker has not been heard for 5s":     1,
			"broker has not been heard for 5s; ":   0,
			"waiting for b until 00:01:":           1,
			"; the other hosts have finished":      1,
			"b: it was not heard for":              1,
			"undoing the preparation":              0,
			"a has not been heard for 5s; its loa": 0,
		} {
			w.said(t, want, text)
		}
	})
}

func TestARefusalAfterTheOfferIsNoMisfit(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*AgentOptions)
		misfit bool
	}{
		{"its limits do not allow the load", func(o *AgentOptions) { o.Limits.Rate = 1 }, true},
		{"its disk is full when the run is prepared", nil, false},
	} {
		bubble(t, []string{"a"}, func(t *testing.T, w *world) {
			b := w.add("b", "client", func(o *AgentOptions) {
				if tc.change != nil {
					tc.change(o)
				}
			})
			b.agent.store.create = roomy(0)
			_, _, err := w.run(w.order([]string{"a", "b"}))
			var refused *refusedError
			must.True(t, err != nil && errors.As(err, &refused) == tc.misfit, "%s: the error is %v (%T)", tc.name, err, err)
		})
	}
}

func TestAnAgentThatWasStartedAnewHandsItsFilesOver(t *testing.T) {
	for _, tc := range []struct {
		name string
		at   time.Duration // of 20 s of load, from the start of the run
		lost string
	}{
		{"in the load", 10 * time.Second, "b: its agent was started anew, and its processes are gone"},
		{"when its load was over and another's was not", 30 * time.Second, ""},
	} {
		bubbleOf(t, tc.name, []string{"a", "b"}, func(t *testing.T, w *world) {
			w.hosts["a"].behave = func(p int) behaviour { return behaviour{forever: p == 1} }
			b := w.hosts["b"]
			stop := make(chan struct{})
			go func() {
				<-time.After(tc.at)
				b.setCut(true) // a crash says no word
				b.end()
				b.start(b.agent.o)
				b.mu.Lock()
				b.ended, b.cut = false, false
				b.mu.Unlock()
				<-time.After(30 * time.Second)
				close(stop)
			}()
			out, _ := must.Both(w.run(longer(w.order([]string{"a", "b"}), 20*time.Second), func(r *runOptions) { r.Stop = stop }))(t)
			must.Match(t, tc.lost, strings.Join(out.Lost, "\n"), "lost")
			n := w.logged("anew")
			must.True(t, (n > 0) == (tc.lost != ""), "it was said %d times: %q", n, w.logs)
			must.Match(t, 4, len(loads(out.Files)), "files %q", out.Files)
			w.sameFiles(t, out.Files)
		})
	}
}

func TestAClockThatIsSetBeforeTheStartUndoesTheRun(t *testing.T) {
	stepped(t, 500*time.Millisecond, func(t *testing.T, w *world, _ outcome, _ run.Second, err error) {
		must.Err(t, "b: its clock was set by 5s while the start was agreed", err, "the error")
		w.idle(t, 0)
	})
}

func TestAClockThatIsSetInTheRunIsToldAndChangesNothing(t *testing.T) {
	stepped(t, 10*time.Second, func(t *testing.T, _ *world, out outcome, last run.Second, err error) {
		must.Do(t, err)
		out.left(t, -1)
		must.Match(t, "its clock has moved by 5s since the start", last.Hosts[1].Note, "the screen says")
		for _, f := range loads(out.Files) {
			r, g := partOf(t, f), startIn(t, f).Agreed
			must.True(t, r.Ended == result.Completed && r.ElapsedSeconds == 40 && g.Offset == 0 && g.Late == 0,
				"%s ended %s after %v s, agreed %+v", f, r.Ended, r.ElapsedSeconds, g)
		}
	})
}

// stepped runs a load of 40 s on two hosts, and sets the clock of the second one meanwhile.
func stepped(t *testing.T, at time.Duration, check func(t *testing.T, w *world, out outcome, last run.Second, err error)) {
	t.Helper()
	bubble(t, nil, func(t *testing.T, w *world) {
		var step atomic.Int64
		w.add("a", "client")
		w.add("b", "client", func(o *AgentOptions) { o.Now = func() time.Time { return time.Now().Add(time.Duration(step.Load())) } })
		time.AfterFunc(at, func() { step.Store(int64(5 * time.Second)) })
		var last run.Second
		out, _, err := w.run(longer(w.order([]string{"a", "b"}), 40*time.Second), func(r *runOptions) { r.Observe = func(_ int, t run.Second) { last = t } })
		check(t, w, out, last, err)
	})
}

func TestTwoCoordinatorsThatWantTheSameHostDoNotMix(t *testing.T) {
	bubble(t, []string{"a", "b", "c", "d"}, func(t *testing.T, w *world) {
		errs := make([]error, 2)
		outs := make([]outcome, 2)
		orders := []loadOrder{w.order([]string{"a", "b", "c"}), w.order([]string{"d", "c", "b"})}
		var running sync.WaitGroup
		for i := range orders {
			orders[i].Run = fmt.Sprintf("run%d", i)
			orders[i].Plan.Topic.Delete = true
			running.Go(func() { outs[i], _, errs[i] = w.run(orders[i]) })
		}
		running.Wait()
		won := 0
		for i, err := range errs {
			var refused *refusedError
			switch {
			case err == nil:
				won++
				must.True(t, len(outs[i].Lost) == 0 && len(loads(outs[i].Files)) == 6, "run %d: lost %q, files %q", i, outs[i].Lost, outs[i].Files)
			case !errors.As(err, &refused) || !strings.Contains(err.Error(), "it is busy with run run"):
				t.Errorf("run %d: %v", i, err)
			}
		}
		must.True(t, won <= 1, "both runs were made")
		for name, h := range w.hosts {
			found, _ := filepath.Glob(filepath.Join(h.dir, "*"))
			busy := h.agent.busy()
			must.True(t, busy == "" && (len(found) == 0 || len(found) == 3), "%s is busy with %q and has %q", name, busy, found)
		}
		must.Match(t, 0, w.topics(), "topics that are left")
	})
}

func TestTheFolderThatTakesNoFilesIsNamed(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		dir := t.TempDir()
		for _, h := range w.hosts {
			h.behave = func(int) behaviour { return behaviour{readyIn: 2 * time.Second} }
		}
		time.AfterFunc(time.Second, func() { _ = os.RemoveAll(dir) })
		out := must.Have(w.client().run(t.Context(), w.order([]string{"a", "b"}), runOptions{Dir: dir}))(t)
		must.True(t, len(out.Lost) != 0 && len(out.Files) == 0, "lost %q, files %q", out.Lost, out.Files)
		for _, l := range out.Lost {
			must.True(t, strings.Contains(l, dir) && strings.Contains(l, "no such file or directory"), "lost %q", l)
		}
		w.said(t, 4, "no copy is kept in "+dir)
		w.idle(t, -1)
	})
	o := loadOrder{Run: "r", Epoch: "e", Hosts: Hosts{Processes: 1, Load: []Peer{{Info: Info{Name: "a"}}}}, OneLoad: one(run.Request{Plan: plan.Plan{Command: plan.Produce, Producers: 1}})}
	must.Err(t, "/nowhere", must.Fail(new(world).client().run(t.Context(), o, runOptions{Dir: "/nowhere"})), "the error")
}

func TestASecondSumsUpWhatWaitsInProcessesThatRun(t *testing.T) {
	told := func(state partState, lost bool) *remote {
		r := newRemote(nil, Peer{}, offer{Shares: make([]jobShare, 2)})
		if lost {
			r.state.Contact = contactLost
		}
		for i := range r.state.Parts {
			r.state.Parts[i].State, r.state.Parts[i].Load = state, Load{Buffered: 100, InFlight: 10}
		}
		return r
	}
	var got run.Second
	s := &session{c: &Client{Now: time.Now}, order: loadOrder{Hosts: Hosts{Processes: 2}}, lives: []*live{{}}, opts: runOptions{Observe: func(_ int, t run.Second) { got = t }}, hosts: []*remote{
		told(partRunning, false), told(partDraining, false), told(partDone, false), told(partRunning, true),
	}}
	s.send(0, merge.Second{})
	if got := got.Snapshot; got.Buffered != 400 || got.InFlight != 40 {
		t.Errorf("%d bytes, %d requests", got.Buffered, got.InFlight)
	}
}

func TestAnOfferThatNoAgentTakesIsNotMade(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		o := w.order([]string{"a"})
		o.Producer = make(map[string]plan.Given)
		for i := range 5 {
			o.Producer[fmt.Sprint("p", i)] = plan.Given{Value: strings.Repeat("x", 60<<10)}
		}
		_, _, err := w.run(o)
		must.Err(t, "a: its order takes 301 KiB, at most 256 KiB are allowed", err, "the error")
		w.idle(t, 0)
	})
}

func TestWhatGossipKnowsOfAPeerIsKept(t *testing.T) {
	peers := fromGossip(Peer{Info: Info{Name: "a"}, Addr: "here:1"}, []gossip.Member{
		{Info: gossip.Info{Name: "a", Role: "client"}, Addr: "there:1", State: gossip.Alive},
		{Info: gossip.Info{Name: "b", Role: "client", Tags: []string{"rack-1"}}, Addr: "b:1", State: gossip.Gone},
		{Info: gossip.Info{Name: "c", Role: "broker"}, Addr: "c:1", State: gossip.Left},
		{Info: gossip.Info{Name: "d", Role: "broker"}, Addr: "d:1", State: gossip.Alive},
	})
	must.Hold(t, len(peers) == 3 && peers[1].Err != nil && peers[1].Err.Error() == "b is gone", "peers %+v", peers)
	peers[1].Err = nil
	want := []Peer{
		{Info: Info{Name: "a", Role: "client"}, Addr: "here:1", State: gossip.Alive},
		{Info: Info{Name: "b", Role: "client", Tags: []string{"rack-1"}}, Addr: "b:1", State: gossip.Gone},
		{Info: Info{Name: "d", Role: "broker"}, Addr: "d:1", State: gossip.Alive},
	}
	must.Match(t, want, peers, "peers")
}

func TestAPeerThatIsNotThereIsSaidPlainly(t *testing.T) {
	addr := must.Nobody(t)
	c := NewClient(nil, time.Now, func(text string) { t.Log(text) })
	peers, err := c.Peers(t.Context(), []string{addr}, false)
	must.Match(t, "no agent answers: "+addr+": connection refused; start kt agent there, or name one that runs with --join HOST", fmt.Sprint(err), "the error")
	must.True(t, errors.Is(err, syscall.ECONNREFUSED), "the error is %v", err)
	must.True(t, len(peers) == 1 && peers[0].Name == addr && peers[0].State == "unreachable", "peers %+v", peers)
}

func TestAPeerThatDoesNotAnswerIsSaidPlainly(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		w.hosts["a"].setCut(true)
		_, err := w.client().Peers(t.Context(), []string{"a"}, true)
		must.Err(t, "no agent answers: a: it did not answer within 10s; start kt agent there", err, "the error")
	})
}
