package port

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestRequestsGoOverOneConnectionOfHTTP2(t *testing.T) {
	key := newKey()
	var mu sync.Mutex
	from := make(map[string]bool)
	a := serve(t, Options{Key: key}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		_, _ = io.WriteString(w, r.Proto)
	}))
	c := client(t, key)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			must.Match(t, "HTTP/2.0", must.Have(ask(c, a.addr, ""))(t), "the answer")
		})
	}
	all.Wait()
	must.Match(t, 1, len(from), "connections with requests")
}

// gossiping returns an agent, and both ends of a gossip connection to it.
func gossiping(t *testing.T) (a *agent, c, far net.Conn) {
	t.Helper()
	key := newKey()
	a = serve(t, Options{Key: key}, nil)
	c = must.Have(Dial(t.Context(), a.addr, key, Gossip))(t)
	t.Cleanup(func() { _ = c.Close() })
	far = <-a.Gossip()
	t.Cleanup(func() { _ = far.Close() })
	return a, c, far
}

func TestGossipConnectionsGoToTheirChannel(t *testing.T) {
	a, c, far := gossiping(t)
	go func() { _, _ = c.Write([]byte("hello")) }()
	got := make([]byte, 5)
	_, err := io.ReadFull(far, got)
	must.True(t, err == nil && string(got) == "hello", "it got %q, %v", got, err)
	must.Match(t, 0, a.requests.Load(), "it was handled as a request")
}

func TestPacketsComeAtTheSamePort(t *testing.T) {
	a := serve(t, Options{}, nil)
	must.Match(t, a.addr, a.UDP().LocalAddr().String(), "packets come at")
}

func TestDialTellsWhyThereIsNoConnection(t *testing.T) {
	key := newKey()
	withKey, without := serve(t, Options{Key: key}, nil), serve(t, Options{}, nil)
	talks := must.Listen(t, func(c net.Conn) {
		_, _ = c.Write([]byte(strings.Repeat("220 mail ready\r\n", 10)))
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	})
	ends := must.Listen(t, func(c net.Conn) { _ = c.Close() })
	taken := must.Have(net.Dial("tcp", talks))(t)
	defer taken.Close()
	gone := taken.LocalAddr().String() // taken, and nobody listens
	for _, row := range []struct {
		name, addr string
		key        *Key
		is         error
		text       string
	}{
		{"the key of the agent", withKey.addr, key, nil, ""},
		{"no key on either side", without.addr, nil, nil, ""},
		{"no key, and a name of this machine", strings.Replace(without.addr, "127.0.0.1", "localhost", 1), nil, nil, ""},
		{"another key", withKey.addr, newKey(), ErrAuth, "it has another key, or is no kt agent"},
		{"no key, and the agent has one", withKey.addr, nil, ErrNeedsKey, "it needs a key, or is no kt agent: give --key-file with the key of the agent"},
		{"a key, and the agent has none", without.addr, key, ErrNeedsKey, "it has no key, or is no kt agent: leave out --key-file here, or start the agent with it"},
		{"something else listens", talks, key, ErrAuth, "it has another key, or is no kt agent"},
		{"it ends each connection", ends, key, ErrBroken, "it ended the connection before it was known: it is no kt agent, one of another version, or has too many connections"},
		{"no key for another machine", "192.0.2.1:7946", nil, ErrNeedsKey, "it is not this machine: give --key-file with the key that its agent has"},
		{"nobody listens", gone, key, syscall.ECONNREFUSED, "connection refused"},
		{"a name that nobody has", "no such host:7946", key, nil, "its name is not found: no such host"},
		{"no port", "127.0.0.1", key, nil, "address 127.0.0.1: missing port in address"},
	} {
		c, err := Dial(t.Context(), row.addr, row.key, HTTP)
		if err == nil {
			_ = c.Close()
		}
		switch {
		case row.text == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.text != "" && (err == nil || err.Error() != row.text || row.is != nil && !errors.Is(err, row.is)):
			t.Errorf("%s: %v, want %q that is %v", row.name, err, row.text, row.is)
		}
		if row.is == nil || errors.Is(row.is, syscall.ECONNREFUSED) {
			continue
		}
		_, err = ask(client(t, row.key), row.addr, "")
		must.True(t, errors.Is(err, row.is), "%s: a request ended with %v, want %v", row.name, err, row.is)
	}
}

func TestWithoutAKeyPeersOfOtherMachinesGetNoByte(t *testing.T) {
	a := serve(t, Options{}, nil)
	near, far := net.Pipe()
	a.pending.add(from{far, "10.0.0.7:1"}, a.handle)
	_, err := shake(t.Context(), near, nil, HTTP)
	must.True(t, errors.Is(err, ErrBroken), "the handshake ended with %v, want ErrBroken", err)
	must.Eventually(t, "the log tells", func() bool { return strings.Contains(a.log.String(), "--key-file") })
}

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

