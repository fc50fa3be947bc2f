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
	awayAfter  = 3 * time.Second  // an agent that was not heard for so long is away: it says something every second
	hangAfter  = 10 * time.Second // then its connection is given up for a new one
	redialMost = 2 * time.Second  // between two attempts
	pingEvery  = time.Second
	// An attempt that began while the network was cut must not outlast the cut by much.
	redialTimeout = 3 * time.Second
)

// link is a coordinator's connection to one agent, over as many streams as it takes.
type link struct {
	peer  Peer
	offer offer
	out   chan toAgent // to the stream that there is

	pinger pinger
	mu     sync.Mutex // guards stream
	stream stream     // nil: there is none

	// What follows belongs to the session.
	state   linkState
	parts   []part // by their numbers - 1
	ordered map[string]bool
	up      bool
	heard   time.Time
	written bool
	ended   bool
	clock   clock // the newest estimate
	recent  clock // the best of the last seconds
	agreed  clock // the one that the start was agreed by
	vitals  *host.Vitals
	silent  bool      // the user was told that it is away
	until   time.Time // when it is given up, by the client's clock, as the user was told; zero: it is not waited for
	trouble string    // what is to be said of it
	lost    string    // why it is given up; "": it is not

	unwatched string // what is wrong with the file of what was watched

	// Of processes that run on although their agent does not know of them.
	orphaned time.Time // since when; zero: there are none
	asked    time.Time // when the agent was asked last whether they do
	atWork   time.Time // when it said last that they do
	unsure   bool      // they have ended, and their files will say how
}

// linkState is the progress of an agent towards the start.
type linkState int

const (
	linkAsked linkState = iota
	linkAccepted
	linkOpening
	linkStarting // it has confirmed the start
)

// part is one process, as its coordinator knows it.
type part struct {
	state  partState
	header *result.Header
	start  *result.Start
	done   *Ended
	text   string

	unheard bool // it ended, and nobody told how
	stopped bool // then, when the user had stopped the load

	// As it said last.
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

// linkQueue is how many messages may wait to be sent to an agent: there are a handful in
// a whole run. A queue that is full is that of a stream that hangs.
const linkQueue = 64

// tell sends a message, if there is a stream. What must arrive is told again when the
// agent comes back.
func (l *link) tell(m toAgent) {
	select {
	case l.out <- m:
	default:
		l.drop()
	}
}

// drop closes the stream; run dials a new one.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		_ = l.stream.Close() // its reader finds out
	}
}

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

// machine returns a key of the machine that the host runs on: its boot id from the header of
// a process, or else the host's name.
func (l *link) machine() string {
	for i := range l.parts {
		if h := l.parts[i].header; h != nil && h.Environment.Host.BootID != "" {
			return h.Environment.Host.BootID
		}
	}
	return l.peer.Name
}

// settled reports whether all processes of the host have nothing more to say.
func (l *link) settled() bool {
	for i := range l.parts {
		if !l.parts[i].settled() {
			return false
		}
	}
	return true
}

// event is what happened on a link. Exactly one of up, message and down is set; of no link
// it only wakes the session.
type event struct {
	link    *link
	up      bool // a stream is there again
	message *fromAgent
	clock   *clock // of a pong, when it was the answer to the last ping
	down    error
}

// run keeps a connection to the agent until ctx ends. The first stream is given; after it
// every one begins with a resume.
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
		_ = s.Close() // whatever ended it
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

// redial tries until there is a stream again; nil: ctx has ended.
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
			_ = s.Close() // it is of no use
		}
	}
}

// converse sends what is queued, pings, and passes on what the agent says, until the
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
				_, _ = l.pinger.ping(ctx, s) // its reader hears whether it was answered
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
