package wire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// echo answers every message with itself, and counts the streams.
type echo struct{ streams, messages atomic.Int64 }

func (e *echo) handle(ctx context.Context, c *Conn) {
	e.streams.Add(1)
	for {
		typ, payload, err := c.Receive(ctx)
		if err != nil {
			return
		}
		e.messages.Add(1)
		if c.Send(ctx, typ, payload) != nil {
			return
		}
	}
}

// listen serves on a loopback port until the test is over.
func listen(t testing.TB, take func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			take(conn)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// serve makes a server of a port.
func serve(t testing.TB, s *Server) string {
	t.Helper()
	t.Cleanup(s.Close) // after the listener is closed
	return listen(t, s.Serve)
}

func dial(t testing.TB, addr string, key *Key) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), addr, key)
	if err != nil {
		t.Fatalf("Dial(%s): %v", addr, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ask sends a message and checks that it comes back.
func ask(t testing.TB, c *Conn, typ FrameType, payload []byte) {
	t.Helper()
	if err := c.Send(t.Context(), typ, payload); err != nil {
		t.Fatal(err)
	}
	gotType, got, err := c.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if gotType != typ || !bytes.Equal(got, payload) {
		t.Fatalf("sent type %d, %d bytes; the echo is type %d, %d bytes", typ, len(payload), gotType, len(got))
	}
}

func newKey() *Key {
	k := NewKey()
	return &k
}

// tape is a connection that records the written bytes and may change them.
type tape struct {
	net.Conn
	wrote bytes.Buffer
	spoil func(at int, b []byte) (keep int) // of what is written at a place; nil: nothing is spoiled
}

func (p *tape) Write(b []byte) (int, error) {
	out := bytes.Clone(b)
	keep := len(out)
	if p.spoil != nil {
		keep = p.spoil(p.wrote.Len(), out)
	}
	p.wrote.Write(out[:keep])
	if n, err := p.Conn.Write(out[:keep]); err != nil {
		return n, err
	}
	if keep < len(b) {
		return keep, errors.Join(errCut, p.Close())
	}
	return len(b), nil
}

var errCut = errors.New("the test cuts the connection here")

// flipped changes one bit of the byte at an offset.
func flipped(place int) func(int, []byte) int {
	return func(at int, b []byte) int {
		if i := place - at; i >= 0 && i < len(b) {
			b[i] ^= 0x10
		}
		return len(b)
	}
}

// cut passes the first bytes only.
func cut(place int) func(int, []byte) int {
	return func(at int, b []byte) int { return min(len(b), max(place-at, 0)) }
}

const soon = 4 * time.Minute // in which a test on a loaded machine is done
