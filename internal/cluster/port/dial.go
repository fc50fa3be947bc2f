package port

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Client returns an HTTP client of agents, whose connections are authenticated and given up when the agent does not
// answer pings. URLs are "http://host:port/…". Errors of requests wrap those of Dial.
func Client(key *Key) *http.Client { return newClient(key, pingAfter, pingFor) }

// newClient is Client with a time without news before a ping, and a time for its answer.
func newClient(key *Key, after, within time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return Dial(ctx, addr, key, HTTP) },
			Protocols:   onlyHTTP2(),
			HTTP2: &http.HTTP2Config{
				// StrictMaxConcurrentRequests hangs when as many requests as may run at a time wait for their turn.
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
	config := ours.config(func(s tls.ConnectionState) { theirs = s })
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
		if until, ok := ctx.Deadline(); ok {
			_ = c.SetReadDeadline(until) // fails only on a closed connection, and then the read fails too
		}
		line, err := bufio.NewReader(io.LimitReader(c, 16)).ReadString('\n')
		theirs := "another"
		if n, e := strconv.ParseUint(strings.TrimSpace(line), 10, 32); err == nil && e == nil {
			theirs = fmt.Sprint("version ", n)
		}
		return nil, failed(ErrVersion, "it speaks %s of kt's protocol, this kt version %s: use the same kt on all hosts", theirs, Version)
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

// isEnd reports whether the other side has ended the connection.
func isEnd(err error) bool {
	ends := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

// Default is where agents listen, of TCP and UDP.
const (
	Default       = 7946
	lookupTimeout = 10 * time.Second // of the lookup of the name to listen on
)

// Split parses host:port. Without a port it is Default. The host may be empty.
func Split(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		if a, e := netip.ParseAddr(s); e == nil {
			return a.String(), Default, nil
		}
		if host, text, err = net.SplitHostPort(s + ":" + strconv.Itoa(Default)); err != nil {
			return "", 0, fmt.Errorf("%q is no host:port", s)
		}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no host:port: %q is no port", s, text)
	}
	return host, int(n), nil
}

// Lookup returns the addresses of a host, at least one. Its errors leave out the host, which the caller adds.
func Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, reason(err)
	}
	if len(ips) == 0 {
		return nil, errors.New("its name has no address")
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, nil
}

// bindAddr returns the address to listen on. Only no host at all stands for all interfaces.
func bindAddr(bind string) (netip.AddrPort, error) {
	host, port, err := Split(bind)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--bind: %w", err)
	}
	if host == "" {
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	ips, err := Lookup(ctx, host)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--bind %s: %w", bind, err)
	}
	return netip.AddrPortFrom(ips[0], uint16(port)), nil
}

// sockets listens on TCP and UDP at the same port. The UDP port of a free TCP port may be in use.
func sockets(at netip.AddrPort) (tcp *net.TCPListener, udp *net.UDPConn, err error) {
	tries := 1
	if at.Port() == 0 {
		tries = 10
	}
	for range tries {
		if tcp, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at)); err != nil {
			continue
		}
		bound := netip.AddrPortFrom(at.Addr(), tcp.Addr().(*net.TCPAddr).AddrPort().Port())
		if udp, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(bound)); err == nil {
			return tcp, udp, nil
		}
		_ = tcp.Close() // nobody has connected
	}
	return nil, nil, reason(err)
}

// Errors for errors.Is.
var (
	ErrAuth     = errors.New("the key was not accepted")        // the other side has another key, or is no kt agent
	ErrNeedsKey = errors.New("a key is needed")                 // only one side has one, or the address is of another machine
	ErrVersion  = errors.New("another version of the protocol") // of a side that has the key
	ErrBroken   = errors.New("the handshake was not completed") // a later attempt may succeed
)

// OptionError is the error of an option: nothing was started, and a retry would fail too.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *OptionError) Unwrap() error { return e.Err }

// failure is the reason why there is no connection, as a sentence for users without the address.
type failure struct {
	text string
	is   error // for errors.Is
}

func (e *failure) Error() string { return e.text }
func (e *failure) Unwrap() error { return e.is }

func failed(is error, format string, args ...any) error {
	return &failure{fmt.Sprintf(format, args...), is}
}
