package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// crashed runs a load on hosts a and b. After 10 s it kills the agent of one host and starts it
// anew, while its processes go on.
func crashed(t *testing.T, host string, lasts time.Duration, change func(ctx context.Context, r *runOptions) context.Context, check func(t *testing.T, w *world, out outcome, took time.Duration, err error)) {
	t.Helper()
	bubble(t, nil, func(t *testing.T, w *world) {
		w.add("a", "client", unwatched)
		w.add("b", "client", unwatched)
		time.AfterFunc(10*time.Second, w.hosts[host].crash)
		o := longer(w.order([]string{"a", "b"}), lasts)
		o.Plan.Topic.Delete = true
		r := runOptions{Dir: t.TempDir()}
		ctx := t.Context()
		if change != nil {
			ctx = change(ctx, &r)
		}
		began := time.Now()
		out, err := w.client().run(ctx, o, r)
		check(t, w, out, time.Since(began), err)
	})
}

func TestALoadWhoseAgentWasKilledGoesOnAndItsFilesAreFetchedWhenItIsOver(t *testing.T) {
	var states []string
	var note string
	observe := func(ctx context.Context, r *runOptions) context.Context {
		r.Observe = func(_ int, t run.Second) {
			states = append(states, t.Hosts[1].State)
			if t.Hosts[1].Note != "" {
				note = t.Hosts[1].Note
			}
		}
		return ctx
	}
	crashed(t, "b", 40*time.Second, observe, func(t *testing.T, w *world, out outcome, took time.Duration, err error) {
		must.Hold(t, err == nil && len(out.Lost) == 0 && took >= 40*time.Second && took <= 50*time.Second,
			"lost %q after %v, error %v", out.Lost, took, err)
		d := out.Ended["b"]
		must.True(t, len(d) == 2 && d[0] == (Ended{}) && d[1] == (Ended{}), "host b ended %+v", d)
		for _, f := range out.Files {
			r := partOf(t, f)
			must.True(t, r.Ended == result.Completed && r.ElapsedSeconds == 40, "%s ended %s after %v s", f, r.Ended, r.ElapsedSeconds)
		}
		n := w.topics()
		must.True(t, len(out.Files) == 4 && n == 0, "files %q; the topic is there %d times", out.Files, n)
		for _, text := range []string{"b: its agent was started anew; its load may go on", "b: its load is over"} {
			w.said(t, 1, text)
		}
		must.True(t, slices.Contains(states, "away") && note == "its agent was started anew; its load may go on",
			"the screen says %q, %q", slices.Compact(states), note)
	})
}

func TestALoadThatIsKnownToGoOnIsNotGivenUp(t *testing.T) {
	unknown := func(o *loadOrder) { o.Plan.Load.Duration, o.Plan.Load.Records, o.Plan.Load.Rate = 0, 1e9, plan.Rate{} }
	for _, tc := range []struct {
		name   string
		plan   func(o *loadOrder)
		a, b   time.Duration // that the loads take
		killed []string      // agents, at 10 s
		ends   string        // the state of b
	}{
		{"nobody knows how long it lasts", unknown, 20 * time.Second, 2 * time.Minute, []string{"b"}, "done"},
		{"no agent knows of it", unknown, 2 * time.Minute, 2 * time.Minute, []string{"a", "b"}, "done"},
		{"it drains for long", func(o *loadOrder) { *o = longer(*o, 20*time.Second) }, 20 * time.Second, 80 * time.Second, []string{"b"}, "done"},
		{"it is over before that of the others", unknown, time.Minute, 20 * time.Second, []string{"b"}, "done"},
	} {
		bubbleOf(t, tc.name, nil, func(t *testing.T, w *world) {
			w.add("a", "client", unwatched).behave = func(int) behaviour { return behaviour{lasts: tc.a} }
			w.add("b", "client", unwatched).behave = func(int) behaviour { return behaviour{lasts: tc.b} }
			for _, name := range tc.killed {
				time.AfterFunc(10*time.Second, w.hosts[name].crash)
			}
			o := w.order([]string{"a", "b"})
			tc.plan(&o)
			var states []string
			began := time.Now()
			out, _, err := w.run(o, func(r *runOptions) {
				r.Observe = func(_ int, t run.Second) { states = append(states, t.Hosts[1].State) }
			})
			if took := time.Since(began); err != nil || len(out.Lost) > 0 || len(out.Files) != 4 || took < max(tc.a, tc.b) {
				t.Errorf("after %v: lost %q, files %q, error %v", took, out.Lost, out.Files, err)
			}
			must.True(t, !slices.Contains(states, "lost") && states[len(states)-1] == tc.ends, "the screen says of host b %q", slices.Compact(states))
			for text, want := range map[string]int{"waiting for": 0, "is back": 0, "its load is over": len(tc.killed)} {
				w.said(t, want, text)
			}
		})
	}
}

