package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// Kafka's names for the buffers of a broker's connections. -1 leaves them to the kernel.
const (
	sendBuffer    = "socket.send.buffer.bytes"
	receiveBuffer = "socket.receive.buffer.bytes"
	kafkaBuffer   = "102400" // what it takes for either when it is not set
)

// bufferCheck is the check of what the kernel gives a connection, which is worth what the broker asks for with an
// option. limits tells the most that it may ask for from what it gets without asking.
func bufferCheck(key, option string, limits bool) check {
	return func(m *Machine, want Rule) Reading {
		asked, err := strconv.ParseInt(strings.TrimSpace(m.Config.Get(option, kafkaBuffer)), 10, 64)
		if m.Role == Client || err != nil { // kafka.socket_buffers tells of the error
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

func checkSocketBuffers(m *Machine, _ Rule, asked []int64) Reading {
	if m.Config.File == "" {
		return Absent("no server.properties was read; Kafka's default is %s", kafkaBuffer)
	}
	r := Reading{shown: fmt.Sprintf("send %d, receive %d", asked[0], asked[1])}
	if asked[0] == asked[1] {
		r.shown = strconv.FormatInt(asked[0], 10)
	}
	if max(asked[0], asked[1]) < 0 {
		r.Current = "-1"
		return r
	}
	for i, b := range [2][2]string{{sendBuffer, "net.core.wmem_max"}, {receiveBuffer, "net.core.rmem_max"}} {
		switch limit, err := m.Number(host.SysctlFile(b[1])); {
		case err == nil && asked[i] > limit:
			r.addNote("%s is %d, and %s cuts it to %d", b[0], asked[i], b[1], limit)
		case asked[i] >= 0 && asked[i] < 65536:
			r.addNote("%s is %d, less than Kafka's default (%s)", b[0], asked[i], kafkaBuffer)
		}
	}
	if r.Note != "" {
		r.Command = sendBuffer + "=-1 and " + receiveBuffer + "=-1"
		return r
	}
	r.bad, r.Note = Info, "enough within one site: kernel settings for larger buffers have no effect on this broker"
	return r
}

func checkListenBacklog(m *Machine, _ Rule, asked []int64) Reading {
	backlog := asked[0]
	r := Reading{Verdict: OK, Current: strconv.FormatInt(backlog, 10)}
	if limit, err := m.Number(host.SysctlFile("net.core.somaxconn")); err == nil && backlog > limit {
		r.Verdict, r.Wanted, r.Command = Warn, "≤ net.core.somaxconn", sysctlCommand("net.core.somaxconn", r.Current)
		r.Note = fmt.Sprintf("net.core.somaxconn cuts it to %d; it takes effect when the broker starts", limit)
		return r
	}
	// A listener that overflows drops too: the two count the same event, drops others besides.
	lost := countOf(m.Before.TCP, m.After.TCP, "ListenDrops")
	if overflows := countOf(m.Before.TCP, m.After.TCP, "ListenOverflows"); overflows.total > lost.total {
		lost = overflows
	}
	switch {
	case !lost.seen:
		r.Verdict, r.Note = Unknown, "the kernel's count of overflows could not be read"
	case lost.total > 0:
		r.Verdict, r.Wanted, r.Note = lost.verdict(), "≥ 1024", lost.say(m, "connections were dropped")
		if backlog < 1024 {
			r.Verdict, r.Command = Warn, "socket.listen.backlog.size=1024"
		}
	}
	return r
}

func tcpMemory(m *Machine) (Reading, error) {
	limits, err := intsOf(m, "net.ipv4.tcp_mem", 3)
	if err != nil {
		return Reading{}, err
	}
	used, err := sockstat(m, "mem")
	f := partOf(used, limits[1])
	pressed := countOf(m.Before.TCP, m.After.TCP, "TCPMemoryPressures")
	switch {
	case used > limits[1]:
		f.Note = "the kernel keeps buffers small now"
	case pressed.total > 0:
		f.Verdict, f.Wanted, f.Note = pressed.verdict(), "≤ 100 %", pressed.say(m, "shortages of memory")
	}
	return f, err
}
