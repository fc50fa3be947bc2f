package port

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestARequestIsBoundedInHeadersAndBody(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key, Limits: Limits{BodyBytes: 1000}}, nil)
	c := client(t, key)
	must.Match(t, 1000, len(must.Have(ask(c, a.addr, strings.Repeat("x", 1000)))(t)), "a body at the limit: bytes")
	got, err := ask(c, a.addr, strings.Repeat("x", 1001))
	must.True(t, len(got) <= 1100 && (err != nil || len(got) != 1001), "a body over the limit: %d bytes, %v", len(got), err)
	r := must.Have(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+a.addr, nil))(t)
	before := a.requests.Load()
	r.Header.Set("X-Long", strings.Repeat("x", 40<<10))
	if answer, err := c.Do(r); err == nil {
		_ = answer.Body.Close()
		must.Match(t, http.StatusRequestHeaderFieldsTooLarge, answer.StatusCode, "headers over the limit: status")
	}
	must.Match(t, before, a.requests.Load(), "a request with headers over the limit was handled")
	answers(t, c, a.addr)
}

func TestAConnectionHasAsManyRequestsAtATimeAsItMay(t *testing.T) {
	key := newKey()
	var mu sync.Mutex
	running := make(map[string]int) // by connection
	total, most := 0, 0
	release := make(chan struct{})
	a := serve(t, Options{Key: key, Limits: Limits{Streams: 3}}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		running[r.RemoteAddr]++
		total, most = total+1, max(most, running[r.RemoteAddr])
		mu.Unlock()
		if r.URL.Path == "/v1/" {
			<-release
		}
		mu.Lock()
		running[r.RemoteAddr]--
		mu.Unlock()
	}))
	c := client(t, key)
	first := must.Have(c.Get("http://" + a.addr + "/"))(t) // afterwards the client knows the limit
	_ = first.Body.Close()
	done := make(chan error, 9)
	for range cap(done) {
		go func() { _, err := ask(c, a.addr, ""); done <- err }()
	}
	must.Eventually(t, "all run", func() bool { mu.Lock(); defer mu.Unlock(); return total == 10 })
	close(release)
	for range cap(done) {
		must.Err(t, "", <-done, "a request")
	}
	must.True(t, most == 3 && len(running) >= 3, "%d requests at a time on one of %d connections, want 3", most, len(running))
}

func TestARequestMayBeHeldLongerThanReadsAndWritesMayTake(t *testing.T) {
	key := newKey()
	limits := Limits{ReadTimeout: 50 * time.Millisecond, WriteTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond}
	a := serve(t, Options{Key: key, Limits: limits}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "news ")
			err := http.NewResponseController(w).Flush()
			must.True(t, err == nil, "%v", err)
			select {
			case <-time.After(200 * time.Millisecond):
			case <-r.Context().Done():
				t.Error("the request was ended")
			}
		}
	}))
	must.Match(t, "news news news ", must.Have(ask(client(t, key), a.addr, ""))(t), "the answer")
}

func TestASlowReaderEndsItsOwnRequestOnly(t *testing.T) {
	key := newKey()
	ended := make(chan error, 1)
	a := serve(t, Options{Key: key, Limits: Limits{WriteTimeout: 300 * time.Millisecond}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			_, _ = io.Copy(w, r.Body)
			return
		}
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return
			}
		}
	}))
	c := client(t, key)
	r := must.Have(c.Get("http://" + a.addr + "/endless"))(t)
	defer r.Body.Close() // nothing of it is read before
	for open := true; open; {
		answers(t, c, a.addr) // on the same connection
		select {
		case err := <-ended:
			open = err == nil // it is not
		case <-time.After(time.Millisecond):
		}
	}
	answers(t, c, a.addr)
	n := a.http.shares.open[here]
	must.True(t, n == 1, "%d connections, want the first one", n)
}

