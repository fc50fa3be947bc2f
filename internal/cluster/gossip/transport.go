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
	// maxUntold bounds the connections of unknown kind, and maxGossip those of gossip. They are
	// several times the connections of 64 agents that join through one, and below the usual limit
	// of 1,024 open files.
	maxUntold = 256
	maxGossip = 128

	// maxPerAddress bounds the gossip connections of one address at a time, because each may hold
	// maxStream bytes. Others wait for their turn: an exchange takes milliseconds.
	maxPerAddress = 4

	// maxStream bounds the bytes that are read from one connection, because memberlist reads up to
	// 20 MiB of a message before it checks the key. A table of 1,000 agents takes about 180 KiB,
	// one of 380 agents with all their tags about as much as the bound.
	maxStream = 256 << 10

	labelMagic = 244 // begins memberlist's connections and packets when there is a label
)

// transport is memberlist's transport with two changes. A Mux separates the incoming connections,
// and Shutdown closes all of them.
type transport struct {
	*memberlist.NetTransport
	mux     wire.Mux
	gossip  chan net.Conn      // to memberlist
	ctx     context.Context    // of all dials and connections
	hangUp  context.CancelFunc // ends ctx
	stopped chan struct{}      // closed when no more connections arrive
	once    sync.Once
	wg      sync.WaitGroup
}

var _ memberlist.NodeAwareTransport = (*transport)(nil)

// newTransport takes over an open port. untold is the time for a connection to show its kind. If
// streams is nil, streams are closed.
func newTransport(inner *memberlist.NetTransport, label string, untold time.Duration, streams func(net.Conn), log func(string)) *transport {
	if streams == nil {
		streams = func(c net.Conn) { _ = c.Close() }
	}
	t := &transport{
		NetTransport: inner,
		mux: wire.Mux{
			Streams: streams,
			// The prefix keeps other programs and networks from memberlist. It is no proof of the
			// key, because the label is sent as plain text.
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

// StreamCh returns the channel of gossip connections, for memberlist.
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

// DialAddressTimeout is DialTimeout, without the name of the agent.
func (t *transport) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return t.DialTimeout(a.Addr, timeout)
}

// Shutdown closes the port and all gossip connections, and waits for all goroutines.
func (t *transport) Shutdown() (err error) {
	t.once.Do(func() {
		t.hangUp()
		// The listeners end only after somebody has taken their last connection or packet.
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

// accept passes incoming connections to the Mux until the port is closed.
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

// handOn passes gossip connections to memberlist.
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

// bind returns a connection that ends with the transport, because memberlist waits up to ten
// seconds for its connections. It also bounds the bytes that are read.
func (t *transport) bind(c net.Conn) net.Conn {
	return &bound{Conn: c, unbind: context.AfterFunc(t.ctx, func() { _ = c.Close() }), left: maxStream}
}

type bound struct {
	net.Conn
	unbind func() bool
	left   int // bytes that may still be read
}

var errTooMuch = fmt.Errorf("it sends more than %d KiB", maxStream>>10)

// Read reads up to the bound.
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
