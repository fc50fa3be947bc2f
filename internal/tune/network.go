package tune

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func retransmits(m place) Reading {
	again, sent := countOf(m.Before.TCP, m.After.TCP, "RetransSegs"), countOf(m.Before.TCP, m.After.TCP, "OutSegs")
	n, of, bad := again.grew, sent.grew, Verdict("")
	if of < 1000 {
		n, of, bad = again.total, sent.total, Info
	}
	switch {
	case !again.seen || !sent.seen:
		return Unreadable("the kernel's TCP counters could not be read")
	case of < 1000:
		return Absent("too little was sent: %s", plural(float64(of), "segment"))
	}
	return Reading{
		Current: strconv.FormatFloat(100*float64(n)/float64(of), 'f', -1, 64), bad: bad,
		Note: fmt.Sprintf("%d of %d segments %s", n, of, m.since(bad == "")),
	}
}

// localPorts are the first and last port that the kernel gives to outgoing connections, and how many there are.
func localPorts(m *Machine) (first, last, all int64, err error) {
	ports, err := intsOf(m, "net.ipv4.ip_local_port_range", 2)
	return ports[0], ports[1], max(0, ports[1]-ports[0]+1), err
}

func takenPorts(m place) Reading {
	first, last, _, err := localPorts(m.Machine)
	if err != nil {
		return m.unreadable(err)
	}
	ports := listenerPorts(m.Config.Get("listeners", "PLAINTEXT://:9092"))
	if len(ports) == 0 {
		return Absent("the ports of the broker's listeners are not known")
	}
	reserved, _ := m.Text(host.SysctlFile("net.ipv4.ip_local_reserved_ports")) // without it none are
	var taken []string
	for _, p := range ports {
		if p >= first && p <= last && !inPorts(reserved, p) {
			taken = append(taken, strconv.FormatInt(p, 10))
		}
	}
	if len(taken) == 0 {
		return Reading{Current: "none"}
	}
	all := strings.TrimPrefix(reserved+","+strings.Join(taken, ","), ",")
	return Reading{Current: strings.Join(taken, ","), Command: sysctlCommand("net.ipv4.ip_local_reserved_ports", all)}
}

// listenerPorts are the ports in Kafka's listeners: "PLAINTEXT://:9092,SSL://[::]:9093".
func listenerPorts(listeners string) (ports []int64) {
	for l := range strings.SplitSeq(listeners, ",") {
		p, err := strconv.ParseUint(strings.TrimSpace(l[strings.LastIndexByte(l, ':')+1:]), 10, 16)
		if err == nil && p > 0 && strings.Contains(l, ":") {
			ports = append(ports, int64(p))
		}
	}
	return ports
}

// inPorts reports whether a port is in a list as the kernel writes it: "9092,10000-10010".
func inPorts(list string, port int64) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(part string) bool {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		first, err := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		return err == nil && (first == port || ranged && err2 == nil && first <= port && port <= last)
	})
}

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
		if limits {
			m.want = m.want.Floor(asked)
		}
		r := m.judge(m.kernel())
		if have, err := strconv.ParseInt(r.Current, 10, 64); limits && err == nil && asked > have {
			r.Note = fmt.Sprintf("the broker requests %d (%s) and gets %d", asked, option, have)
		} else if r.Verdict == Warn && (limits || asked >= 0) {
			r.Verdict = Info
			m.withoutUse(&r, option, asked, limits)
		}
		return r
	}
}

