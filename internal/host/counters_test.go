package host

import (
	"testing"

	"github.com/kt-bench/kt/internal/must"
)

func TestCountersOfATree(t *testing.T) {
	got := files(must.Rows[map[string]string](t, "counters_files")).Counters()
	want := Counters{
		CPU: map[string]int64{
			"user": 1, "nice": 2, "system": 3, "idle": 4, "iowait": 5, "irq": 6, "softirq": 7, "steal": 8,
			"guest": 100, "guest_nice": 200, "total": 36,
		},
		VM:   map[string]int64{"nr_dirty": 42, "pswpout": 7, "oom_kill": 1},
		TCP:  map[string]int64{"RtoMax": 120000, "MaxConn": -1, "OutSegs": 1000, "RetransSegs": 3, "ListenOverflows": 4, "ListenDrops": 5},
		Soft: map[string]int64{"processed": 0xff + 0xffffffff, "dropped": 3, "squeezed": 10},
		NIC:  map[string]map[string]int64{"eth0": {"rx_dropped": 6}},
	}
	must.Match(t, want, got, "Counters()")
}

func TestCountersThatCannotBeReadAreNil(t *testing.T) {
	must.Match(t, Counters{}, files(nil).Counters(), "Counters() of an empty tree")
	got := files(map[string]string{"proc/net/netstat": "TcpExt: ListenDrops\nTcpExt: 5\n"}).Counters()
	must.Match(t, Counters{TCP: map[string]int64{"ListenDrops": 5}}, got, "Counters() with one of two files")
}
