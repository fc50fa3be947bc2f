package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

func TestABrokersHostIsFreeWhenARunWasStoppedAndItsCoordinatorIsGone(t *testing.T) {
	bubble(t, []string{"a", "broker"}, func(t *testing.T, w *world) {
		stop := closed(20 * time.Second)
		ctx, die := context.WithCancel(t.Context())
		time.AfterFunc(25*time.Second, die)
		w.hosts["a"].behave = func(int) behaviour { return behaviour{deaf: true} } // so that the coordinator is waiting when it dies
		_, err := w.client().run(ctx, longer(w.order([]string{"a"}, "broker"), 10*time.Hour), runOptions{Dir: t.TempDir(), Stop: stop})
		must.True(t, err != nil, "the coordinator did not die")
		<-time.After(time.Second)
		must.Match(t, "", w.hosts["broker"].agent.busy(), "the broker's host is busy with")
		<-time.After(2 * absentGrace)
		w.over(t, "broker")
		<-time.After(drainWithin)
		w.idle(t, -1)
	})
}

// over checks that only the files of a host's runs are left.
func (w *world) over(t *testing.T, name string) {
	t.Helper()
	a := w.hosts[name].agent
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.runs {
		must.True(t, r.isOver(), "%s: run %s is not over", name, r.name)
	}
}

func TestAProcessThatObeysNobodyIsKilledWhenItsTimeIsUp(t *testing.T) {
	for _, tc := range []struct {
		name     string
		stop     time.Duration // after the run was ordered; 0: never
		duration time.Duration
		records  int64
		limit    time.Duration // of the agent
		within   time.Duration
	}{
		{"after a stop", 10 * time.Second, 10 * time.Hour, 0, 0, 10*time.Second + drainWithin},
		{"after the duration of its load", 0, time.Minute, 0, 0, time.Minute + drainWithin},
		{"after the longest that its agent allows, when its load has no duration", 0, 0, 1200 * 60, time.Minute, time.Minute + overtime + drainWithin},
	} {
		bubbleOf(t, tc.name, nil, func(t *testing.T, w *world) {
			a := w.add("a", "client", func(o *AgentOptions) { o.Limits.Duration = tc.limit })
			a.behave = func(p int) behaviour { return behaviour{deaf: p == 2, forever: p == 2} }
			o := longer(w.order([]string{"a"}), tc.duration)
			o.Plan.Topic.Delete = true
			o.Plan.Load.Records = tc.records
			if tc.records > 0 {
				a.behave = func(p int) behaviour { return behaviour{deaf: p == 2, forever: true} }
			}
			stop := closed(tc.stop)
			began := time.Now()
			out, _ := must.Both(w.run(o, func(r *runOptions) { r.Stop = stop }))(t)
			took := time.Since(began)
			must.True(t, took >= tc.within && took <= tc.within+20*time.Second, "it took %v, want %v and a little", took, tc.within)
			d := out.Ended["a"]
			must.True(t, d[0].Code == 0 && d[1].Code == 1, "the processes ended %+v: only the second is to be killed", d)
			must.Match(t, 0, w.topics(), "topics that are left: the first process was killed while it waited")
			w.idle(t, -1)
		})
	}
}

func TestAProcessIsToldHowLongItMayLast(t *testing.T) {
	for _, tc := range []struct {
		name     string
		duration time.Duration
		reads    bool // and writes
		timeout  string
		limit    time.Duration // of the agent
		want     time.Duration
	}{
		{"nobody knows", 0, false, "", 0, 0},
		{"a duration", time.Minute, false, "", 0, time.Minute + drainWithin},
		{"a duration, and a timeout that leaves room to report", time.Minute, false, "1000", 0, time.Minute + drainWithin},
		{"a duration, and what is refused elsewhere", time.Minute, false, "soon", 0, time.Minute + drainWithin},
		{"a duration, and what takes long to be given up", time.Minute, false, "600000", 0, time.Minute + 10*time.Minute + 30*time.Second},
		{"a round trip, which reads on", time.Minute, true, "", 0, 0},
		{"a limit", 0, false, "", time.Hour, time.Hour + overtime + drainWithin},
		{"a round trip within a limit", time.Minute, true, "", time.Hour, time.Hour + overtime + drainWithin},
		{"a duration within a limit", time.Minute, false, "", time.Hour, time.Minute + drainWithin},
	} {
		bubble(t, nil, func(t *testing.T, w *world) {
			a := w.add("b", "client", func(o *AgentOptions) { o.Limits.Duration = tc.limit }).agent
			o := offered(t)
			o.Plan.Load.Duration = plan.Duration(tc.duration)
			if tc.reads {
				o.Plan.Read.Consumers = 3
			}
			if tc.timeout != "" {
				o.Producer = map[string]plan.Given{"delivery.timeout.ms": {Value: tc.timeout}}
			}
			for _, c := range newRun(a, o, [32]byte{}).children {
				must.Match(t, tc.want, c.job.Most, "%s", tc.name)
			}
		})
	}
	must.Match(t, drainWithin, drain(&plan.Plan{Read: plan.Read{Consumers: 1}}, nil), "who only reads drains for")
}

