package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
)

const (
	// dialTimeout is how long each step of a connection's beginning may take: to connect, with TLS, and to log in.
	dialTimeout = 10 * time.Second

	// answerTimeout is how long each answer may take then. A quorum queue that is made on a busy cluster takes seconds.
	answerTimeout = 30 * time.Second
)

type link struct {
	*amqp.Connection
	frames *frameConn
	host   string
	over   chan struct{} // closed: the channel of open has ended
	why    error         // then
}

// open opens the channel of a link that carries messages. The connection ends with it.
func (l *link) open() (*amqp.Channel, error) {
	ch, err := l.Channel()
	if err != nil {
		return nil, err
	}
	ends := ch.NotifyClose(make(chan *amqp.Error, 1))
	go func() {
		l.why = reason(<-ends)
		_ = l.frames.Close()
		close(l.over)
	}()
	return ch, nil
}

func (s *System) connect(ctx context.Context, host, name string) (*link, error) {
	conn, err := s.Dial(ctx, host, s.tls, dialTimeout)
	if err != nil {
		return nil, err
	}
	l, err := s.logIn(ctx, conn, host, name)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", host, explain(err))
	}
	return l, nil
}

// logIn makes a connection of AMQP over one to a host.
func (s *System) logIn(ctx context.Context, conn net.Conn, host, name string) (*link, error) {
	l := &link{frames: newFrameConn(conn), host: host, over: make(chan struct{})}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	err := l.within(ctx, dialTimeout, func() (err error) {
		l.Connection, err = amqp.Open(l.frames, amqp.Config{
			SASL:  []amqp.Authentication{&amqp.PlainAuth{Username: s.user, Password: s.Password.Reveal()}},
			Vhost: s.vhost, Heartbeat: heartbeat, FrameSize: frameMax, Properties: properties, Locale: "en_US",
		})
		return err
	})
	if err != nil {
		_ = l.frames.Close() // err says more
		return nil, err
	}
	l.frames.patience.Store(int64(3 * heartbeat))
	return l, nil
}

// within calls f, which waits for answers of the server. When ctx ends, or an answer takes longer than most, the connection is
// closed: the client's calls take neither a context nor a time.
func (l *link) within(ctx context.Context, most time.Duration, f func() error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	heard, at := l.frames.answers.Load(), time.Now()
	go engine.Every(ctx, most/10, func() {
		if n := l.frames.answers.Load(); n != heard {
			heard, at = n, time.Now()
		} else if time.Since(at) >= most {
			end(&lateError{most})
		}
	})
	defer context.AfterFunc(ctx, func() { _ = l.frames.Close() })() // before end
	err := f()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type lateError struct{ most time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("the server keeps the connection, and did not answer within %s: check its log", e.most)
}

// Timeout reports true, as that of a net.Error.
func (e *lateError) Timeout() bool { return true }

// endTimeout is how long a server may take to end a connection. Two fit into the time that a second Ctrl-C leaves.
const endTimeout = 300 * time.Millisecond

// end closes the connection in order. It does not wait for a server that hangs.
func (l *link) end() {
	timer := time.AfterFunc(endTimeout, func() { _ = l.frames.Close() })
	defer timer.Stop()
	_ = l.Close() // it may be lost already
	_ = l.frames.Close()
}

// explain adds what to do about an error of the server.
func explain(err error) error {
	var e *amqp.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Code == amqp.AccessRefused:
		return fmt.Errorf("%w (the user is in --url, and url.password in the file of --command-config)", err)
	case e.Server:
		return fmt.Errorf("%s: %s", code(err), e.Reason)
	}
	return errors.New(e.Reason)
}

// lost is the code of a message whose connection was lost before its confirm.
const lost = "client:connection lost"

var errLost = errors.New("the connection was lost")

// reason returns why a channel or connection ended. The client does not say it if writing failed before reading did.
func reason(e *amqp.Error) error {
	if e == nil {
		return errLost
	}
	return e
}

// code returns the name of the server's reason to end a channel or a connection.
func code(err error) string {
	var e *amqp.Error
	if !errors.As(err, &e) || !e.Server {
		return lost
	}
	if name, ok := replies[e.Code]; ok {
		return name
	}
	return fmt.Sprintf("AMQP_%d", e.Code)
}

var replies = map[int]string{
	311: "CONTENT_TOO_LARGE", 313: "NO_CONSUMERS", 320: "CONNECTION_FORCED", 402: "INVALID_PATH", 403: "ACCESS_REFUSED",
	404: "NOT_FOUND", 405: "RESOURCE_LOCKED", 406: "PRECONDITION_FAILED", 501: "FRAME_ERROR", 502: "SYNTAX_ERROR",
	503: "COMMAND_INVALID", 504: "CHANNEL_ERROR", 505: "UNEXPECTED_FRAME", 506: "RESOURCE_ERROR", 530: "NOT_ALLOWED",
	540: "NOT_IMPLEMENTED", 541: "INTERNAL_ERROR",
}

// dialer connects a client to one node after the other, after a longer pause each time.
type dialer struct {
	name          string // what the server lists the connections by
	number, tries int    // of the client in the whole load, and of attempts
	pause         time.Duration
	next          time.Time // of the next attempt; zero: now
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

func (d *dialer) reach(ctx context.Context, s *System) (*link, error) {
	host := s.hosts[(d.number+d.tries)%len(s.hosts)]
	d.tries++
	return s.connect(ctx, host, d.name)
}

func (d *dialer) later() {
	d.pause = min(max(2*d.pause, firstPause), longestPause)
	d.next = time.Now().Add(d.pause)
}

func (d *dialer) wait(ctx context.Context) bool {
	timer := time.NewTimer(time.Until(d.next))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// maxNodes bounds the nodes that are tried in a row, or that queues are made on, because a server names them.
const maxNodes = 16

// anyNode calls open, which goes on to the next node each time, until it succeeds or has tried all of them.
func (s *System) anyNode(open func() error) (err error) {
	for range min(len(s.hosts), maxNodes) {
		if err = open(); err == nil {
			return nil
		}
	}
	return err
}

func event(kind stats.EventKind, node int32, format string, args ...any) stats.Event {
	return stats.Event{Kind: kind, Broker: node, To: -1, Text: fmt.Sprintf(format, args...)}
}

func (s *session) broker(host string) int32 {
	if i := slices.IndexFunc(s.cluster.Brokers, func(b result.Broker) bool { return b.Addr == host }); i >= 0 {
		return s.cluster.Brokers[i].ID
	}
	return -1
}

// tell tells once that connections to a host are lost, or without an error that it takes them again.
func (s *session) tell(shard *engine.Shard, host string, why error) {
	e := event(stats.BrokerBack, s.broker(host), "%s takes connections again", host)
	if why != nil {
		e = event(stats.BrokerGone, s.broker(host), "connections to %s are lost: %v", host, explain(why))
	}
	if s.turn(host, why != nil) {
		shard.Event(e)
	}
}

// turn notes whether a host or a queue is gone, and reports whether that is new.
func (s *session) turn(name string, gone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.gone[name]
	s.gone[name] = gone
	return before != gone
}
