package cluster

import (
	"net/netip"
	"slices"
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
		if got := spread("kt-agent:7946", "7946", c.ips); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.ips, got, c.want)
		}
	}
}
