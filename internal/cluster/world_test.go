package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
)

// world is a network of agents in the bubble of a test. Only the network, which can be cut, and
// the load of the processes are fakes.
type world struct {
	t     *testing.T
	mu    sync.Mutex // guards what follows
	hosts map[string]*testHost
	logs  []string
	topic map[string]int // made and not deleted, by name
}

// testHost is one host of a world.
type testHost struct {
	w       *world
	agent   *agent
	handler http.Handler // of the agent
	ctx     context.Context
	stop    context.CancelFunc
	serving sync.WaitGroup
	dir     string

	mu      sync.Mutex
	cut     bool
	ended   bool
	breaks  []context.CancelFunc // of requests
	spawned int
	jobs    []Job
	started []time.Time // when each process began, by the system's clock
	dead    []*agent    // that were killed
	kills   []func() error

	behave func(process int) behaviour
}

// behaviour sets how a process misbehaves.
type behaviour struct {
	failed   string // instead of becoming ready
	diesAt   time.Duration
	noise    string // said instead of the first second
	done     Ended
	deaf     bool // to a stop
	readyIn  time.Duration
	exitLate time.Duration // after a finish
	forever  bool          // the load has no end
	lasts    time.Duration // instead of the duration of the plan
}

// onlyIn is the behaviour of one process; the others do as they should.
func onlyIn(process int, b behaviour) func(int) behaviour {
	return func(p int) behaviour { return map[bool]behaviour{true: b}[p == process] }
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, hosts: make(map[string]*testHost), topic: make(map[string]int)}
	return w
}

func (w *world) log(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs = append(w.logs, text)
}

// add starts an agent whose address is its name.
func (w *world) add(name, role string, change ...func(*AgentOptions)) *testHost {
	h := &testHost{w: w, dir: filepath.Join(w.t.TempDir(), name), behave: func(int) behaviour { return behaviour{} }}
	o := AgentOptions{
		Info: Info{Name: name, Role: role, Version: "test"}, Dir: h.dir, Keep: 100, Now: time.Now,
		Log:   func(text string) { w.log(name + ": " + text) },
		Spawn: h.spawn,
		Watch: func(func() time.Duration) func(time.Duration) host.Vitals {
			last := time.Duration(0)
			return func(at time.Duration) host.Vitals {
				v := host.Vitals{At: at, Interval: at - last, Cores: 8, CPU: 2}
				last = at
				return v
			}
		},
	}
	for _, c := range change {
		c(&o)
	}
	h.start(o)
	w.mu.Lock()
	w.hosts[name] = h
	w.mu.Unlock()
	return h
}

func (h *testHost) start(o AgentOptions) {
	a := must.Have(newAgent(context.Background(), o))(h.w.t)
	h.agent, h.handler = a, a.handler()
	h.ctx, h.stop = context.WithCancel(context.Background())
}

// crash kills the agent and starts another one. Its processes go on without orders. The claim on
// its folder must be released, because the process of the test goes on.
func (h *testHost) crash() {
	h.setCut(true) // its last messages are lost
	h.breakAll()
	h.stop()
	h.serving.Wait()
	h.dead = append(h.dead, h.agent)
	result.Release(h.agent.store.own) // as the end of a process does
	h.start(h.agent.o)
	h.setCut(false)
}

// unwatched makes an agent that does not watch its machine.
func unwatched(o *AgentOptions) { o.Watch = nil }

// end ends the agent as Serve does.
func (h *testHost) end() {
	for _, a := range h.dead {
		a.close()
	}
	h.agent.stop()
	h.stop()
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.breakAll()
	h.serving.Wait()
	h.agent.close()
}

func (w *world) end() {
	for _, h := range w.hosts {
		h.end()
	}
}

func (h *testHost) breakAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cancel := range h.breaks {
		cancel()
	}
	h.breaks = nil
}

// setCut cuts the host off or reconnects it. Messages under way are lost.
func (h *testHost) setCut(cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = cut
}

func (h *testHost) isCut() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cut
}

