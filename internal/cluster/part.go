package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// Part is the conversation of a process that makes a part of a load with its agent, in JSON lines.
type Part struct {
	Job   ProcessJob
	Stop  func() // asks the load to end; called again, it ends all at once
	Begin func() // is called when the load begins

	in       *bufio.Reader
	order    StartOrder
	start    chan StartOrder
	gone     chan struct{}          // closed: the agent says no more
	finish   chan struct{}          // closed: all processes have drained
	reported bool                   // the end of the run is
	aborted  atomic.Pointer[string] // the condition that ended the load; nil: none did

	mu  sync.Mutex // guards out
	out *json.Encoder
}

// NewPart reads the job, which comes first.
func NewPart(in io.Reader, out io.Writer) (*Part, error) {
	p := &Part{
		in: bufio.NewReaderSize(in, 64<<10), out: json.NewEncoder(out),
		start: make(chan StartOrder, 1), gone: make(chan struct{}), finish: make(chan struct{}),
	}
	m, err := readOrder(p.in)
	switch {
	case err != nil:
		return nil, err
	case m.Job == nil:
		return nil, errors.New("the first line is no job")
	}
	p.Job = *m.Job
	return p, nil
}

const (
	longestOrder = 4 << 20              // bytes of a line of the agent: a plan with its roster and properties
	aloneGrace   = 20 * time.Second     // to drain, of a load whose agent has gone and whose own time is up
	spin         = 2 * time.Millisecond // the end of a wait, which is spent awake: on Linux a sleep takes about 1 ms too long
)

func readOrder(in *bufio.Reader) (m ToProcess, err error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil {
			return m, json.Unmarshal(line, &m)
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > longestOrder {
			return m, err
		}
	}
}

// Listen follows the orders of the agent until it is gone, and then ends the load when its time is up.
func (p *Part) Listen(ctx context.Context) {
	end := p.follow()
	close(p.gone)
	if end.IsZero() {
		return
	}
	for _, at := range []time.Time{end, end.Add(aloneGrace)} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(at)):
			p.Stop()
		}
	}
}

// follow obeys the agent until it is gone. It returns when the load has to be over; zero: that is not known.
func (p *Part) follow() (end time.Time) {
	finished := false
	for {
		m, err := readOrder(p.in)
		switch {
		case err != nil:
			return end // or it is no order: such an agent counts as gone
		case m.Start != nil:
			if most := p.Job.Most; most > 0 {
				end = time.Now().Add(time.Until(m.Start.At) + most) // a step of the wall clock moves nothing
			}
			select {
			case p.start <- *m.Start:
			default: // one start is enough
			}
		case m.Abort:
			p.Stop()
			p.Stop()
		case m.Stop:
			load, why := result.LimitOf(m.Why, []string{p.Job.Part.Load})
			if load == p.Job.Part.Load && why != "" { // else another load of the workload has ended this one
				p.aborted.Store(&why)
			}
			p.Stop()
		case m.Finish && !finished:
			finished = true
			close(p.finish)
		}
	}
}

func (p *Part) send(m FromProcess) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(m) // an agent that is gone hears nothing, and the run goes on
}

// Failed reports an error, unless it was in the report of the end.
func (p *Part) Failed(text string) {
	if !p.reported {
		p.send(FromProcess{Failed: &text})
	}
}

// Fit makes a request that of the part.
func (p *Part) Fit(r *run.Request) {
	r.Args, r.Tags, r.Accepted, r.Part, r.Follows = p.Job.Args, p.Job.Tags, p.Job.Accepted, &p.Job.Part, !p.Job.CreateTopic
	if p.Job.Part.Process > 1 {
		r.Tune = nil // the first process of the host makes the check
	}
	r.Ready, r.Began, r.Aborted = p.await, p.began, func() string {
		if text := p.aborted.Load(); text != nil {
			return *text
		}
		return ""
	}
}

// await reports to the agent that all is ready, and returns at the start of the load.
func (p *Part) await(ctx context.Context, h result.Header) error {
	p.send(FromProcess{Ready: &h.RunID})
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
func (p *Part) began(now time.Time) result.Start {
	p.Begin() // before the agent hears of it: an order that follows ends a load that has begun
	at := now.UTC()
	p.send(FromProcess{Began: &at})
	agreed := p.order.Agreed
	agreed.Late = now.Sub(p.order.At)
	return result.Start{At: at, Agreed: &agreed}
}

// Observe tells the agent once a second what is in no run file.
func (p *Part) Observe(s run.Second) {
	now := &s.Snapshot
	p.send(FromProcess{Load: &Load{
		Draining: now.Stage == result.Draining, Buffered: max(0, now.Buffered), InFlight: max(0, now.InFlight),
	}})
}

// Done reports the end of the run, waits for all other processes, and reports whether they have drained.
func (p *Part) Done(ctx context.Context, end Ended) bool {
	p.reported = true
	p.send(FromProcess{Ended: &end})
	select {
	case <-p.finish:
		return ctx.Err() == nil // told to leave at once, this process does not know of the others
	case <-ctx.Done():
		return false
	case <-p.gone:
	}
	select {
	case <-p.finish: // it was said just before
		return true
	default:
		return false
	}
}
