package port

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"
)

// Client returns an HTTP client of agents, whose connections are authenticated: one for each
// agent, or more if more requests than Limits.Streams are under way. A connection is given up when
// the agent does not answer pings. URLs are "http://host:port/…".
// Errors of requests wrap those of Dial. Without a key only agents on this machine are reached.
func Client(key *Key) *http.Client { return newClient(key, pingAfter, pingFor) }

// newClient is Client with a time without news before a ping, and a time for its answer.
func newClient(key *Key, after, within time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return Dial(ctx, addr, key, HTTP) },
			Protocols:   onlyHTTP2(),
			HTTP2: &http.HTTP2Config{
				// StrictMaxConcurrentRequests would keep to one connection, and hangs when as many
				// requests as may run at a time wait for their turn.
				MaxDecoderHeaderTableSize: headerTable,
				MaxEncoderHeaderTableSize: headerTable,
				MaxReceiveBufferPerStream: answerBuffer,
				SendPingTimeout:           after,
				PingTimeout:               within,
				WriteByteTimeout:          after + within,
			},
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: answerHeader,
		},
		// An agent does not redirect, and must not send its peers elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Dial opens an authenticated connection to an agent at host:port, for the protocol alpn. Without
// a key that must be this machine. Its errors leave out the address, which the caller knows.
func Dial(ctx context.Context, addr string, key *Key, alpn string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*handshakeTimeout)
	defer cancel()
	conn, err := reach(ctx, addr, key)
	if err != nil {
		return nil, err
	}
	c, err := shake(ctx, conn, key, alpn)
	if err != nil {
		_ = conn.Close() // the error of the handshake is the cause
		return nil, err
	}
	most := -1
	if alpn == Gossip {
		most = gossipBytes
	}
	return &bounded{Conn: c, left: most}, nil
}

// reach opens a TCP connection.
func reach(ctx context.Context, addr string, key *Key) (net.Conn, error) {
	d := net.Dialer{Timeout: handshakeTimeout}
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
		return nil, failed(ErrNeedsKey, "it is not this machine: give --key-file with the key that its agent has")
	case err != nil:
		return nil, reason(err)
	}
	return conn, nil
}

// reason returns the cause of an error of the network, without the addresses.
func reason(err error) error {
	var op *net.OpError
	var call *os.SyscallError
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return failed(err, "its name is not found: %s", name.Err)
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &op):
		return op.Err
	}
	return err
}

// shake makes the handshake of the dialling side. The caller closes the connection on an error.
func shake(ctx context.Context, conn net.Conn, key *Key, alpn string) (net.Conn, error) {
	ours := newIdentity(key)
	var theirs tls.ConnectionState
	config := ours.config(func(s tls.ConnectionState) error {
		theirs = s
		return ours.verifyPeer(s)
	})
	config.NextProtos = []string{alpn, versions}
	m := &bounded{Conn: conn, left: handshakeBytes}
	c := tls.Client(m, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		return nil, refusal(ctx, err, key, theirs)
	}
	switch proto := c.ConnectionState().NegotiatedProtocol; proto {
	case alpn:
		m.left = -1
		return c, nil
	case versions:
		return nil, otherVersion(ctx, c)
	}
	return nil, failed(ErrAuth, "it has another key, or is no kt agent")
}

// refusal returns the error for a failed handshake.
func refusal(ctx context.Context, err error, key *Key, theirs tls.ConnectionState) error {
	var record tls.RecordHeaderError
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case errors.Is(err, errStranger) && key == nil:
		return failed(ErrNeedsKey, "it needs a key, or is no kt agent: give --key-file with the key of the agent")
	case errors.Is(err, errStranger) && newIdentity(nil).has(theirs):
		return failed(ErrNeedsKey, "it has no key, or is no kt agent: leave out --key-file here, or start the agent with it")
	case errors.As(err, &record), errors.Is(err, errTooMuch), errors.Is(err, errStranger):
		return failed(ErrAuth, "it has another key, or is no kt agent")
	case isEnd(err):
		return failed(ErrBroken, "it ended the connection before it was known: it is no kt agent, one of another version, or has too many connections")
	case errors.Is(err, os.ErrDeadlineExceeded), ctx.Err() != nil:
		return failed(ErrBroken, "it does not answer as a kt agent: it is none, one of another version, or overloaded")
	}
	return failed(ErrAuth, "it has another key, or is no kt agent (%v)", err)
}

// otherVersion returns the error for an agent that has the key and another version.
func otherVersion(ctx context.Context, c *tls.Conn) error {
	if until, ok := ctx.Deadline(); ok {
		_ = c.SetReadDeadline(until) // fails only on a closed connection, and then the read fails too
	}
	line, err := bufio.NewReader(io.LimitReader(c, 16)).ReadString('\n')
	theirs := strings.TrimSpace(line)
	if err != nil || theirs == "" || strings.Trim(theirs, "0123456789") != "" {
		theirs = "another"
	} else {
		theirs = "version " + theirs
	}
	return failed(ErrVersion, "it speaks %s of kt's protocol, this kt version %s: use the same kt on all hosts", theirs, Version)
}

// isEnd reports whether the other side has ended the connection.
func isEnd(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
