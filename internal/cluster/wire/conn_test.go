package wire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// pair is a stream over a pipe, whose writes wait for the reads of the other side.
func pair(t *testing.T) (dialled, served *Conn) {
	t.Helper()
	near, far := net.Pipe()
	dialled, served = New(near), New(far)
	t.Cleanup(func() {
		_ = dialled.Close()
		_ = served.Close()
	})
	return dialled, served
}

// echo returns a stream over TLS to a side that answers every message with itself.
func echo(t *testing.T, answer bool) *Conn {
	t.Helper()
	l, err := port.Listen("127.0.0.1:0", port.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	c, err := Dial(t.Context(), l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	far := New(<-l.Streams())
	t.Cleanup(func() { _ = far.Close() })
	if answer {
		go func() {
			for {
				typ, payload, err := far.Receive(context.Background())
				if err != nil || far.Send(context.Background(), typ, payload) != nil {
					return
				}
			}
		}()
	}
	return c
}

// ask sends a message and checks that it comes back.
func ask(t testing.TB, c *Conn, typ FrameType, payload []byte) {
	t.Helper()
	if err := c.Send(t.Context(), typ, payload); err != nil {
		t.Fatal(err)
	}
	gotType, got, err := c.Receive(t.Context())
	if err != nil || gotType != typ || !bytes.Equal(got, payload) {
		t.Fatalf("sent type %d, %d bytes; the echo is type %d, %d bytes, %v", typ, len(payload), gotType, len(got), err)
	}
}

func TestPeerThatTakesNothingEndsASend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t)
		began := time.Now()
		err := c.Send(t.Context(), 1, []byte("anybody?"))
		if !errors.Is(err, ErrClosed) || time.Since(began) != SendTimeout {
			t.Errorf("Send ended after %v with %v, want after %v with ErrClosed", time.Since(began), err, SendTimeout)
		}
		if err := c.Send(t.Context(), 1, []byte("again")); !errors.Is(err, ErrClosed) {
			t.Errorf("the next Send: %v, want ErrClosed", err)
		}
	})
}

func TestSendsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t)
		var wg sync.WaitGroup
		began := time.Now()
		for _, patience := range []time.Duration{time.Second, time.Minute} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			// One is in the middle of its frame, the other waits for its turn.
			wg.Go(func() {
				err := c.Send(ctx, 1, []byte("anybody?"))
				if patience == time.Minute && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrClosed) {
					t.Errorf("Send with %v: %v", patience, err)
				}
				if patience == time.Second && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Send with %v: %v, want context.DeadlineExceeded", patience, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != time.Second && took != time.Minute {
			t.Errorf("the sends ended after %v", took)
		}
	})
}

func TestReceiveGoesOnWhereItsContextEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, served := pair(t)
		frame := bytes.Clone(served.out.next(3, []byte("in pieces")))
		for _, piece := range [][]byte{nil, frame[:2], frame[2:5], frame[5:8]} {
			go func() { _, _ = served.conn.Write(piece) }()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			if _, _, err := c.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed) {
				t.Fatalf("Receive of a piece: %v, want context.DeadlineExceeded", err)
			}
			cancel()
		}
		go func() { _, _ = served.conn.Write(frame[8:]) }()
		typ, got, err := c.Receive(t.Context())
		if err != nil || typ != 3 || string(got) != "in pieces" {
			t.Errorf("Receive = %d, %q, %v", typ, got, err)
		}
	})
}

func TestContextThatEndsLateDisturbsNoLaterReceive(t *testing.T) {
	c := echo(t, true)
	for i := range 3000 {
		if err := c.Send(t.Context(), 1, nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go cancel() // at about the time of the echo
		if _, _, err := c.Receive(ctx); err == nil {
			if err := c.Send(t.Context(), 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := c.Receive(context.Background()); err != nil {
			t.Fatalf("receive %d, after one whose context ended: %v", i, err)
		}
	}
}

func TestStreamsEndIsToldAsSuch(t *testing.T) {
	for name, row := range map[string]struct {
		end  func(c, served *Conn)
		want error
	}{
		"the other side closes":              {func(_, served *Conn) { _ = served.Close() }, ErrClosed},
		"this side closes":                   {func(c, _ *Conn) { _ = c.Close() }, ErrClosed},
		"it ends in the middle of a message": {func(_, served *Conn) { _, _ = served.conn.Write([]byte{0, 0}); _ = served.Close() }, ErrClosed},
		"a frame says that it is 4 GiB long": {func(_, served *Conn) { _, _ = served.conn.Write([]byte{255, 255, 255, 255}) }, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, served := pair(t)
				go row.end(c, served)
				_, _, err := c.Receive(t.Context())
				if !errors.Is(err, row.want) {
					t.Errorf("Receive: %v, want %v", err, row.want)
				}
				if _, _, err := c.Receive(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("the next Receive: %v, want ErrClosed", err)
				}
				if err := c.Send(t.Context(), 1, nil); !errors.Is(err, ErrClosed) {
					t.Errorf("Send after it: %v, want ErrClosed", err)
				}
			})
		})
	}
}

func TestMessageOverTheLimitIsNotSentAndTheStreamGoesOn(t *testing.T) {
	c := echo(t, true)
	if err := c.Send(t.Context(), 1, make([]byte, MaxFrame+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Send of %d bytes: %v, want ErrTooLarge", MaxFrame+1, err)
	}
	ask(t, c, 255, make([]byte, MaxFrame))
	ask(t, c, 0, nil)
}

func TestManySendersAtOnceSendWholeMessagesInTheirOrder(t *testing.T) {
	const senders, messages = 8, 200
	c := echo(t, true)
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range messages {
				// A size of its own: were frames mixed up, nothing would open.
				payload := bytes.Repeat([]byte{byte(i)}, 1+(s*messages+i)*7%5000)
				if err := c.Send(t.Context(), FrameType(s), payload); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var next [senders]int
	for range senders * messages {
		typ, payload, err := c.Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := next[typ]
		next[typ]++
		if want := bytes.Repeat([]byte{byte(i)}, 1+(int(typ)*messages+i)*7%5000); !bytes.Equal(payload, want) {
			t.Fatalf("message %d of sender %d is not what was sent", i, typ)
		}
	}
	wg.Wait()
}

func TestSocketThatNobodyReadsEndsASend(t *testing.T) {
	c := echo(t, false)
	var last, err error
	// The kernel takes some MiB. A context that ends before its Send begins ends nothing.
	for n := 0; !errors.Is(err, ErrClosed) && n < 1000; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		last, err = err, c.Send(ctx, 1, make([]byte, MaxFrame))
		cancel()
	}
	if !errors.Is(last, context.DeadlineExceeded) {
		t.Errorf("Send to who reads nothing: %v, want context.DeadlineExceeded", last)
	}
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), c.RemoteAddr().String()) {
		t.Errorf("the next Send: %v, want ErrClosed that names %s", err, c.RemoteAddr())
	}
}
