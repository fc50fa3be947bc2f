package gossip

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/wire"
)

const (
	// maxUntold bounds the connections that have not said what they are, and maxGossip
	// those that are gossip: several times what 64 agents make when they all join
	// through one, and little enough for the usual 1,024 open files.
	maxUntold = 256
	maxGossip = 128

	// maxPerAddress is how many connections of one address are gossip at a time; others wait
	// for their turn. An exchange takes milliseconds, and each of them may hold maxStream.
	maxPerAddress = 4

	// maxStream is the most bytes that are read of one connection: memberlist reads a whole
	// message, up to 20 MiB, before it finds out whether it was sealed with the key. A table
	// of 1,000 agents takes some 180 KiB, and one of 380 that say as much as they may.
	maxStream = 256 << 10

	labelMagic = 244 // begins memberlist's connections and packets when there is a label
)

// transport is memberlist's own one, with the connections that arrive told apart, and
// nothing left behind when it ends.
type transport struct {
	*memberlist.NetTransport
	mux     wire.Mux
	gossip  chan net.Conn      // to memberlist
	ctx     context.Context    // of all that is dialled and open: it ends with hangUp
	hangUp  context.CancelFunc // ends them
	stopped chan struct{}      // closed when no more connections arrive
	once    sync.Once
	wg      sync.WaitGroup
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

// newTransport takes over an open port, on which a connection has so long to say what it
// is. Streams nil: there are none.
func newTransport(inner *memberlist.NetTransport, label string, untold time.Duration, streams func(net.Conn), log func(string)) *transport {
	if streams == nil {
		streams = func(c net.Conn) { _ = c.Close() }
	}
	t := &transport{
		NetTransport: inner,
		mux: wire.Mux{
			Streams: streams,
			// Strangers and other networks never get as far as memberlist. It is no proof of
			// the key: the label is sent in the clear.
			Prefix:     append([]byte{labelMagic, byte(len(label))}, label...),
			MaxPending: maxUntold,
			MaxRest:    maxGossip,
			MaxSource:  maxPerAddress,
			Timeout:    untold,
			Log:        log,
		},
		gossip:  make(chan net.Conn),
		stopped: make(chan struct{}),
	}
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	t.wg.Go(t.accept)
	t.wg.Go(t.handOn)
	return t
}

// StreamCh returns where memberlist gets its connections.
func (t *transport) StreamCh() <-chan net.Conn { return t.gossip }

// DialTimeout dials, and gives up when the transport ends.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	c, err := d.DialContext(t.ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return t.bind(c), nil
}

// DialAddressTimeout is DialTimeout: an agent's name says nothing of where it is.
func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(a.Addr, timeout)
}

// Shutdown closes the port and every connection that is gossip, and waits for what this
// transport started.
func (t *transport) Shutdown() (err error) {
	t.once.Do(func() {
		t.hangUp()
		// The listeners may be about to hand over a connection or a packet, and end only
		// when somebody has taken it.
		ended := make(chan struct{})
		t.wg.Go(func() {
			defer close(ended)
			err = t.NetTransport.Shutdown()
		})
		for open := true; open; {
			select {
			case <-t.PacketCh():
			case <-ended:
				open = false
			}
		}
		close(t.stopped)
		t.wg.Wait()
		t.mux.Close()
	})
	return err
}

// accept takes what arrives until the port is closed.
func (t *transport) accept() {
	for {
		select {
		case c := <-t.NetTransport.StreamCh():
			t.mux.Take(c)
		case <-t.stopped:
			return
		}
	}
}

// handOn gives memberlist what is gossip.
func (t *transport) handOn() {
	for {
		select {
		case c := <-t.mux.Rest():
			b := t.bind(c)
			select {
			case t.gossip <- b:
			case <-t.ctx.Done():
				_ = b.Close()
			}
		case <-t.stopped:
			return
		}
	}
}

// bind makes a connection end with the transport, for memberlist waits for its own up to ten
// seconds, and bounds what is read of it.
func (t *transport) bind(c net.Conn) net.Conn {
	return &bound{Conn: c, unbind: context.AfterFunc(t.ctx, func() { _ = c.Close() }), left: maxStream}
}

type bound struct {
	net.Conn
	unbind func() bool
	left   int // bytes that may still be read
}

var errTooMuch = fmt.Errorf("it sends more than %d KiB", maxStream>>10)

// Read reads until the bound.
func (b *bound) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Close closes the connection.
func (b *bound) Close() error {
	b.unbind()
	return b.Conn.Close()
}
