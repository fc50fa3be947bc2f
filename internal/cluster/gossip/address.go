package gossip

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// join returns host:port.
func join(host string, at int) string { return net.JoinHostPort(host, strconv.Itoa(at)) }

// advertised returns the address of this agent for others: --advertise, or else the bound address.
// If that is every interface, it is the source address of packets to the agents to join. Port 0
// stands for the bound port.
func advertised(ctx context.Context, advertise string, bound netip.Addr, join []string) (netip.Addr, int, error) {
	if advertise != "" {
		host, p, err := port.Split(advertise)
		if err != nil {
			return netip.Addr{}, 0, fmt.Errorf("--advertise: %w", err)
		}
		ips, err := port.Lookup(ctx, host)
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
		host, p, err := port.Split(j)
		if err != nil {
			continue // keep reports it
		}
		ips, err := port.Lookup(ctx, host)
		if err != nil {
			continue
		}
		if own, ok := routeTo(ips[0], p); ok {
			return own, 0, nil
		}
	}
	// The address of the default route. No packet is sent.
	if own, ok := routeTo(netip.AddrFrom4([4]byte{192, 0, 2, 1}), port.Default); ok {
		return own, 0, nil
	}
	if own, ok := firstAddr(); ok {
		return own, 0, nil
	}
	return netip.Addr{}, 0, errors.New("no address of this machine can be reached from elsewhere: give --advertise, or --bind 127.0.0.1")
}

// routeTo returns the source address of packets to another host.
func routeTo(to netip.Addr, at int) (netip.Addr, bool) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, uint16(at))))
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
