package tune

import (
	"io/fs"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// sysctls are a machine's kernel settings.
func sysctls(pairs ...string) map[string]string {
	files := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		files[host.SysctlFile(pairs[i])] = pairs[i+1]
	}
	return files
}

// configured gives a machine a broker's settings.
func configured(pairs ...string) func(*Machine) {
	return func(m *Machine) {
		m.Config = Config{File: "/etc/kafka/server.properties", Values: make(map[string]string)}
		for i := 0; i < len(pairs); i += 2 {
			m.Config.Values[pairs[i]] = pairs[i+1]
		}
	}
}

func client(m *Machine) { m.Role = Client }

func TestBuffersDependOnWhatTheBrokerAsksFor(t *testing.T) {
	const rmax, wmax, rmem, wmem = "net.core.rmem_max", "net.core.wmem_max", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"
	raise := func(from, to string) []string { return []string{"/proc/sys/net/core/rmem_max " + from + " -> " + to} }
	tryAll(t, []trial{
		{says: "large enough", id: rmax, files: sysctls(rmax, "33554432"), verdict: OK, current: "33554432"},
		{
			says: "a broker with Kafka's own buffers gains nothing", id: rmax, files: sysctls(rmax, "212992"), set: configured(),
			verdict: Info, current: "212992", note: "no effect: the broker requests 102400",
			command: "socket.receive.buffer.bytes=-1 in server.properties, then kt tune --apply",
		},
		{
			says: "a broker whose configuration is not known", id: rmax, files: sysctls(rmax, "212992"),
			verdict: Info, current: "212992", note: "matters for a broker with a larger socket.receive.buffer.bytes", changes: raise("212992", "16777216"),
		},
		{
			says: "a broker whose configuration cannot be read", id: rmax, files: sysctls(rmax, "212992"),
			set:     func(m *Machine) { m.Config = Config{File: "/etc/kafka/server.properties", Err: fs.ErrPermission} },
			verdict: Info, current: "212992", note: "matters for a broker with a larger", changes: raise("212992", "16777216"),
		},
		{
			says: "a client gains", id: rmax, files: sysctls(rmax, "212992"), set: client,
			verdict: Warn, current: "212992", changes: raise("212992", "16777216"),
		},
		{
			says: "a broker that asks for more than it gets", id: rmax, files: sysctls(rmax, "212992"), set: configured(receiveBuffer, "1048576"),
			verdict: Warn, current: "212992", note: "requests 1048576 (socket.receive.buffer.bytes) and gets 212992", changes: raise("212992", "16777216"),
		},
		{
			says: "a broker that asks for more than the profile", id: rmax, files: sysctls(rmax, "16777216"), set: configured(receiveBuffer, "102400000"),
			verdict: Warn, current: "16777216", note: "requests 102400000", changes: raise("16777216", "102400000"),
		},
		{
			says: "a broker that leaves it to the kernel", id: wmax, files: sysctls(wmax, "212992"), set: configured(sendBuffer, "-1"),
			verdict: Info, current: "212992", note: "tcp_rmem and tcp_wmem count instead",
		},
		{says: "a laptop", id: rmax, profile: "minimal", files: sysctls(rmax, "212992"), verdict: Info, current: "212992"},
		{says: "garbage in the configuration", id: rmax, files: sysctls(rmax, "33554432"), set: configured(receiveBuffer, "1 MiB"), verdict: OK, current: "33554432"},
		{says: "garbage", id: rmax, files: sysctls(rmax, "much"), verdict: Unknown, note: "not a number"},
		{says: "not readable", id: rmax, files: sysctls(rmax, denied), verdict: Unknown, note: "needs root"},
		{says: "a container without it", id: rmax, verdict: NotApplicable},

		{says: "a range that is wide enough", id: rmem, files: sysctls(rmem, "4096\t131072\t33554432"), verdict: OK, current: "4096 131072 33554432"},
		{
			says: "no effect on a broker with buffers of its own", id: rmem, files: sysctls(rmem, "4096\t131072\t6291456"), set: configured(),
			verdict: Info, current: "4096 131072 6291456", note: "no effect: the broker requests 102400",
			command: "socket.receive.buffer.bytes=-1 in server.properties, then kt tune --apply",
		},
		{
			says: "a broker whose configuration is not known, and a range", id: rmem, files: sysctls(rmem, "4096\t131072\t6291456"),
			verdict: Info, current: "4096 131072 6291456", note: "matters for a broker with socket.receive.buffer.bytes=-1",
			changes: []string{"/proc/sys/net/ipv4/tcp_rmem 4096 131072 6291456 -> 4096 131072 16777216"},
		},
		{
			says: "a broker that leaves it to the kernel gains", id: wmem, files: sysctls(wmem, "8192\t16384\t4194304"), set: configured(sendBuffer, "-1"),
			verdict: Warn, current: "8192 16384 4194304", changes: []string{"/proc/sys/net/ipv4/tcp_wmem 8192 16384 4194304 -> 8192 16384 16777216"},
		},
		{
			says: "a client gains", id: wmem, files: sysctls(wmem, "4096 16384 4194304"), set: client,
			verdict: Warn, current: "4096 16384 4194304", changes: []string{"/proc/sys/net/ipv4/tcp_wmem 4096 16384 4194304 -> 4096 16384 16777216"},
		},
		{says: "latency asks for less", id: wmem, profile: "latency", files: sysctls(wmem, "4096 16384 4194304"), set: client, verdict: OK, current: "4096 16384 4194304"},
		{says: "two numbers", id: rmem, files: sysctls(rmem, "4096 131072"), verdict: Unknown, note: "is not 3 numbers"},
		{says: "a range that is not readable", id: rmem, files: sysctls(rmem, denied), verdict: Unknown},

		{says: "the start of others", id: "net.core.rmem_default", files: sysctls("net.core.rmem_default", "212992"), verdict: OK, current: "212992"},
		{says: "a large start", id: "net.core.wmem_default", files: sysctls("net.core.wmem_default", "16777216"), verdict: Info, current: "16777216"},
		{says: "a start that is garbage", id: "net.core.wmem_default", files: sysctls("net.core.wmem_default", "-"), verdict: Unknown},
	})
}

