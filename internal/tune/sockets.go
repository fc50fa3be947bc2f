package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// Kafka's names for the buffers of a broker's connections, and what it takes for
// either when it is not set. -1 leaves them to the kernel.
const (
	sendBuffer    = "socket.send.buffer.bytes"
	receiveBuffer = "socket.receive.buffer.bytes"
	kafkaBuffer   = "102400"
)

// brokerBuffer is the buffer in bytes that the broker asks the kernel for, -1 for none.
func brokerBuffer(m *Machine, option string) (int64, error) {
	text := strings.TrimSpace(m.Config.Get(option, kafkaBuffer))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a number", option, text)
	}
	return n, nil
}

// bufferMax is the check of the most that a program may ask for. What a broker's
// configuration asks for decides what it is worth.
func bufferMax(key, option string) func(*Machine, Rule) Reading {
	check := numberCheck(key, Warn, true)
	return func(m *Machine, want Rule) Reading {
		asked, err := brokerBuffer(m, option)
		if m.Role == Client || err != nil { // kafka.socket_buffers tells of the error
			return check(m, want)
		}
		r := check(m, want.Floor(asked))
		have, err := strconv.ParseInt(r.Current, 10, 64)
		switch {
		case err != nil: // not read
		case asked > have:
			r.Note = fmt.Sprintf("the broker requests %d (%s) and gets %d", asked, option, have)
		case r.Verdict != Warn:
		case !configKnown(m):
			r.Verdict, r.Note = Info, "it matters for a broker with a larger "+option
		case asked < 0:
			r.Verdict, r.Changes = Info, nil
			r.Note = "the broker uses the kernel's buffers: tcp_rmem and tcp_wmem count instead"
		default:
			r.bound(m, asked, option)
		}
		return r
	}
}

// bufferRange is the check of the buffers that the kernel gives to connections that
// ask for none.
func bufferRange(key, option string) func(*Machine, Rule) Reading {
	check := numbersCheck(key, 3, Warn, true)
	return func(m *Machine, want Rule) Reading {
		r := check(m, want)
		asked, err := brokerBuffer(m, option)
		switch {
		case m.Role == Client, err != nil, asked < 0, r.Verdict != Warn:
		case !configKnown(m):
			r.Verdict, r.Note = Info, "it matters for a broker with "+option+"=-1"
		default:
			r.bound(m, asked, option)
		}
		return r
	}
}

// configKnown reports whether the broker's settings are known.
func configKnown(m *Machine) bool { return m.Config.File != "" && m.Config.Err == nil }

// bound takes back a change that would do nothing for a broker that asks for a buffer
// of its own: that comes first.
func (r *Reading) bound(m *Machine, asked int64, option string) {
	r.Verdict, r.Changes = Info, nil
	r.Note = fmt.Sprintf("a change has no effect: the broker sets its own buffer, of %d bytes", asked)
	r.Command = option + "=-1 in server.properties, then kt tune --apply" + m.pick
}

func netMemMax(key, option, title string) *Setting {
	return &Setting{
		ID: key, Group: Network, Title: title, Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Applies: true, Valid: raiseOnly(1),
		Why: "connections over a distance are slower. The kernel silently cuts larger buffers",
		Detail: "In bytes; never lowered. It limits buffers that a program requests itself, as Kafka does with " + option + ", 102400 by default. " +
			"For such a broker a higher limit alone changes nothing, so kt does not raise it. The Definitive Guide sets 2 MiB, Intel 16 MiB, Oracle's profile for TuneD " +
			"4 MiB and 1 MiB, others up to 128 MiB. New kernels start with more than the older of these, so values from books may lower it. " +
			"A broker with -1 there and clients that request no buffer use tcp_rmem and tcp_wmem.",
		Reads:   []string{"/proc/sys/" + sysctlPath(key), "server.properties"},
		Sources: []string{"Kafka: The Definitive Guide", "Intel: Kafka tuning guide", "socket(7)"},
		Risk:    "more memory for connections that use it",
		Check:   bufferMax(key, option),
	}
}

