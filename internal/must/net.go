package must

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Eventually waits until something is so, at most a time that is long on a busy machine too.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	const soon = 4 * time.Minute
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(soon); !so(); <-tick.C {
		Hold(t, !time.Now().After(end), "not within %v: %s", soon, what)
	}
}

// Lines collects lines that several goroutines may write.
type Lines struct {
	mu  sync.Mutex
	all []string
}

// Add adds a line.
func (l *Lines) Add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// With returns the lines that have a text.
func (l *Lines) With(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(line string) bool { return !strings.Contains(line, text) })
}

func (l *Lines) String() string { return strings.Join(l.With(""), "\n") }

// Nobody returns an address of loopback at which nobody listens.
func Nobody(t testing.TB) string {
	t.Helper()
	l := Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	Do(t, l.Close())
	return l.Addr().String()
}

// Listen serves each connection to an address of loopback until the test is over.
func Listen(t testing.TB, serve func(net.Conn)) (addr string) {
	t.Helper()
	return Serve(t, Have(net.Listen("tcp", "127.0.0.1:0"))(t), serve)
}

// Serve is Listen at a listener.
func Serve(t testing.TB, l net.Listener, serve func(net.Conn)) (addr string) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				hangUp := func() { _ = conn.Close() }
				defer hangUp()
				defer context.AfterFunc(t.Context(), hangUp)()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}