func TestBuffersOfTheBroker(t *testing.T) {
	const id = "kafka.socket_buffers"
	limits := sysctls("net.core.rmem_max", "212992", "net.core.wmem_max", "4194304")
	tryAll(t, []trial{
		{says: "Kafka's own", id: id, files: limits, set: configured(), verdict: Info, current: "102400", note: "enough within one site"},
		{says: "no configuration", id: id, files: limits, verdict: NotApplicable, note: "no server.properties was read"},
		{says: "left to the kernel", id: id, files: limits, set: configured(sendBuffer, "-1", receiveBuffer, "-1"), verdict: OK, current: "-1"},
		{
			says: "one of them cut", id: id, files: limits, set: configured(sendBuffer, "1048576", receiveBuffer, "1048576"),
			verdict: Warn, current: "1048576", note: "socket.receive.buffer.bytes is 1048576, and net.core.rmem_max cuts it to 212992", command: "=-1",
		},
		{says: "within bounds", id: id, files: limits, set: configured(sendBuffer, "1048576"), verdict: Info, current: "send 1048576, receive 102400", note: "enough"},
		{says: "very small", id: id, files: limits, set: configured(sendBuffer, "8192"), verdict: Warn, current: "send 8192, receive 102400", note: "less than Kafka's default", command: "=-1"},
		{says: "bounds not known", id: id, set: configured(sendBuffer, "1048576"), verdict: Info, current: "send 1048576, receive 102400"},
		{says: "garbage", id: id, files: limits, set: configured(sendBuffer, "1m"), verdict: Unknown, note: `socket.send.buffer.bytes: "1m" is not a number`},
	})
}

// counting gives a machine counters of TCP before and after 5 s.
func counting(before, after map[string]int64) func(*Machine) {
	return func(m *Machine) {
		m.Interval = 5 * time.Second
		m.Before.TCP, m.After.TCP = before, after
	}
}

func lost(drops, overflows int64) map[string]int64 {
	return map[string]int64{"ListenDrops": drops, "ListenOverflows": overflows}
}

