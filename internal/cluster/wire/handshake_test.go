package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHandshakeProofsHoldForOneKeyAndOneSideOnly(t *testing.T) {
	k, other := newKey(), newKey()
	h := newHello(Version)
	r := newReply()
	if got, err := readHello(bytes.NewReader(h.encode(k)), k); err != nil || got != h {
		t.Errorf("the hello of our key: %v", err)
	}
	if _, err := readHello(bytes.NewReader(h.encode(other)), k); !errors.Is(err, ErrAuth) {
		t.Errorf("the hello of another key: %v, want ErrAuth", err)
	}
	if got, err := readReply(bytes.NewReader(r.encode(k, h)), k, h); err != nil || got != r {
		t.Errorf("the reply of our key: %v", err)
	}
	if _, err := readReply(bytes.NewReader(r.encode(other, h)), k, h); !errors.Is(err, ErrAuth) {
		t.Errorf("the reply of another key: %v, want ErrAuth", err)
	}
	if _, err := readReply(bytes.NewReader(r.encode(k, newHello(Version))), k, h); !errors.Is(err, ErrAuth) {
		t.Errorf("the reply to another hello: %v, want ErrAuth", err)
	}
	if _, err := readReply(bytes.NewReader(h.encode(k)[1:]), k, h); !errors.Is(err, ErrAuth) {
		t.Errorf("the hello sent back: %v, want ErrAuth", err)
	}
}

// side is the side whose bytes are changed.
type side bool

const (
	dialler  side = false
	listener side = true
)

// session is the progress of a session.
type session struct {
	dialled  bool
	err      error // of the side that dials
	streams  int64 // that were handled
	messages int64 // that arrived
	echoed   bool  // the message came back
	back     int   // bytes that the side that listens has sent
}

// spoiled runs a session of one message and its echo, and changes the bytes of one side.
func spoiled(t *testing.T, who side, spoil func(int, []byte) int) session {
	key := newKey()
	var e echo
	s := &Server{Key: key, Handle: e.handle}
	near, far := net.Pipe()
	a, b := &tape{Conn: near}, &tape{Conn: far}
	if who == dialler {
		a.spoil = spoil
	} else {
		b.spoil = spoil
	}
	s.Serve(b)
	var out session
	var c *Conn
	c, out.err = open(t.Context(), a, key, Version)
	if out.err == nil {
		out.dialled = true
		var got []byte
		if out.err = c.Send(t.Context(), 7, []byte("message")); out.err == nil {
			// A length that was made longer waits for what does not come.
			end := time.AfterFunc(time.Minute, func() { _ = c.Close() })
			_, got, out.err = c.Receive(t.Context())
			end.Stop()
		}
		out.echoed = out.err == nil && string(got) == "message"
		_ = c.Close()
	}
	_ = near.Close()
	s.Close()
	out.streams, out.messages, out.back = e.streams.Load(), e.messages.Load(), b.wrote.Len()
	return out
}

const (
	confirmEnd = helloSize + lengthSize + overhead
	welcomeEnd = replySize + lengthSize + overhead + welcomeSize
	messageLen = lengthSize + overhead + len("message")
)