func TestAnAgentThatEndsWaitsNotForAProcessThatWasToldToDrain(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		w.hosts["a"].behave = func(int) behaviour { return behaviour{deaf: true} }
		stop := closed(10 * time.Second)
		ended := make(chan time.Duration)
		go func() {
			<-time.After(11 * time.Second)
			began := time.Now()
			w.hosts["a"].end()
			ended <- time.Since(began)
		}()
		go func() {
			_, _, _ = w.run(longer(w.order([]string{"a"}), time.Hour), func(r *runOptions) { r.Stop = stop })
		}()
		took := <-ended
		must.True(t, took <= stopGrace+2*abortGrace, "it took %v", took)
		<-time.After(2 * time.Hour) // the coordinator gives up
	})
}

func TestARunThatIsNotMadeCostsNoOtherItsFiles(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		a := w.add("a", "client", func(o *AgentOptions) { o.Keep = 1 })
		must.Both(w.run(w.order([]string{"a"})))(t)
		a.behave = func(int) behaviour { return behaviour{failed: "not authorized"} }
		_, _, err := w.run(w.order([]string{"a"}))
		must.True(t, err != nil, "the second run was made")
		<-time.After(stopGrace)
		found, _ := filepath.Glob(filepath.Join(a.dir, "*.ktr"))
		must.True(t, len(found) == 3, "of the first run there is %q", found)
	})
}

func TestABrokersHostIsWatchedForNoLongerThanItAllows(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		limited := func(lasts time.Duration) time.Duration {
			a := must.Have(newAgent(t.Context(), AgentOptions{Info: Info{Name: "b", Role: "broker"}, Dir: t.TempDir(), Now: time.Now, Log: w.log, Limits: Limits{Duration: time.Minute}}))(t)
			o := offered(t)
			o.Shares, o.Lasts = nil, lasts
			must.Have(a.accept(o))(t)
			a.close()
			return o.Lasts
		}
		for lasts, want := range map[time.Duration]time.Duration{0: time.Minute, time.Second: time.Second, time.Hour: time.Minute} {
			must.Match(t, want, limited(lasts), "without its coordinator a load of %v is watched for", lasts)
		}
		b := w.add("broker", "broker", func(o *AgentOptions) { o.Limits.Duration = 20 * time.Second })
		out, _ := must.Both(w.run(longer(w.order([]string{"a"}, "broker"), 2*time.Minute)))(t)
		out.left(t, -1)
		found, _ := filepath.Glob(filepath.Join(b.dir, "*.ktr"))
		must.Hold(t, len(found) == 1, "the broker's host has %q", found)
		text, _ := os.ReadFile(found[0])
		lines := strings.Split(strings.TrimSpace(string(canned.Text(text))), "\n")
		var last struct{ Trailer *result.Trailer }
		err := decodeLoose([]byte(lines[len(lines)-1]), &last)
		must.Hold(t, err == nil && last.Trailer != nil, "the last line is %s: %v", lines[len(lines)-1], err)
		if r := last.Trailer; r.Ended != result.Interrupted || r.ElapsedSeconds > 20+overtime.Seconds()+1 {
			t.Errorf("it was watched for %.0f s, and that ended %s", r.ElapsedSeconds, r.Ended)
		}
	})
}