func TestBacklogs(t *testing.T) {
	const most, kafka = "net.core.somaxconn", "kafka.listen_backlog"
	tryAll(t, []trial{
		{says: "enough", id: most, files: sysctls(most, "4096"), verdict: OK, current: "4096"},
		{says: "too few", id: most, files: sysctls(most, "128"), verdict: Warn, current: "128", changes: []string{"/proc/sys/net/core/somaxconn 128 -> 4096"}},
		{says: "not many", id: most, files: sysctls(most, "2048"), verdict: Info, current: "2048", changes: []string{"/proc/sys/net/core/somaxconn 2048 -> 4096"}},
		{says: "more is not lowered", id: most, files: sysctls(most, "65535"), verdict: OK, current: "65535"},
		{says: "a laptop", id: most, profile: "minimal", files: sysctls(most, "128"), verdict: Info, current: "128"},
		{says: "garbage", id: most, files: sysctls(most, "4096 4096"), verdict: Unknown},

		{says: "half open", id: "net.ipv4.tcp_max_syn_backlog", files: sysctls("net.ipv4.tcp_max_syn_backlog", "8192"), verdict: OK, current: "8192"},
		{
			says: "few half open", id: "net.ipv4.tcp_max_syn_backlog", files: sysctls("net.ipv4.tcp_max_syn_backlog", "1024"),
			verdict: Info, current: "1024", changes: []string{"/proc/sys/net/ipv4/tcp_max_syn_backlog 1024 -> 4096"},
		},

		{says: "nothing was lost", id: kafka, files: sysctls(most, "4096"), set: counting(lost(0, 0), lost(0, 0)), verdict: OK, current: "50"},
		{says: "some were lost while kt looked", id: kafka, set: counting(lost(10, 10), lost(13, 12)), verdict: Warn, current: "50", note: "3 connections were dropped in 5s", command: "backlog.size=1024"},
		{says: "some were lost before", id: kafka, set: counting(lost(10, 10), lost(10, 10)), verdict: Warn, current: "50", note: "10 connections were dropped since boot", command: "backlog.size=1024"},
		{
			says: "some were lost before, and it was raised", id: kafka, verdict: Info, current: "1024", note: "10 connections",
			set: func(m *Machine) {
				configured("socket.listen.backlog.size", "1024")(m)
				counting(lost(10, 10), lost(10, 10))(m)
			},
		},
		{
			says: "the kernel cuts it", id: kafka, files: sysctls(most, "128"), set: configured("socket.listen.backlog.size", "1024"),
			verdict: Warn, current: "1024", note: "cuts it to 128", command: "sysctl -w net.core.somaxconn=1024",
		},
		{says: "no counters", id: kafka, verdict: Unknown, current: "50"},
		{says: "garbage in the configuration", id: kafka, set: configured("socket.listen.backlog.size", "many"), verdict: Unknown, note: `"many"`},
	})
}

func TestMemoryOfConnections(t *testing.T) {
	const id, sockstat = "net.ipv4.tcp_mem", "proc/net/sockstat"
	with := func(mem string) map[string]string {
		files := sysctls(id, "100\t200\t300")
		files[sockstat] = "sockets: used 15\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem " + mem + "\nUDP: inuse 0 mem 9"
		return files
	}
	pressed := func(n int64) map[string]int64 { return map[string]int64{"TCPMemoryPressures": n} }
	tryAll(t, []trial{
		{says: "little is used", id: id, files: with("46"), verdict: OK, current: "46 of 200"},
		{says: "much is used", id: id, files: with("201"), verdict: Warn, current: "201 of 200"},
		{says: "it ran short while kt looked", id: id, files: with("46"), set: counting(pressed(1), pressed(3)), verdict: Warn, current: "46 of 200", note: "2 shortages"},
		{says: "it ran short before", id: id, files: with("46"), set: counting(pressed(3), pressed(3)), verdict: Info, current: "46 of 200", note: "3 shortages"},
		{says: "garbage", id: id, files: with("much"), verdict: Unknown, note: "not a number"},
		{says: "use not readable", id: id, files: map[string]string{host.SysctlFile(id): "1 2 3", sockstat: denied}, verdict: Unknown, note: "needs root"},
		{says: "use not told", id: id, files: map[string]string{host.SysctlFile(id): "1 2 3", sockstat: "TCP: inuse 1 mem"}, verdict: Unknown, note: "does not report"},
	})
}
