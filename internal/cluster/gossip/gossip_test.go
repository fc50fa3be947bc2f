package gossip

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
)

// setup is the options of an agent and its port.
type setup struct {
	Bind, Advertise string // Bind "": loopback, at a free port
	Join            []string
	Key             *port.Key
	Info            Info
	tune            func(*memberlist.Config)
}

// node is an agent with its port.
type node struct {
	*Gossip
	port *port.Listener
}

// start starts an agent.
func (s setup) start(log func(string)) (*node, error) {
	if s.Bind == "" {
		s.Bind = "127.0.0.1:0"
	}
	l, err := port.Listen(s.Bind, port.Options{Key: s.Key, Log: log})
	if err != nil {
		return nil, err
	}
	g, err := Start(Options{Port: l, Key: s.Key, Advertise: s.Advertise, Join: s.Join, Info: s.Info, Log: log, tune: s.tune})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &node{g, l}, nil
}

// Addr returns the address that the agent listens on.
func (n *node) Addr() string { return n.port.Addr().String() }

// Close ends the agent with a goodbye.
func (n *node) Close() error { return n.end(true) }

func (n *node) end(goodbye bool) error {
	return errors.Join(n.Gossip.end(goodbye), n.port.Close())
}

// agent starts an agent that is closed with the test.
func agent(t testing.TB, name string, s setup) (*node, *must.Lines) {
	t.Helper()
	l := new(must.Lines)
	s.Info.Name = name
	n, err := s.start(l.Add)
	// Another program may have got the port in the meantime, mostly to dial from it.
	for end := time.Now().Add(soon); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(end); n, err = s.start(l.Add) {
		<-time.After(20 * time.Millisecond)
	}
	must.Hold(t, err == nil, "start %s: %v", name, err)
	t.Cleanup(func() {
		must.Err(t, "", n.end(false), "close %s", name)
	})
	return n, l
}

// labelMagic begins memberlist's connections and packets when there is a label.
const labelMagic = 244

// soon is the longest wait for an expected event, also on a busy machine.
const soon = 4 * time.Minute

// hasty makes an agent four times less patient, for tests of silence. It also turns off the
// exchange of tables every minute, which would hide a fault.
func hasty(c *memberlist.Config) {
	c.ProbeInterval /= 4
	c.ProbeTimeout /= 4
	c.GossipInterval /= 4
	c.PushPullInterval = 0
}

// states returns the members that an agent lists, as "name state".
func states(g *node) []string {
	var all []string
	for _, m := range g.Members() {
		all = append(all, m.Name+" "+m.State)
	}
	return all
}

// sees waits until an agent lists the given members.
func sees(t testing.TB, g *node, want ...string) {
	t.Helper()
	var got []string
	defer func() {
		if t.Failed() {
			t.Logf("%s sees %v", g.name, got)
		}
	}()
	must.Eventually(t, fmt.Sprintf("%s sees %v", g.name, want), func() bool {
		got = states(g)
		return slices.Equal(got, want)
	})
}

// key returns a key that no other test and no other process has, because a port that becomes free
// may soon belong to another agent.
func key(t testing.TB, n byte) *port.Key {
	sum := sha256.Sum256([]byte(process + t.Name() + string(n)))
	k := must.Have(port.ParseKey(base64.StdEncoding.EncodeToString(sum[:])))(t)
	return &k
}

var process = rand.Text()

func TestAgentsFindEachOtherWhateverTheirOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			// All join through all, themselves included, as one unit file for all hosts has it.
			var addrs []string
			for range order {
				addrs = append(addrs, must.Nobody(t))
			}
			agents := make([]*node, len(order))
			for _, i := range order {
				o := setup{Bind: addrs[i], Join: addrs, Key: key(t, 1)}
				o.Info = Info{Role: "client", Tags: []string{fmt.Sprint("rack-", i)}}
				agents[i], _ = agent(t, fmt.Sprint("vm", i), o)
			}
			for i, g := range agents {
				sees(t, g, "vm0 alive", "vm1 alive", "vm2 alive")
				must.Match(t, addrs[i], g.Addr(), "vm%d listens on", i)
				want := Info{Name: "vm2", Role: "client", Tags: []string{"rack-2"}}
				must.Match(t, want, g.Members()[2].Info, "vm%d sees of vm2", i)
				must.Match(t, addrs[2], g.Members()[2].Addr, "vm%d sees vm2 at", i)
			}
		})
	}
}

