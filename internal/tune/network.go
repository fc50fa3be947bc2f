package tune

import (
	"fmt"
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
