package wire

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// port is a Mux and a Server on one port, as in an agent, with a gossip that reports the bytes
// that it reads.
func port(t testing.TB, m *Mux, s *Server) string {
	t.Helper()
	t.Cleanup(s.Close)
	m.Streams = s.Serve
	gossip := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(gossip)
		for {
			select {
			case c := <-m.Rest():
				heard, _ := io.ReadAll(c)
				_, _ = c.Write([]byte("heard " + string(heard)))
				_ = c.Close()
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		m.Close()
		close(stop)
		<-gossip
	})
	return listen(t, m.Take)
}

// say sends all of a text, and reads until the other side closes.
func say(t testing.TB, addr, text string) (back string) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if errors.Is(err, syscall.ECONNRESET) {
		return "" // its time was up before this side knew that it was there
	}
	if err != nil {
		t.Error(err)
		return ""
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(text)) // the other side may have had enough, which the read tells
	_ = conn.(*net.TCPConn).CloseWrite()
	got, _ := io.ReadAll(conn) // a reset is an end like any other
	return string(got)
}

func TestStreamsAndGossipShareAPort(t *testing.T) {
	key := newKey()
	// Two of them: who is answered has all the time, and who is not waits for the end.
	patient := port(t, &Mux{Prefix: []byte("\xf4\x02kt"), Timeout: time.Hour}, &Server{Key: key, Handle: new(echo).handle})
	hasty := port(t, &Mux{Prefix: []byte("\xf4\x02kt"), Timeout: 300 * time.Millisecond}, &Server{Key: key, Handle: new(echo).handle})
	ask(t, dial(t, patient, key), 1, []byte("hello"))
	var all sync.WaitGroup
	for text, want := range map[string]string{
		"\xf4\x02kt\x06rest": "heard \xf4\x02kt\x06rest",
		"\xf4\x02kt":         "heard \xf4\x02kt",
		"\xf4\x02ks\x06rest": "",
		"\xf4\x02k":          "",
		"\xf4":               "",
		"\x06rest":           "",
		"hello":              "",
		"":                   "",
	} {
		addr := patient
		if want == "" {
			addr = hasty
		}
		all.Go(func() {
			if got := say(t, addr, text); got != want {
				t.Errorf("%q was answered with %q, want %q", text, got, want)
			}
		})
	}
	all.Wait()
}

func TestWithoutAPrefixTheGossipGetsAllButStreams(t *testing.T) {
	key := newKey()
	addr := port(t, &Mux{Timeout: time.Hour}, &Server{Key: key, Handle: new(echo).handle})
	ask(t, dial(t, addr, key), 1, []byte("hello"))
	for _, text := range []string{"\x06rest", "\xf4", "x"} {
		if got := say(t, addr, text); got != "heard "+text {
			t.Errorf("%q was answered with %q", text, got)
		}
	}
}

func TestConnectionThatGossipDidNotTakeInTimeLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Mux{MaxRest: 1}
		for range 2 {
			near, far := net.Pipe()
			m.Take(far)
			_, _ = near.Write([]byte{6})
			<-time.After(2 * HandshakeTimeout)
		}
		near, far := net.Pipe()
		m.Take(far)
		_, _ = near.Write([]byte{6})
		select {
		case c := <-m.Rest():
			_ = c.Close()
		case <-time.After(time.Second):
			t.Error("there was no room")
		}
		m.Close()
	})
}

func TestGossipHoldsSoManyConnectionsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Mux{Streams: func(net.Conn) { t.Error("a stream came") }, MaxRest: 1}
		come := func() net.Conn {
			near, far := net.Pipe()
			m.Take(far)
			_, _ = near.Write([]byte{6})
			return near
		}
		come()
		held := <-m.Rest()
		second := come()
		select {
		case <-m.Rest():
			t.Error("a second connection was given while the first was held")
		case <-time.After(time.Second):
		}
		_ = held.Close()
		_ = held.Close() // twice makes room once
		held = <-m.Rest()
		_, _ = second, come()
		select {
		case <-m.Rest():
			t.Error("a third connection was given while the second was held")
		case <-time.After(2 * HandshakeTimeout): // it was dropped
		}
		come()
		m.Close() // which waits for nobody
		_ = held.Close()
	})
}