func TestAnAgentThatIsNotThereYetIsToldOnceAndFound(t *testing.T) {
	t.Parallel()
	addr := must.Nobody(t)
	a, log := agent(t, "a", setup{Join: []string{addr}, Key: key(t, 1)})
	must.Eventually(t, "a tells that nobody answers", func() bool { return len(log.With("join "+addr)) > 0 })
	b, _ := agent(t, "b", setup{Bind: addr, Key: key(t, 1)})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
	must.Eventually(t, "a tells that it answers", func() bool { return len(log.With(addr+": joined")) == 1 })
	lines := log.With("it is tried")
	must.True(t, len(lines) == 1, "told %d times, want once: %q", len(lines), lines)
}

func TestAnAgentThatLeavesHasLeftAtOnce(t *testing.T) {
	t.Parallel()
	a, _ := agent(t, "a", setup{Key: key(t, 1)})
	b, log := agent(t, "b", setup{Key: key(t, 1), Join: []string{a.Addr()}})
	c, _ := agent(t, "c", setup{Key: key(t, 1), Join: []string{a.Addr()}})
	for _, g := range []*node{a, b, c} {
		sees(t, g, "a alive", "b alive", "c alive")
	}
	must.Err(t, "", c.Close(), "close")
	sees(t, a, "a alive", "b alive", "c left")
	sees(t, b, "a alive", "b alive", "c left")
	must.Eventually(t, "b tells", func() bool { return len(log.With("c has left")) > 0 })
	// It comes back, at another address, and is there at once.
	again, _ := agent(t, "c", setup{Key: key(t, 1), Join: []string{b.Addr()}})
	for _, g := range []*node{a, b, again} {
		sees(t, g, "a alive", "b alive", "c alive")
	}
	must.Match(t, again.Addr(), a.Members()[2].Addr, "a sees c at")
}