// withoutUse says why a larger buffer of the kernel's would not help the broker as it is.
func (a place) withoutUse(r *Reading, option string, asked int64, limits bool) {
	switch {
	case a.Config.File == "" || a.Config.Err != nil:
		r.Note = "it matters for a broker with " + map[bool]string{true: "a larger " + option, false: option + "=-1"}[limits]
		return
	case asked < 0:
		r.Note = "the broker uses the kernel's buffers: tcp_rmem and tcp_wmem count instead"
	default:
		r.Note = fmt.Sprintf("a change has no effect: the broker sets its own buffer, of %d bytes", asked)
		r.Command = option + "=-1 in server.properties, then kt tune --apply" + a.pick
	}
	r.Changes = nil
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

// sysctlPath is a kernel setting's name below /proc/sys.
func sysctlPath(key string) string { return strings.TrimPrefix(host.SysctlFile(key), "proc/sys/") }

// numbersOf reads a kernel setting of n whole numbers, with one space between them; what holds anything else is not compared.
func numbersOf(m *Machine, key string, n int) (string, error) {
	name := host.SysctlFile(key)
	text, err := m.Text(name)
	if err != nil {
		return "", err
	}
	fields := strings.Fields(text)
	if len(fields) != n {
		if n == 1 {
			return "", fmt.Errorf("%s: %q is not a number", name, text)
		}
		return "", fmt.Errorf("%s: %q is not %d numbers", name, text, n)
	}
	for _, f := range fields {
		if _, err := strconv.ParseUint(f, 10, 64); err != nil && !whole64(f) { // fs.file-max can be large
			return "", fmt.Errorf("%s: %q is not a number", name, f)
		}
	}
	return strings.Join(fields, " "), nil
}

// whole64 reports whether a text is a whole number.
func whole64(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// intsOf are the numbers of a kernel setting that has n.
func intsOf(m *Machine, key string, n int) ([]int64, error) {
	text, err := numbersOf(m, key, n)
	ints := make([]int64, n)
	for i, f := range strings.Fields(text) {
		ints[i], _ = strconv.ParseInt(f, 10, 64) // numbersOf has parsed it
	}
	return ints, err
}

// kernel reads the kernel setting that the row is named after.
func (a place) kernel() Reading {
	id := a.row.ID
	current, err := numbersOf(a.Machine, id, max(1, a.row.Read.Sysctl, a.row.Takes.Raise))
	if err != nil {
		return a.unreadable(err)
	}
	return Reading{Current: current, set: func(value string) Change { return Sysctl(id, id, current, value) }}
}

// sysctlCommand sets a kernel setting until the machine starts again.
func sysctlCommand(key, value string) string {
	if strings.ContainsRune(value, ' ') {
		value = `"` + value + `"`
	}
	return "sysctl -w " + key + "=" + value
}

func cardsOfBond(m place) Reading {
	text, err := m.Text(m.names("sys/class/net/NAME/bonding/slaves"))
	cards := strings.Fields(text)
	var down []string
	for _, c := range cards {
		state, wrong := m.Text("sys/class/net/" + path.Base(c) + "/operstate")
		if err = cmp.Or(err, wrong); state != "up" {
			down = append(down, c)
		}
	}
	f := Reading{Current: "all up", shown: fmt.Sprintf("%d of %d up", len(cards)-len(down), len(cards))}
	switch {
	case err != nil:
		return Denied(err)
	case len(cards) == 0:
		f.Current, f.Note = "", "it has no cards"
	case len(down) > 0:
		f.Current, f.Note = "", "it is without "+strings.Join(down, " and ")
	}
	return f
}

// offloads are what a card or the kernel does for many packets at once: by the name that ethtool takes, those that
// it shows and that the kernel has. What the kernel does itself, gso and gro, is off only when somebody turned it off.
var offloads = [][]string{
	{"tso", "tcp-segmentation-offload", "tx-tcp-segmentation"},
	{"gso", "generic-segmentation-offload", "tx-generic-segmentation"},
	{"gro", "generic-receive-offload", "rx-gro"},
	{"rx", "rx-checksumming", "rx-checksum"},
	{"tx", "tx-checksumming", "tx-checksum-ip-generic", "tx-checksum-ipv4"},
	{"sg", "scatter-gather", "tx-scatter-gather"},
}

func cardOffloads(m place) Reading {
	var off []string
	for _, o := range offloads {
		known, on := false, false
		for _, name := range o[1:] {
			v, ok := m.card.Ethernet.Features[name]
			known, on = known || ok, on || v
		}
		if known && !on {
			off = append(off, o[0])
		}
	}
	f := Reading{Current: "on", bad: Info}
	if len(off) > 0 {
		f.Current, f.Command = strings.Join(off, ",")+" off", "ethtool -K "+m.name+" "+strings.Join(off, " on ")+" on"
	}
	if slices.Contains(off, "gso") || slices.Contains(off, "gro") || m.Virtual == "" && m.Exists(m.names("sys/class/net/CARD/device")) {
		f.bad = Warn
	}
	return m.ofDriver(len(m.card.Ethernet.Features) > 0, f)
}

func cardSteering(m place) Reading {
	queues := m.Glob(m.names("sys/class/net/CARD/queues/rx-*/rps_cpus"))
	if len(queues) == 0 {
		return Absent("its queues are not visible")
	}
	masks, err := m.texts(queues)
	if err != nil {
		return Denied(err)
	}
	steered := 0
	for i, mask := range masks {
		if strings.Trim(mask, "0123456789abcdef,") != "" {
			return Unreadable("%s: %q is no set of CPUs", queues[i], mask)
		}
		if strings.Trim(mask, "0,") != "" {
			steered++
		}
	}
	number := plural(float64(len(queues)), "queue")
	f := Reading{Current: fmt.Sprintf("%s, %d shared", number, steered), Verdict: OK}
	if steered == 0 && 4*len(queues) < m.Logical {
		f.Verdict, f.Note = Info, fmt.Sprintf("%s for %d CPUs", number, m.Logical)
	}
	return f
}

func cardAllowance(m place) Reading {
	known := false
	var over []string
	for _, name := range slices.Sorted(maps.Keys(m.card.Ethernet.Stats)) {
		kind, ok := strings.CutSuffix(name, "_allowance_exceeded")
		known = known || ok
		if v := m.card.Ethernet.Stats[name]; ok && v > 0 {
			over = append(over, fmt.Sprintf("%s %d", kind, v))
		}
	}
	f := Reading{Current: "0"}
	if len(over) > 0 {
		f.Current, f.Note = strings.Join(over, ", "), "since the driver started; see whether it grows during a test"
	}
	return m.ofDriver(known, f)
}

// ofDriver is a reading of what a card's driver reports.
func (a place) ofDriver(reports bool, r Reading) Reading {
	err := a.card.Err
	if err == nil && !reports || err != nil && Denied(err).Verdict == NotApplicable {
		return Absent("the driver does not report it")
	}
	if err != nil {
		return Denied(err)
	}
	return r
}

// cardFile is what a file of the card's says, if the driver reports it: some fail with EINVAL.
func (a place) cardFile(name string) (string, error) {
	text, err := a.Text(a.names("sys/class/net/CARD/" + name))
	if err != nil {
		err = none("the driver does not report it")
	}
	return text, err
}

// ethernet is a number that the card's driver reports, by the name that ethtool has for it.
func (a place) ethernet(name string) (int, error) {
	e := a.card.Ethernet
	n := map[string]int{"rx": e.RXRing, "rx_max": e.RXRingMax, "combined": e.Channels, "combined_max": e.ChannelsMax}[name]
	if r := a.ofDriver(n > 0, Reading{}); r.Verdict == NotApplicable {
		return n, none(r.Note)
	}
	return n, a.card.Err
}

// leastMTU is that of the card with the smallest.
func (m *Machine) leastMTU() int64 {
	least := int64(math.MaxInt64)
	for _, n := range m.NICs {
		if mtu, err := m.Number("sys/class/net/" + n.Name + "/mtu"); err == nil {
			least = min(least, mtu)
		}
	}
	return least
}
