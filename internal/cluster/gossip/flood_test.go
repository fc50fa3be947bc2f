package gossip

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// message returns the beginning of an encrypted message of memberlist: the label, which is plain
// text, and a length, which memberlist does not check before it decrypts.
func message(k *[32]byte, length uint32) []byte {
	head := append([]byte{labelMagic, byte(len(label(k)))}, label(k)...)
	const encrypted = 10
	return binary.BigEndian.AppendUint32(append(head, encrypted), length)
}

// heap returns the bytes of the heap in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestWithoutTheKeyLittleIsReadOfAConnectionAndFewAreHeldAtATime(t *testing.T) {
	const conns, size = 48, 4 << 20
	k := key(t, 1)
	a, _ := agent(t, "a", Options{Key: k})
	before := heap()
	piece := make([]byte, 64<<10)
	var flood sync.WaitGroup
	var all []net.Conn
	for range conns {
		c, err := net.Dial("tcp", a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		flood.Go(func() {
			// As much as is taken, and not the last byte, which would end the message.
			_ = c.SetDeadline(time.Now().Add(soon))
			_, err := c.Write(message(k, size+1))
			for sent := 0; sent < size && err == nil; sent += len(piece) {
				_, err = c.Write(piece)
			}
			if err == nil {
				_, err = io.Copy(io.Discard, c)
			}
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("a connection was neither read nor ended: %v", err)
			}
		})
	}
	most := int64(0)
	done := make(chan struct{})
	go func() { flood.Wait(); close(done) }()
	for open := true; open; {
		most = max(most, heap()-before)
		select {
		case <-done:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	// maxPerAddress connections, of each what may be read and as much again, in which the
	// buffer that grows finds room.
	if limit := int64(8 << 20); most > limit {
		t.Errorf("%d connections that know only the label held %d KiB, want at most %d", conns, most>>10, limit>>10)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if kept := heap() - before; kept > 2<<20 {
		t.Errorf("%d KiB are kept of them", kept>>10)
	}
	b, _ := agent(t, "b", Options{Key: k, Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
}

// An answer at an address to join is no proof of the key either.
func TestLittleIsReadOfWhoIsJoined(t *testing.T) {
	const size = 4 << 20
	k := key(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refused := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		go func() { _, _ = io.Copy(io.Discard, c) }()
		_, err = c.Write(message(k, 4*size)[2+len(label(k)):]) // an answer has no label
		piece := make([]byte, 64<<10)
		for sent := 0; sent < 4*size-len(piece) && err == nil; sent += len(piece) {
			_, err = c.Write(piece)
		}
		refused <- err
	}()
	agent(t, "a", Options{Key: k, Join: []string{l.Addr().String()}})
	select {
	case err := <-refused:
		if err == nil {
			t.Errorf("%d KiB were read of an answer", 4*size>>10)
		}
	case <-time.After(soon):
		t.Fatal("nobody was joined")
	}
}

func TestABoundConnectionIsReadAsFarAsItsBound(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go func() { _, _ = near.Write(make([]byte, maxStream+100)) }()
	b := &bound{Conn: far, unbind: func() bool { return true }, left: maxStream}
	got, err := io.ReadAll(b)
	if len(got) != maxStream || !errors.Is(err, errTooMuch) {
		t.Errorf("read %d bytes and %v, want %d and that it is too much", len(got), err, maxStream)
	}
	if !slices.Equal(got, make([]byte, maxStream)) {
		t.Error("what was read is not what was sent")
	}
	_ = b.Close()
}
