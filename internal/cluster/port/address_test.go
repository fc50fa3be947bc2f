package port

import (
	"net"
	"strconv"
	"testing"
)

func TestAddressesAreReadWithTheirDefaults(t *testing.T) {
	for _, c := range []struct {
		in, host string
		port     int
	}{
		{"vm14:7000", "vm14", 7000},
		{"vm14", "vm14", Default},
		{":7000", "", 7000},
		{"10.0.0.1", "10.0.0.1", Default},
		{"[fd00::1]:7000", "fd00::1", 7000},
		{"fd00::1", "fd00::1", Default},
		{"127.0.0.1:0", "127.0.0.1", 0},
	} {
		host, port, err := Split(c.in)
		if err != nil || host != c.host || port != c.port {
			t.Errorf("Split(%q) = %q, %d, %v, want %q, %d", c.in, host, port, err, c.host, c.port)
		}
	}
	for _, in := range []string{"vm14:", "vm14:x", "vm14:70000", "vm14:-1", "a:b:c", "[fd00::1"} {
		if host, port, err := Split(in); err == nil {
			t.Errorf("Split(%q) = %q, %d, want an error", in, host, port)
		}
	}
}

// FuzzSplit checks that an accepted address has a valid port, and is the same after joining and
// splitting it again.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"vm14:7946", "vm14", ":0", "[::1]:7", "::1", "a:b:c", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, port, err := Split(s)
		if err != nil {
			return
		}
		again, p, err := Split(net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil || again != host || p != port || port < 0 || port > 65535 {
			t.Errorf("Split(%q) = %q, %d, and again %q, %d, %v", s, host, port, again, p, err)
		}
	})
}
