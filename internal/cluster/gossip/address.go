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

// split reads host:port. A port that is missing is the default, a host that is missing
// is "".
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

// join puts host:port together.
func join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// bindAddr returns where to listen. A name must stand for an address of this machine: nothing
// is bound to all interfaces because a name was not understood.
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

// lookup returns the addresses of a host, at least one. Its errors leave out which host:
// who asks tells.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		var name *net.DNSError
		if errors.As(err, &name) {
			err = errors.New(name.Err) // the rest is the name again, and who was asked
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

// advertised returns the address that this agent tells others: what the user says, or where it
// listens, or, if that is everywhere, the address that the others' packets come back to.
// Port 0 is the one where it listens.
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
			continue // told by who joins
		}
		ips, err := lookup(ctx, host)
		if err != nil {
			continue
		}
		if own, ok := routeTo(ips[0], p); ok {
			return own, 0, nil
		}
	}
	// Where the rest of the world is reached from. No packet is sent.
	if own, ok := routeTo(netip.AddrFrom4([4]byte{192, 0, 2, 1}), DefaultPort); ok {
		return own, 0, nil
	}
	if own, ok := firstAddr(); ok {
		return own, 0, nil
	}
	return netip.Addr{}, 0, errors.New("no address of this machine can be reached from elsewhere: give --advertise, or --bind 127.0.0.1")
}

// routeTo returns the address that packets to another host come from.
func routeTo(to netip.Addr, port int) (netip.Addr, bool) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, uint16(port))))
	if err != nil {
		return netip.Addr{}, false
	}
	defer func() { _ = c.Close() }()
	own := c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	return own, !own.IsLoopback() && !own.IsUnspecified()
}

// firstAddr returns the first address of this machine that is not its own alone.
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
