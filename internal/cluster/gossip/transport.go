package gossip

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/port"
)

const (
	// maxPacket bounds a packet in bytes. Those of memberlist have 1,400 at most, before they are
	// encrypted.
	maxPacket = 2 << 10

	// packetBuffer is the kernel's buffer for packets, which come in bursts when many agents join.
	packetBuffer = 1 << 20
)

// transport is memberlist's way over the port of an agent: its packets as they are, and its
// connections inside TLS.
type transport struct {
	port    *port.Listener
	key     *port.Key
	packets chan *memberlist.Packet
	streams chan net.Conn
	ctx     context.Context // of all dials and connections
	hangUp  context.CancelFunc
	once    sync.Once
	wg      sync.WaitGroup
}

var _ memberlist.Transport = (*transport)(nil)

func newTransport(l *port.Listener, key *port.Key) *transport {
	t := &transport{port: l, key: key, packets: make(chan *memberlist.Packet), streams: make(chan net.Conn)}
	t.ctx, t.hangUp = context.WithCancel(context.Background())
	_ = l.UDP().SetReadBuffer(packetBuffer) // a smaller one loses packets of bursts, which are repeated
	t.wg.Go(t.receive)
	t.wg.Go(t.handOn)
	return t
}

// FinalAdvertiseAddr returns the address for others, which is always given.
func (t *transport) FinalAdvertiseAddr(ip string, at int) (net.IP, int, error) {
	addr := net.ParseIP(ip)
	if addr == nil {
		return nil, 0, fmt.Errorf("%q is no address", ip)
	}
	if four := addr.To4(); four != nil {
		addr = four
	}
	return addr, at, nil
}

func (t *transport) WriteTo(b []byte, addr string) (time.Time, error) {
	to, err := net.ResolveUDPAddr("udp", addr) // memberlist has no names
	if err != nil {
		return time.Time{}, err
	}
	_, err = t.port.UDP().WriteTo(b, to)
	return time.Now(), err
}

func (t *transport) PacketCh() <-chan *memberlist.Packet { return t.packets }

func (t *transport) StreamCh() <-chan net.Conn { return t.streams }

// DialTimeout dials, and gives up when the transport ends.
func (t *transport) DialTimeout(addr string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(t.ctx, timeout)
	defer cancel()
	c, err := port.Dial(ctx, addr, t.key, port.Gossip)
	if err != nil {
		return nil, err
	}
	return t.bind(c), nil
}

// Shutdown ends all gossip connections and waits for all goroutines. The port stays open.
func (t *transport) Shutdown() error {
	t.once.Do(func() {
		t.hangUp()
		_ = t.port.UDP().SetReadDeadline(time.Unix(1, 0)) // fails only on a closed port, whose reads have ended
		t.wg.Wait()
	})
	return nil
}

// receive passes packets to memberlist until the transport ends.
func (t *transport) receive() {
	buf := make([]byte, maxPacket+1)
	for {
		n, from, err := t.port.UDP().ReadFrom(buf)
		at := time.Now()
		switch {
		case t.ctx.Err() != nil:
			return
		case err != nil: // of one packet that could not be delivered, or of the kernel's memory
			t.pause()
			continue
		case n == 0, n > maxPacket:
			continue // it is none of memberlist's
		}
		select {
		case t.packets <- &memberlist.Packet{Buf: append([]byte(nil), buf[:n]...), From: from, Timestamp: at}:
		case <-t.ctx.Done():
			return
		}
	}
}

// pause keeps a lasting error from taking the CPU.
func (t *transport) pause() {
	select {
	case <-time.After(10 * time.Millisecond):
	case <-t.ctx.Done():
	}
}

// handOn passes connections to memberlist until the transport ends.
func (t *transport) handOn() {
	for {
		select {
		case c := <-t.port.Gossip():
			b := t.bind(c)
			select {
			case t.streams <- b:
			case <-t.ctx.Done():
				_ = b.Close()
				return
			}
		case <-t.ctx.Done():
			return
		}
	}
}

// bind returns a connection that ends with the transport, because memberlist waits up to ten
// seconds for its connections.
func (t *transport) bind(c net.Conn) net.Conn {
	return &bound{Conn: c, unbind: context.AfterFunc(t.ctx, func() { _ = c.Close() })}
}

type bound struct {
	net.Conn
	unbind func() bool
}

func (b *bound) Close() error {
	b.unbind()
	return b.Conn.Close()
}
