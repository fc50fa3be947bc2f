package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/cluster/gossip"
	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/study"
)

// AgentOptions configure an agent. Info, Dir, Keep, Spawn, Now and Log have to be set.
type AgentOptions struct {
	Info      Info
	Key       *port.Key // nil: the agent serves this machine only
	Bind      string    // host:port of the one port, TCP and UDP
	Advertise string    // host:port for the other hosts; "": as bound
	Join      []string  // host:port of other agents

	Limits   Limits
	Parallel int // runs at a time; 0: one

	// Dir is the folder for this agent's own run files. Only those of the newest Keep runs, at least 1, are kept.
	Dir  string
	Keep int
	// Shared is the folder with the run files of kt's other commands, of which named runs are handed out; "": none.
	Shared string

	Spawn func(ctx context.Context) (*Process, error) // starts a process that makes a load, which must end with ctx
	// Watch returns a sampler of this machine, which is called at the end of each interval. nil: it is not watched.
	Watch func(since func() time.Duration) func(at time.Duration) host.Vitals
	// Tune changes settings of this host. It is not called twice at a time. nil: the agent changes none.
	Tune func(ctx context.Context, o *study.HostOrder) error
	Now  func() time.Time  // this host's clock
	Log  func(text string) // gets lines for the operator of the agent
}

// agent is the part of an agent that is independent of the network.
type agent struct {
	o     AgentOptions
	store *store
	ctx   context.Context // ends when the agent does
	end   context.CancelFunc
	live  sync.WaitGroup // runs and their processes

	tuning sync.Mutex                // held while settings of this host are changed
	note   func(remote, text string) // logs a line about a peer
	gossip *gossip.Gossip            // nil before the agent is served

	mu     sync.Mutex // guards what follows
	runs   []*hostRun // oldest first
	ending bool
}

// Bounds of what an agent does and remembers.
const (
	maxRemembered = 200                    // runs, so that no epoch is used twice
	maxWatches    = 16                     // runs at a time that only watch the machine
	maxRequests   = maxProcesses + 16      // at a time on one connection: a coordinator follows each run file
	useInterval   = 200 * time.Millisecond // over which the use of CPU is measured: long against the kernel's tick of 1 to 10 ms
	runTick       = 250 * time.Millisecond // the interval of what depends on the time alone
)

func newAgent(ctx context.Context, o AgentOptions) (*agent, error) {
	if err := o.Info.check(); err != nil {
		return nil, err
	}
	o.Parallel = max(o.Parallel, 1)
	store, err := openStore(ctx, o.Dir, o.Shared, o.Keep, o.Now)
	if err != nil {
		return nil, err
	}
	a := &agent{o: o, store: store}
	a.note = func(_, text string) { o.Log(text) }
	a.ctx, a.end = context.WithCancel(context.Background())
	return a, nil
}

// stop stops all runs and waits until they have ended.
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

// busy returns the name of the oldest active run, or "".
func (a *agent) busy() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.active() {
		return r.name
	}
	return ""
}

// active returns the runs that the host is at work on, oldest first. The caller holds mu.
func (a *agent) active() []*hostRun {
	var runs []*hostRun
	for _, r := range a.runs {
		r.mu.Lock()
		if r.state.busy(r.terms, time.Now()) {
			runs = append(runs, r)
		}
		r.mu.Unlock()
	}
	return runs
}

// accept begins the run of an offer, or reports that the same offer was accepted before.
func (a *agent) accept(o *offer) (again bool, err error) {
	if o.Part.Host != a.o.Info.Name {
		return false, fmt.Errorf("the offer is for %s", o.Part.Host)
	}
	text, err := json.Marshal(o)
	if err != nil || len(text) > maxOffer {
		return false, errors.Join(fmt.Errorf("the offer has %d bytes, and %d are the most", len(text), maxOffer), err)
	}
	if most := a.o.Limits.Duration; most > 0 && len(o.Shares) == 0 && (o.Lasts == 0 || o.Lasts > most) {
		o.Lasts = most // a machine is watched no longer than the limit
	}
	files, _ := a.store.groups() // creating files will say what is wrong
	orphans := a.store.orphans()
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := sha256.Sum256(text)
	known := a.known(o.Part.Epoch)
	switch {
	case a.ending:
		return false, errors.New("the agent is about to end")
	case known != nil && known.sum == sum && !known.isOver():
		return true, nil
	case has(files, o.Part.Epoch) || known != nil:
		return false, fmt.Errorf("epoch %s was used before", o.Part.Epoch)
	}
	if err := a.checkRoom(o, orphans); err != nil {
		return false, err
	}
	o.Part.Role, o.Part.Tags = a.o.Info.Role, a.o.Info.Tags // those of the offer may be outdated
	r := newRun(a, o, sum)
	a.runs = append(a.runs, r)
	for oldest := 0; len(a.runs) > maxRemembered && oldest >= 0; {
		if oldest = slices.IndexFunc(a.runs, (*hostRun).isOver); oldest >= 0 {
			a.runs = slices.Delete(a.runs, oldest, oldest+1)
		}
	}
	a.live.Go(r.live)
	return false, nil
}

