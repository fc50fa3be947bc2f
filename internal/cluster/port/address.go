package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Default is where agents listen, of TCP and UDP.
const Default = 7946

// lookupTimeout bounds the lookup of the name to listen on.
const lookupTimeout = 10 * time.Second

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

// Lookup returns the addresses of a host, at least one. Its errors leave out the host, which the
// caller adds.
func Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		var name *net.DNSError
		if errors.As(err, &name) {
			err = errors.New(name.Err) // without the name and the name server
		}
		return nil, fmt.Errorf("its name is not found: %w", err)
	}
	if len(ips) == 0 {
		return nil, errors.New("its name has no address")
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, nil
}

// bindAddr returns the address to listen on. A host that cannot be resolved is an error, and does
// not stand for all interfaces.
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

// sockets listens on TCP and UDP at the same port. For port 0 it tries several free TCP ports,
// because their UDP ports may not be free.
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
	return nil, nil, unopened(err)
}

// unopened returns the reason why a port could not be opened, without the address.
func unopened(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return reason(op.Err)
	}
	return err
}