func TestABodyThatDoesNotComeIsWaitedForWithinLimits(t *testing.T) {
	key := newKey()
	ended := make(chan error, 1)
	a := serve(t, Options{Key: key, Limits: Limits{ReadTimeout: 100 * time.Millisecond}}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		ended <- err
	}))
	body, w := io.Pipe()
	defer w.Close()
	go func() {
		if r, err := client(t, key).Post("http://"+a.addr, "text/plain", body); err == nil {
			_ = r.Body.Close()
		}
	}()
	err := <-ended
	must.True(t, err != nil, "the body was read")
}

func TestAConnectionWithoutRequestsIsClosed(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key, Limits: Limits{ReadTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond}}, nil)
	for name, first := range map[string]string{"nothing": "", "the preface": preface, "a part of it": preface[:5]} {
		c := must.Have(Dial(t.Context(), a.addr, key, HTTP))(t)
		_ = c.SetDeadline(time.Now().Add(soon))
		_, _ = c.Write([]byte(first))
		_, err := io.Copy(io.Discard, c)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("after %s the connection stays open", name)
		}
		_ = c.Close()
	}
	must.Eventually(t, "the shares are given back", func() bool {
		a.http.shares.mu.Lock()
		defer a.http.shares.mu.Unlock()
		return len(a.http.shares.open) == 0
	})
}

func TestAClientGivesAConnectionUpThatNobodyAnswers(t *testing.T) {
	key := newKey()
	a := serve(t, Options{Key: key}, nil)
	var cut atomic.Bool
	proxy := must.Listen(t, func(near net.Conn) {
		far, err := net.Dial("tcp", a.addr)
		if err != nil {
			t.Error(err)
			return
		}
		back := make(chan struct{})
		go func() { defer close(back); cuttable(near, far, &cut) }()
		cuttable(far, near, &cut)
		<-back
	})
	c := newClient(key, 50*time.Millisecond, 100*time.Millisecond)
	defer c.CloseIdleConnections()
	answers(t, c, proxy)
	cut.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	r := must.Have(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+proxy, nil))(t)
	_, err := c.Do(r)
	must.True(t, err != nil && ctx.Err() == nil, "a request over a cut network: %v", err)
	cut.Store(false)
	answers(t, c, proxy) // on a new connection
}

// cuttable copies until an end. While cut is set it loses what comes.
func cuttable(to, from net.Conn, cut *atomic.Bool) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !cut.Load() {
			_, _ = to.Write(buf[:n])
		}
	}
}

func TestConnectionsOverAShareWaitAndThoseOfThisMachineDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShares(3, 2)
		other, third := sourceOf(address("10.0.0.8:1")), sourceOf(address("10.0.0.9:1"))
		ctx, cancel := context.WithCancel(t.Context())
		take := func(from source) (leave func(), came *atomic.Bool) {
			came = new(atomic.Bool)
			got := make(chan func(), 1)
			go func() {
				if leave := s.acquire(ctx, from); leave != nil {
					came.Store(true)
					got <- leave
				}
			}()
			synctest.Wait()
			return func() { (<-got)(); synctest.Wait() }, came
		}
		first, _ := take(other)
		take(other)
		leaveThird, overOwn := take(other)
		take(third)
		_, overTotal := take(third)
		must.True(t, !overOwn.Load() && !overTotal.Load(), "a third of one source came: %v; a fourth in all: %v", overOwn.Load(), overTotal.Load())
		take(here)
		_, came := take(here)
		must.True(t, came.Load(), "this machine had to wait for others")
		_, came = take(here)
		must.True(t, !came.Load(), "this machine got more than a share")
		first()
		must.True(t, overOwn.Load() || overTotal.Load(), "a place that was given back was not taken")
		cancel()
		synctest.Wait()
		_ = leaveThird
	})
}

func address(text string) net.Addr { return from{addr: text}.RemoteAddr() }

