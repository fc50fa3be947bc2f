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
	tryAll(t, []trial{
		{says: "large enough", id: rmax, files: sysctls(rmax, "33554432"), want: "ok 33554432 (≥ 16777216)"},
		{
			says: "a broker with Kafka's own buffers gains nothing", id: rmax, files: sysctls(rmax, "212992"), set: configured(),
			want: "info 212992 (≥ 16777216) | 102400 | $ socket.receive.buffer.bytes=-1 in server.properties, then",
		},
		{says: "a broker whose configuration is not known", id: rmax, files: sysctls(rmax, "212992"), want: "info 212992 (≥ 16777216) | … | /proc/sys/net/core/rmem_max: 212992 → 16777216, kept"},
		{
			says: "a broker whose configuration cannot be read", id: rmax, files: sysctls(rmax, "212992"), set: func(m *Machine) { m.Config = Config{File: "/etc/kafka/server.properties", Err: fs.ErrPermission} },
			want: "info 212992 (≥ 16777216) | … | /proc/sys/net/core/rmem_max: 212992 → 16777216, kept",
		},
		{says: "a client gains", id: rmax, files: sysctls(rmax, "212992"), set: client, want: "warn 212992 (≥ 16777216) | /proc/sys/net/core/rmem_max: 212992 → 16777216, kept"},
		{
			says: "a broker that asks for more than it gets", id: rmax, files: sysctls(rmax, "212992"), set: configured(receiveBuffer, "1048576"),
			want: "warn 212992 (≥ 16777216) | 1048576 212992 | /proc/sys/net/core/rmem_max: 212992 → 16777216, kept",
		},
		{
			says: "a broker that asks for more than the profile", id: rmax, files: sysctls(rmax, "16777216"), set: configured(receiveBuffer, "102400000"),
			want: "warn 16777216 (≥ 102400000) | 102400000 16777216 | /proc/sys/net/core/rmem_max: 16777216 → 102400000, kept",
		},
		{says: "a broker that leaves it to the kernel", id: wmax, files: sysctls(wmax, "212992"), set: configured(sendBuffer, "-1"), want: "info 212992 (≥ 16777216) | …"},
		{says: "garbage in the configuration", id: rmax, files: sysctls(rmax, "33554432"), set: configured(receiveBuffer, "1 MiB"), want: "ok 33554432 (≥ 16777216)"},
		{says: "not readable", id: rmax, files: sysctls(rmax, denied), want: "unknown | …"},

		{says: "a range that is wide enough", id: rmem, files: sysctls(rmem, "4096\t131072\t33554432"), want: "ok 4096 131072 33554432 (number 3 ≥ 16777216)"},
		{
			says: "no effect on a broker with buffers of its own", id: rmem, files: sysctls(rmem, "4096\t131072\t6291456"), set: configured(),
			want: "info 4096 131072 6291456 (number 3 ≥ 16777216) | 102400 | $ socket.receive.buffer.bytes=-1 in server.properties, then",
		},
		{
			says: "a broker that leaves it to the kernel gains", id: wmem, files: sysctls(wmem, "8192\t16384\t4194304"), set: configured(sendBuffer, "-1"),
			want: "warn 8192 16384 4194304 (number 3 ≥ 16777216) | /proc/sys/net/ipv4/tcp_wmem: 8192 16384 4194304 → 8192 16384 16777216, kept",
		},
		{
			says: "a client gains", id: wmem, files: sysctls(wmem, "4096 16384 4194304"), set: client,
			want: "warn 4096 16384 4194304 (number 3 ≥ 16777216) | /proc/sys/net/ipv4/tcp_wmem: 4096 16384 4194304 → 4096 16384 16777216, kept",
		},
		{says: "two numbers", id: rmem, files: sysctls(rmem, "4096 131072"), want: `unknown | proc/sys/net/ipv4/tcp_rmem "4096 131072" 3`},
	})
}

func TestBuffersOfTheBroker(t *testing.T) {
	const id = "kafka.socket_buffers"
	limits := sysctls("net.core.rmem_max", "212992", "net.core.wmem_max", "4194304")
	tryAll(t, []trial{
		{says: "Kafka's own", id: id, files: limits, set: configured(), want: "info 102400 (-1 over a distance) | …"},
		{says: "left to the kernel", id: id, files: limits, set: configured(sendBuffer, "-1", receiveBuffer, "-1"), want: "ok -1 (-1 over a distance)"},
		{
			says: "one of them cut", id: id, files: limits, set: configured(sendBuffer, "1048576", receiveBuffer, "1048576"),
			want: "warn 1048576 (-1 over a distance) | 1048576 212992 | $ socket.send.buffer.bytes=-1 and socket.receive.buffer.bytes=-1",
		},
		{says: "within bounds", id: id, files: limits, set: configured(sendBuffer, "1048576"), want: "info send 1048576, receive 102400 (-1 over a distance) | …"},
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
		{says: "enough", id: most, files: sysctls(most, "4096"), want: "ok 4096 (≥ 4096)"},
		{says: "too few", id: most, files: sysctls(most, "128"), want: "warn 128 (≥ 4096) | /proc/sys/net/core/somaxconn: 128 → 4096, kept"},
		{says: "a laptop", id: most, profile: "minimal", files: sysctls(most, "128"), want: "info 128 (left alone)"},

		{says: "nothing was lost", id: kafka, files: sysctls(most, "4096"), set: counting(lost(0, 0), lost(0, 0)), want: "ok 50"},
		{says: "some were lost while kt looked", id: kafka, set: counting(lost(10, 10), lost(13, 12)), want: "warn 50 (≥ 1024) | 3 5s | $ socket.listen.backlog.size=1024"},
		{says: "some were lost before", id: kafka, set: counting(lost(10, 10), lost(10, 10)), want: "warn 50 (≥ 1024) | 10 | $ socket.listen.backlog.size=1024"},
		{says: "some were lost before, and it was raised", id: kafka, set: func(m *Machine) {
			configured("socket.listen.backlog.size", "1024")(m)
			counting(lost(10, 10), lost(10, 10))(m)
		}, want: "info 1024 (≥ 1024) | 10"},
		{
			says: "the kernel cuts it", id: kafka, files: sysctls(most, "128"), set: configured("socket.listen.backlog.size", "1024"),
			want: "warn 1024 (≤ net.core.somaxconn) | 128 | $ sysctl -w net.core.somaxconn=1024",
		},
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
		{says: "little is used", id: id, files: with("46"), want: "ok 46 of 200 (≤ 100 %)"},
		{says: "much is used", id: id, files: with("201"), want: "warn 201 of 200 (≤ 100 %) | …"},
		{says: "it ran short while kt looked", id: id, files: with("46"), set: counting(pressed(1), pressed(3)), want: "warn 46 of 200 (≤ 100 %) | 2 5s"},
		{says: "it ran short before", id: id, files: with("46"), set: counting(pressed(3), pressed(3)), want: "info 46 of 200 (≤ 100 %) | 3"},
		{says: "use not told", id: id, files: map[string]string{host.SysctlFile(id): "1 2 3", sockstat: "TCP: inuse 1 mem"}, want: "unknown | /proc/net/sockstat"},
	})
}