func netMemDefault(key, title string) *Setting {
	return &Setting{
		ID: key, Group: Network, Title: title, Roles: []Role{Broker},
		Severity: Informational, Confidence: Folklore,
		Why: "no effect on Kafka. It is the initial buffer of sockets other than TCP",
		Detail: "In bytes; do not change it. The Definitive Guide sets 128 KiB and Intel 16 MiB, but TCP starts from the middle value of " +
			"tcp_rmem and tcp_wmem. A high value wastes memory on sockets that do not need it.",
		Reads:   []string{"/proc/sys/" + sysctlPath(key)},
		Sources: []string{"tcp(7)", "Kafka: The Definitive Guide (for the opposite)", "Intel: Kafka tuning guide (for the opposite)"},
		Check: func(m *Machine, _ Rule) Reading {
			current, err := numbersOf(m, key, 1)
			if err != nil {
				return Denied(err)
			}
			if n, _ := strconv.ParseInt(current, 10, 64); n > 4<<20 { // numbersOf has parsed it
				return Reading{Verdict: Info, Current: current, Note: "each new socket other than TCP may take that much"}
			}
			return Reading{Verdict: OK, Current: current}
		},
	}
}

func netTCPMem(key, option, title string) *Setting {
	return &Setting{
		ID: key, Group: Network, Title: title, Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Applies: true, Valid: raiseOnly(3),
		Why: "one connection is slow over a distance. It moves at most one buffer (the last value) for each round trip",
		Detail: "In bytes: minimum, initial and maximum. kt raises each value separately and never lowers one. It affects programs that " +
			"request no buffer: clients in Go and librdkafka, and a broker with " + option + "=-1. " +
			"TuneD network-throughput and Intel set 16 MiB as the maximum, the Definitive Guide 2 MiB, which is less than the default of today's kernels.",
		Reads:   []string{"/proc/sys/" + sysctlPath(key), "server.properties"},
		Sources: []string{"TuneD network-throughput", "Intel: Kafka tuning guide", "tcp(7)"},
		Risk:    "more memory for connections that use it",
		Check:   bufferRange(key, option),
	}
}

func netAutotuning() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_moderate_rcvbuf", Group: Network, Title: "automatic growth of receive buffers", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Want: "1",
		Valid:   wholeNumber(1),
		Why:     "receive buffers stay at the middle value of tcp_rmem, whatever the distance",
		Detail:  "On by default. A program that requests a receive buffer itself turns it off for that connection.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_moderate_rcvbuf"},
		Sources: []string{"tcp(7)"},
		Check:   numberCheck("net.ipv4.tcp_moderate_rcvbuf", Warn, false),
	}
}

func kafkaSocketBuffers() *Setting {
	return &Setting{
		ID: "kafka.socket_buffers", Group: Network, Title: "buffer sizes that the broker requests", Roles: []Role{Broker},
		Severity: Warning, Confidence: Documented,
		Why: "one connection is slow over a distance. It moves at most this much for each round trip, and the kernel cuts more than " +
			"its limit",
		Detail: "socket.send.buffer.bytes and socket.receive.buffer.bytes, 102400 each by default. With -1 the kernel grows them as " +
			"needed. Within one site 100 KiB is enough for 100 MB/s and more of each connection; over a distance set bandwidth × " +
			"round trip, or -1. Strimzi sets 1 MiB for slow links. Intel's guide sets 102400000 here, but 16 MiB as the kernel's " +
			"limit.",
		Reads:   []string{"server.properties", "/proc/sys/net/core/wmem_max", "/proc/sys/net/core/rmem_max"},
		Sources: []string{"Kafka documentation: Broker Configs", "Strimzi: broker configuration tuning", "socket(7)"},
		Risk:    "the broker has to be restarted",
		Check:   func(m *Machine, _ Rule) Reading { return readSocketBuffers(m) },
	}
}