func TestAHostThatIsAloneIsNotWaitedForInsteadOfOthers(t *testing.T) {
	bubble(t, []string{"a", "broker"}, func(t *testing.T, w *world) {
		w.cut("a", 10*time.Second, 0)
		out, _, err := w.run(longer(w.order([]string{"a"}, "broker"), 20*time.Second))
		must.True(t, err == nil && len(out.Lost) == 1 && w.logged("waiting for a until ") == 1 && w.logged("the other hosts have finished") == 0,
			"lost %q, error %v: %q", out.Lost, err, w.logs)
	})
}

func TestALoadWhoseAgentWasKilledIsNotTakenForOneThatWasStopped(t *testing.T) {
	stop := func(ctx context.Context, r *runOptions) context.Context {
		r.Stop = closed(14 * time.Second)
		return ctx
	}
	crashed(t, "b", 2*time.Minute, stop, func(t *testing.T, w *world, out outcome, took time.Duration, err error) {
		const lost = "b: its agent was started anew, and its load may go on; its agent has the rest: kt collect --run nightly when it is done"
		must.True(t, err == nil && slices.Equal(out.Lost, []string{lost}) && w.logged(lost) == 1, "lost %q, error %v, said %q", out.Lost, err, w.logs)
		must.True(t, took <= 14*time.Second+comebackGrace+10*time.Second, "it took %v", took)
		n := w.topics()
		must.True(t, n == 1 && w.logged("topic t is not deleted: b may still write to it") == 1, "the topic is there %d times: %q", n, w.logs)
		b := w.peers("b")
		going, problems := w.client().Results(t.Context(), b, "nightly", t.TempDir())
		want := "run nightly is still going on b: collect again when it is over"
		must.True(t, len(going) == 2 && len(problems) == 1 && problems[0].Error() == want, "while it goes on: files %q, problems %v", going, problems)
		var on *GoingError
		if !errors.As(problems[0], &on) || !on.IsCopy(going[0]) || !on.IsCopy(going[1]) || on.IsCopy("b") {
			t.Errorf("%v is not about %q", problems, going)
		}
		<-time.After(2 * time.Minute)
		files, problems := w.client().Results(t.Context(), b, "nightly", t.TempDir())
		must.True(t, len(files) == 2 && len(problems) == 0 && partOf(t, files[0]).Ended == result.Completed, "files %q, problems %v", files, problems)
	})
}

func TestAnAbortSaysWhereALoadGoesOnWhoseAgentWasKilled(t *testing.T) {
	abort := func(ctx context.Context, _ *runOptions) context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(14*time.Second, cancel)
		return ctx
	}
	crashed(t, "b", time.Minute, abort, func(t *testing.T, _ *world, _ outcome, took time.Duration, err error) {
		if !errors.Is(err, errAborted) || !strings.Contains(err.Error(), "but for b, where the load may go on") || took > 14*time.Second+leaveTimeout {
			t.Errorf("the error is %v after %v", err, took)
		}
	})
}

