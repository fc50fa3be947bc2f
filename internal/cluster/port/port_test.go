package port

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

// soon is the longest wait for an expected event, also on a busy machine.
const soon = 2 * time.Minute

func newKey() *Key {
	k := NewKey()
	return &k
}

// logged collects the lines of a Listener.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
}

func (l *logged) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// agent is a Listener that answers requests with their body, and counts them.
type agent struct {
	*Listener
	addr     string
	log      logged
	requests atomic.Int64
}

// serve starts an agent on loopback that is closed with the test. h may be nil.
func serve(t testing.TB, o Options, h http.Handler) *agent {
	t.Helper()
	a := new(agent)
	o.Log = a.log.add
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

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(soon); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}

// listen takes connections on loopback until the test is over.
func listen(t testing.TB, take func(net.Conn)) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { take(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}
