package port

import (
	"net"
	"net/netip"
)

// source is the addresses that count as one: an IPv4 address, the /64 network of an IPv6 address,
// or all loopback addresses.
type source struct{ netip.Prefix }

func sourceOf(addr net.Addr) source {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return source{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	switch {
	case ip.IsLoopback():
		return here
	case ip.Is6():
		p, _ := ip.Prefix(64) // the zero prefix of no address
		return source{p}
	}
	p, _ := ip.Prefix(ip.BitLen())
	return source{p}
}

// here is this machine.
var here = source{netip.PrefixFrom(netip.IPv6Loopback(), 128)}