// checkRoom returns an error if the host has no room for a run in addition to the active ones. A limited agent refuses
// loads while orphans are at work, whose share of the limits is unknown. The caller holds mu.
func (a *agent) checkRoom(o *offer, orphans map[string]string) error {
	var others []*offer
	var first string
	watches := 0
	for _, r := range a.active() {
		r.mu.Lock()
		other := r.offer
		r.mu.Unlock()
		if len(other.Shares) == 0 {
			watches++
		} else {
			first = cmp.Or(first, r.name)
			others = append(others, other)
		}
	}
	l := &a.o.Limits
	full := len(others)+len(orphans) >= a.o.Parallel
	counted := l.Rate > 0 || l.BytesPerSecond > 0 || l.Producers > 0
	switch {
	case len(o.Shares) == 0 && watches < maxWatches:
		return nil
	case len(o.Shares) == 0:
		return fmt.Errorf("it watches %d runs already", watches)
	case full && first != "":
		return fmt.Errorf("it is busy with run %s: wait until that is over, or start the agent with --parallel %d", first, a.o.Parallel+1)
	case len(orphans) > 0 && (full || counted):
		why := "a process of an earlier agent is still at work on " + slices.Min(slices.Collect(maps.Values(orphans)))
		if counted {
			why += ", and its share of --max-rate and --max-producers is unknown"
		}
		return errors.New(why + ": wait until that is over, or end the processes (kt part) of its run")
	}
	return l.allow(o, others...)
}

// known returns the run of an epoch, or nil. The caller holds mu.
func (a *agent) known(epoch string) *hostRun {
	if i := slices.IndexFunc(a.runs, func(r *hostRun) bool { return r.epoch == epoch }); i >= 0 {
		return a.runs[i]
	}
	return nil
}

// measure returns the current load of this host, and the agents that it knows.
func (a *agent) measure(ctx context.Context) *agentState {
	groups, _ := a.store.groups() // unreadable ones do not count
	l := &agentState{Run: a.busy(), Results: len(groups) + len(a.store.sharedNames())}
	if a.o.Watch != nil {
		began := time.Now()
		since := func() time.Duration { return time.Since(began) }
		sample := a.o.Watch(since)
		select {
		case <-time.After(useInterval):
		case <-ctx.Done():
		}
		v := sample(since())
		l.Use = Use{v.CPU, v.Cores, v.Memory, v.Free}
	}
	if a.gossip != nil {
		l.Members = a.gossip.Members()
	}
	return l
}

// Process is a running program that makes a load. Messages are JSON lines.
type Process struct {
	In   io.WriteCloser
	Out  io.Reader
	Wait func() error // called once, after the end of Out; the error tells how the process died, with the end of its stderr
	Kill func() error
}

// Serve runs an agent until ctx ends. Then it stops its loads and waits for them. It calls
// listening with its address as soon as others can reach it.
func Serve(ctx context.Context, o AgentOptions, listening func(addr string)) error {
	log, end := port.Bounded(o.Log)
	defer end()
	o.Log = log
	a, err := newAgent(ctx, o)
	if err != nil {
		return err
	}
	defer a.close()
	l, err := port.Listen(o.Bind, port.Options{Key: o.Key, Log: o.Log, Limits: port.Limits{Streams: maxRequests}})
	if err != nil {
		return err
	}
	a.note = l.Note
	g, err := gossip.Start(gossip.Options{Port: l, Key: o.Key, Advertise: o.Advertise, Join: o.Join, Info: gossip.Info{Name: o.Info.Name, Role: o.Info.Role, Tags: o.Info.Tags}, Log: o.Log})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	a.gossip = g
	var serving sync.WaitGroup
	serving.Go(func() { err = l.Serve(a.handler()) }) // longer than ctx, so that the end of a load is told
	listening(l.Addr().String())
	<-ctx.Done()
	a.stop()
	closed := errors.Join(g.Close(), l.Close())
	serving.Wait()
	return errors.Join(err, closed)
}
