package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/cluster/wire"
	"github.com/kt-bench/kt/internal/host"
)

// AgentOptions are what an agent is and may do. Info, Dir, Keep, Spawn, Now and Log have to
// be set.
type AgentOptions struct {
	Info      Info
	Key       *wire.Key // nil: only this machine can talk to it
	Bind      string    // host:port of the one port, TCP and UDP
	Advertise string    // host:port where others reach it; "": as bound
	Join      []string  // host:port of other agents

	Limits   Limits
	Parallel int // runs at a time; 0: one

	// Dir is a folder of the agent's own for run files: made if it is not there, with
	// mode 0700. Of the files that it made itself it keeps those of the newest Keep runs,
	// 1 or more.
	Dir  string
	Keep int
	// Shared is where kt's other commands on this host leave their run files. Those of
	// a run that has a name are handed out by it, and none is ever changed. "": none.
	Shared string

	Spawn func(ctx context.Context) (*Process, error) // starts a process that makes a load; ctx ends when it has to be gone
	// Watch makes a sampler of this machine: it is called at the start of a run, and what
	// it returns at the end of each interval. nil: the machine is not watched.
	Watch func(since func() time.Duration) func(at time.Duration) host.Vitals
	Now   func() time.Time  // this host's clock
	Log   func(text string) // gets a line for whoever runs the agent
}

// stream is one connection to a peer: a wire.Conn.
type stream interface {
	Send(ctx context.Context, typ wire.FrameType, payload []byte) error
	Receive(ctx context.Context) (wire.FrameType, []byte, error)
	Close() error
	RemoteAddr() net.Addr
}

var _ stream = (*wire.Conn)(nil)

// Serve runs an agent until ctx ends. Then it stops its loads, and waits for them.
// listening is called with the address when others can reach it.
func Serve(ctx context.Context, o AgentOptions, listening func(addr string)) error {
	a, err := newAgent(ctx, o)
	if err != nil {
		return err
	}
	defer a.close()
	server := &wire.Server{Key: o.Key, Log: o.Log, MaxConns: maxStreams}
	server.Handle = func(ctx context.Context, c *wire.Conn) { a.handle(ctx, c) }
	options := gossip.Options{
		Bind: o.Bind, Advertise: o.Advertise, Join: o.Join, Info: a.presence(),
		Streams: server.Serve, Log: o.Log,
	}
	if o.Key != nil {
		k := o.Key.Derive("gossip")
		options.Key = &k
	}
	g, err := gossip.Start(options)
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.gossip = g
	a.mu.Unlock()
	listening(g.Addr())
	<-ctx.Done()
	a.stop()
	server.Close()
	return g.Close()
}

// maxStreams is how many streams an agent serves at a time: a few coordinators, each
// with one to talk and one to fetch.
const maxStreams = 32

// agent is the part of an agent that knows no network.
type agent struct {
	o     AgentOptions
	store *store
	ctx   context.Context // ends when the agent does
	end   context.CancelFunc
	live  sync.WaitGroup // runs

	mu     sync.Mutex // guards what follows
	runs   map[string]*hostRun
	order  []string // epochs, oldest first
	gossip *gossip.Gossip
	ending bool
}

// maxRemembered is how many epochs an agent remembers, so that none is used twice and a
// coordinator that comes back late learns how its run ended.
const maxRemembered = 200

// maxOffer bounds an offer, which is kept while its run is made: a roster of 1,000 hosts
// or a command line of 64 KiB, with room.
const maxOffer = 256 << 10

func newAgent(ctx context.Context, o AgentOptions) (*agent, error) {
	if err := o.Info.check(); err != nil {
		return nil, err
	}
	o.Parallel = max(o.Parallel, 1)
	store, err := openStore(ctx, o.Dir, o.Shared, o.Keep, o.Now)
	if err != nil {
		return nil, err
	}
	a := &agent{o: o, store: store, runs: make(map[string]*hostRun)}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a, nil
}

// stop ends all runs in order, and waits for them.
func (a *agent) stop() {
	a.mu.Lock()
	a.ending = true
	a.mu.Unlock()
	a.end()
	a.live.Wait()
}

func (a *agent) close() {
	a.stop()
	a.store.close()
}

// presence returns what gossip tells others of this agent.
func (a *agent) presence() gossip.Info {
	return gossip.Info{
		Name: a.o.Info.Name, Role: a.o.Info.Role, Version: a.o.Info.Version, Tags: a.o.Info.Tags,
		Wire: Protocol, Busy: a.busy(), Results: a.store.count(),
	}
}

// announce tells the others when something has changed.
func (a *agent) announce() {
	a.mu.Lock()
	g := a.gossip
	a.mu.Unlock()
	if g == nil {
		return
	}
	if err := g.Update(a.presence()); err != nil {
		a.o.Log(fmt.Sprintf("the other agents could not be told: %v", err))
	}
}

// busy returns the name of a run that is not over.
func (a *agent) busy() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if active := a.active(); len(active) > 0 {
		return active[0].name
	}
	return ""
}

