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

// buffer is the check of what the kernel gives a connection, which is worth what the broker asks for with an
// option. limits tells the most that it may ask for from what it gets without asking.
func buffer(option string, limits bool) check {
	return func(m place) Reading {
		asked, err := strconv.ParseInt(strings.TrimSpace(m.Config.Get(option, kafkaBuffer)), 10, 64)
		if m.Role == Client || err != nil { // kafka.socket_buffers tells of the error
			return m.kernel()
		}
		larger := option + "=-1"
		if limits {
			m.want, larger = m.want.Floor(asked), "a larger "+option
		}
		r := m.judgedKernel()
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

func checkSocketBuffers(m place) Reading {
	if m.Config.File == "" {
		return Absent("no server.properties was read; Kafka's default is %s", kafkaBuffer)
	}
	var asked [2]int64
	for i, name := range []string{sendBuffer, receiveBuffer} {
		text, err := m.propertyNumber(name + "=" + kafkaBuffer)
		if err != nil {
			return Reading{Verdict: Unknown, Current: text, Note: err.Error()}
		}
		asked[i], _ = strconv.ParseInt(text, 10, 64) // propertyNumber has parsed it
	}
	r := Reading{Current: strconv.FormatInt(max(asked[0], asked[1]), 10)}
	if asked[0] != asked[1] {
		r.shown = fmt.Sprintf("send %d, receive %d", asked[0], asked[1])
	}
	if max(asked[0], asked[1]) < 0 {
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