// put makes the agent of host b an offer.
func (w *world) put(t *testing.T, o *offer) error {
	t.Helper()
	return w.client().call(t.Context(), http.MethodPut, "b", runPath(o.Part.Epoch), o, new(nothing))
}

// post gives a run of an agent an order.
func (w *world) post(t *testing.T, name, epoch string, o order) error {
	t.Helper()
	return w.client().call(t.Context(), http.MethodPost, name, runPath(epoch), o, new(runStatus))
}

func TestRunsThatAreOverTakeNoRoom(t *testing.T) {
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		heap := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		offered := offered(t)
		var before uint64
		for k := range 50 {
			if k == 10 { // all that is made once is there
				before = heap()
			}
			o := *offered
			o.Part.Epoch = fmt.Sprint("E", k)
			o.Producer = map[string]plan.Given{"client.id": {Value: strings.Repeat("a", 60<<10)}, "client.rack": {Value: strings.Repeat("b", 60<<10)}}
			err := errors.Join(w.put(t, &o), w.post(t, "b", o.Part.Epoch, order{Cancel: true}))
			must.Hold(t, err == nil, "offer %d: %v", k, err)
			synctest.Wait()
		}
		w.over(t, "b")
		grown := int64(heap()) - int64(before)
		must.True(t, grown <= 3<<20, "40 runs of 120 KiB each left %d KiB", grown>>10)
	})
}

func TestAnOfferThatIsTooLargeIsRefused(t *testing.T) {
	bubble(t, []string{"b"}, func(t *testing.T, w *world) {
		o := offered(t)
		for k := range 6 {
			o.Producer[fmt.Sprint("p", k)] = plan.Given{Value: strings.Repeat("x", 50<<10)}
		}
		must.Err(t, "longer than 262144 bytes", w.put(t, o), "it is answered by")
	})
}

func TestACoordinatorThatComesBackVeryLateLearnsHowItsRunEnded(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		w.hosts["a"].behave = func(p int) behaviour { return behaviour{done: Ended{Code: p}} }
		o := w.order([]string{"a"})
		must.Both(w.run(o))(t)
		<-time.After(time.Hour)
		var said runStatus
		must.Do(t, w.client().call(t.Context(), http.MethodGet, "a", runPath(o.Epoch), nil, &said))
		must.True(t, len(said.Parts) == 2 && said.Stage == stageOver && said.Parts[1].Ended != nil && said.Parts[1].Ended.Code == 2,
			"it says %+v", said)
	})
}