func TestATopicWhoseMakerIsGoneIsSaidToBeThere(t *testing.T) {
	const said = "topic t is not deleted: the process that made it is gone"
	crashed(t, "a", 30*time.Second, nil, func(t *testing.T, w *world, out outcome, _ time.Duration, err error) {
		if n := w.topics(); err != nil || len(out.Lost) > 0 || n != 1 || w.logged(said) != 1 {
			t.Errorf("lost %q, error %v; the topic is there %d times: %q", out.Lost, err, n, w.logs)
		}
	})
	for p, want := range []int{1, 0} {
		bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
			w.hosts["a"].behave = onlyIn(p+1, behaviour{diesAt: 3 * time.Second})
			o := w.order([]string{"a", "b"})
			o.Plan.Topic.Delete = true
			must.Both(w.run(o))(t)
			n := w.topics()
			must.True(t, n == want && w.logged(said) == want, "process %d died: the topic is there %d times, want %d: %q", p+1, n, want, w.logs)
		})
	}
}

func TestAHostThatIsWaitedForIsShownAndCanBeGivenUp(t *testing.T) {
	for _, tc := range []struct {
		name        string
		stop, abort time.Duration // after the run was ordered; 0: never
		most        time.Duration
	}{
		{"nobody gives it up", 0, 0, 22*time.Second + comebackGrace + 5*time.Second},
		{"by a stop while it is waited for", 30 * time.Second, 0, 30*time.Second + time.Second},
		{"by an abort after a stop", 20 * time.Second, 26 * time.Second, 26*time.Second + time.Second},
	} {
		bubbleOf(t, tc.name, []string{"a", "b"}, func(t *testing.T, w *world) {
			w.cut("b", 15*time.Second, 0)
			stop, abort := closed(tc.stop), closed(tc.abort)
			shown := false
			began := time.Now()
			out, _, err := w.run(longer(w.order([]string{"a", "b"}), 20*time.Second), func(r *runOptions) {
				r.Stop, r.Abort = stop, abort
				r.Observe = func(_ int, t run.Second) {
					shown = shown || !t.Hosts[1].Until.IsZero() && t.Hosts[1].Until.Sub(began) < time.Minute
				}
			})
			must.Do(t, err)
			out.left(t, -1, "b: it was not heard for")
			took := time.Since(began)
			must.True(t, took <= tc.most && shown, "it took %v, want at most %v; shown %v", took, tc.most, shown)
		})
	}
}

func TestAStopAtTheStartEitherUndoesTheRunOrEndsIt(t *testing.T) {
	// The start is 2 s after the order.
	for _, tc := range []struct {
		name   string
		at     time.Duration
		late   time.Duration // by which host b hears of it later
		undone bool
	}{
		{"long before", 1200 * time.Millisecond, 0, true},
		{"too late to be undone", 1700 * time.Millisecond, 0, false},
		{"in the last moment", 1900 * time.Millisecond, 0, false},
		{"just after", 2200 * time.Millisecond, 0, false},
		{"before on one host and after on the other", 1700 * time.Millisecond, 600 * time.Millisecond, false},
	} {
		bubbleOf(t, tc.name, []string{"a", "b", "broker"}, func(t *testing.T, w *world) {
			stop := closed(tc.at)
			c := w.client()
			c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host == "b" && r.Method == http.MethodPost && hasStop(t, r) {
					<-time.After(tc.late)
				}
				return w.RoundTrip(r)
			})
			o := longer(w.order([]string{"a", "b"}, "broker"), time.Minute)
			o.Plan.Topic.Delete = true
			out, err := c.run(t.Context(), o, runOptions{Dir: t.TempDir(), Stop: stop})
			must.Match(t, 0, w.topics(), "topics that are left")
			if tc.undone {
				must.True(t, errors.Is(err, errStopped), "the error is %v", err)
				w.idle(t, 0)
				return
			}
			must.Do(t, err)
			out.left(t, 4)
			acknowledged(t, out.Files, result.Interrupted)
		})
	}
}

// hasStop reports whether a request has the order to stop.
func hasStop(t *testing.T, r *http.Request) bool {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	must.Err(t, "", err, "read a request")
	r.Body = io.NopCloser(bytes.NewReader(b))
	return bytes.Contains(b, []byte(`"stop":true`))
}

