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
func bufferMax(key, option string) check {
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
func bufferRange(key, option string) check {
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

// memDefault is the check of the first buffer of sockets other than TCP.
func memDefault(key string) check {
	return func(m *Machine, _ Rule) Reading {
		current, err := numbersOf(m, key, 1)
		if err != nil {
			return Denied(err)
		}
		if n, _ := strconv.ParseInt(current, 10, 64); n > 4<<20 { // numbersOf has parsed it
			return Reading{Verdict: Info, Current: current, Note: "each new socket other than TCP may take that much"}
		}
		return Reading{Verdict: OK, Current: current}
	}
}

func checkKafkaSocketBuffers(m *Machine, _ Rule) Reading { return readSocketBuffers(m) }

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
			r.addNote("%s is %d, and %s cuts it to %d", b.option, b.asked, b.key, limit)
		case b.asked >= 0 && b.asked < 65536:
			r.Verdict = Warn
			r.addNote("%s is %d, less than Kafka's default (%s)", b.option, b.asked, kafkaBuffer)
		}
	}
	if r.Verdict == Info {
		r.Note = "enough within one site: kernel settings for larger buffers have no effect on this broker"
		r.Command = ""
	}
	return r
}

func checkNetSomaxconn(m *Machine, want Rule) Reading {
	r := numberCheck("net.core.somaxconn", Warn, true)(m, want)
	if n, err := strconv.Atoi(r.Current); err == nil && n >= 1024 && r.Verdict == Warn {
		r.Verdict = Info
	}
	return r
}

func checkKafkaListenBacklog(m *Machine, _ Rule) Reading { return readBacklog(m) }

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

func checkNetTCPMemory(m *Machine, _ Rule) Reading {
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