// RoundTrip carries a request to the agent of a host, as a network that can be cut.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	h := w.hosts[r.URL.Host]
	w.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("dial %s: nobody is there", r.URL.Host)
	}
	if err := h.pass(r.Context()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	if h.ended {
		h.mu.Unlock()
		return nil, fmt.Errorf("dial %s: connection refused", r.URL.Host)
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.breaks = append(h.breaks, cancel)
	handler := h.handler
	h.mu.Unlock()
	context.AfterFunc(r.Context(), cancel)
	from, to := io.Pipe()
	answer := &answering{host: h, ctx: ctx, header: make(http.Header), to: to, begun: make(chan int, 1)}
	served := r.Clone(ctx)
	served.RemoteAddr = "127.0.0.1:1"
	if served.Body == nil {
		served.Body = http.NoBody
	}
	h.serving.Go(func() {
		defer func() {
			if recover() != nil {
				_ = to.CloseWithError(errBroken)
			}
		}()
		handler.ServeHTTP(answer, served)
		answer.WriteHeader(http.StatusOK)
		answer.flush()
		_ = to.Close()
	})
	select {
	case code := <-answer.begun:
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: answer.header, Body: &arriving{h, ctx, from, cancel}, Request: r}, nil
	case <-ctx.Done():
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return nil, errBroken
	}
}

var errBroken = errors.New("the connection is broken")

// pass waits while the host is cut off.
func (h *testHost) pass(ctx context.Context) error {
	for h.isCut() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// answering is the answer of an agent on its way. What is written arrives when it is flushed.
type answering struct {
	host   *testHost
	ctx    context.Context
	header http.Header
	to     *io.PipeWriter
	begun  chan int
	said   bool
	buffer bytes.Buffer
}

func (a *answering) Header() http.Header { return a.header }

func (a *answering) WriteHeader(code int) {
	if a.said || a.host.pass(a.ctx) != nil {
		return
	}
	a.said = true
	a.begun <- code
}

func (a *answering) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.buffer.Write(b)
}

// ReadFrom makes no buffer of its own, as io.Copy would at each look at a file that may have grown.
func (a *answering) ReadFrom(r io.Reader) (int64, error) {
	n, err := a.buffer.ReadFrom(r)
	if n > 0 {
		a.WriteHeader(http.StatusOK)
	}
	return n, err
}

func (a *answering) Flush() {
	a.WriteHeader(http.StatusOK)
	a.flush()
}

func (a *answering) flush() {
	stop := context.AfterFunc(a.ctx, func() { _ = a.to.CloseWithError(errBroken) })
	defer stop()
	_, _ = a.buffer.WriteTo(a.to)
}

// arriving is the body of an answer.
type arriving struct {
	host   *testHost
	ctx    context.Context
	from   *io.PipeReader
	cancel context.CancelFunc
}

func (a *arriving) Read(b []byte) (int, error) {
	stop := context.AfterFunc(a.ctx, func() { _ = a.from.CloseWithError(errBroken) })
	defer stop()
	n, err := a.from.Read(b)
	if waited := a.host.pass(a.ctx); waited != nil && n > 0 {
		return 0, waited
	}
	return n, err
}

func (a *arriving) Close() error {
	a.cancel()
	return a.from.Close()
}

func (w *world) client() *Client {
	c := NewClient(nil, time.Now, w.log)
	c.conn = &http.Client{Transport: w}
	return c
}

func (w *world) peers(names ...string) []Peer {
	var peers []Peer
	for _, n := range names {
		peers = append(peers, Peer{Info: w.hosts[n].agent.o.Info, Addr: n})
	}
	return peers
}

// spawn starts a fake process. It sends the messages of kt part and writes a real run file of an
// invented load.
func (h *testHost) spawn(context.Context) (*Process, error) {
	in, toProcess := io.Pipe()
	fromProcess, out := io.Pipe()
	p := &fakeProcess{h: h, out: out, orders: make(chan ToProcess, 8), killed: make(chan struct{})}
	h.mu.Lock()
	h.spawned++
	h.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		defer close(p.orders)
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return
			}
			var m ToProcess
			if err := json.Unmarshal(line, &m); err != nil {
				h.w.t.Errorf("a process was told %q", line)
				return
			}
			p.orders <- m
		}
	}()
	go func() {
		err := p.run()
		_ = out.Close()
		_ = in.Close()
		done <- err
	}()
	return &Process{
		In: toProcess, Out: fromProcess,
		Wait: func() error { return <-done },
		Kill: func() error { p.kill.Do(func() { close(p.killed) }); return nil },
	}, nil
}