func TestConsumersThatWillReadNothingAreTold(t *testing.T) {
	for _, tc := range []struct {
		consumers, groups int
		url               string
		want              string // of 6 partitions
	}{
		{6, 0, "", ""},
		{8, 0, "amqp://kt@rabbit/", ""}, // they share queues
		{8, 0, "", "8 consumers share 6 partitions: nothing to read for 2 of them"},
		{8, 2, "", "8 consumers of each group share 6 partitions: nothing to read for 2 of them"},
	} {
		bubble(t, []string{"a"}, func(t *testing.T, w *world) {
			o := w.order([]string{"a"})
			o.Plan.Producers, o.Plan.Load = 0, plan.Plan{}.Load
			if o.Plan.URL = tc.url; tc.url != "" {
				o.Plan.Bootstrap, o.System = nil, anySystem{}
			}
			o.Plan.Command, o.Plan.Payload, o.Plan.Topic = plan.Consume, plan.Payload{}, plan.Topic{Name: "t"}
			o.Plan.Load = plan.Load{Arrivals: plan.Uniform, Duration: plan.Duration(5 * time.Second)}
			o.Plan.Read = plan.Read{Consumers: tc.consumers, Group: "g", Groups: tc.groups, Commit: plan.CommitAuto}
			if tc.url != "" {
				o.Plan.Read.Group, o.Plan.Read.Commit = "", plan.CommitNone
			}
			must.Both(w.run(o))(t)
			n := w.logged("nothing to read")
			must.True(t, n == min(1, len(tc.want)) && w.logged(tc.want) >= n, "%d consumers: %q", tc.consumers, w.logs)
		})
	}
}

func TestAStopWhileTheFirstHeaderIsAwaitedUndoesTheRun(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		c, stop := w.client(), make(chan struct{})
		ask := sync.OnceFunc(func() { time.AfterFunc(headerTimeout/2, func() { close(stop) }) })
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Path, "/v1/files/") {
				ask()
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return w.RoundTrip(r)
		})
		o := w.order([]string{"a"})
		o.Plan.Command, o.Plan.Read = plan.Roundtrip, plan.Read{Consumers: 8, Group: "g", Commit: plan.CommitAuto}
		_, err := c.run(t.Context(), o, runOptions{Dir: t.TempDir(), Stop: stop})
		must.True(t, errors.Is(err, errStopped), "the error is %v", err)
		w.idle(t, 0)
	})
}

func TestAFileOfAnotherHostIsNotTakenForOnesOwn(t *testing.T) {
	bubble(t, []string{"a", "b"}, func(t *testing.T, w *world) {
		o := w.order([]string{"a", "b"})
		shared := filepath.Join(w.hosts["b"].dir, ownFile("19991231-235959-"+o.Epoch+"x", 1))
		leave(t, shared, "R", &result.Part{Run: "nightly", Epoch: o.Epoch, Host: "a", Process: 1}, 10)
		w.hosts["b"].behave = onlyIn(1, behaviour{diesAt: time.Second})
		out, _, err := w.run(o)
		must.Do(t, err)
		out.left(t, -1, "")
		for _, f := range loads(out.Files) {
			must.True(t, !strings.HasPrefix(filepath.Base(f), "a-p1-") || partOf(t, f).RunID != "R", "%s is of the run", f)
		}
	})
}

