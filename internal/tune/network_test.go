package tune

import (
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
)

func TestKernelSettingsOfTheNetwork(t *testing.T) {
	on := func(key string) []trial { // those that are on by default
		return []trial{
			{says: key + " is on", id: key, files: sysctls(key, "1"), want: "ok 1 (1)"},
			{says: key + " is off", id: key, files: sysctls(key, "0"), want: "warn 0 (1) | $ sysctl -w " + key + "=1"},
		}
	}
	const lowat, idle, recycle, poll, alive = "net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_tw_recycle", "net.core.busy_poll", "net.ipv4.tcp_keepalive_time"
	const probing = "net.ipv4.tcp_mtu_probing"
	probes := func(n int64) map[string]int64 { return map[string]int64{"TCPMTUPSuccess": n, "TCPMTUPFail": 0} }
	tryAll(t, slices.Concat(on("net.ipv4.tcp_window_scaling"), on("net.ipv4.tcp_sack"), on("net.ipv4.tcp_moderate_rcvbuf"), []trial{
		{says: "unsent data is not", id: lowat, files: sysctls(lowat, "4294967295"), want: "info 4294967295 (≤ 131072) | $ sysctl -w net.ipv4.tcp_notsent_lowat=131072"},
		{says: "unsent data of an old kernel", id: lowat, files: sysctls(lowat, "-1"), want: "info 4294967295 (≤ 131072) | $ sysctl -w net.ipv4.tcp_notsent_lowat=131072"},

		{says: "recycling is on", id: recycle, files: sysctls(recycle, "1"), want: "warn 1 (0) | $ sysctl -w net.ipv4.tcp_tw_recycle=0"},

		{says: "no busy polling", id: poll, files: sysctls(poll, "0", "net.core.busy_read", "0"), want: "ok 0 (0) | 0"},
		{says: "busy polling", id: poll, files: sysctls(poll, "50", "net.core.busy_read", "0"), want: "info 50 (0) | 0 | $ sysctl -w net.core.busy_poll=0"},

		{says: "no probing", id: probing, files: sysctls(probing, "0"), want: "ok 0, off"},
		{says: "probing that nothing needed", id: probing, files: sysctls(probing, "1"), set: counting(nil, probes(0)), want: "ok 1, by need"},
		{says: "probing that something needed", id: probing, files: sysctls(probing, "1"), set: counting(probes(2), probes(5)), want: "info 1, by need | 3 5s"},
		{says: "probing by choice", id: probing, files: sysctls(probing, "2"), set: counting(nil, probes(5)), want: "ok 2, always"},

		{says: "signs of life soon", id: alive, files: sysctls(alive, "60", "net.ipv4.tcp_keepalive_intvl", "10", "net.ipv4.tcp_keepalive_probes", "3"), want: "ok 60 / 10 / 3 (≤ 300)"},
		{says: "signs of life late", id: alive, files: sysctls(alive, "7200"), want: "info 7200 (≤ 300)"},

		{
			says: "congestion control is told", id: "net.ipv4.tcp_congestion_control", files: sysctls("net.ipv4.tcp_congestion_control", "bbr", "net.core.default_qdisc", "fq_codel"),
			want: "info bbr | …",
		},
	}))
}

func TestQueuesAreRaisedOnlyAgainstWhatIsCounted(t *testing.T) {
	const backlog, budget = "net.core.netdev_max_backlog", "net.core.netdev_budget"
	soft := func(interval time.Duration, name string, before, after int64) func(*Machine) {
		return func(m *Machine) {
			m.Interval = interval
			m.Before.Soft, m.After.Soft = map[string]int64{name: before}, map[string]int64{name: after}
		}
	}
	tryAll(t, []trial{
		{says: "nothing was dropped", id: backlog, files: sysctls(backlog, "1000"), set: soft(5*time.Second, "dropped", 0, 0), want: "ok 1000 | …"},
		{says: "dropped long ago", id: backlog, files: sysctls(backlog, "1000"), set: soft(5*time.Second, "dropped", 9, 9), want: "ok 1000 | …"},
		{
			says: "dropped while kt looked", id: backlog, files: sysctls(backlog, "1000"), set: soft(5*time.Second, "dropped", 9, 11),
			want: "info 1000 (≥ 16384) | 2 5s | $ sysctl -w net.core.netdev_max_backlog=16384",
		},
		{says: "dropped, and kt did not wait", id: backlog, files: sysctls(backlog, "1000"), set: soft(0, "dropped", 9, 9), want: "info 1000 (≥ 16384) | 9 | $ sysctl -w net.core.netdev_max_backlog=16384"},
		{says: "not counted", id: backlog, files: sysctls(backlog, "1000"), want: "unknown 1000 | /proc/net/softnet_stat"},
		{says: "squeezed", id: budget, files: sysctls(budget, "300"), set: soft(5*time.Second, "squeezed", 0, 7), want: "info 300 (≥ 600) | 7 5s | $ sysctl -w net.core.netdev_budget=600"},
	})
}

