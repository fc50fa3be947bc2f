package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestDialTellsWhyThereIsNoStream(t *testing.T) {
	key := newKey()
	e := new(echo)
	withKey := serve(t, &Server{Key: key, Handle: e.handle})
	without := serve(t, &Server{Handle: e.handle})
	talks := listen(t, func(c net.Conn) {
		_, _ = c.Write([]byte(strings.Repeat("220 mail ready\r\n", 10)))
		_ = c.Close()
	})
	// A port that is taken, and on which nobody listens.
	taken, err := net.Dial("tcp", talks)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	gone := taken.LocalAddr().String()
	var rows sync.WaitGroup
	for _, row := range []struct {
		name string
		addr string
		key  *Key
		is   error
		text string
	}{
		{"the key of the agent", withKey, key, nil, ""},
		{"no key on either side", without, nil, nil, ""},
		{"no key, and a name of this machine", strings.Replace(without, "127.0.0.1", "localhost", 1), nil, nil, ""},
		{"something else listens", talks, key, ErrAuth, "it has another key, or is no kt agent"},
		{"no key for another machine", "192.0.2.1:7946", nil, ErrNeedsKey, "it is not this machine: give --key-file with the key that its agent has"},
		{"nobody listens", gone, key, syscall.ECONNREFUSED, "connection refused"},
		{"a name that nobody has", "no such host:7946", key, nil, "its name is not found: no such host"},
		{"no port", "127.0.0.1", key, nil, "address 127.0.0.1: missing port in address"},
	} {
		rows.Go(func() {
			c, err := Dial(t.Context(), row.addr, row.key)
			switch {
			case row.text != "":
				if err == nil || err.Error() != row.text || row.is != nil && !errors.Is(err, row.is) {
					t.Errorf("%s: %v, want %q", row.name, err, row.text)
				}
			case err != nil:
				t.Errorf("%s: %v", row.name, err)
			default:
				defer c.Close()
				if err := c.Send(t.Context(), 1, []byte("hello")); err != nil {
					t.Errorf("%s: %v", row.name, err)
				}
				if _, got, err := c.Receive(t.Context()); err != nil || string(got) != "hello" {
					t.Errorf("%s: the echo is %q, %v", row.name, got, err)
				}
			}
		})
	}
	rows.Wait()
	if n := e.streams.Load(); n != 3 {
		t.Errorf("%d streams were handled, want the 3 good ones", n)
	}
}

func TestWhoHasAnotherKeyIsToldWhatToDo(t *testing.T) {
	key := newKey()
	for _, row := range []struct {
		name      string
		agent, us *Key
		want      string
	}{
		{"another key", key, newKey(), "it has another key, or is no kt agent"},
		{"no key, and the agent has one", key, nil, "it needs a key, or is no kt agent: give --key-file with the key of the agent"},
		{"a key, and the agent has none", nil, key, "it has another key, or is no kt agent"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := new(echo)
			s := &Server{Key: row.agent, Handle: e.handle}
			near, far := net.Pipe()
			s.Serve(from{far, "127.0.0.1:1"})
			_, err := open(t.Context(), near, row.us, Version)
			if !errors.Is(err, ErrAuth) || err.Error() != row.want {
				t.Errorf("%s: %v, want %s", row.name, err, row.want)
			}
			s.Close()
			if e.streams.Load() != 0 {
				t.Errorf("%s: the stream was handled", row.name)
			}
		})
	}
}

func TestServerWithoutAKeyIsSilentToOtherMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		e := new(echo)
		s := &Server{Handle: e.handle, Log: func(line string) { lines = append(lines, line) }}
		near, far := net.Pipe() // no address of this machine
		s.Serve(far)
		if _, err := open(t.Context(), near, nil, Version); !errors.Is(err, ErrAuth) {
			t.Errorf("Dial: %v, want ErrAuth", err)
		}
		synctest.Wait()
		s.Close()
		if len(lines) != 1 || !strings.Contains(lines[0], "--key-file") || e.streams.Load() != 0 {
			t.Errorf("log %q, %d streams; want one line that says --key-file, and none", lines, e.streams.Load())
		}
	})
}

func TestPeersOfDifferentVersionsTellEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		var lines []string
		e := new(echo)
		s := &Server{Key: key, Handle: e.handle, Log: func(line string) { lines = append(lines, line) }}
		near, far := net.Pipe()
		s.Serve(far)
		began := time.Now()
		_, err := open(t.Context(), near, key, Version+1)
		want := "it speaks version 1 of kt's protocol, this kt version 2: use the same kt on all hosts"
		if !errors.Is(err, ErrVersion) || err.Error() != want {
			t.Errorf("Dial: %v, want %s", err, want)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the answer took %v, want no waiting", took)
		}
		synctest.Wait()
		s.Close()
		if len(lines) != 1 || !strings.Contains(lines[0], "it speaks version 2 of kt's protocol, this kt version 1") {
			t.Errorf("log %q", lines)
		}
		if e.streams.Load() != 0 {
			t.Error("the stream was handled")
		}

		// Who has not got the key does not learn of versions.
		s = &Server{Key: newKey(), Handle: e.handle}
		near, far = net.Pipe()
		s.Serve(far)
		if _, err := open(t.Context(), near, key, Version+1); !errors.Is(err, ErrAuth) {
			t.Errorf("Dial without the key: %v, want ErrAuth", err)
		}
		s.Close()
	})
}

func TestStreamsOverTheLimitAreToldSo(t *testing.T) {
	key := newKey()
	addr := serve(t, &Server{Key: key, Handle: new(echo).handle, MaxConns: 2})
	first := dial(t, addr, key)
	ask(t, dial(t, addr, key), 1, []byte("second"))
	_, err := Dial(t.Context(), addr, key)
	if !errors.Is(err, ErrBusy) || !strings.HasPrefix(err.Error(), "it serves as many streams as it may") {
		t.Errorf("the third stream: %v, want ErrBusy", err)
	}
	_ = first.Close()
	for deadline := time.Now().Add(soon); ; { // until the server has seen it
		c, err := Dial(t.Context(), addr, key)
		if err == nil {
			ask(t, c, 1, []byte("in the place of the first"))
			_ = c.Close()
			return
		}
		if !errors.Is(err, ErrBusy) || time.Now().After(deadline) {
			t.Fatalf("after one has ended: %v", err)
		}
	}
}

func TestClosedServerHasEndedEverything(t *testing.T) {
	key := newKey()
	var mu sync.Mutex
	running := 0
	s := &Server{Key: key, Handle: func(ctx context.Context, c *Conn) {
		mu.Lock()
		running++
		mu.Unlock()
		_, _, _ = c.Receive(ctx)
		mu.Lock()
		running--
		mu.Unlock()
	}}
	addr := serve(t, s)
	c := dial(t, addr, key)
	stray, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	s.Close()
	if running != 0 {
		t.Errorf("%d streams are handled after Close", running)
	}
	if _, _, err := c.Receive(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Receive: %v, want ErrClosed", err)
	}
	if _, err := Dial(t.Context(), addr, key); err == nil {
		t.Error("a closed server took a stream")
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		go func() { _, _ = far.Read(make([]byte, helloSize)) }()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if _, err := open(ctx, near, newKey(), Version); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("Open ended after %v with %v", time.Since(began), err)
		}
		if _, err := near.Write(nil); err == nil {
			t.Error("the connection is still open")
		}
	})
}

func TestLogOfRefusedConnectionsIsNotFilledByWhoKnocksOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		n := &news{log: func(line string) { lines = append(lines, line) }}
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 1234}
		for i := range 1000 {
			n.tell(from, fmt.Sprintf("reason %d", i))
			<-time.After(100 * time.Millisecond)
		}
		n.flush()
		n.flush()
		want := []string{
			"connection from 10.0.0.9:1234: reason 0",
			"connection from 10.0.0.9:1234: reason 600 (and 599 more refused since the last line)",
			"connection from 10.0.0.9:1234: reason 999 (and 398 more refused since the last line)",
		}
		if strings.Join(lines, "\n") != strings.Join(want, "\n") {
			t.Errorf("log:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
		}
	})
}
