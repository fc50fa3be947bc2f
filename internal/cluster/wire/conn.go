package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// SendTimeout is the longest time of a Send without a deadline in its context. It is longer than
// an interruption of the network of 10 s.
const SendTimeout = 30 * time.Second

// Conn is one stream of messages. Any goroutine may send, and one may receive.
type Conn struct {
	conn net.Conn
	in   reader

	turn chan struct{} // holds a token, whose owner may use out
	out  writer
}

// Dial opens a stream to an agent at host:port. Its errors are those of port.Dial.
func Dial(ctx context.Context, addr string, key *port.Key) (*Conn, error) {
	conn, err := port.Dial(ctx, addr, key, port.Stream)
	if err != nil {
		return nil, err
	}
	return New(conn), nil
}

// New returns the stream of a connection, and takes it over.
func New(conn net.Conn) *Conn {
	c := &Conn{conn: conn, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Send sends one message. It returns when the kernel has the message, before the peer does. The
// error is ErrTooLarge for more than MaxFrame bytes, ErrClosed after the end of the stream, or
// the context's error. A context that ends in the middle of a message ends the stream, and so
// does a peer that reads nothing.
func (c *Conn) Send(ctx context.Context, typ FrameType, payload []byte) error {
	if err := c.send(ctx, typ, payload); err != nil {
		return fmt.Errorf("send to %s: %w", c.conn.RemoteAddr(), err)
	}
	return nil
}

func (c *Conn) send(ctx context.Context, typ FrameType, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("%w: it has %d bytes, and may have %d", ErrTooLarge, len(payload), MaxFrame)
	}
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var limit time.Time
	if _, ok := ctx.Deadline(); !ok {
		limit = time.Now().Add(SendTimeout)
	}
	release := interrupt(ctx, c.conn.SetWriteDeadline, limit)
	defer release()
	_, err := c.conn.Write(c.out.next(typ, payload))
	if err == nil {
		return nil
	}
	_ = c.conn.Close() // the peer may have a part of the frame
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("it has taken nothing for %v: %w", SendTimeout, ErrClosed)
	}
	return c.why(ctx, err)
}

// Receive waits for the next message. The caller owns the payload. After the end of its context
// the next call goes on where it stopped. The error is ErrClosed after the end of the stream.
// ErrTooLarge ends the stream.
func (c *Conn) Receive(ctx context.Context) (FrameType, []byte, error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	release := interrupt(ctx, c.conn.SetReadDeadline, time.Time{})
	defer release()
	typ, payload, err := c.in.next(c.conn)
	if err == nil {
		return typ, payload, nil
	}
	if errors.Is(err, ErrTooLarge) {
		_ = c.conn.Close()
	} else {
		err = c.why(ctx, err)
	}
	return 0, nil, fmt.Errorf("receive from %s: %w", c.conn.RemoteAddr(), err)
}

// why turns an error of the connection into the context's error or ErrClosed.
func (c *Conn) why(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return ErrClosed
	default:
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
}

// Close ends the stream. Send and Receive then return ErrClosed.
func (c *Conn) Close() error { return c.conn.Close() }

// RemoteAddr returns the address of the other side.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// interrupt ends reads or writes at the end of ctx, or at limit unless that is zero. set is the
// connection's method that sets their deadline. Call release before the next read or write.
func interrupt(ctx context.Context, set func(time.Time) error, limit time.Time) (release func()) {
	_ = set(limit) // fails only on a closed connection, and then the next read or write fails too
	if ctx.Done() == nil {
		return func() {}
	}
	var running sync.WaitGroup
	running.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer running.Done()
		_ = set(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			running.Wait()
		}
	}
}