func readSocketBuffers(m *Machine) Reading {
	if m.Config.File == "" {
		return Absent("no server.properties was read; Kafka's default is %s", kafkaBuffer)
	}
	send, err := brokerBuffer(m, sendBuffer)
	receive, err2 := brokerBuffer(m, receiveBuffer)
	for _, e := range []error{err, err2} {
		if e != nil {
			return Reading{Verdict: Unknown, Note: e.Error()}
		}
	}
	r := Reading{Verdict: Info, Current: strconv.FormatInt(send, 10), Wanted: "-1 over a distance"}
	if send != receive {
		r.Current = fmt.Sprintf("send %d, receive %d", send, receive)
	}
	if send < 0 && receive < 0 {
		return Reading{Verdict: OK, Current: r.Current}
	}
	r.Command = sendBuffer + "=-1 and " + receiveBuffer + "=-1"
	for _, b := range []struct {
		asked       int64
		option, key string
	}{{send, sendBuffer, "net.core.wmem_max"}, {receive, receiveBuffer, "net.core.rmem_max"}} {
		switch limit, err := m.Number(host.SysctlFile(b.key)); {
		case err == nil && b.asked > limit:
			r.Verdict = Warn
			r.Note = joined(r.Note, fmt.Sprintf("%s is %d, and %s cuts it to %d", b.option, b.asked, b.key, limit))
		case b.asked >= 0 && b.asked < 65536:
			r.Verdict = Warn
			r.Note = joined(r.Note, fmt.Sprintf("%s is %d, less than Kafka's default (%s)", b.option, b.asked, kafkaBuffer))
		}
	}
	if r.Verdict == Info {
		r.Note = "enough within one site: kernel settings for larger buffers have no effect on this broker"
		r.Command = ""
	}
	return r
}

func netSomaxconn() *Setting {
	return &Setting{
		ID: "net.core.somaxconn", Group: Network, Title: "maximum of connections waiting to be accepted", Roles: []Role{Broker},
		Severity: Warning, Confidence: Documented, Applies: true,
		Valid: raiseOnly(1),
		Why:   "clients wait a second or more when many connect at once. The queue is full",
		Detail: "Never lowered. The kernel's default is 4096 since 5.4 and was 128 before; TuneD sets 2048, rpk 4096. It limits the " +
			"request of a program: Kafka requests 50 (socket.listen.backlog.size). For a broker of 3.2 or later raise both, and see " +
			"kafka.listen_backlog. A container has its own value.",
		Reads:   []string{"/proc/sys/net/core/somaxconn"},
		Sources: []string{"Kafka documentation: Broker Configs", "TuneD throughput-performance", "rpk tune net", "kernel documentation: ip-sysctl"},
		Check: func(m *Machine, want Rule) Reading {
			r := numberCheck("net.core.somaxconn", Warn, true)(m, want)
			if n, err := strconv.Atoi(r.Current); err == nil && n >= 1024 && r.Verdict == Warn {
				r.Verdict = Info
			}
			return r
		},
	}
}

func netSynBacklog() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_max_syn_backlog", Group: Network, Title: "maximum of half-open connections", Roles: []Role{Broker},
		Severity: Informational, Confidence: Documented, Applies: true,
		Valid: raiseOnly(1),
		Why:   "first packets are dropped when many clients connect at once. They are sent again later",
		Detail: "Never lowered. The kernel's default depends on the memory; rpk and perftune set 4096, the Definitive Guide more than " +
			"1024. Kafka's backlog also limits it for each listener.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_max_syn_backlog"},
		Sources: []string{"Kafka: The Definitive Guide", "rpk tune net", "tcp(7)"},
		Check:   numberCheck("net.ipv4.tcp_max_syn_backlog", Info, true),
	}
}

func kafkaListenBacklog() *Setting {
	return &Setting{
		ID: "kafka.listen_backlog", Group: Network, Title: "queue length for new connections of the broker", Roles: []Role{Broker},
		Severity: Warning, Confidence: Documented,
		Why: "new clients waited a second or more. The full queue dropped their connections",
		Detail: "socket.listen.backlog.size is 50 by default, since Kafka 3.2; before, it could not be set. The kernel limits it to " +
			"net.core.somaxconn. 50 is enough until the kernel counts overflows, which it does for all listening programs together. " +
			"Then set 1024 or more for both.",
		Reads:   []string{"server.properties", "/proc/net/netstat", "/proc/sys/net/core/somaxconn"},
		Sources: []string{"Kafka documentation: Broker Configs", "KIP-764"},
		Risk:    "the broker has to be restarted",
		Check:   func(m *Machine, _ Rule) Reading { return readBacklog(m) },
	}
}

