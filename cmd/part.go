package cmd

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// newPart returns the command that an agent starts to make a load: a process of its own,
// which gets its job on standard input and reports on standard output, as JSON lines.
func newPart(env *Env) *cobra.Command {
	var secure string
	var allow []string
	return command[none]{
		flags: func(set *pflag.FlagSet) none {
			set.StringVar(&secure, "command-config", "", "`FILE` with the security settings of this host")
			set.StringSliceVar(&allow, "allow-broker", nil, "`ADDRESSES` that they may be used at")
			return none{}
		},
		run: func(ctx context.Context, env *Env, _ none, _ []string) (*finding, error) {
			return nil, runPart(ctx, env, secure, allow)
		},
	}.of(env, &cobra.Command{Use: "part", Short: "Make one process's part of a load, for kt agent", Hidden: true})
}

// partGrace is how long a process may take to leave at once, and to hand over its result. Its agent waits longer.
const partGrace = 3 * time.Second

// runPart makes the run that the agent asks for.
func runPart(ctx context.Context, env *Env, secure string, allow []string) error {
	p := &part{secure: secure, allow: allow, out: json.NewEncoder(env.Stdout), start: make(chan cluster.StartOrder, 1), gone: make(chan struct{}), finish: make(chan struct{})}
	in := bufio.NewReaderSize(env.Stdin, 64<<10)
	if err := p.take(in); err != nil {
		return usageError(fmt.Errorf("kt part is for kt agent, which says on standard input what to do: %w", err))
	}
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	stop := newStopper(abort, env.Exit, func(string) {})
	stop.grace = partGrace
	signals, ignore := env.Signals()
	defer ignore()
	defer stop.listen(signals)()
	go p.listen(ctx, in, stop) // it ends with the load, or the process

	err := p.make(ctx, env, stop)
	switch {
	case p.told: // the error is in the report already
	case err != nil:
		p.failed(err)
	}
	return err
}

// make makes the run.
func (p *part) make(ctx context.Context, env *Env, stop *stopper) error {
	asked := p.asked()
	if p.secure != "" {
		var err error
		if asked.Security, err = config.SecurityOf(p.secure, p.allow, env.configSystem(), security.Is); err != nil {
			return usageError(err)
		}
	}
	l, err := env.maker().Check(asked)
	if err != nil {
		return err
	}
	file, err := env.maker().RunFile(l.ResultFile, l.Stem())
	if err != nil {
		return usageError(err)
	}
	tuneProcess(env, &l.Plan)
	r := l.Request(file)
	r.Args, r.Tags, r.Part, r.Follows, r.Stop = p.job.Args, p.job.Tags, &p.job.Part, !p.job.CreateTopic, stop.asked
	if p.job.Part.Process > 1 {
		r.Tune = nil // the first process of the host makes the check
	}
	r.Notify = func(n run.Notice) {
		if n.Kind != run.LogDirUnknown {
			env.notify(n, l.Quiet)
		}
	}
	r.Ready, r.Aborted = p.await, p.why
	r.Began = func(at time.Time) result.Start { return p.began(stop, at) }
	judged := func(res result.Result, err error) error { return worse(judge(&res, stop.code(), l.Output), err) }
	r.Done = func(ctx context.Context, res result.Result, err error) bool { return p.done(ctx, judged(res, err)) }
	res, err := run.Run(ctx, r, p)
	if res.RunID == "" {
		return err
	}
	return judged(res, err)
}

// part is the conversation with the agent.
type part struct {
	secure string // the file with the security settings; "": none
	allow  []string
	job    cluster.ProcessJob
	order  cluster.StartOrder
	start  chan cluster.StartOrder
	gone   chan struct{} // closed: the agent says no more
	finish chan struct{} // closed: all processes have drained
	told   bool          // the end of the run is reported

	aborted atomic.Pointer[string] // the condition that ended the load; nil: none did

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// asked returns the load that the job asks for.
func (p *part) asked() *config.Run {
	r := &config.Run{
		Plan: p.job.Plan, Properties: p.job.Producer, ConsumerProperties: p.job.Consumer,
		ResultFile: p.job.RunFile, Output: "text", Quiet: true, Interval: time.Second, DateFormat: "yyyy",
	}
	if !p.job.CreateTopic { // another process has made the topic, and its settings
		r.Plan.Topic.Delete, r.Plan.Topic.Configs = false, nil
	}
	return r
}

// take reads the job.
func (p *part) take(in *bufio.Reader) error {
	m, err := readOrder(in)
	if err != nil {
		return err
	}
	if m.Job == nil {
		return errors.New("the first line is no job")
	}
	p.job = *m.Job
	return nil
}

// longestOrder bounds a line of the agent: a plan with its roster and properties.
const longestOrder = 4 << 20

func readOrder(in *bufio.Reader) (m cluster.ToProcess, err error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > longestOrder {
			return m, err
		}
	}
	return m, json.Unmarshal(line, &m)
}