func TestARunStartsWhileFilesAreListedAndRemoved(t *testing.T) {
	w := newWorld(t)
	a := w.add("b", "client").agent
	o := offered(t)
	o.Shares = nil         // it is only watched
	a.store.listing.Lock() // as a long listing does
	begun := make(chan error, 1)
	go func() {
		_, err := a.accept(o)
		r := a.known(o.Part.Epoch)
		err = errors.Join(err, r.obey(&order{Open: 1}))
		a.store.mu.Lock() // the oldest files cannot be removed now
		at := time.Now().Add(time.Minute)
		begun <- errors.Join(err, r.obey(&order{Start: &StartOrder{At: at, Agreed: result.Agreed{At: at}}}))
	}()
	select {
	case err := <-begun:
		must.True(t, err == nil, "%v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("the start waits for the files")
	}
	a.store.mu.Unlock()
	a.store.listing.Unlock()
	w.end()
}

// A busy agent gets no CPU just after it has read its clock, and answers late.
func TestAnAgentThatPausesIsNoClockThatWasSet(t *testing.T) {
	bubble(t, []string{"a"}, func(t *testing.T, w *world) {
		var asked atomic.Int64
		c := w.client()
		c.conn.Transport = trip(func(r *http.Request) (*http.Response, error) {
			answer, err := w.RoundTrip(r)
			if asked.Add(1) > echoes { // the clocks were compared
				time.Sleep(3 * clockStep)
			}
			return answer, err
		})
		must.Have(c.run(t.Context(), w.order([]string{"a"}), runOptions{Dir: t.TempDir()}))(t)
	})
}

// serve starts agents on this machine that use the real network. Each one joins the first.
func serve(t *testing.T, w *world, key *port.Key, names ...string) []string {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	t.Cleanup(func() {
		end()
		serving.Wait()
	})
	var addrs []string
	for _, n := range names {
		h := w.add(n, "client")
		o := h.agent.o
		h.agent.close()
		o.Key, o.Bind, o.Join = key, "127.0.0.1:0", slices.Clone(addrs)
		up := make(chan string, 1)
		serving.Go(func() {
			if err := Serve(ctx, o, func(addr string) { up <- addr }); err != nil {
				t.Errorf("agent %s: %v", n, err)
				up <- ""
			}
		})
		addr := <-up
		if addr == "" {
			t.FailNow()
		}
		addrs = append(addrs, addr)
	}
	return addrs
}

func TestAgentsOnARealNetworkAreFoundAndMakeALoad(t *testing.T) {
	w := newWorld(t)
	key := port.NewKey()
	addrs := serve(t, w, &key, "a", "b")
	c := NewClient(&key, time.Now, w.log)
	var peers []Peer
	for deadline := time.Now().Add(20 * time.Second); len(peers) < 2; {
		peers = must.Have(c.Peers(t.Context(), addrs[:1], true))(t)
		must.Hold(t, !time.Now().After(deadline), "the peers are %+v", peers)
	}
	for i, p := range peers {
		if p.Err != nil || p.Name != []string{"a", "b"}[i] || p.Addr != addrs[i] || p.Cores != 8 || p.CPU != 2 || p.RTT <= 0 || p.Offset.Abs() > p.Bound || p.Bound > time.Second {
			t.Errorf("peer %+v", p)
		}
	}
	exact, err := c.Peers(t.Context(), []string{addrs[1], "127.0.0.1:1"}, false)
	must.True(t, err == nil && len(exact) == 2 && (exact[0].Err == nil) != (exact[1].Err == nil), "exactly those: %+v, %v", exact, err)
	o := w.order(nil)
	o.Load = peers
	o.Plan.Load.Duration = plan.Duration(2 * time.Second)
	out := must.Have(c.run(t.Context(), o, runOptions{Dir: t.TempDir()}))(t)
	out.left(t, 4)
	acked := int64(0)
	for _, f := range loads(out.Files) {
		acked += partOf(t, f).Records.Acknowledged
		late := startIn(t, f).Agreed.Late
		must.True(t, late.Abs() <= 500*time.Millisecond, "%s began %v late", f, late)
	}
	must.Match(t, 2400, acked, "records")
	other := port.NewKey()
	c = NewClient(&other, time.Now, w.log)
	must.Err(t, "has another key", must.Fail(c.Peers(t.Context(), addrs, true)), "with another key")
}

func TestAgentsOfOneNameAreRivalsToThoseWhoAsk(t *testing.T) {
	for _, c := range []struct {
		what  string
		peers []Peer
		want  []string
	}{
		{"one of each name", []Peer{{Info: Info{Name: "a"}, Addr: "1:1"}, {Info: Info{Name: "b"}, Addr: "1:2"}}, []string{"", ""}},
		{"two of a name", []Peer{{Info: Info{Name: "a"}, Addr: "1:1"}, {Info: Info{Name: "a"}, Addr: "1:2"}}, []string{"1:2", "1:1"}},
		{"what the gossip knows", []Peer{{Info: Info{Name: "a"}, Addr: "1:1", Rival: "1:3"}}, []string{"1:3"}},
		{"one that does not answer", []Peer{{Info: Info{Name: "a"}, Addr: "1:1"}, {Info: Info{Name: "a"}, Addr: "1:2", Err: errors.New("gone")}}, []string{"", ""}},
	} {
		pairRivals(c.peers)
		for i, p := range c.peers {
			must.Match(t, c.want[i], p.Rival, "%s: the rival of %s", c.what, p.Addr)
		}
	}
	known := fromGossip(Peer{Addr: "1:1"}, []gossip.Member{{Info: gossip.Info{Name: "a"}, Addr: "1:1", Rival: "1:2"}})
	must.True(t, len(known) == 1 && known[0].Rival == "1:2", "of the gossip's member came %+v", known)
}