func TestAnAgentHoldsAllItsLoadsAgainstItsLimitsAndNoneOfWhatItWatches(t *testing.T) {
	offer := func(epoch string, shares bool) *offer {
		o := offered(t)
		o.Part.Epoch, o.Part.Run = epoch, "run-"+epoch
		if !shares {
			o.Shares = nil
		}
		return o
	}
	for _, tc := range []struct {
		name     string
		parallel int
		limits   Limits
		load     bool // the host makes a load; else it watches one
		another  bool // likewise, of the next offer
		want     string
	}{
		{"one load at a time", 1, Limits{}, true, true, "it is busy with run run-A: wait until that is over, or start the agent with --parallel 2"},
		{"two loads", 2, Limits{}, true, true, ""},
		{"two within a rate", 2, Limits{Rate: 800}, true, true, ""},
		{"two above a rate", 2, Limits{Rate: 799}, true, true, "--max-rate 799: this host's share is 400 records/s, and its other loads have 400"},
		{"two above a rate of bytes", 2, Limits{BytesPerSecond: 79_999}, true, true, "--max-rate 79999 B/s: this host's share is 40000 B/s, and its other loads have 40000"},
		{"two with more producers", 2, Limits{Producers: 7}, true, true, "--max-producers 7: this host's share is 4 producers and consumers, and its other loads have 4"},
		{"a load beside what is watched", 1, Limits{Rate: 400}, false, true, ""},
		{"watching beside a load", 1, Limits{Rate: 400}, true, false, ""},
		{"watching beside watching", 1, Limits{}, false, false, ""},
	} {
		bubbleOf(t, tc.name, nil, func(t *testing.T, w *world) {
			a := w.add("b", "client", func(o *AgentOptions) { o.Parallel, o.Limits = tc.parallel, tc.limits }).agent
			must.Have(a.accept(offer("A", tc.load)))(t)
			_, err := a.accept(offer("B", tc.another))
			must.True(t, (tc.want != "" || err == nil) && (tc.want == "" || err != nil && err.Error() == tc.want),
				"accept = %v, want %q", err, tc.want)
		})
	}
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		a := w.hosts["b"].agent
		for i := range maxWatches {
			must.Have(a.accept(offer(string(rune('A'+i)), false)))(t)
		}
		must.Match(t, "it watches 16 runs already", fmt.Sprint(must.Fail(a.accept(offer("more", false)))), "accept")
	})
}

func TestWhatAnEarlierAgentsProcessesTakeOfTheLimitsIsNotKnown(t *testing.T) {
	const name = "19991231-235959-before-p2.ktr"
	const do = ": wait until that is over, or end the processes (kt part) of its run"
	for _, tc := range []struct {
		limits  Limits
		watched bool
		refused bool
	}{
		{Limits{}, false, false},
		{Limits{Duration: time.Hour}, false, false},
		{Limits{Rate: 1e6}, false, true},
		{Limits{BytesPerSecond: 1e9}, false, true},
		{Limits{Producers: 100}, false, true},
		{Limits{Producers: 100}, true, false},
	} {
		bubble(t, nil, func(t *testing.T, w *world) {
			b := w.add("b", "client", func(o *AgentOptions) { o.Parallel, o.Limits = 2, tc.limits })
			leave(t, filepath.Join(b.dir, name), "R", &result.Part{Run: "before", Host: "b", Process: 2}, 10)
			f := must.Have(os.Open(filepath.Join(b.dir, name)))(t)
			defer func() { _ = f.Close() }()
			result.Claim(f)
			o := offered(t)
			if tc.watched {
				o.Shares = nil
			}
			_, err := b.agent.accept(o)
			const want = "a process of an earlier agent is still at work on " + name + ", and its share of --max-rate and --max-producers is unknown" + do
			must.True(t, (!tc.refused || err != nil && err.Error() == want) && (tc.refused || err == nil), "%+v: accept = %v", tc.limits, err)
		})
	}
}

func TestAgentsThatShareAFolderAreToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := AgentOptions{Info: Info{Name: "a", Role: "client"}, Dir: t.TempDir(), Now: time.Now}
		a := must.Have(newAgent(t.Context(), options))(t)
		want := "another agent has its run files in " + options.Dir + ": give each a folder of its own with --results"
		must.Match(t, want, fmt.Sprint(must.Fail(newAgent(t.Context(), options))), "the error")
		// A new agent waits for one that is ending.
		go func() {
			time.Sleep(claimWithin / 2)
			a.close()
		}()
		b := must.Have(newAgent(t.Context(), options))(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := newAgent(ctx, options)
		must.True(t, errors.Is(err, context.DeadlineExceeded), "one that is ended while it waits: %v", err)
		b.close()
	})
}

func TestAnAgentThatWantsAKeyIsThere(t *testing.T) {
	for err, tail := range map[error]bool{
		fmt.Errorf("vm1: %w", port.ErrAuth): false, errors.New("vm1: connection refused"): true,
	} {
		if text := noAnswer([]error{err}).Error(); strings.Contains(text, "start kt agent") != tail || strings.HasPrefix(text, "no agent answers") != tail {
			t.Errorf("%v: it is told as %q", err, text)
		}
	}
}