// aloneGrace is the time that a load has to drain after its agent has gone and its own time
// is up. A load that drains in order has had that time before.
const aloneGrace = 20 * time.Second

// listen follows the orders of the agent until it is gone. Then it ends the load by itself
// when its time is up, because no other process can.
func (p *part) listen(ctx context.Context, in *bufio.Reader, stop *stopper) {
	end := p.follow(in, stop)
	close(p.gone)
	if end.IsZero() {
		return
	}
	for _, at := range []time.Time{end, end.Add(aloneGrace)} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(at)):
			stop.stop(nil)
		}
	}
}

// follow obeys the agent until it is gone. It returns the time at which the load has to be
// over; zero: the load did not begin, or its end is not known.
func (p *part) follow(in *bufio.Reader, stop *stopper) (end time.Time) {
	finished := false
	for {
		m, err := readOrder(in)
		switch {
		case err != nil:
			return end // or it is no order: such an agent counts as gone
		case m.Start != nil:
			if most := p.job.Most; most > 0 {
				end = time.Now().Add(time.Until(m.Start.At) + most) // a step of the wall clock moves nothing
			}
			select {
			case p.start <- *m.Start:
			default: // one start is enough
			}
		case m.Abort:
			stop.stop(nil)
			stop.stop(nil)
		case m.Stop:
			if m.Why != "" {
				p.aborted.Store(&m.Why)
			}
			stop.stop(nil)
		case m.Finish && !finished:
			finished = true
			close(p.finish)
		}
	}
}

// why returns the condition of --abort-on that ended the load, "" if none did.
func (p *part) why() string {
	if text := p.aborted.Load(); text != nil {
		return *text
	}
	return ""
}

func (p *part) tell(m cluster.FromProcess) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(m) // an agent that is gone hears nothing, and the run goes on
}

func (p *part) failed(err error) {
	text := cmp.Or(textOf(err), err.Error())
	p.tell(cluster.FromProcess{Failed: &text})
}

// spin is the end of the wait for the start, which is spent awake: on Linux a sleep takes
// about a millisecond too long.
const spin = 2 * time.Millisecond

// await reports to the agent that all is ready, and returns at the start of the load.
func (p *part) await(ctx context.Context, h result.Header) error {
	p.tell(cluster.FromProcess{Ready: &h.RunID})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.gone:
		return errors.New("the agent is gone")
	case p.order = <-p.start:
	}
	// By the monotonic clock from here on: a step of the wall clock moves nothing.
	at := time.Now().Add(time.Until(p.order.At.Round(0)))
	p.order.At = at
	timer := time.NewTimer(time.Until(at) - spin)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	for time.Until(at) > 0 {
		runtime.Gosched()
	}
	return nil
}

// began reports the start of the load to the agent, and returns it.
func (p *part) began(stop *stopper, now time.Time) result.Start {
	stop.begin() // before the agent hears of it: an order that follows ends a load that has begun
	at := now.UTC()
	p.tell(cluster.FromProcess{Began: &at})
	agreed := p.order.Agreed
	agreed.Late = now.Sub(p.order.At)
	return result.Start{At: at, Agreed: &agreed}
}

// Observe tells the agent once a second what is in no run file.
func (p *part) Observe(s run.Second) {
	now := &s.Snapshot
	p.tell(cluster.FromProcess{Load: &cluster.Load{
		Draining: now.Stage == result.Draining, Buffered: max(0, now.Buffered), InFlight: max(0, now.InFlight),
	}})
}

// done reports the end of the run to the agent, and waits for all other processes. It
// reports whether they have drained: only then a topic may be deleted.
func (p *part) done(ctx context.Context, err error) bool {
	p.told = true
	p.tell(cluster.FromProcess{Ended: &cluster.Ended{Code: exitCode(err), Text: textOf(err)}})
	select {
	case <-p.finish:
		return ctx.Err() == nil // told to leave at once, this process does not know of the others
	case <-p.gone:
		select {
		case <-p.finish: // it was said just before
			return true
		default:
		}
	case <-ctx.Done():
	}
	return false
}

// textOf returns the lines of an error, without kt's name before them.
func textOf(err error) string {
	return strings.Join(theme.Problems(err), "\n")
}
