package tune

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// ifCounted is the check of a kernel setting that is worth a change only where the
// kernel counts what it would help against.
func (s *Setting) ifCounted(m *Machine, want Rule) Reading {
	r := s.kernel(m, want)
	if r.Verdict != Info || want.Leave() {
		return r
	}
	switch c := countOf(m.Before.Soft, m.After.Soft, s.Read.IfCounted); {
	case !c.seen:
		return Reading{Verdict: Unknown, Current: r.Current, Note: "/proc/net/softnet_stat could not be read"}
	case c.grew > 0, c.total > 0 && m.Interval == 0:
		r.Note = c.say(m, s.Read.What)
	default:
		return Reading{Verdict: OK, Current: r.Current, Note: "no drops were counted: a larger value would not help"}
	}
	return r
}

func keepalive(m *Machine) (fact, error) {
	current, err := numbersOf(m, "net.ipv4.tcp_keepalive_time", 1)
	f := fact{value: current, shown: current}
	for _, name := range []string{"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"} {
		if n, err := numbersOf(m, name, 1); err == nil {
			f.shown += " / " + n
		}
	}
	return f, err
}

// mtuProbing is a note where the kernel probes by need: it does so for a connection whose full packets vanish.
func mtuProbing(m *Machine) (fact, error) {
	current, err := numbersOf(m, "net.ipv4.tcp_mtu_probing", 1)
	f := fact{value: current, verdict: OK}
	if probes := countOf(m.Before.TCP, m.After.TCP, "TCPMTUPSuccess", "TCPMTUPFail"); current == "1" && probes.total > 0 {
		f.verdict, f.note = Info, probes.say(m, "probes")+": path MTU discovery fails to some peer"
	}
	return f, err
}

func tracked(m *Machine) (fact, error) {
	const table = "net.netfilter.nf_conntrack_"
	most, err := m.Number(host.SysctlFile(table + "max"))
	if err != nil {
		return fact{}, err
	}
	used, err := m.Number(host.SysctlFile(table + "count"))
	if most <= 0 {
		return fact{value: "0", shown: fmt.Sprintf("%d, no limit", used)}, err
	}
	f := partOf(used, most)
	f.command = sysctlCommand(table+"max", strconv.FormatInt(2*most, 10))
	return f, err
}

func retransmits(m *Machine) (fact, error) {
	s := m.shareOf(m.Before.TCP, m.After.TCP, "RetransSegs", "OutSegs", 1000)
	switch {
	case !s.seen:
		return fact{}, errors.New("the kernel's TCP counters could not be read")
	case s.of < 1000:
		return fact{}, none("too little was sent: " + plural(float64(s.of), "segment"))
	}
	f := number(s.percent)
	f.note = fmt.Sprintf("%d of %d segments %s", s.n, s.of, s.when)
	if !s.recent {
		f.bad = Info
	}
	return f, nil
}

// localPorts are the first and last port that the kernel gives to outgoing connections, and how many there are.
func localPorts(m *Machine) (first, last, all int64, err error) {
	ports, err := intsOf(m, "net.ipv4.ip_local_port_range", 2)
	return ports[0], ports[1], max(0, ports[1]-ports[0]+1), err
}

func outgoingPorts(m *Machine) (fact, error) {
	first, last, all, err := localPorts(m)
	f := number(float64(all))
	f.note = fmt.Sprintf("%d to %d", first, last)
	return f, err
}

func restingPorts(m *Machine) (fact, error) {
	_, _, all, err := localPorts(m)
	if err != nil {
		return fact{}, err
	}
	resting, err := sockstat(m, "tw")
	return partOf(resting, max(1, all)), err
}

func takenPorts(m *Machine) (fact, error) {
	first, last, _, err := localPorts(m)
	if err != nil {
		return fact{}, err
	}
	ports := listenerPorts(m.Config.Get("listeners", "PLAINTEXT://:9092"))
	if len(ports) == 0 {
		return fact{}, none("the ports of the broker's listeners are not known")
	}
	reserved, _ := m.Text(host.SysctlFile("net.ipv4.ip_local_reserved_ports")) // without it none are
	var taken []string
	for _, p := range ports {
		if p >= first && p <= last && !inPorts(reserved, p) {
			taken = append(taken, strconv.FormatInt(p, 10))
		}
	}
	if len(taken) == 0 {
		return fact{value: "none"}, nil
	}
	all := strings.TrimPrefix(reserved+","+strings.Join(taken, ","), ",")
	return fact{value: strings.Join(taken, ","), command: sysctlCommand("net.ipv4.ip_local_reserved_ports", all)}, nil
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