// Input without a valid proof, to which a port must not answer.
func scans() map[string]string {
	h := newHello(Version).encode(newKey())
	return map[string]string{
		"nothing":                            "",
		"one byte":                           "\n",
		"a web browser":                      "GET / HTTP/1.1\r\nHost: vm14\r\n\r\n",
		"TLS":                                "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
		"SSH":                                "SSH-2.0-OpenSSH_9.6\r\n",
		"Kafka":                              "\x00\x00\x00\x0a\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff",
		"a gossip without a label":           "\x06\x83\xa4Join\xc3",
		"a gossip of another label":          "\xf4\x05other\x0a\x00\x00\x00\x00\x20",
		"a gossip that seals with no label":  "\x0a\x00\x00\x00\x00\x20" + strings.Repeat("x", 32),
		"the first byte of a stream":         "K",
		"a stream of garbage":                "K" + strings.Repeat("garbage ", 50),
		"a hello of another key":             string(h),
		"a hello of another key, and frames": string(h) + "\x00\x00\x00\x11" + strings.Repeat("x", 17),
		"a hello that breaks off":            string(h[:40]),
		"a hello of another version":         "K\x02" + string(h[2:]),
		"very much of it":                    strings.Repeat("x", 1<<20),
	}
}

func TestScanOfThePortLearnsOnlyThatItListens(t *testing.T) {
	const patience = 300 * time.Millisecond
	e := new(echo)
	addr := port(t, &Mux{Prefix: []byte("\xf4\x02kt"), Timeout: patience}, &Server{Key: newKey(), Handle: e.handle, HandshakeTimeout: patience})
	look := func(name, text string, half bool) {
		began := time.Now()
		conn, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNRESET) {
			return // its time was up before this side knew that it was there
		}
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		var writing sync.WaitGroup
		writing.Go(func() {
			_, _ = conn.Write([]byte(text)) // until the other side closes
			if half {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
		})
		defer writing.Wait()
		back, err := io.ReadAll(conn)
		if len(back) != 0 {
			t.Errorf("%s (half-closed: %v): %d bytes came back: %q", name, half, len(back), back)
		}
		if err == nil {
			t.Errorf("%s (half-closed: %v): it ended well, others with a reset", name, half)
		}
		if held := time.Since(began); held < patience {
			t.Errorf("%s (half-closed: %v): it was ended after %v, others after %v", name, half, held, patience)
		}
	}
	var all sync.WaitGroup
	for name, text := range scans() {
		all.Go(func() { look(name, text, false) })
		all.Go(func() { look(name, text, true) })
	}
	all.Wait()
	if e.streams.Load() != 0 {
		t.Error("a stream was handled")
	}
}

func TestAllThatProveNothingAreEndedAtOneTime(t *testing.T) {
	for name, text := range scans() {
		for _, after := range []time.Duration{0, 4 * time.Second} { // a slow beginning gains no time
			synctest.Test(t, func(t *testing.T) {
				s := &Server{Key: newKey(), Handle: new(echo).handle}
				m := &Mux{Prefix: []byte("\xf4\x02kt"), Streams: s.Serve}
				near, far := net.Pipe()
				began := time.Now()
				m.Take(far)
				time.AfterFunc(after, func() { _, _ = near.Write([]byte(text)) })
				back, _ := io.ReadAll(near)
				if held := time.Since(began); len(back) != 0 || held != HandshakeTimeout {
					t.Errorf("%s: %d bytes came back, and it was ended after %v; want 0, %v", name, len(back), held, HandshakeTimeout)
				}
				m.Close()
				s.Close()
			})
		}
	}
}

func TestGossipHoldsFewConnectionsOfOneAddressAndTheOthersGetTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &Mux{Streams: func(net.Conn) { t.Error("a stream came") }, MaxSource: 2}
		come := func(addr string) net.Conn {
			near, far := net.Pipe()
			m.Take(from{far, addr})
			_, _ = near.Write([]byte{6})
			return near
		}
		held := func() (all []net.Conn) {
			for {
				synctest.Wait()
				select {
				case c := <-m.Rest():
					all = append(all, c)
				default:
					return all
				}
			}
		}
		for range 5 {
			come("10.0.0.9:1")
		}
		first := held()
		if len(first) != 2 {
			t.Fatalf("%d connections of one address are held, want 2", len(first))
		}
		come("10.0.0.7:1")
		if other := held(); len(other) != 1 {
			t.Errorf("%d connections of another address got through, want 1", len(other))
		} else {
			_ = other[0].Close()
		}
		for range 3 { // each that ends makes room for the next
			_ = first[0].Close()
			first = append(first[1:], held()...)
			if len(first) != 2 {
				t.Fatalf("%d are held, want 2", len(first))
			}
		}
		_, _ = first[0].Close(), first[1].Close()
		m.Close()
		if n := len(m.turns.of); n != 0 {
			t.Errorf("%d addresses are remembered, of which there is no connection", n)
		}
	})
}