func TestPorts(t *testing.T) {
	const ports, resting, listeners = "net.ipv4.ip_local_port_range", "net.time_wait", "net.listener_ports"
	with := func(tw, first, last string) map[string]string {
		files := sysctls(ports, first+"\t"+last)
		files["proc/net/sockstat"] = "TCP: inuse 1 orphan 0 tw " + tw + " alloc 1 mem 2"
		return files
	}
	tryAll(t, []trial{
		{says: "the kernel's range", id: ports, files: sysctls(ports, "32768\t60999"), want: "ok 28232 ports (≥ 28000 ports) | 32768 60999"},
		{says: "a narrow range", id: ports, files: sysctls(ports, "50000 60000"), want: `warn 10001 ports (≥ 28000 ports) | 50000 60000 | $ sysctl -w net.ipv4.ip_local_port_range="1024 65535"`},

		{says: "most rest", id: resting, files: with("20000", "32768", "60999"), want: "warn 20000 of 28232 (≤ 50 %)"},

		{says: "the broker's port is apart", id: listeners, files: sysctls(ports, "32768 60999"), want: "ok none (none)"},
		{says: "the broker's port is among them", id: listeners, files: sysctls(ports, "1024 65535"), want: "warn 9092 (none) | $ sysctl -w net.ipv4.ip_local_reserved_ports=9092"},
		{
			says: "one of two is reserved", id: listeners, files: sysctls(ports, "1024 65535", "net.ipv4.ip_local_reserved_ports", "8080,9090-9092"), set: configured("listeners", "PLAINTEXT://:9092,CONTROLLER://[::1]:9093"),
			want: "warn 9093 (none) | $ sysctl -w net.ipv4.ip_local_reserved_ports=8080,9090-9092,9093",
		},
		{says: "no port", id: listeners, files: sysctls(ports, "1024 65535"), set: configured("listeners", "what"), want: "not_applicable | …"},
	})
}

func TestListenerPorts(t *testing.T) {
	for text, want := range map[string][]int64{
		"PLAINTEXT://:9092": {9092},
		"PLAINTEXT://0.0.0.0:9092, SSL://host:9093 ,X://[::]:9094": {9092, 9093, 9094},
		"PLAINTEXT://:0":     nil, // any port
		"PLAINTEXT://:99999": nil,
		"":                   nil,
		":::,,:x":            nil,
	} {
		must.Match(t, want, listenerPorts(text), "listenerPorts(%q)", text)
	}
}

func TestConntrack(t *testing.T) {
	const id, count, most = "net.conntrack", "net.netfilter.nf_conntrack_count", "net.netfilter.nf_conntrack_max"
	tryAll(t, []trial{
		{says: "nearly full", id: id, files: sysctls(count, "71", most, "100"), want: "warn 71 of 100 (≤ 70 %) | $ sysctl -w net.netfilter.nf_conntrack_max=200"},
		{says: "no limit", id: id, files: sysctls(count, "71", most, "0"), want: "ok 71, no limit (≤ 70 %)"},
		{says: "not readable", id: id, files: sysctls(count, denied, most, "100"), want: "unknown | …"},
	})
}

func TestRetransmits(t *testing.T) {
	const id = "tcp.retransmits"
	tcp := func(again, sent int64) map[string]int64 {
		return map[string]int64{"RetransSegs": again, "OutSegs": sent}
	}
	tryAll(t, []trial{
		{says: "many", id: id, set: counting(tcp(5, 0), tcp(25, 10000)), want: "warn 0.2 % (≤ 0.1 %) | 20 10000 5s"},
		{says: "many before", id: id, set: counting(tcp(100, 10000), tcp(100, 10010)), want: "info 1 % (≤ 0.1 %) | 100 10010"},
		{says: "a machine that just started", id: id, set: counting(tcp(1, 5), tcp(1, 5)), want: "not_applicable | 5"},
	})
}
