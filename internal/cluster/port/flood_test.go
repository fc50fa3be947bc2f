package port

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// crowded returns the addresses that are dropped when connections come one after the other. Those that begin
// with "+" begin a handshake.
func crowded(t *testing.T, addrs ...string) (out []string) {
	synctest.Test(t, func(*testing.T) {
		p := &pending{max: 4, after: time.Minute}
		for _, addr := range addrs {
			addr, begun := strings.CutPrefix(addr, "+")
			_, far := net.Pipe()
			p.add(from{far, addr}, func(c *pendingConn) {
				if begun {
					c.begun.Store(true)
				}
				<-c.ctx.Done()
				if errors.Is(context.Cause(c.ctx), errTooMany) {
					out = append(out, addr)
				}
			})
			synctest.Wait()
		}
		p.close()
	})
	return out
}

func TestTooManyConnectionsDropTheOldestOfTheSourceWithMost(t *testing.T) {
	got := crowded(t,
		"10.0.0.7:1", "10.0.0.9:1", "10.0.0.9:2", "[2001:db8::1]:1", "10.0.0.9:3", "10.0.0.9:4",
		"[2001:db8::2]:1", "[2001:db8::3]:1", "[2001:db8:0:1::1]:1",
	)
	// When 9:3 comes, .9 has three of five; so when 9:4 does. Then 2001:db8::/64, one
	// network, has two as .9 has, and of these ::1 is the oldest; then 9:3 is.
	must.Match(t, []string{"10.0.0.9:1", "10.0.0.9:2", "[2001:db8::1]:1", "10.0.0.9:3", "[2001:db8::2]:1"}, got, "dropped")
}

func TestConnectionsThatSendNothingDropNoHandshakeAndNoneOfThisMachine(t *testing.T) {
	got := crowded(t,
		"127.0.0.1:1", "+10.0.0.9:1", "10.0.0.9:2", "10.0.0.9:3", "10.0.0.9:4", "10.0.0.10:1", "10.0.0.11:1", "10.0.0.12:1",
	)
	// In the end each source has one, and the handshake is the last of other machines to go.
	must.Match(t, []string{"10.0.0.9:2", "10.0.0.9:3", "10.0.0.9:4", "10.0.0.10:1"}, got, "dropped")
}

// flood holds connections that do not complete a handshake.
type flood struct {
	conns []net.Conn
	out   atomic.Int64 // that were dropped
	wg    sync.WaitGroup
}

// come adds a connection that begins with some bytes.
func (c *flood) come(t *testing.T, addr string, first []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must.Hold(t, err == nil, "connection %d: %v", len(c.conns), err)
	c.conns = append(c.conns, conn)
	_, _ = conn.Write(first) // it may have been dropped
	c.wg.Go(func() {
		_, _ = io.Copy(io.Discard, conn)
		c.out.Add(1)
	})
}

// leave closes all connections.
func (c *flood) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.wg.Wait()
}

func (p *pending) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func TestAThousandHalfOpenConnectionsTakeLittleAndKeepNobodyOut(t *testing.T) {
	key := newKey()
	// Nobody's time is up before the test is over.
	a := serve(t, Options{Key: key, Limits: Limits{HandshakeTimeout: time.Hour}}, nil)
	c := client(t, key)
	answers(t, c, a.addr)
	hello := helloOf(t, key)
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all flood
	defer all.leave()
	for i := range 1000 {
		all.come(t, a.addr, hello[:i%3*(len(hello)-1)/2]) // nothing, a half, and all but a byte
	}
	must.Eventually(t, "each one is pending or dropped", func() bool {
		return int(all.out.Load())+a.pending.size() >= len(all.conns)
	})
	answers(t, c, a.addr)              // on the connection from before
	answers(t, client(t, key), a.addr) // on a new one
	runtime.GC()
	runtime.ReadMemStats(&during)
	// The test's own ends of the connections are a KiB each, and their readers 32 KiB.
	more := int64(during.HeapAlloc) - int64(before.HeapAlloc)
	must.True(t, more <= 24<<20, "%d KiB more than before", more>>10)
}

func TestAFloodFromOneAddressIsInItsOwnWayOnly(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key, Limits: Limits{Pending: 8}}, nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	garbage := []byte("GET / HTTP/1.1\r\n\r\n")
	for _, first := range [][]byte{nil, helloOf(t, key), garbage} {
		wg.Go(func() {
			for {
				select {
				case <-time.After(time.Millisecond):
					near, far := net.Pipe()
					a.pending.add(from{far, "10.0.0.9:1"}, a.handle)
					wg.Go(func() {
						_, _ = near.Write(first)
						_, _ = io.Copy(io.Discard, near)
					})
				case <-stop:
					return
				}
			}
		})
	}
	for range 5 {
		near, far := net.Pipe()
		a.pending.add(from{far, "10.0.0.7:1"}, a.handle)
		c, err := shake(t.Context(), &slow{near}, key, Gossip) // a good peer on a slow network
		if err != nil {
			t.Errorf("while another floods the port: %v", err)
			continue
		}
		peer := <-a.Gossip()
		_ = near.Close() // nobody reads a goodbye
		_ = peer.Close()
		_ = c.Close()
	}
	close(stop)
	a.pending.close()
	wg.Wait()
	must.Match(t, 1, strings.Count(a.log.String(), "10.0.0.9"), "lines about the flood:\n%s", a.log.String())
}

// slow is a connection that delays each write.
type slow struct{ net.Conn }

func (s *slow) Write(b []byte) (int, error) {
	<-time.After(100 * time.Millisecond)
	return s.Conn.Write(b)
}

func TestAHandshakeIsBoundedInTimeAndBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pending{max: 4, after: handshakeTimeout}
		near, far := net.Pipe()
		p.add(from{far, "10.0.0.7:1"}, func(c *pendingConn) { _, _ = io.Copy(io.Discard, c) })
		sent := 0
		for range 100 {
			if _, err := near.Write([]byte{22}); err != nil {
				break
			}
			sent++
			<-time.After(1100 * time.Millisecond)
		}
		must.True(t, sent == 5, "%d bytes were taken, want the 5 that come within %v", sent, handshakeTimeout)
		near, far = net.Pipe()
		read := make(chan error, 1)
		p.add(from{far, "10.0.0.7:1"}, func(c *pendingConn) {
			n, err := io.Copy(io.Discard, c)
			must.Match(t, handshakeBytes, n, "bytes were read")
			read <- err
		})
		go func() { _, _ = near.Write(make([]byte, 2*handshakeBytes)) }()
		err := <-read
		must.True(t, errors.Is(err, errTooMuch), "the read ended with %v", err)
		p.close()
	})
}