// active returns the runs that are not over, oldest first, but for those that only wait for a
// coordinator to come back. The caller holds mu.
func (a *agent) active() []*hostRun {
	var runs []*hostRun
	for _, epoch := range a.order {
		if r := a.runs[epoch]; !r.over() && !r.abandoned() {
			runs = append(runs, r)
		}
	}
	return runs
}

// accept begins a run, or says why not.
func (a *agent) accept(o *offer) (*hostRun, error) {
	if o.Part.Host != a.o.Info.Name {
		return nil, fmt.Errorf("the offer is for %s", o.Part.Host)
	}
	if b, err := json.Marshal(o); err != nil || len(b) > maxOffer {
		return nil, errors.Join(fmt.Errorf("the offer has %d bytes, and %d are the most", len(b), maxOffer), err)
	}
	if most := a.o.Limits.Duration; most > 0 && len(o.Shares) == 0 && (o.Lasts == 0 || o.Lasts > most) {
		o.Lasts = most // it is watched for no longer
	}
	used, orphans := a.store.used(o.Part.Epoch), a.store.orphans()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ending {
		return nil, errors.New("the agent is about to end")
	}
	if used || a.runs[o.Part.Epoch] != nil {
		return nil, fmt.Errorf("epoch %s was used before", o.Part.Epoch)
	}
	if err := a.room(o, orphans); err != nil {
		return nil, err
	}
	o.Part.Role, o.Part.Tags = a.o.Info.Role, a.o.Info.Tags // it knows better than others
	r := newRun(a, o)
	a.runs[o.Part.Epoch] = r
	a.order = append(a.order, o.Part.Epoch)
	a.forget()
	a.live.Go(func() {
		r.live(a.ctx)
		a.announce()
	})
	return r, nil
}

// maxWatches is how many runs an agent watches at a time in which its host makes no load:
// each costs a look at the machine a second, and a file.
const maxWatches = 16

// room tells why there is none for a run beside those that are at work: a load counts
// against --parallel and the limits, and a run that is only watched does not. How much the
// processes of an agent that is gone take of the limits is not known. The caller holds mu.
func (a *agent) room(o *offer, orphans map[string]string) error {
	var beside []*offer
	var first string
	watches := 0
	for _, r := range a.active() {
		switch other := r.asked(); {
		case len(other.Shares) == 0:
			watches++
		default:
			first = cmp.Or(first, r.name)
			beside = append(beside, other)
		}
	}
	if len(o.Shares) == 0 {
		if watches >= maxWatches {
			return fmt.Errorf("it watches %d runs already", watches)
		}
		return nil
	}
	full := len(beside)+len(orphans) >= a.o.Parallel
	if full && first != "" {
		return fmt.Errorf("it is busy with run %s: wait until that is over, or start the agent with --parallel %d", first, a.o.Parallel+1)
	}
	l := &a.o.Limits
	counted := l.Rate > 0 || l.BytesPerSecond > 0 || l.Producers > 0
	if len(orphans) > 0 && (full || counted) {
		why := "a process of an earlier agent is still at work on " + slices.Min(slices.Collect(maps.Values(orphans)))
		if counted {
			why += ", and what it takes of --max-rate and --max-producers is not known"
		}
		return errors.New(why + ": wait until that is over, or end the processes (kt part) of its run")
	}
	return a.o.Limits.allow(o, beside...)
}

// forget drops the oldest runs that are over. The caller holds mu.
func (a *agent) forget() {
	for i := 0; len(a.order) > maxRemembered && i < len(a.order); {
		if epoch := a.order[i]; a.runs[epoch].over() {
			delete(a.runs, epoch)
			a.order = append(a.order[:i], a.order[i+1:]...)
			continue
		}
		i++
	}
}

func (a *agent) find(epoch string) *hostRun {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs[epoch]
}

// look returns how busy this host is now.
func (a *agent) look(ctx context.Context) *looked {
	l := &looked{Run: a.busy(), Results: a.store.count()}
	if a.o.Watch != nil {
		began := time.Now()
		since := func() time.Duration { return time.Since(began) }
		sample := a.o.Watch(since)
		select {
		case <-time.After(lookFor):
		case <-ctx.Done():
		}
		v := sample(since())
		l.CPU, l.Cores, l.Memory, l.Free = v.CPU, v.Cores, v.Memory, v.Free
	}
	a.mu.Lock()
	g := a.gossip
	a.mu.Unlock()
	if g == nil {
		return l
	}
	for _, m := range g.Members() {
		l.Members = append(l.Members, member{Name: m.Name, Role: m.Role, Tags: m.Tags, Addr: m.Addr, State: m.State})
	}
	return l
}

// lookFor is the interval of a look: short enough to wait for, and long against the
// kernel's tick of 1 to 10 ms.
const lookFor = 200 * time.Millisecond

// Process is a program that makes a load. It reads ToProcess from In, a JSON line each,
// and writes FromProcess to Out.
type Process struct {
	In   io.WriteCloser
	Out  io.Reader
	Wait func() error // called once, when Out has ended; the error says how it died, with its last words
	Kill func() error
}
