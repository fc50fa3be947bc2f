package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
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
		slow := &slowly{Conn: near} // a good peer on a slow network
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
		c, err := open(t.Context(), slow, "peer", key, Version)
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

// slowly takes a second for each write.
type slowly struct{ net.Conn }

func (s *slowly) Write(b []byte) (int, error) {
	<-time.After(time.Second)
	return s.Conn.Write(b)
}

func TestSlowConnectionsKeepNobodyOut(t *testing.T) {
	key := newKey()
	m := &Mux{MaxPending: 8}
	addr := port(t, m, &Server{Key: key, Handle: new(echo).handle, MaxPending: 8})
	hello := newHello(Version).encode(key)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 32 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			for i := range hello {
				if _, err := conn.Write(hello[i : i+1]); err != nil {
					return
				}
				select {
				case <-time.After(time.Second):
				case <-stop:
					return
				}
			}
		})
	}
	for range 8 {
		ask(t, dial(t, addr, key), 1, []byte("hello"))
	}
	close(stop)
	wg.Wait()
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
	m := &Mux{MaxPending: 64}
	s := &Server{Key: key, Handle: new(echo).handle, MaxPending: 64}
	addr := port(t, m, s)
	ask(t, dial(t, addr, key), 1, []byte("before"))
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for i := range 1000 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		if i%2 == 0 {
			_, _ = conn.Write([]byte("K")) // these wait in the server, the others in the mux
		}
	}
	began := time.Now()
	ask(t, dial(t, addr, key), 1, []byte("during"))
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&during)
	if took > soon {
		t.Errorf("a good peer waited %v", took)
	}
	// 64 here, 64 there, and the good peer's; those that were turned out are about to end.
	for more := 1000; more > 2*64+10; more = runtime.NumGoroutine() - goroutines {
		if time.Since(began) > HandshakeTimeout-time.Second { // later they end by themselves
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
	key := newKey()
	m := &Mux{}
	addr := port(t, m, &Server{Key: key, Handle: new(echo).handle})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					continue
				}
				_, _ = conn.Write([]byte("Kgarbage"))
				// Until it is turned out, or for a moment.
				_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
				_, _ = io.ReadAll(conn)
				_ = conn.Close()
			}
		})
	}
	for range 50 {
		c, err := Dial(t.Context(), addr, key)
		if errors.Is(err, ErrAuth) {
			t.Fatalf("a good peer was turned out: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		ask(t, c, 1, []byte("hello"))
		_ = c.Close()
	}
	stop()
	wg.Wait()
}
