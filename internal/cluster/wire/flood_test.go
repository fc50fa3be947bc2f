package wire

import (
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// from is a pipe with an address.
type from struct {
	net.Conn
	addr string
}

func (f from) RemoteAddr() net.Addr {
	addr, err := net.ResolveTCPAddr("tcp", f.addr)
	if err != nil {
		panic(err)
	}
	return addr
}

func TestCrowdedLobbyTurnsOutTheOldestOfWhoHasMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out []string
		l := &lobby{max: 4, told: func(g *guest, _ string) { out = append(out, g.conn.RemoteAddr().String()) }}
		for _, addr := range []string{
			"10.0.0.7:1", "10.0.0.9:1", "10.0.0.9:2", "[2001:db8::1]:1", "10.0.0.9:3", "10.0.0.9:4",
			"[2001:db8::2]:1", "[2001:db8::3]:1", "[2001:db8:0:1::1]:1",
		} {
			_, far := net.Pipe()
			l.enter(from{far, addr}, time.Now().Add(time.Minute), func(*guest) {})
		}
		l.close()
		l.wait()
		// When 9:3 comes, .9 has three of five; so when 9:4 does. Then 2001:db8::/64, one
		// network, has two as .9 has, and of these ::1 is the oldest; then 9:3 is.
		want := []string{"10.0.0.9:1", "10.0.0.9:2", "[2001:db8::1]:1", "10.0.0.9:3", "[2001:db8::2]:1"}
		if len(out) != len(want) {
			t.Fatalf("turned out %v, want %v", out, want)
		}
		for i := range want {
			if out[i] != want[i] {
				t.Fatalf("turned out %v, want %v", out, want)
			}
		}
	})
}

func TestWhoFloodsThePortIsInHisOwnWayOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		s := &Server{Key: key, Handle: new(echo).handle, MaxPending: 8}
		near, far := net.Pipe()
		slow := &slowly{near, time.Second} // a good peer on a slow network
		s.Serve(from{far, "10.0.0.7:1"})
		flood := time.NewTicker(time.Millisecond)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-flood.C:
					_, far := net.Pipe()
					s.Serve(from{far, "10.0.0.9:1"})
				case <-stop:
					return
				}
			}
		})
		c, err := open(t.Context(), slow, key, Version)
		if err != nil {
			t.Errorf("while another floods the port: %v", err)
		} else {
			ask(t, c, 1, []byte("hello"))
		}
		close(stop)
		wg.Wait()
		flood.Stop()
		_ = near.Close()
		s.Close()
	})
}

// slowly is a connection that delays each write.
type slowly struct {
	net.Conn
	wait time.Duration
}

func (s *slowly) Write(b []byte) (int, error) {
	<-time.After(s.wait)
	return s.Conn.Write(b)
}

// crowd holds connections without a proof of the key.
type crowd struct {
	conns []net.Conn
	out   atomic.Int64 // that were turned out
	wg    sync.WaitGroup
}

// come adds a connection that begins with a text.
func (c *crowd) come(t *testing.T, addr string, text []byte) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatalf("connection %d: %v", len(c.conns), err)
	}
	c.conns = append(c.conns, conn)
	_, _ = conn.Write(text) // it may have been turned out
	c.wg.Go(func() {
		_, _ = conn.Read(make([]byte, 1)) // nothing ever comes
		c.out.Add(1)
	})
	return conn
}

// settle waits until each connection is in a lobby or was dropped. A connection between the two
// lobbies could enter the second one after a later connection, and be the newer one there.
func (c *crowd) settle(t *testing.T, m *Mux, s *Server) {
	t.Helper()
	for end := time.Now().Add(soon); int(c.out.Load())+m.lobby.size()+s.lobby.size() < len(c.conns); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d were turned out, and %d and %d wait, of %d", c.out.Load(), m.lobby.size(), s.lobby.size(), len(c.conns))
		}
	}
}

func (l *lobby) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.in)
}

