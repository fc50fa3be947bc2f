package wire

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// HandshakeTimeout bounds a handshake on both sides: some round trips of a slow network, on a
// loaded machine. A connection without the key is held until then.
const HandshakeTimeout = 5 * time.Second

// Dial opens a stream to an agent at host:port. Without a key that must be this machine. Its
// errors leave out the address, which the caller knows.
func Dial(ctx context.Context, addr string, key *Key) (*Conn, error) {
	d := net.Dialer{Timeout: HandshakeTimeout}
	if key == nil {
		// ControlContext runs after the name was resolved and before anything is sent.
		d.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(resolved); err != nil || !at.Addr().Unmap().IsLoopback() {
				return ErrNeedsKey
			}
			return nil
		}
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	switch {
	case errors.Is(err, ErrNeedsKey):
		return nil, needsKey()
	case err != nil:
		return nil, unreached(err)
	}
	return open(ctx, conn, key, Version)
}

// unreached returns the cause of a failed dial, without the addresses.
func unreached(err error) error {
	var dial *net.OpError
	var call *os.SyscallError
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return failed(err, "its name is not found: %s", name.Err)
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &dial):
		return dial.Err
	}
	return err
}

func needsKey() error {
	return failed(ErrNeedsKey, "it is not this machine: give --key-file with the key that its agent has")
}

func isLoopback(addr net.Addr) bool {
	at, ok := addr.(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// open makes the handshake of the dialling side. It closes the connection on an error.
func open(ctx context.Context, conn net.Conn, key *Key, version byte) (*Conn, error) {
	c, err := shake(ctx, conn, key, version)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func shake(ctx context.Context, conn net.Conn, key *Key, version byte) (*Conn, error) {
	silent := failed(ErrAuth, "it has another key, or is no kt agent")
	if key == nil {
		key = defaultKey()
		silent = failed(ErrAuth, "it needs a key, or is no kt agent: give --key-file with the key of the agent")
	}
	ours := newHello(version)
	theirs, err := greet(ctx, conn, key, ours)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case err != nil:
		return nil, silent
	case theirs.version != version:
		return nil, failed(ErrVersion, "it speaks version %d of kt's protocol, this kt version %d: use the same kt on all hosts", theirs.version, version)
	}
	c := newConn(conn)
	c.out.seal, c.in.seal = seals(key, ours, theirs)
	c.in.max = welcomeSize
	ctx, cancel := context.WithTimeout(ctx, HandshakeTimeout)
	defer cancel()
	if err := c.Send(ctx, confirm, nil); err != nil {
		return nil, err
	}
	_, welcome, err := c.Receive(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(welcome) != welcomeSize || welcome[0] != accepted:
		return nil, failed(ErrBusy, "it serves as many streams as it may: try again when other commands have ended")
	}
	c.in.max = MaxFrame
	return c, nil
}

// greet sends a hello and waits for the reply.
func greet(ctx context.Context, conn net.Conn, key *Key, ours hello) (reply, error) {
	release := interrupt(ctx, conn.SetDeadline, time.Now().Add(HandshakeTimeout))
	defer release()
	if _, err := conn.Write(ours.encode(key)); err != nil {
		return reply{}, err
	}
	return readReply(conn, key, ours)
}
