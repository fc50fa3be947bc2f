package gossip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"

	"github.com/kt-bench/kt/internal/cluster/port"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// delegate receives the calls of memberlist, which holds its lock: its methods must not block or call memberlist.
type delegate struct{ g *Gossip }

var (
	_ memberlist.Delegate         = delegate{}
	_ memberlist.EventDelegate    = delegate{}
	_ memberlist.AliveDelegate    = delegate{}
	_ memberlist.ConflictDelegate = delegate{}
)

func (d delegate) NodeMeta(int) []byte { return d.g.meta }

// goodbyePrefix begins the only message between agents: the agent with the name and the start that follow leaves.
const goodbyePrefix = "goodbye "

func (d delegate) NotifyMsg(data []byte) {
	said, ok := strings.CutPrefix(string(data), goodbyePrefix)
	name, start, _ := strings.Cut(said, " ")
	if ok && len(name) <= nameLimit && d.g.table.goodbye(name, start, time.Now()) {
		d.g.report("%s has left", clean(name))
	}
}

// GetBroadcasts returns nothing: agents exchange no other data.
func (delegate) GetBroadcasts(int, int) [][]byte { return nil }

func (delegate) LocalState(bool) []byte { return nil }

func (delegate) MergeRemoteState([]byte, bool) {}

// NotifyAlive returns an error if an agent cannot become a member.
func (d delegate) NotifyAlive(n *memberlist.Node) error {
	_, err := decode(n.Name, n.Meta)
	switch {
	case n.Name == d.g.name:
		return nil
	case len(n.Addr) != net.IPv4len && len(n.Addr) != net.IPv6len || n.Port == 0:
		err = errors.New("its address is none")
	case d.g.open && !n.Addr.IsLoopback():
		err = errors.New("it is not on this machine, and there is no key: give --key-file")
	case err == nil && !d.g.table.hasRoom(n.Name):
		err = fmt.Errorf("there are %d agents already", maxMembers)
	}
	if err != nil {
		d.g.often.Note("refused "+theme.Name(n.Name), fmt.Sprintf("an agent at %s is left out: %s", clean(n.Address()), clean(err.Error())))
	}
	return err
}

func (d delegate) NotifyJoin(n *memberlist.Node) {
	if d.NotifyUpdate(n); n.Name != d.g.name {
		d.g.report("%s is there, at %s", clean(n.Name), n.Address())
	}
}

// NotifyUpdate notes that a member is there, or was started anew.
func (d delegate) NotifyUpdate(n *memberlist.Node) {
	info, err := decode(n.Name, n.Meta)
	if n.Name == d.g.name || err != nil { // NotifyAlive has reported the error
		return
	}
	var m meta
	if json.Unmarshal(n.Meta, &m) != nil || len(m.Start) > startLimit || plan.CheckName(m.Start) != nil {
		m.Start = ""
	}
	d.g.table.here(info, m.Start, n.Address(), time.Now())
}

func (d delegate) NotifyLeave(n *memberlist.Node) {
	if n.Name == d.g.name {
		return
	}
	if d.g.table.away(n.Name, time.Now()) == Left {
		d.g.report("%s has left", clean(n.Name))
		return
	}
	d.g.report("%s at %s is gone: it no longer answers", clean(n.Name), n.Address())
}

// NotifyConflict reports two agents with the same name. The first one keeps it.
func (d delegate) NotifyConflict(known, other *memberlist.Node) {
	d.g.table.rival(known.Name, other.Address(), time.Now())
	d.g.often.Note("conflict "+known.Name, fmt.Sprintf("two agents are called %s, at %s and at %s: give each a --name of its own, unless one has just been restarted",
		clean(known.Name), known.Address(), clean(other.Address())))
}

func (d delegate) Write(line []byte) (int, error) {
	d.g.hear(string(line))
	return len(line), nil
}

// hear reports the lines of memberlist's log that a user can act on.
func (g *Gossip) hear(line string) {
	level, text, _ := strings.Cut(strings.TrimSpace(line), " memberlist: ")
	if name, ok := between(text, "Was able to connect to ", " over TCP but UDP probes failed"); ok {
		g.often.Note("udp "+name, fmt.Sprintf("%s answers over TCP and not over UDP: let UDP through to its port", clean(name)))
		return
	}
	if name, ok := between(text, "Refuting a suspect message (from: ", ")"); ok {
		g.often.Note("refute", fmt.Sprintf("%s gets no answer from this agent: packets between the two are lost, or one of them is overloaded", clean(name)))
		return
	}
	if level != "[ERR]" && level != "[WARN]" {
		return
	}
	_, from, _ := strings.Cut(text, "from=")
	has := func(part string) bool { return strings.Contains(text, part) }
	if slices.ContainsFunc(foreign, has) {
		g.often.Note("foreign", fmt.Sprintf("%s sends what this agent cannot read: it has another key, or is no kt agent", clean(from)))
	} else if i := slices.IndexFunc(faults, has); i >= 0 {
		g.often.Note(faults[i], "gossip: "+clean(text))
	}
}

// Parts of the lines of memberlist about what it cannot read, and about faults of this host.
var (
	foreign = []string{"Decrypt packet failed", "unacceptable label", "cannot decode label", "label header cannot be empty", "failed to receive:"}
	faults  = []string{"Error accepting TCP connection", "handler queue full", "Failed to send UDP ping", "Too many pending push/pull"}
)

// between returns the part of s after one text and before the last one of another.
func between(s, before, after string) (string, bool) {
	_, s, ok := strings.Cut(s, before)
	i := strings.LastIndex(s, after)
	if !ok || i < 0 {
		return "", false
	}
	return s[:i], true
}

const (
	maxPacket    = 2 << 10 // bytes of a packet; those of memberlist have 1,400 at most, before they are encrypted
	packetBuffer = 1 << 20 // bytes of the kernel's buffer for packets, which come in bursts when many agents join
)

// transport is memberlist's way over the port of an agent: its packets as they are, and its connections inside TLS.
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
	t.wg.Go(func() { // passes connections to memberlist until the transport ends
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
	})
	return t
}

// FinalAdvertiseAddr returns the address for others, which is always given.
func (t *transport) FinalAdvertiseAddr(ip string, at int) (net.IP, int, error) {
	addr, err := netip.ParseAddr(ip)
	if err == nil && addr.Zone() != "" {
		err = fmt.Errorf("%s has a zone, which means nothing to other hosts", ip)
	}
	return addr.AsSlice(), at, err
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
			select { // it may last, and must not take the CPU
			case <-time.After(10 * time.Millisecond):
			case <-t.ctx.Done():
			}
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

// bind returns a connection that ends with the transport: memberlist waits for its own.
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
