package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// DefaultPort is where agents listen, of TCP and UDP.
const DefaultPort = 7946

// split parses host:port. Without a port it is DefaultPort. The host may be empty.
func split(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err != nil {
		if a, e := netip.ParseAddr(s); e == nil {
			return a.String(), DefaultPort, nil
		}
		if host, text, err = net.SplitHostPort(s + ":" + strconv.Itoa(DefaultPort)); err != nil {
			return "", 0, fmt.Errorf("%q is no host:port", s)
		}
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no host:port: %q is no port", s, text)
	}
	return host, int(n), nil
}

// join returns host:port.
func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// bindAddr returns the address to listen on. A host that cannot be resolved is an error, and does
// not stand for all interfaces.
func bindAddr(ctx context.Context, bind string) (netip.Addr, int, error) {
	host, port, err := split(bind)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("--bind: %w", err)
	}
	if host == "" {
		return netip.IPv4Unspecified(), port, nil
	}
	ips, err := lookup(ctx, host)
	if err != nil {
		return netip.Addr{}, 0, fmt.Errorf("--bind %s: %w", bind, err)
	}
	return ips[0], port, nil
}

// lookup returns the addresses of a host, at least one. Its errors leave out the host, which the
// caller adds.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
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

// advertised returns the address of this agent for others: --advertise, or else the bound address.
// If that is every interface, it is the source address of packets to the agents to join. Port 0
// stands for the bound port.
func advertised(ctx context.Context, advertise string, bound netip.Addr, join []string) (netip.Addr, int, error) {
	if advertise != "" {
		host, p, err := split(advertise)
		if err != nil {
			return netip.Addr{}, 0, fmt.Errorf("--advertise: %w", err)
		}
		ips, err := lookup(ctx, host)
		if err != nil {
			return netip.Addr{}, 0, fmt.Errorf("--advertise %s: %w", advertise, err)
		}
		if ips[0].IsUnspecified() {
			return netip.Addr{}, 0, fmt.Errorf("--advertise: %s is not where others find this agent: name one address", advertise)
		}
		return ips[0], p, nil
	}
	if !bound.IsUnspecified() {
		return bound, 0, nil
	}
	for _, j := range join {
		host, p, err := split(j)
		if err != nil {
			continue // keep reports it
		}
		ips, err := lookup(ctx, host)
		if err != nil {
			continue
		}
		if own, ok := routeTo(ips[0], p); ok {
			return own, 0, nil
		}
	}
	// The address of the default route. No packet is sent.
	if own, ok := routeTo(netip.AddrFrom4([4]byte{192, 0, 2, 1}), DefaultPort); ok {
		return own, 0, nil
	}
	if own, ok := firstAddr(); ok {
		return own, 0, nil
	}
	return netip.Addr{}, 0, errors.New("no address of this machine can be reached from elsewhere: give --advertise, or --bind 127.0.0.1")
}

// routeTo returns the source address of packets to another host.
func routeTo(to netip.Addr, port int) (netip.Addr, bool) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, uint16(port))))
	if err != nil {
		return netip.Addr{}, false
	}
	defer func() { _ = c.Close() }()
	own := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	return own, !own.IsLoopback() && !own.IsUnspecified()
}

// firstAddr returns the first address of this machine that other hosts can use.
func firstAddr() (netip.Addr, bool) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}
