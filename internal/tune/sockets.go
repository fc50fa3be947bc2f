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

// bufferFault is what is wrong with the size of the buffers that the broker asks for to "send" or "receive"; "" for nothing.
func (a place) bufferFault(to string) string {
	option, limit := "socket."+to+".buffer.bytes", map[string]string{"send": "net.core.wmem_max", "receive": "net.core.rmem_max"}[to]
	asked, _ := strconv.ParseInt(strings.TrimSpace(a.Config.Get(option, kafkaBuffer)), 10, 64) // the row has read it
	switch most, err := a.Number(host.SysctlFile(limit)); {
	case err == nil && asked > most:
		return fmt.Sprintf("%s is %d, and %s cuts it to %d", option, asked, limit, most)
	case asked >= 0 && asked < 65536:
		return fmt.Sprintf("%s is %d, less than Kafka's default (%s)", option, asked, kafkaBuffer)
	}
	return ""
}
