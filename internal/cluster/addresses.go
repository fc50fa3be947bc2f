package cluster

import (
	"context"
	"net"
	"net/netip"

	"github.com/kt-bench/kt/internal/cluster/port"
)

// eachAddress returns addresses of agents, with those of a name in place of a name that has several:
// connections to one peer must not go to one agent now and to another one later.
func eachAddress(ctx context.Context, addrs []string) []string {
	var all []string
	for _, addr := range addrs {
		host, number, _ := net.SplitHostPort(addr)
		ips, _ := port.Lookup(ctx, host) // connecting tells what is wrong
		all = append(all, spread(addr, number, ips)...)
	}
	return all
}

// spread returns one address for each IP address of a name, or the address itself if there is no
// choice.
func spread(addr, number string, ips []netip.Addr) []string {
	if len(ips) < 2 {
		return []string{addr}
	}
	var all []string
	for _, ip := range ips {
		all = append(all, net.JoinHostPort(ip.Unmap().String(), number))
	}
	return all
}