type fakeProcess struct {
	h      *testHost
	out    io.Writer
	orders chan ToProcess
	kill   sync.Once
	killed chan struct{}
	how    behaviour
	job    ProcessJob
}

var errKilled = errors.New("signal: killed")

func (p *fakeProcess) say(m FromProcess) {
	b, err := json.Marshal(m)
	must.Err(p.h.w.t, "", err, "a process could not say")
	_, _ = p.out.Write(append(b, '\n'))
}

// next returns the next order, or an error if the agent is gone or has killed the process.
func (p *fakeProcess) next() (ToProcess, error) {
	for {
		select {
		case m, ok := <-p.orders:
			if !ok {
				return m, errors.New("exit status 1: the agent is gone")
			}
			if p.how.deaf && m.Stop {
				continue
			}
			return m, nil
		case <-p.killed:
			return ToProcess{}, errKilled
		}
	}
}

func (p *fakeProcess) run() error {
	m, err := p.next()
	if err != nil {
		return err
	}
	p.job = *m.Job
	p.how = p.h.behave(p.job.Part.Process)
	p.h.mu.Lock()
	p.h.jobs = append(p.h.jobs, p.job.Job)
	p.h.mu.Unlock()
	if p.job.CreateTopic {
		p.h.w.countTopic(p.job.Plan.Topic.Name, 1)
	}
	if p.how.failed != "" {
		p.say(FromProcess{Failed: &p.how.failed})
		p.undo()
		return errors.New("exit status 1")
	}
	select {
	case <-time.After(p.how.readyIn): // what a client takes to connect
	case <-p.killed:
		return errKilled
	}
	file, err := os.OpenFile(p.job.RunFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	header := result.Header{
		Schema: result.Schema, RunID: rand.Text(), KTVersion: "test", StartedAt: time.Now().UTC(),
		Args: p.job.Args, Plan: p.job.Plan, Part: &p.job.Part,
	}
	header.Environment.Topic = result.Topic{Name: p.job.Plan.Topic.Name, Partitions: 6, Created: p.job.CreateTopic}
	result.Claim(file)
	defer result.Release(file) // as the end of a process does
	f, err := result.NewRunFile(file, header)
	if err != nil {
		return err
	}
	p.say(FromProcess{Ready: &header.RunID})
	if m, err = p.next(); err != nil {
		return err
	}
	if m.Start == nil {
		p.undo()
		_ = file.Close()
		return nil
	}
	return p.load(f, *m.Start)
}

// undo deletes a topic of a load that did not begin.
func (p *fakeProcess) undo() {
	if p.job.CreateTopic {
		p.h.w.countTopic(p.job.Plan.Topic.Name, -1)
	}
}

func (w *world) countTopic(name string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.topic[name] += n
}

func (w *world) topics() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.topic["t"]
}

// load invents the records of the process's share.
func (p *fakeProcess) load(f *result.RunFile, s StartOrder) error {
	timer := time.NewTimer(time.Until(s.At))
	defer timer.Stop()
	select {
	case <-timer.C:
	case m := <-p.orders:
		if !m.Stop && !m.Abort {
			p.h.w.t.Errorf("told %+v before the start", m)
		}
		p.undo()
		return nil
	case <-p.killed:
		return errKilled
	}
	began := time.Now().UTC()
	p.h.mu.Lock()
	p.h.started = append(p.h.started, began)
	p.h.mu.Unlock()
	agreed := s.Agreed
	agreed.Late = began.Sub(s.At)
	f.Write(result.Line{Start: &result.Start{At: began, Agreed: &agreed}})
	p.say(FromProcess{Began: &began})
	ended, err := p.seconds(f)
	if err != nil {
		return err
	}
	t := result.Trailer{Ended: ended, ElapsedSeconds: time.Since(began).Seconds(), SendingSeconds: time.Since(began).Seconds()}
	if err := f.Close(t); err != nil {
		return err
	}
	p.say(FromProcess{Ended: &p.how.done})
	for {
		m, err := p.next()
		switch {
		case err != nil:
			return err
		case m.Finish:
			if p.job.Plan.Topic.Delete {
				p.undo()
			}
			<-time.After(p.how.exitLate) // what deleting a topic takes
			return nil
		}
	}
}