func TestEveryByteOfASessionIsAuthenticated(t *testing.T) {
	for name, how := range map[string]func(int) func(int, []byte) int{"flipped": flipped, "cut": cut} {
		t.Run(name, func(t *testing.T) {
			for place := range confirmEnd + messageLen {
				synctest.Test(t, func(t *testing.T) {
					switch got := spoiled(t, dialler, how(place)); {
					case got.echoed || got.messages != 0 || got.err == nil:
						t.Errorf("byte %d from the side that dials: the message arrived, %+v", place, got)
					case place < confirmEnd && (got.dialled || got.streams != 0):
						t.Errorf("byte %d from the side that dials: the stream was handled", place)
					case place < helloSize && (got.back != 0 || !errors.Is(got.err, ErrAuth)):
						t.Errorf("byte %d of the hello: %d bytes came back, error %v; want none, ErrAuth", place, got.back, got.err)
					}
				})
			}
			for place := range welcomeEnd + messageLen {
				synctest.Test(t, func(t *testing.T) {
					switch got := spoiled(t, listener, how(place)); {
					case got.echoed || got.err == nil:
						t.Errorf("byte %d from the side that listens: the echo arrived, %+v", place, got)
					case place < welcomeEnd && got.dialled:
						t.Errorf("byte %d from the side that listens: Dial saw nothing", place)
					case place < replySize && !errors.Is(got.err, ErrAuth):
						t.Errorf("byte %d of the reply: %v, want ErrAuth", place, got.err)
					}
				})
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		if got := spoiled(t, dialler, nil); !got.echoed || got.streams != 1 || got.messages != 1 {
			t.Errorf("a session that nobody spoils: %+v", got)
		}
	})
}

func TestRecordedSessionFailsWhenItIsPlayedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		var e echo
		var lines []string
		s := &Server{Key: key, Handle: e.handle, Log: func(line string) { lines = append(lines, line) }}
		near, far := net.Pipe()
		record := &tape{Conn: near}
		s.Serve(far)
		c, err := open(t.Context(), record, key, Version)
		if err != nil {
			t.Fatal(err)
		}
		ask(t, c, 7, []byte("delete everything"))
		_ = c.Close()
		synctest.Wait()

		near, far = net.Pipe()
		s.Serve(far)
		go func() { _, _ = near.Write(record.wrote.Bytes()) }() // until the server closes
		began := time.Now()
		back, _ := io.ReadAll(near)
		if len(back) != replySize {
			t.Errorf("%d bytes came back, want the reply of %d, which is of no use without the key", len(back), replySize)
		}
		if held := time.Since(began); held != HandshakeTimeout {
			t.Errorf("it was closed after %v, want after %v as everybody", held, HandshakeTimeout)
		}
		synctest.Wait()
		s.Close()
		if n, m := e.streams.Load(), e.messages.Load(); n != 1 || m != 1 {
			t.Errorf("%d streams and %d messages were handled, want 1 and 1", n, m)
		}
		if len(lines) != 1 {
			t.Errorf("log %q, want one line", lines)
		}
	})
}

func TestNoMemoryIsTakenForWhoOnlyPlaysAHelloBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		var lines []string
		s := &Server{Key: key, Handle: new(echo).handle, Log: func(line string) { lines = append(lines, line) }}
		near, far := net.Pipe()
		s.Serve(far)
		go func() {
			_, _ = near.Write(newHello(Version).encode(key))
			_, _ = near.Read(make([]byte, replySize))
			_, _ = near.Write([]byte{0, 0, 0, overhead + 1}) // a byte more than the confirmation
		}()
		<-time.After(HandshakeTimeout + time.Second)
		s.Close()
		if len(lines) != 1 || !strings.Contains(lines[0], ErrTooLarge.Error()) {
			t.Errorf("log %q, want one line that says %q", lines, ErrTooLarge)
		}
	})
}

func TestServersReplyFailsWhenItIsPlayedToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey()
		s := &Server{Key: key, Handle: new(echo).handle}
		near, far := net.Pipe()
		record := &tape{Conn: far}
		s.Serve(record)
		c, err := open(t.Context(), near, key, Version)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		s.Close()

		near, far = net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, helloSize))
			_, _ = far.Write(record.wrote.Bytes())
		}()
		if _, err := open(t.Context(), near, key, Version); !errors.Is(err, ErrAuth) {
			t.Errorf("a server's recorded answer: %v, want ErrAuth", err)
		}
	})
}

// FuzzReadHello checks that readHello never panics or reads too far, and accepts only a hello that
// the key made.
func FuzzReadHello(f *testing.F) {
	k := &Key{secret: [32]byte{1}}
	good := hello{version: Version}.encode(k)
	f.Add(good)
	f.Add(good[:40])
	f.Add(append(bytes.Clone(good), 1, 2, 3))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		_, err := readHello(r, k)
		if left := r.Len(); left < len(in)-helloSize {
			t.Errorf("%d of %d bytes were read", len(in)-left, len(in))
		}
		if err == nil && !bytes.HasPrefix(in, good) {
			t.Errorf("accepted %x", in)
		}
	})
}

// FuzzReadReply is FuzzReadHello for replies.
func FuzzReadReply(f *testing.F) {
	k := &Key{secret: [32]byte{1}}
	h := hello{version: Version}
	good := reply{version: Version}.encode(k, h)
	f.Add(good)
	f.Add(good[:40])
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		_, err := readReply(r, k, h)
		if left := r.Len(); left < len(in)-replySize {
			t.Errorf("%d of %d bytes were read", len(in)-left, len(in))
		}
		if err == nil && !bytes.HasPrefix(in, good) {
			t.Errorf("accepted %x", in)
		}
	})
}