func TestAgentsThatCrashAreGoneAndComeBack(t *testing.T) {
	t.Parallel()
	k := key(t, 1)
	a, log := agent(t, "a", setup{Key: k, tune: hasty})
	b, _ := agent(t, "b", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	c, _ := agent(t, "c", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	d, _ := agent(t, "d", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	// Memberlist is quicker when two more confirm what one suspects.
	e, _ := agent(t, "e", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	for _, g := range []*node{a, b, c, d, e} {
		sees(t, g, "a alive", "b alive", "c alive", "d alive", "e alive")
	}
	for _, g := range []*node{c, d} {
		must.Err(t, "", g.end(false), "crash")
	}
	sees(t, a, "a alive", "b alive", "c gone", "d gone", "e alive")
	sees(t, b, "a alive", "b alive", "c gone", "d gone", "e alive")
	must.Eventually(t, "a tells", func() bool { return len(log.With("c at "+c.Addr()+" is gone")) > 0 })

	// One comes back at another address and joins. The other comes back where it was and
	// joins nobody: memberlist never tries again who is gone, so two halves of a network
	// that was cut would stay halves.
	c, _ = agent(t, "c", setup{Key: k, tune: hasty, Join: []string{b.Addr()}})
	d, _ = agent(t, "d", setup{Key: k, tune: hasty, Bind: d.Addr()})
	for _, g := range []*node{a, b, c, d, e} {
		sees(t, g, "a alive", "b alive", "c alive", "d alive", "e alive")
	}
}

// An agent may be restarted at another address before the others have noticed its end. It must
// not stay unlisted until the next exchange of tables, a minute later.
func TestAnAgentThatRestartsElsewhereAtOnceIsTakenWhenItsFormerSelfIsGone(t *testing.T) {
	t.Parallel()
	k := key(t, 1)
	a, log := agent(t, "a", setup{Key: k, tune: hasty})
	old, _ := agent(t, "b", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	must.Err(t, "", old.end(false), "crash")
	again, _ := agent(t, "b", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	must.Eventually(t, "a tells of two", func() bool {
		lines := log.With("two agents are called b")
		return len(lines) == 1 && strings.Contains(lines[0], old.Addr()) && strings.Contains(lines[0], again.Addr())
	})
	must.Eventually(t, "a sees b at its new address", func() bool {
		m := a.Members()
		return len(m) == 2 && m[1].State == Alive && m[1].Addr == again.Addr()
	})
}

func TestTwoAgentsOfOneNameAreToldAndBreakNothing(t *testing.T) {
	t.Parallel()
	a, log := agent(t, "a", setup{Key: key(t, 1)})
	first, _ := agent(t, "b", setup{Key: key(t, 1), Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	second, own := agent(t, "b", setup{Key: key(t, 1), Join: []string{a.Addr()}})
	for _, l := range []*must.Lines{log, own} {
		must.Eventually(t, "both addresses are told", func() bool {
			lines := l.With("two agents are called b")
			return len(lines) > 0 && strings.Contains(lines[0], first.Addr()) && strings.Contains(lines[0], second.Addr())
		})
	}
	sees(t, second, "a alive", "b alive")
	if b := a.Members()[1]; b.Addr != first.Addr() || b.Rival != second.Addr() {
		t.Errorf("a sees b at %s and its rival at %s, want the first at %s and the second at %s", b.Addr, b.Rival, first.Addr(), second.Addr())
	}
	if b := second.Members()[1]; b.Addr != second.Addr() || b.Rival != first.Addr() {
		t.Errorf("the second sees itself at %s and its rival at %s, want %s and %s", b.Addr, b.Rival, second.Addr(), first.Addr())
	}
	// When the second goes, the first is still there.
	must.Err(t, "", second.Close(), "close")
	must.Eventually(t, "a sees the first b", func() bool {
		m := a.Members()
		return len(m) == 2 && m[1].State == Alive && m[1].Addr == first.Addr()
	})
}

func TestWhoHasNotTheKeyNeverJoins(t *testing.T) {
	t.Parallel()
	k := key(t, 1)
	a, log := agent(t, "a", setup{Key: k, tune: hasty})
	wrong, told := agent(t, "wrong", setup{Key: key(t, 2), Join: []string{a.Addr()}})
	none, _ := agent(t, "none", setup{Join: []string{a.Addr()}})
	good, _ := agent(t, "good", setup{Key: k, tune: hasty, Join: []string{a.Addr()}})
	must.Eventually(t, "the one with the wrong key is told", func() bool {
		return len(told.With("it has another key, or is no kt agent")) > 0
	})
	must.Eventually(t, "a tells of connections that it refused", func() bool {
		return len(log.With("it has another key, or none")) > 0
	})
	sees(t, a, "a alive", "good alive")
	sees(t, good, "a alive", "good alive")
	sees(t, wrong, "wrong alive")
	sees(t, none, "none alive")
}

func TestGarbageChangesNothingAndIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*port.Key{"with a key": key(t, 1), "without a key": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, log := agent(t, "a", setup{Key: k})
			udp := must.Have(net.Dial("udp", a.Addr()))(t)
			defer udp.Close()
			label := settings(k).Label
			header := append([]byte{labelMagic, byte(len(label))}, label...)
			for i := range 256 {
				junk := bytes.Repeat([]byte{byte(i)}, i)
				for _, packet := range [][]byte{junk, append(slices.Clone(header), junk...), {labelMagic, byte(i)}} {
					_, err := udp.Write(packet)
					must.Hold(t, err == nil, "write: %v", err)
				}
				tcp, err := net.Dial("tcp", a.Addr())
				must.Hold(t, err == nil, "dial: %v", err)
				_, _ = tcp.Write(append(slices.Clone(header), junk...))
				_ = tcp.Close()
			}
			b, _ := agent(t, "b", setup{Key: k, Join: []string{a.Addr()}})
			sees(t, a, "a alive", "b alive")
			sees(t, b, "a alive", "b alive")
			must.Eventually(t, "a tells of it", func() bool { return len(log.With("cannot read")) > 0 })
			must.Do(t, udp.SetReadDeadline(time.Now().Add(time.Millisecond)))
			var answer [512]byte
			n, err := udp.Read(answer[:])
			must.True(t, err != nil || k == nil, "garbage was answered with %x", answer[:n])
			lines := log.With("cannot read")
			must.True(t, len(lines) == 1, "told %d times, want once: %q", len(lines), lines)
		})
	}
}

func TestSixtyFourAgentsThatJoinAtOnceAllSeeAll(t *testing.T) {
	const n = 64
	want := make([]string, n)
	agents := make([]*node, n)
	// Where so many share a CPU that is busy with something else, each would suspect others.
	calm := func(c *memberlist.Config) { c.ProbeInterval = time.Hour }
	agents[0], _ = agent(t, "vm00", setup{Key: key(t, 1), tune: calm})
	for i := range n {
		want[i] = fmt.Sprintf("vm%02d alive", i)
	}
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() {
			agents[i], _ = agent(t, fmt.Sprintf("vm%02d", i), setup{Key: key(t, 1), tune: calm, Join: []string{agents[0].Addr()}})
		})
	}
	wg.Wait()
	began := time.Now()
	for _, g := range agents {
		must.Hold(t, g != nil, "an agent did not start")
		sees(t, g, want...)
	}
	t.Logf("after %v", time.Since(began))
}