func TestDialEndsWithItsContext(t *testing.T) {
	addr := must.Listen(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := Dial(ctx, addr, newKey(), HTTP)
	must.True(t, errors.Is(err, context.Canceled), "Dial: %v, want context.Canceled", err)
}

func TestCloseEndsRequestsAndWaitsForThem(t *testing.T) {
	key := newKey()
	var running atomic.Int64
	l := must.Have(Listen("127.0.0.1:0", Options{Key: key}))(t)
	done := make(chan error, 1)
	go func() {
		done <- l.Serve(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			running.Add(1)
			<-r.Context().Done()
			running.Add(-1)
		}))
	}()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		_, _ = ask(client(t, key), l.Addr().String(), "") // what arrives before the end is open
	}()
	must.Eventually(t, "a request runs", func() bool { return running.Load() == 1 })
	stray := must.Have(net.Dial("tcp", l.Addr().String()))(t)
	defer stray.Close()
	must.Do(t, l.Close())
	must.Match(t, 0, running.Load(), "a request runs after Close")
	must.Err(t, "", <-done, "Serve")
	<-asked
	_, err := Dial(t.Context(), l.Addr().String(), key, HTTP)
	must.True(t, err != nil, "a closed port answers")
}

func TestALogTakesSoManyLinesAndSaysHowManyItLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		log, end := Bounded(func(text string) { lines = append(lines, text) })
		flood := func() {
			for range 3 * mostAtOnce {
				log("vm14 is there")
			}
			synctest.Wait()
		}
		flood()
		n := len(lines)
		must.True(t, n >= mostAtOnce && n <= mostAtOnce+1, "%d lines are logged at once", n)
		lines = nil
		<-time.After(10 * lineEvery)
		flood()
		if n := len(lines); n < 10 || n > 11 || !strings.HasSuffix(lines[0], " lines before it were left out)") {
			t.Errorf("after a while, %d lines are logged: %q", n, lines)
		}
		left := 3*mostAtOnce - len(lines)
		lines = nil
		end()
		log("too late")
		must.Match(t, []string{fmt.Sprintf("%d lines before the end were left out", left)}, lines, "at the end")
	})
}

func TestALogThatNobodyReadsStopsNothing(t *testing.T) {
	wait, got := make(chan struct{}), 0
	log, end := Bounded(func(string) {
		<-wait
		got++
	})
	for range mostAtOnce / 2 {
		log("vm14 is there")
	}
	close(wait)
	end()
	must.Match(t, mostAtOnce/2, got, "lines")
}

func TestAddressesAreReadWithTheirDefaults(t *testing.T) {
	for _, c := range []struct {
		in, host string
		port     int
	}{
		{"vm14:7000", "vm14", 7000},
		{"vm14", "vm14", Default},
		{":7000", "", 7000},
		{"10.0.0.1", "10.0.0.1", Default},
		{"[fd00::1]:7000", "fd00::1", 7000},
		{"fd00::1", "fd00::1", Default},
		{"127.0.0.1:0", "127.0.0.1", 0},
	} {
		host, port, err := Split(c.in)
		must.True(t, err == nil && host == c.host && port == c.port, "Split(%q) = %q, %d, %v, want %q, %d", c.in, host, port, err, c.host, c.port)
	}
	for _, in := range []string{"vm14:", "vm14:x", "vm14:70000", "vm14:-1", "a:b:c", "[fd00::1"} {
		host, port, err := Split(in)
		must.True(t, err != nil, "Split(%q) = %q, %d, want an error", in, host, port)
	}
}

// FuzzSplit checks that an accepted address has a valid port, and is the same after joining and
// splitting it again.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"vm14:7946", "vm14", ":0", "[::1]:7", "::1", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, err := Split(s)
		if err != nil {
			return
		}
		again, p, err := Split(net.JoinHostPort(host, strconv.Itoa(port)))
		must.True(t, err == nil && again == host && p == port && port >= 0 && port <= 65535,
			"Split(%q) = %q, %d, and again %q, %d, %v", s, host, port, again, p, err)
	})
}

// soon is the longest wait for an expected event, also on a busy machine.
const soon = 2 * time.Minute

func newKey() *Key {
	k := NewKey()
	return &k
}

// agent is a Listener that answers requests with their body, and counts them.
type agent struct {
	*Listener
	addr     string
	log      must.Lines
	requests atomic.Int64
}

// serve starts an agent on loopback that is closed with the test. h may be nil.
func serve(t testing.TB, o Options, h http.Handler) *agent {
	t.Helper()
	a := new(agent)
	o.Log = a.log.Add
	l := must.Have(Listen("127.0.0.1:0", o))(t)
	a.Listener, a.addr = l, l.Addr().String()
	if h == nil {
		h = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(w, r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			}
		})
	}
	done := make(chan error, 1)
	go func() {
		done <- l.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a.requests.Add(1)
			h.ServeHTTP(w, r)
		}))
	}()
	t.Cleanup(func() {
		must.Err(t, "", errors.Join(l.Close(), <-done), "close")
	})
	return a
}

// client returns a client that is closed with the test.
func client(t testing.TB, key *Key) *http.Client {
	c := Client(key)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask sends a body and returns the answer.
func ask(c *http.Client, addr, body string) (string, error) {
	r, err := c.Post("http://"+addr+"/v1/", "text/plain", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }()
	got, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", r.StatusCode, got)
	}
	return string(got), err
}

// answers fails the test unless an agent answers.
func answers(t testing.TB, c *http.Client, addr string) {
	t.Helper()
	must.Match(t, "hello", must.Have(ask(c, addr, "hello"))(t), "the echo")
}
