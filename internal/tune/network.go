package tune

import (
	"cmp"
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

func keepalive(m *Machine) (Reading, error) {
	current, err := numbersOf(m, "net.ipv4.tcp_keepalive_time", 1)
	f := Reading{Current: current, shown: current}
	for _, name := range []string{"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"} {
		if n, err := numbersOf(m, name, 1); err == nil {
			f.shown += " / " + n
		}
	}
	return f, err
}

// mtuProbing is a note where the kernel probes by need: it does so for a connection whose full packets vanish.
func mtuProbing(m *Machine) (Reading, error) {
	current, err := numbersOf(m, "net.ipv4.tcp_mtu_probing", 1)
	f := Reading{Verdict: OK, Current: cmp.Or(rowOf("net.ipv4.tcp_mtu_probing").Read.Shown[current], current)}
	if probes := countOf(m.Before.TCP, m.After.TCP, "TCPMTUPSuccess", "TCPMTUPFail"); current == "1" && probes.total > 0 {
		f.Verdict, f.Note = Info, probes.say(m, "probes")+": path MTU discovery fails to some peer"
	}
	return f, err
}

// unsentData reads -1, as older kernels write no bound, as the largest bound that there is.
func unsentData(m *Machine) (Reading, error) {
	r := m.sysctl("net.ipv4.tcp_notsent_lowat", 1)
	if r.Current == "-1" {
		r.Current = "4294967295"
	}
	return r, nil
}

func tracked(m *Machine) (Reading, error) {
	const table = "net.netfilter.nf_conntrack_"
	most, err := m.Number(host.SysctlFile(table + "max"))
	if err != nil {
		return Reading{}, err
	}
	used, err := m.Number(host.SysctlFile(table + "count"))
	if most <= 0 {
		return Reading{Current: "0", shown: fmt.Sprintf("%d, no limit", used)}, err
	}
	f := partOf(used, most)
	f.Command = sysctlCommand(table+"max", strconv.FormatInt(2*most, 10))
	return f, err
}

func retransmits(m *Machine) (Reading, error) {
	s := m.shareOf(m.Before.TCP, m.After.TCP, "RetransSegs", "OutSegs", 1000)
	switch {
	case !s.seen:
		return Reading{}, errors.New("the kernel's TCP counters could not be read")
	case s.of < 1000:
		return Reading{}, none("too little was sent: " + plural(float64(s.of), "segment"))
	}
	f := numeral(s.percent)
	f.Note = fmt.Sprintf("%d of %d segments %s", s.n, s.of, s.when)
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

func outgoingPorts(m *Machine) (Reading, error) {
	first, last, all, err := localPorts(m)
	f := numeral(float64(all))
	f.Note = fmt.Sprintf("%d to %d", first, last)
	return f, err
}

func restingPorts(m *Machine) (Reading, error) {
	_, _, all, err := localPorts(m)
	if err != nil {
		return Reading{}, err
	}
	resting, err := sockstat(m, "tw")
	return partOf(resting, max(1, all)), err
}

func takenPorts(m *Machine) (Reading, error) {
	first, last, _, err := localPorts(m)
	if err != nil {
		return Reading{}, err
	}
	ports := listenerPorts(m.Config.Get("listeners", "PLAINTEXT://:9092"))
	if len(ports) == 0 {
		return Reading{}, none("the ports of the broker's listeners are not known")
	}
	reserved, _ := m.Text(host.SysctlFile("net.ipv4.ip_local_reserved_ports")) // without it none are
	var taken []string
	for _, p := range ports {
		if p >= first && p <= last && !inPorts(reserved, p) {
			taken = append(taken, strconv.FormatInt(p, 10))
		}
	}
	if len(taken) == 0 {
		return Reading{Current: "none"}, nil
	}
	all := strings.TrimPrefix(reserved+","+strings.Join(taken, ","), ",")
	return Reading{Current: strings.Join(taken, ","), Command: sysctlCommand("net.ipv4.ip_local_reserved_ports", all)}, nil
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