func TestHandshakesOfEachSourceAreBoundedInTheirRate(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := &rates{source: 10, total: 25, longest: 500 * time.Millisecond, next: make(map[source]time.Time)}
	take := func(addr string, at time.Duration) time.Duration {
		d, ok := r.reserve(sourceOf(address(addr)), start.Add(at))
		if !ok {
			return -1
		}
		return d
	}
	const flood, other, third = "10.0.0.9:1", "10.0.0.7:1", "10.0.0.8:1"
	for i := range 100 {
		want := time.Duration(-1) // those of a second at once, then 500 ms of delays
		switch {
		case i < 11:
			want = 0
		case i < 16:
			want = time.Duration(i-10) * 100 * time.Millisecond
		}
		got := take(flood, 0)
		must.Hold(t, got == want, "handshake %d is delayed by %v, want %v", i, got, want)
	}
	for range 10 {
		got := take(other, 0)
		must.True(t, got <= 500*time.Millisecond && got >= 0, "a handshake of another source is delayed by %v", got)
	}
	got := take(third, 0)
	must.True(t, got > 0, "a handshake over the rate of all is delayed by %v", got)
	must.Match(t, 0, take("127.0.0.1:1", 0), "one of this machine is delayed by")
	got = take(flood, 5*time.Second)
	must.True(t, got == 0 && len(r.next) == 2, "after a pause it is %v, and %d sources are kept", got, len(r.next))
}

func TestLinesAboutOneSourceAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		j := &Journal{Log: func(line string) { lines = append(lines, line) }}
		flood, other := sourceOf(address("10.0.0.9:1")), sourceOf(address("10.0.0.7:1"))
		for i := range 1000 {
			j.Note(flood.String(), "flood "+string(rune('0'+i%10)))
			if i == 500 {
				j.Note(other.String(), "other")
			}
			<-time.After(100 * time.Millisecond)
		}
		j.Flush()
		j.Flush()
		want := "flood 0\nother\nflood 0 (and 599 more since the last line)\nflood 9 (and 398 more since the last line)"
		must.Match(t, want, strings.Join(lines, "\n"), "the log")
	})
}

func TestSourcesBeyondTheirNumberShareTheirLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		j := &Journal{Log: func(string) { lines++ }}
		for i := range 1000 {
			j.Note(sourceOf(&net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))}).String(), "flood")
		}
		must.Match(t, []int{maxTopics + 1, maxTopics + 1}, []int{lines, len(j.of)}, "%d lines and %d entries", lines, len(j.of))
		j.Flush()
		<-time.After(2 * quiet)
		j.Note(sourceOf(address("10.9.9.9:1")).String(), "later")
		must.True(t, len(j.of) <= 2, "%d entries are kept", len(j.of))
	})
}

func TestASourceIsAnAddressANetworkOrThisMachine(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"10.0.0.7:1", "10.0.0.7:2", true},
		{"10.0.0.7:1", "10.0.0.8:1", false},
		{"10.0.0.7:1", "[::ffff:10.0.0.7]:1", true},
		{"[2001:db8::1]:1", "[2001:db8::2]:1", true},
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"127.0.0.1:1", "127.9.9.9:1", true},
		{"127.0.0.1:1", "[::1]:1", true},
		{"127.0.0.1:1", "[2001:db8::1]:1", false},
	} {
		must.Match(t, row.same, sourceOf(address(row.a)) == sourceOf(address(row.b)), "%s and %s are one source", row.a, row.b)
	}
}

func TestAGossipConnectionIsReadAsFarAsItsBound(t *testing.T) {
	_, c, far := gossiping(t)
	go func() { _, _ = io.Copy(c, bytes.NewReader(make([]byte, 2*gossipBytes))) }()
	go func() { _, _ = io.Copy(far, bytes.NewReader(make([]byte, 2*gossipBytes))) }()
	for name, side := range map[string]net.Conn{"that listens": far, "that dials": c} {
		if got, err := io.ReadAll(side); len(got) != gossipBytes || !errors.Is(err, errTooMuch) {
			t.Errorf("the side %s read %d bytes and %v, want %d and that it is too much", name, len(got), err, gossipBytes)
		}
	}
}
