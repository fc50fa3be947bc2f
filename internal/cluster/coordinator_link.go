package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/result"
)

// Times of a link to an agent.
const (
	awayAfter  = 3 * time.Second  // without a message, though an agent sends one every second
	hangAfter  = 10 * time.Second // without a message, after which the link dials again
	redialMost = 2 * time.Second  // the longest wait between two attempts
	pingEvery  = time.Second
	// An attempt that began while the network was cut must not outlast the cut by much.
	redialTimeout = 3 * time.Second
)

// link is a coordinator's connection to one agent. It dials again when its stream breaks.
type link struct {
	peer  Peer
	offer offer
	out   chan toAgent // to the current stream

	pinger pinger
	mu     sync.Mutex // guards stream
	stream stream     // may be nil

	// What follows belongs to the session.
	state   linkState
	parts   []part          // by their numbers - 1
	ordered map[string]bool // orders so far, which a host that comes back gets again
	up      bool            // there is a stream
	heard   time.Time       // when the last message arrived
	written bool            // the host has written its run files
	ended   bool            // the agent has ended the run
	clock   clock           // the best estimate of the last whole window
	recent  clock           // the best estimate of the current window
	agreed  clock           // the estimate that the start was agreed by
	vitals  *host.Vitals
	silent  bool      // the user has heard that it is away
	until   time.Time // when it will be given up, by the client's clock; zero: no deadline yet
	trouble string    // the newest problem of the host, or ""
	lost    string    // the reason why it was given up; "": it was not

	unwatched string // a problem of the file with the host's vitals, or ""

	// Orphans: processes that go on although their agent was started anew.
	orphaned time.Time // when they were noticed; zero: there are none
	asked    time.Time // when the agent was last asked whether they go on
	atWork   time.Time // when the agent last confirmed it
	unsure   bool      // they have ended, and their run files will tell how
}

// linkState is the progress of an agent towards the start.
type linkState int

const (
	linkAsked linkState = iota
	linkAccepted
	linkOpening
	linkStarting // it has confirmed the start
)

// part is a coordinator's state of one process.
type part struct {
	state  partState
	header *result.Header
	start  *result.Start
	done   *Ended
	text   string

	unheard bool // it has ended, and no agent reported how
	stopped bool // if unheard: the user had stopped the load before

	// From the last second that it reported.
	stage    int32 // a result.Stage
	sample   *host.Sample
	buffered int64
	inFlight int
}

func (p *part) settled() bool { return p.state.settled() }

func newLink(p Peer, o offer) *link {
	l := &link{peer: p, offer: o, heard: time.Now(), out: make(chan toAgent, linkQueue), ordered: make(map[string]bool), parts: make([]part, len(o.Shares))}
	for i := range l.parts {
		l.parts[i].state = partWaiting
	}
	return l
}

// linkQueue bounds the unsent messages to an agent. A whole run has a handful, so a full queue
// means that the stream hangs.
const linkQueue = 64

// tell queues a message. It is lost if the stream breaks, and orders are then sent again on the
// next stream.
func (l *link) tell(m toAgent) {
	select {
	case l.out <- m:
	default:
		l.drop()
	}
}

// drop closes the stream, and run dials a new one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		_ = l.stream.Close() // converse gets an error
	}
}

// current returns the stream, or an error when there is none.
func (l *link) current() (stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream == nil {
		return nil, errors.New("the connection is broken")
	}
	return l.stream, nil
}

func (l *link) set(s stream) {
	l.mu.Lock()
	l.stream = s
	l.mu.Unlock()
}

// machine identifies the machine of the host, because several agents may run on one machine. It
// is the boot id, or the host's name before a process has reported its header.
func (l *link) machine() string {
	for i := range l.parts {
		if h := l.parts[i].header; h != nil && h.Environment.Host.BootID != "" {
			return h.Environment.Host.BootID
		}
	}
	return l.peer.Name
}

// settled reports whether all processes of the host have ended their load.
func (l *link) settled() bool {
	for i := range l.parts {
		if !l.parts[i].settled() {
			return false
		}
	}
	return true
}

// event is a change of a link: exactly one of up, message and down is set. An event without a
// link only wakes the session.
type event struct {
	link    *link
	up      bool // there is a stream again
	message *fromAgent
	clock   *clock // of a pong that answers the last ping
	down    error  // the reason why the stream ended
}

// run keeps a connection to the agent until ctx ends. After the first stream, each one begins
// with a resume message.
func (l *link) run(ctx context.Context, c *Client, first stream, events chan<- event) {
	l.pinger.now = c.Now
	s := first
	tell := func(e event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		if s == nil {
			if s = l.redial(ctx, c); s == nil {
				return
			}
			tell(event{link: l, up: true})
		}
		l.set(s)
		err := l.converse(ctx, s, tell)
		l.set(nil)
		_ = s.Close() // it may be closed already
		s = nil
		l.forget()
		tell(event{link: l, down: err})
	}
}

// forget drops the unsent messages. The session sends those that still count again.
func (l *link) forget() {
	for {
		select {
		case <-l.out:
		default:
			return
		}
	}
}

// redial tries until there is a stream again. It returns nil when ctx has ended.
func (l *link) redial(ctx context.Context, c *Client) stream {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, redialMost) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		dialling, cancel := context.WithTimeout(ctx, redialTimeout)
		s, _, err := c.connect(dialling, l.peer.Addr)
		if err == nil {
			err = send(dialling, s, toAgent{Resume: &inRun{l.offer.Part.Epoch}})
		}
		cancel()
		if err == nil {
			return s
		}
		if s != nil {
			_ = s.Close() // it has not taken the resume message
		}
	}
}

// converse sends the queued messages and pings, and passes on the agent's messages, until the
// stream breaks.
func (l *link) converse(ctx context.Context, s stream, tell func(event)) error {
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	sending.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case m := <-l.out:
				if send(ctx, s, m) != nil {
					cancel()
					return
				}
			}
		}
	})
	sending.Go(func() {
		ticker := time.NewTicker(pingEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_, _ = l.pinger.ping(ctx, s) // the loop below passes the answer on
			}
		}
	})
	for {
		waiting, stop := context.WithTimeout(ctx, hangAfter)
		m, err := receive(waiting, s)
		stop()
		if err != nil {
			return err
		}
		e := event{link: l, message: m}
		if m.Pong != nil {
			if c, ok := l.pinger.pong(m.Pong); ok {
				e.clock = &c
			}
		}
		tell(e)
	}
}
