package gossip

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/must"
)

// message returns the beginning of an encrypted message of memberlist: the label, which is plain
// text in packets, and a length, which memberlist does not check before it decrypts.
func message(k *port.Key, length uint32) []byte {
	label := settings(k).Label
	head := append([]byte{labelMagic, byte(len(label))}, label...)
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

func TestMemberlistHoldsNothingOfConnectionsWithoutTheKey(t *testing.T) {
	const conns, size = 48, 4 << 20
	k := key(t, 1)
	a, _ := agent(t, "a", setup{Key: k})
	before := heap()
	piece := make([]byte, 64<<10)
	var flood sync.WaitGroup
	var all []net.Conn
	for range conns {
		c := must.Have(net.Dial("tcp", a.Addr()))(t)
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
	// A goroutine and the buffers of a handshake each.
	if limit := int64(8 << 20); most > limit {
		t.Errorf("%d connections that know only the label held %d KiB, want at most %d", conns, most>>10, limit>>10)
	}
	for _, c := range all {
		_ = c.Close()
	}
	if kept := heap() - before; kept > 2<<20 {
		t.Errorf("%d KiB are kept of them", kept>>10)
	}
	b, _ := agent(t, "b", setup{Key: k, Join: []string{a.Addr()}})
	sees(t, a, "a alive", "b alive")
	sees(t, b, "a alive", "b alive")
}