func (p *fakeProcess) seconds(f *result.RunFile) (string, error) {
	lasts := cmp.Or(p.how.lasts, p.job.Plan.Load.Duration.Std())
	rate := int64(p.job.Plan.RecordsPerSecond())
	var response stats.Histogram // of every second
	response.RecordN(time.Millisecond, rate)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for at := time.Second; p.how.forever || at <= lasts; at += time.Second {
	wait:
		for {
			select {
			case <-ticker.C:
				break wait
			case <-p.killed:
				return "", errKilled
			case m, ok := <-p.orders:
				switch {
				case !ok || m.Abort:
					return "", errors.New("exit status 130")
				case m.Stop && !p.how.deaf:
					return result.Interrupted, nil
				}
			}
		}
		if p.how.diesAt > 0 && at >= p.how.diesAt {
			return "", errors.New("exit status 2: panic: out of luck\x1b[31m")
		}
		if p.how.noise != "" {
			_, _ = io.WriteString(p.out, p.how.noise+"\n")
		}
		w := stats.Window{Start: at - time.Second, End: at, Offered: rate, Acknowledged: rate, Bytes: 100 * rate, FirstDue: at - time.Second, LastDue: at, LastSent: at, LastAck: at}
		w.Partitions = map[int32]stats.Partition{0: {Records: rate}}
		w.Response = response
		sample := host.Sample{At: at, Interval: time.Second, Cores: 2, ProcessCPU: 1}
		f.AddWindow(w)
		f.AddSample(sample)
		p.say(FromProcess{Load: &Load{Buffered: 1, InFlight: 1}})
	}
	return result.Completed, nil
}

// partitioned is a system of which each partition is read by one consumer.
type partitioned struct{ anySystem }

func (partitioned) ReadsByPartition() bool { return true }

// order returns a load of 1,200 records/s for 5 s.
func (w *world) order(load []string, watched ...string) loadOrder {
	size, _ := plan.ParseSize("100")
	return loadOrder{
		Run: "nightly", Epoch: rand.Text(), Hosts: Hosts{Processes: 2, Load: w.peers(load...), Watch: w.peers(watched...)},
		OneLoad: OneLoad{Request: run.Request{Args: []string{"kt", "produce"}, System: partitioned{}, Plan: plan.Plan{
			Command: plan.Produce, Engine: plan.Client, Bootstrap: []string{"broker:9092"}, Topic: plan.Topic{Name: "t", Partitions: 6}, Producers: 12,
			Load:    plan.Load{Rate: plan.Rate{PerSecond: 1200}, Duration: plan.Duration(5 * time.Second), Arrivals: plan.Uniform},
			Payload: plan.Payload{Kind: plan.Letters, Size: size, Keys: plan.NoKeys}, Seed: 1,
		}}},
	}
}

// one returns a load by itself.
func one(r run.Request, observers ...run.Observer) OneLoad {
	return OneLoad{Request: r, Observers: observers}
}

// closed returns a channel that is closed after a time; 0: never.
func closed(after time.Duration) chan struct{} {
	c := make(chan struct{})
	if after > 0 {
		time.AfterFunc(after, func() { close(c) })
	}
	return c
}

// cut cuts a host off and reconnects it after some times; 0: never.
func (w *world) cut(name string, off, on time.Duration) {
	time.AfterFunc(off, func() { w.hosts[name].setCut(true) })
	if on > 0 {
		time.AfterFunc(on, func() { w.hosts[name].setCut(false) })
	}
}

// left checks how many run files with a load there are, below 0: any number, and how the sentences about what is lost begin.
func (o *outcome) left(t *testing.T, files int, lost ...string) {
	t.Helper()
	same := slices.EqualFunc(o.Lost, lost, strings.HasPrefix)
	n := len(loads(o.Files))
	must.True(t, same && (files < 0 || n == files), "lost %q, want %q; %d files, want %d: %q", o.Lost, lost, n, files, o.Files)
}

// roomy makes files on a disk with the given free space.
func roomy(left int) func(string) (io.WriteCloser, error) {
	return func(string) (io.WriteCloser, error) { return &room{left}, nil }
}

func decodeLoose(b []byte, v any) error { return json.Unmarshal(b, v) }