func readBacklog(m *Machine) Reading {
	text := strings.TrimSpace(m.Config.Get("socket.listen.backlog.size", "50"))
	backlog, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Reading{Verdict: Unknown, Note: fmt.Sprintf("socket.listen.backlog.size: %q is not a number", text)}
	}
	r := Reading{Verdict: OK, Current: text}
	if limit, err := m.Number(host.SysctlFile("net.core.somaxconn")); err == nil && backlog > limit {
		r.Verdict, r.Wanted = Warn, "≤ net.core.somaxconn"
		r.Note = fmt.Sprintf("the broker requests %d, and net.core.somaxconn cuts it to %d; it takes effect when the broker starts", backlog, limit)
		r.Command = sysctlCommand("net.core.somaxconn", text)
		return r
	}
	// A listener that overflows drops too: the two count the same event, drops others besides.
	lost := countOf(m.Before.TCP, m.After.TCP, "ListenDrops")
	if overflows := countOf(m.Before.TCP, m.After.TCP, "ListenOverflows"); overflows.total > lost.total {
		lost = overflows
	}
	switch {
	case !lost.seen:
		return Reading{Verdict: Unknown, Current: text, Note: "the kernel's count of overflows could not be read"}
	case lost.grew > 0, lost.total > 0 && backlog < 1024:
		r.Verdict = Warn
	case lost.total > 0:
		r.Verdict = Info
	default:
		return r
	}
	r.Wanted, r.Note = "≥ 1024", lost.say(m, "connections were dropped")
	if backlog < 1024 {
		r.Command = "socket.listen.backlog.size=1024"
	}
	return r
}

func netTCPMemory() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_mem", Group: Network, Title: "memory of all TCP connections", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented,
		Why: "buffers stay small above the middle value. The kernel drops packets above the last value",
		Detail: "In pages, mostly of 4 KiB: low, pressure, high. The kernel sets it by the machine's memory: do not change it unless the " +
			"use comes near. Many thousands of connections with large buffers do that.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_mem", "/proc/net/sockstat", "/proc/net/netstat"},
		Sources: []string{"tcp(7)"},
		Check: func(m *Machine, _ Rule) Reading {
			limits, err := numbersOf(m, "net.ipv4.tcp_mem", 3)
			if err != nil {
				return Denied(err)
			}
			used, err := sockstat(m, "TCP", "mem")
			if err != nil {
				return Denied(err)
			}
			pressure, _ := strconv.ParseInt(strings.Fields(limits)[1], 10, 64) // numbersOf has parsed it
			r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d", used, pressure), Wanted: fmt.Sprintf("≤ %d pages", pressure)}
			pressed := countOf(m.Before.TCP, m.After.TCP, "TCPMemoryPressures")
			switch {
			case used > pressure:
				r.Verdict, r.Note = Warn, "the kernel keeps buffers small now"
			case pressed.grew > 0:
				r.Verdict, r.Note = Warn, pressed.say(m, "shortages of memory")
			case pressed.total > 0:
				r.Verdict, r.Note = Info, pressed.say(m, "shortages of memory")
			}
			return r
		},
	}
}

// sockstat is a figure in /proc/net/sockstat: of "TCP", "mem".
func sockstat(m *Machine, protocol, name string) (int64, error) {
	const file = "proc/net/sockstat"
	text, err := m.Text(file)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // "TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 46"
		if len(f) == 0 || f[0] != protocol+":" {
			continue
		}
		for i := 1; i+1 < len(f); i += 2 {
			if f[i] == name {
				n, err := strconv.ParseInt(f[i+1], 10, 64)
				if err != nil {
					return 0, fmt.Errorf("%s: %q is not a number", file, f[i+1])
				}
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("%s: it does not report %s of %s", file, name, protocol)
}

// count is what the kernel counted: over the interval, and since the machine started.
type count struct {
	grew, total int64
	seen        bool
}

// countOf adds up those of some counters that are there.
func countOf(before, after map[string]int64, names ...string) count {
	var c count
	for _, name := range names {
		if total, ok := after[name]; ok {
			c.seen = true
			c.total += total
		}
		if grew, ok := Delta(before, after, name); ok {
			c.grew += grew
		}
	}
	return c
}

// say is "3 connections were dropped in 5s", or since the machine started when the
// interval has seen none.
func (c count) say(m *Machine, what string) string {
	if c.grew > 0 {
		return fmt.Sprintf("%d %s in %s", c.grew, what, m.Interval)
	}
	return fmt.Sprintf("%d %s since boot", c.total, what)
}
