package cluster

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
)

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
		if time.Now().After(deadline) {
			t.Fatalf("the peers are %+v", peers)
		}
	}
	for i, p := range peers {
		if p.Err != nil || p.Name != []string{"a", "b"}[i] || p.Addr != addrs[i] || p.Cores != 8 || p.CPU != 2 || p.RTT <= 0 || p.Offset.Abs() > p.Bound || p.Bound > time.Second {
			t.Errorf("peer %+v", p)
		}
	}
	if exact, err := c.Peers(t.Context(), []string{addrs[1], "127.0.0.1:1"}, false); err != nil || len(exact) != 2 || (exact[0].Err == nil) == (exact[1].Err == nil) {
		t.Errorf("exactly those: %+v, %v", exact, err)
	}
	o := w.order(nil)
	o.Load = peers
	o.Plan.Load.Duration = plan.Duration(2 * time.Second)
	out := must.Have(c.run(t.Context(), o, runOptions{Dir: t.TempDir()}))(t)
	if len(out.Lost) > 0 || len(loads(out.Files)) != 4 {
		t.Errorf("lost %q, files %q", out.Lost, out.Files)
	}
	acked := int64(0)
	for _, f := range loads(out.Files) {
		acked += partOf(t, f).Records.Acknowledged
		if late := startIn(t, f).Agreed.Late; late.Abs() > 500*time.Millisecond {
			t.Errorf("%s began %v late", f, late)
		}
	}
	must.Match(t, 2400, acked, "records")
	other := port.NewKey()
	c = NewClient(&other, time.Now, w.log)
	if _, err := c.Peers(t.Context(), addrs, true); err == nil || !strings.Contains(err.Error(), "has another key") {
		t.Errorf("with another key: %v", err)
	}
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
	known := fromGossip(Peer{Addr: "1:1"}, []member{{Name: "a", Addr: "1:1", Rival: "1:2"}})
	if len(known) != 1 || known[0].Rival != "1:2" {
		t.Errorf("of the gossip's member came %+v", known)
	}
}

func TestWithoutAKeyAnAgentStaysOnItsMachine(t *testing.T) {
	w := newWorld(t)
	h := w.add("a", "client")
	o := h.agent.o
	h.agent.close()
	o.Bind = "0.0.0.0:0"
	must.Err(t, "--key-file", Serve(t.Context(), o, func(addr string) { t.Errorf("it listens on %s", addr) }), "the error")
}

func TestAnAgentWhosePortIsTakenSaysSo(t *testing.T) {
	taken := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	w := newWorld(t)
	h := w.add("a", "client")
	o := h.agent.o
	h.agent.close()
	o.Bind = taken.Addr().String()
	must.Err(t, o.Bind, Serve(t.Context(), o, func(string) { t.Error("it listens") }), "the error")
}
