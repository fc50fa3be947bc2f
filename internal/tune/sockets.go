package tune

import (
	"fmt"
	"strconv"

	"github.com/kt-bench/kt/internal/host"
)

// Kafka's names for the buffers of a broker's connections. -1 leaves them to the kernel.
const (
	sendBuffer    = "socket.send.buffer.bytes"
	receiveBuffer = "socket.receive.buffer.bytes"
	kafkaBuffer   = 102400 // what it takes for either when it is not set
)

// bufferCheck is the check of what the kernel gives a connection, which is worth what the broker asks for with an
// option. limits tells the most that it may ask for from what it gets without asking.
func bufferCheck(key, option string, limits bool) check {
	return func(m *Machine, want Rule) Reading {
		asked, _, ok := m.Config.number(option, kafkaBuffer) // kafka.socket_buffers tells what is wrong with it
		if m.Role == Client || !ok {
			return rowOf(key).kernel(m, want)
		}
		larger := option + "=-1"
		if limits {
			want, larger = want.Floor(asked), "a larger "+option
		}
		r := rowOf(key).kernel(m, want)
		have, err := strconv.ParseInt(r.Current, 10, 64)
		switch {
		case limits && err == nil && asked > have:
			r.Note = fmt.Sprintf("the broker requests %d (%s) and gets %d", asked, option, have)
		case r.Verdict != Warn, !limits && asked < 0:
		case m.Config.File == "" || m.Config.Err != nil:
			r.Verdict, r.Note = Info, "it matters for a broker with "+larger
		case asked < 0:
			r.Verdict, r.Changes = Info, nil
			r.Note = "the broker uses the kernel's buffers: tcp_rmem and tcp_wmem count instead"
		default: // a change would do nothing
			r.Verdict, r.Changes = Info, nil
			r.Note = fmt.Sprintf("a change has no effect: the broker sets its own buffer, of %d bytes", asked)
			r.Command = option + "=-1 in server.properties, then kt tune --apply" + m.pick
		}
		return r
	}
}

func socketBuffers(m *Machine) (fact, error) {
	if m.Config.File == "" {
		return fact{}, none(fmt.Sprintf("no server.properties was read; Kafka's default is %d", kafkaBuffer))
	}
	var asked [2]int64
	note := ""
	for i, b := range [2][2]string{{sendBuffer, "net.core.wmem_max"}, {receiveBuffer, "net.core.rmem_max"}} {
		n, wrong, ok := m.Config.number(b[0], kafkaBuffer)
		if !ok {
			return fact{}, fmt.Errorf("%s", wrong.Note)
		}
		asked[i] = n
		switch limit, err := m.Number(host.SysctlFile(b[1])); {
		case err == nil && n > limit:
			note = joined(note, fmt.Sprintf("%s is %d, and %s cuts it to %d", b[0], n, b[1], limit))
		case n >= 0 && n < 65536:
			note = joined(note, fmt.Sprintf("%s is %d, less than Kafka's default (%d)", b[0], n, kafkaBuffer))
		}
	}
	f := fact{value: fmt.Sprintf("send %d, receive %d", asked[0], asked[1]), note: note}
	if asked[0] == asked[1] {
		f.value = strconv.FormatInt(asked[0], 10)
	}
	f.shown = f.value
	if max(asked[0], asked[1]) < 0 {
		f.value = "-1"
		return f, nil
	}
	f.command = sendBuffer + "=-1 and " + receiveBuffer + "=-1"
	if note == "" {
		f.bad, f.command = Info, ""
		f.note = "enough within one site: kernel settings for larger buffers have no effect on this broker"
	}
	return f, nil
}

func listenBacklog(m *Machine) (fact, error) {
	backlog, wrong, ok := m.Config.number("socket.listen.backlog.size", 50)
	if !ok {
		return fact{}, fmt.Errorf("%s", wrong.Note)
	}
	f := fact{value: strconv.FormatInt(backlog, 10), verdict: OK}
	if limit, err := m.Number(host.SysctlFile("net.core.somaxconn")); err == nil && backlog > limit {
		f.verdict, f.rule, f.command = Warn, Rule{AtMost, strconv.FormatInt(limit, 10)}, sysctlCommand("net.core.somaxconn", f.value)
		f.note = fmt.Sprintf("net.core.somaxconn cuts it to %d; it takes effect when the broker starts", limit)
		return f, nil
	}
	// A listener that overflows drops too: the two count the same event, drops others besides.
	lost := countOf(m.Before.TCP, m.After.TCP, "ListenDrops")
	if overflows := countOf(m.Before.TCP, m.After.TCP, "ListenOverflows"); overflows.total > lost.total {
		lost = overflows
	}
	switch {
	case !lost.seen:
		return f, fmt.Errorf("it is %d; the kernel's count of overflows could not be read", backlog)
	case lost.total > 0:
		f.verdict, f.rule, f.note = lost.verdict(), Rule{AtLeast, "1024"}, lost.say(m, "connections were dropped")
		if backlog < 1024 {
			f.verdict, f.command = Warn, "socket.listen.backlog.size=1024"
		}
	}
	return f, nil
}

func tcpMemory(m *Machine) (fact, error) {
	limits, err := intsOf(m, "net.ipv4.tcp_mem", 3)
	if err != nil {
		return fact{}, err
	}
	used, err := sockstat(m, "mem")
	f := partOf(used, limits[1])
	pressed := countOf(m.Before.TCP, m.After.TCP, "TCPMemoryPressures")
	switch {
	case used > limits[1]:
		f.note = "the kernel keeps buffers small now"
	case pressed.total > 0:
		f.verdict, f.note = pressed.verdict(), pressed.say(m, "shortages of memory")
	}
	return f, err
}