// leave closes all connections.
func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.wg.Wait()
}

func TestSlowConnectionsKeepNobodyOut(t *testing.T) {
	key := newKey()
	// Nobody's time is up before the test is over.
	m := &Mux{MaxPending: 8, Timeout: time.Hour}
	s := &Server{Key: key, Handle: new(echo).handle, MaxPending: 8, HandshakeTimeout: time.Hour}
	addr := port(t, m, s)
	hello := newHello(Version).encode(key)
	var slow crowd
	defer slow.leave()
	for range 32 {
		conn := slow.come(t, addr, hello[:1])
		slow.wg.Go(func() {
			for i := 1; i < len(hello)-1; i++ {
				<-time.After(10 * time.Millisecond)
				if _, err := conn.Write(hello[i : i+1]); err != nil {
					return
				}
			}
		})
	}
	slow.settle(t, m, s)
	for range 8 {
		ask(t, dial(t, addr, key), 1, []byte("hello"))
	}
}

func TestSlowHelloIsEndedWhenItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		s := &Server{Key: key, Handle: new(echo).handle}
		near, far := net.Pipe()
		s.Serve(far)
		sent := 0
		for _, b := range newHello(Version).encode(key) {
			if _, err := near.Write([]byte{b}); err != nil {
				break
			}
			sent++
			<-time.After(1100 * time.Millisecond)
		}
		if sent != 5 {
			t.Errorf("%d bytes were taken, want the 5 that come within %v", sent, HandshakeTimeout)
		}
		s.Close()
	})
}

func TestThousandConnectionsTakeLittleAndKeepNobodyOut(t *testing.T) {
	key := newKey()
	// Nobody's time is up before the test is over.
	m := &Mux{MaxPending: 64, Timeout: time.Hour}
	s := &Server{Key: key, Handle: new(echo).handle, MaxPending: 64, HandshakeTimeout: time.Hour}
	addr := port(t, m, s)
	ask(t, dial(t, addr, key), 1, []byte("before"))
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	var all crowd
	defer all.leave()
	for i := range 1000 {
		all.come(t, addr, []byte("K")[:i%2]) // those with a K wait in the server, the others in the mux
	}
	all.settle(t, m, s)
	ask(t, dial(t, addr, key), 1, []byte("during"))
	runtime.GC()
	runtime.ReadMemStats(&during)
	// 64 here, 64 there, the test's own of each, and the good peer's; those that were turned
	// out are about to end.
	end := time.Now().Add(soon)
	for more := 1000; more > 4*64+10; more = runtime.NumGoroutine() - goroutines {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines more than before", more)
		}
		runtime.Gosched()
	}
	// The test's own ends of the connections are a KiB each.
	if more := int64(during.HeapAlloc) - int64(before.HeapAlloc); more > 4<<20 {
		t.Errorf("%d KiB more than before", more>>10)
	}
}

func TestGoodPeersGetThroughWhileOthersConnectAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		s := &Server{Key: key, Handle: new(echo).handle}
		m := &Mux{Streams: s.Serve}
		come := func() net.Conn { // all from one address
			near, far := net.Pipe()
			m.Take(from{far, "10.0.0.9:1"})
			return near
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for ctx.Err() == nil { // 50 while a good peer is waited for, and 64 may wait
				<-time.After(time.Millisecond)
				conn := come()
				wg.Go(func() {
					_, _ = conn.Write([]byte("Kgarbage"))
					_, _ = io.ReadAll(conn) // until it is turned out
				})
			}
		})
		for i := range 10 {
			c, err := open(t.Context(), &slowly{come(), 50 * time.Millisecond}, key, Version)
			if err != nil {
				t.Errorf("good peer %d was turned out: %v", i, err)
				continue
			}
			ask(t, c, 1, []byte("hello"))
			_ = c.Close()
		}
		stop()
		<-time.After(HandshakeTimeout + time.Second)
		wg.Wait()
		m.Close()
		s.Close()
	})
}
