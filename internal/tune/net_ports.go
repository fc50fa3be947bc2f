package tune

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// localPorts are the first and last port that the kernel gives to outgoing connections.
func localPorts(m *Machine) (first, last int64, err error) {
	text, err := numbersOf(m, "net.ipv4.ip_local_port_range", 2)
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(text)
	first, _ = strconv.ParseInt(f[0], 10, 64) // numbersOf has parsed both
	last, _ = strconv.ParseInt(f[1], 10, 64)
	return first, last, nil
}

func checkNetPorts(m *Machine, _ Rule) Reading {
	first, last, err := localPorts(m)
	if err != nil {
		return Denied(err)
	}
	r := Reading{Verdict: OK, Current: fmt.Sprintf("%d %d", first, last), Wanted: "≥ 28000 ports"}
	if last-first+1 < 28000 {
		r.Verdict, r.Note = Warn, fmt.Sprintf("that is %d ports", max(0, last-first+1))
		r.Command = sysctlCommand("net.ipv4.ip_local_port_range", "1024 65535")
	}
	return r
}

func checkNetTimeWait(m *Machine, _ Rule) Reading {
	first, last, err := localPorts(m)
	if err != nil {
		return Denied(err)
	}
	resting, err := sockstat(m, "TCP", "tw")
	if err != nil {
		return Denied(err)
	}
	ports := max(1, last-first+1)
	r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d", resting, ports), Wanted: "≤ half"}
	if resting > ports/2 {
		r.Verdict = Warn
	}
	return r
}

func checkNetListenerPorts(m *Machine, _ Rule) Reading {
	first, last, err := localPorts(m)
	if err != nil {
		return Denied(err)
	}
	reserved, _ := m.Text(host.SysctlFile("net.ipv4.ip_local_reserved_ports")) // without it none are
	ports := listenerPorts(m.Config.Get("listeners", "PLAINTEXT://:9092"))
	var taken []string
	for _, p := range ports {
		if p >= first && p <= last && !inPorts(reserved, p) {
			taken = append(taken, strconv.FormatInt(p, 10))
		}
	}
	switch {
	case len(ports) == 0:
		return Absent("the ports of the broker's listeners are not known")
	case len(taken) == 0:
		return Reading{Verdict: OK, Current: "none"}
	}
	list := strings.Join(taken, ",")
	all := list
	if reserved != "" {
		all = reserved + "," + list
	}
	return Reading{
		Verdict: Warn, Current: list, Wanted: "reserved",
		Command: sysctlCommand("net.ipv4.ip_local_reserved_ports", all),
	}
}

// listenerPorts are the ports in Kafka's listeners: "PLAINTEXT://:9092,SSL://[::]:9093".
func listenerPorts(listeners string) []int64 {
	var ports []int64
	for l := range strings.SplitSeq(listeners, ",") {
		if i := strings.LastIndexByte(l, ':'); i >= 0 {
			if p, err := strconv.ParseUint(strings.TrimSpace(l[i+1:]), 10, 16); err == nil && p > 0 {
				ports = append(ports, int64(p))
			}
		}
	}
	return ports
}

// inPorts reports whether a port is in a list as the kernel writes it: "9092,10000-10010".
func inPorts(list string, port int64) bool {
	for part := range strings.SplitSeq(list, ",") {
		from, to, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			to = from
		}
		first, err := strconv.ParseInt(from, 10, 64)
		last, err2 := strconv.ParseInt(to, 10, 64)
		if err == nil && err2 == nil && first <= port && port <= last {
			return true
		}
	}
	return false
}
