package cluster

import (
	"github.com/kt-bench/kt/internal/must"
	"net/netip"
	"testing"
)

func TestANameOfManyAgentsStandsForNoneOfThem(t *testing.T) {
	ip := netip.MustParseAddr
	for _, c := range []struct {
		ips  []netip.Addr
		want []string
	}{
		{nil, []string{"kt-agent:7946"}},
		{[]netip.Addr{ip("10.0.0.1")}, []string{"kt-agent:7946"}},
		{[]netip.Addr{ip("::ffff:10.0.0.1"), ip("10.0.0.2"), ip("fd00::1")}, []string{"10.0.0.1:7946", "10.0.0.2:7946", "[fd00::1]:7946"}},
	} {
		must.Match(t, c.want, spread("kt-agent:7946", "7946", c.ips), "%v", c.ips)
	}
}
