package tune

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/kt-bench/kt/internal/host"
)

// networkSettings are about TCP and the kernel's queues.
func networkSettings() []*Setting {
	return []*Setting{
		netMemMax("net.core.rmem_max", receiveBuffer, "largest receive buffer"),
		netMemMax("net.core.wmem_max", sendBuffer, "largest send buffer"),
		netTCPMem("net.ipv4.tcp_rmem", receiveBuffer, "receive buffers of TCP"),
		netTCPMem("net.ipv4.tcp_wmem", sendBuffer, "send buffers of TCP"),
		kafkaSocketBuffers(), netAutotuning(),
		netMemDefault("net.core.rmem_default", "receive buffer at the start"),
		netMemDefault("net.core.wmem_default", "send buffer at the start"),
		netTCPMemory(),
		netSomaxconn(), kafkaListenBacklog(), netSynBacklog(),
		netWindowScaling(), netSack(), netSlowStart(), netNotsentLowat(), netRecycle(),
		netBacklog(), netBudget(), netBusyPoll(), netKeepalive(), netCongestion(),
		netPorts(), netTimeWait(), netListenerPorts(), netConntrack(), netRetransmits(),
	}
}

func netWindowScaling() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_window_scaling", Group: Network, Title: "TCP windows above 64 KiB", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Want: "1",
		Valid:   wholeNumber(1),
		Why:     "one connection has at most 64 KiB in flight, whatever its buffers",
		Detail:  "On by default; old guides still list it. Both ends need it.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_window_scaling"},
		Sources: []string{"Kafka: The Definitive Guide", "Cloudera: Kafka tuning", "tcp(7)"},
		Check:   numberCheck("net.ipv4.tcp_window_scaling", Warn, false),
	}
}

func netSack() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_sack", Group: Network, Title: "selective acknowledgements", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Want: "1",
		Valid: wholeNumber(1),
		Why:   "each lost packet repeats data that had arrived",
		Detail: "On by default. Some turned it off in 2019 against attacks (CVE-2019-11477). Kernels since then are safe, but it often " +
			"stayed off.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_sack"},
		Sources: []string{"tcp(7)", "Red Hat: TCP SACK PANIC"},
		Check:   numberCheck("net.ipv4.tcp_sack", Warn, false),
	}
}

func netSlowStart() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_slow_start_after_idle", Group: Network, Title: "slow start after a pause", Roles: []Role{Broker, Client},
		Severity: Informational, Confidence: Documented, Applies: true,
		Valid:   wholeNumber(1),
		Why:     "a burst after a pause starts slowly. A pause of less than a second is enough",
		Detail:  "TuneD network-throughput turns it off. No source has a value for Kafka. The gain grows with the round trip.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_slow_start_after_idle"},
		Sources: []string{"TuneD network-throughput", "tcp(7)"},
		Risk:    "bursts into a network that became busier meanwhile",
		Check:   numberCheck("net.ipv4.tcp_slow_start_after_idle", Info, true),
	}
}

func netNotsentLowat() *Setting {
	const key = "net.ipv4.tcp_notsent_lowat"
	return &Setting{
		ID: key, Group: Network, Title: "unsent data of a connection", Roles: []Role{Broker},
		Severity: Informational, Confidence: Documented, Valid: wholeNumber(-1),
		Why: "send buffers take page cache. Large ones fill with data that cannot be sent yet",
		Detail: "In bytes. TuneD network-throughput sets 131072; the kernel's default is no limit. kt knows of no value for Kafka and " +
			"does not change it.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_notsent_lowat"},
		Sources: []string{"TuneD network-throughput", "kernel documentation: ip-sysctl"},
		Check: func(m *Machine, want Rule) Reading {
			current, err := numbersOf(m, key, 1)
			if err != nil {
				return Denied(err)
			}
			if current == "-1" { // as older kernels write no bound
				current = "4294967295"
			}
			r := Compare(current, want, Info)
			if r.Verdict == Info && !want.Leave() {
				r.Command = sysctlCommand(key, want.Target(current))
			}
			return r
		},
	}
}

func netRecycle() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_tw_recycle", Group: Network, Title: "early reuse of closed connections", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Documented, Want: "0",
		Valid: wholeNumber(1),
		Why:   "clients behind one address sometimes cannot connect",
		Detail: "Old guides turn it on. It is off by default and was removed in Linux 4.12. tcp_tw_reuse is another setting, and " +
			"harmless.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_tw_recycle"},
		Sources: []string{"kernel commit 4396e46187ca", "tcp(7)"},
		Check: func(m *Machine, want Rule) Reading {
			const key = "net.ipv4.tcp_tw_recycle"
			if !m.Exists(host.SysctlFile(key)) {
				return Absent("removed from this kernel")
			}
			return numberCheck(key, Warn, false)(m, want)
		},
	}
}

// ifCounted is the check of a kernel setting that is worth a change only where the
// kernel counts what it would help against.
func ifCounted(key, counter, what string) func(*Machine, Rule) Reading {
	check := numberCheck(key, Info, false)
	return func(m *Machine, want Rule) Reading {
		r := check(m, want)
		if r.Verdict != Info || want.Leave() {
			return r
		}
		switch c := countOf(m.Before.Soft, m.After.Soft, counter); {
		case !c.seen:
			return Reading{Verdict: Unknown, Current: r.Current, Note: "/proc/net/softnet_stat could not be read"}
		case c.grew > 0, c.total > 0 && m.Interval == 0:
			r.Note = c.say(m, what)
		default:
			return Reading{Verdict: OK, Current: r.Current, Note: "no drops were counted: a larger value would not help"}
		}
		return r
	}
}

func netBacklog() *Setting {
	return &Setting{
		ID: "net.core.netdev_max_backlog", Group: Network, Title: "packets waiting for a CPU", Roles: []Role{Broker, Client},
		Severity: Informational, Confidence: Folklore,
		Valid: raiseOnly(1),
		Why:   "packets were dropped. They found the queue full and are sent again",
		Detail: "Judged only where /proc/net/softnet_stat counts drops. Most cards bypass this queue; packets of other network " +
			"namespaces and of receive packet steering use it. The Definitive Guide wants more than 1000, others 5000 to 16384.",
		Reads:   []string{"/proc/sys/net/core/netdev_max_backlog", "/proc/net/softnet_stat"},
		Sources: []string{"Kafka: The Definitive Guide", "Red Hat: Tuning the network performance"},
		Check:   ifCounted("net.core.netdev_max_backlog", "dropped", "packets were dropped"),
	}
}

func netBudget() *Setting {
	return &Setting{
		ID: "net.core.netdev_budget", Group: Network, Title: "packets that a CPU takes at once", Roles: []Role{Broker, Client},
		Severity: Informational, Confidence: Folklore,
		Valid: raiseOnly(1),
		Why:   "packets arrive late. The kernel stopped receiving with packets still waiting",
		Detail: "Judged only where the third column of /proc/net/softnet_stat grows. Some growth is normal under load. Raising it takes " +
			"CPU time from the broker's threads. net.core.netdev_budget_usecs is the same limit in time.",
		Reads:   []string{"/proc/sys/net/core/netdev_budget", "/proc/net/softnet_stat"},
		Sources: []string{"Red Hat: Tuning the network performance", "kt's proposal"},
		Check:   ifCounted("net.core.netdev_budget", "squeezed", "times packets had to wait"),
	}
}

func netBusyPoll() *Setting {
	const poll, read = "net.core.busy_poll", "net.core.busy_read"
	return &Setting{
		ID: poll, Group: Network, Title: "busy polling for packets", Roles: []Role{Broker},
		Severity: Informational, Confidence: Documented, Valid: wholeNumber(-1),
		Why: "whole CPUs poll for packets to save some µs. A busy broker needs them itself",
		Detail: "In µs; 0, the kernel's default, is off. TuneD network-latency sets 50 for this and net.core.busy_read. Try it where " +
			"latency matters and CPUs are idle: measure with kt.",
		Reads:   []string{"/proc/sys/net/core/busy_poll", "/proc/sys/net/core/busy_read"},
		Sources: []string{"TuneD network-latency", "kernel documentation: sysctl/net"},
		Check: func(m *Machine, want Rule) Reading {
			r := numberCheck(poll, Info, false)(m, want)
			if other, err := numbersOf(m, read, 1); err == nil && other != r.Current && r.Current != "" {
				r.Note = "net.core.busy_read is " + other
			}
			return r
		},
	}
}

func netKeepalive() *Setting {
	const key = "net.ipv4.tcp_keepalive_time"
	return &Setting{
		ID: key, Group: Network, Title: "keepalive of idle connections", Roles: []Role{Broker, Client},
		Severity: Informational, Confidence: Documented,
		Why: "requests on idle connections time out. A NAT or load balancer forgot the connection",
		Detail: "In seconds until the first keepalive packet; the others are net.ipv4.tcp_keepalive_intvl and _probes. Intel sets 60, 10 " +
			"and 3. Kafka turns keepalive on, and closes connections that are idle for ten minutes (connections.max.idle.ms), " +
			"clients for nine. AWS's network load balancer forgets them after 350 s. Within one network the value does not matter.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_keepalive_time", "/proc/sys/net/ipv4/tcp_keepalive_intvl", "/proc/sys/net/ipv4/tcp_keepalive_probes"},
		Sources: []string{"Intel: Kafka tuning guide", "AWS documentation: Network Load Balancers, connection idle timeout"},
		Check: func(m *Machine, _ Rule) Reading {
			current, err := numbersOf(m, key, 1)
			if err != nil {
				return Denied(err)
			}
			after, _ := strconv.ParseInt(current, 10, 64) // numbersOf has parsed it
			for _, name := range []string{"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"} {
				if n, err := numbersOf(m, name, 1); err == nil {
					current += " / " + n
				}
			}
			if after <= 300 {
				return Reading{Verdict: OK, Current: current}
			}
			return Reading{Verdict: Info, Current: current, Wanted: "60 / 10 / 3 behind NAT"}
		},
	}
}

func netCongestion() *Setting {
	return &Setting{
		ID: "net.ipv4.tcp_congestion_control", Group: Network, Title: "congestion control", Roles: []Role{Broker, Client},
		Severity: Informational, Confidence: Folklore,
		Why: "a lossy long-distance link slows cubic more than bbr. Within one site any will do",
		Detail: "Reported only: no source measured Kafka. bbr wants the queue fq before Linux 4.13. All machines of a comparison should " +
			"have the same.",
		Reads:   []string{"/proc/sys/net/ipv4/tcp_congestion_control", "/proc/sys/net/core/default_qdisc"},
		Sources: []string{"kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			current, err := m.Text(host.SysctlFile("net.ipv4.tcp_congestion_control"))
			if err != nil {
				return Denied(err)
			}
			if !kernelName.MatchString(current) {
				return Reading{Verdict: Unknown, Note: fmt.Sprintf("net.ipv4.tcp_congestion_control: %q is not a name", current)}
			}
			r := Compare(current, want, Info)
			if queue, err := m.Text(host.SysctlFile("net.core.default_qdisc")); err == nil && kernelName.MatchString(queue) {
				r.Note = "new interfaces get the queue " + queue
			}
			return r
		},
	}
}

// kernelName is a name as the kernel has them: "cubic", "fq_codel".
var kernelName = regexp.MustCompile(`^[a-z0-9_-]+$`)

func netConntrack() *Setting {
	return &Setting{
		ID: "net.conntrack", Group: Network, Title: "connections tracked by the firewall", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Folklore,
		Why: "new connections are dropped when the table is full. The client gets no error",
		Detail: "Entries against net.netfilter.nf_conntrack_max. Closed connections stay for minutes, idle ones for days. The limit of " +
			"70 % is kt's proposal. In a container the count may be the container's own.",
		Reads:   []string{"/proc/sys/net/netfilter/nf_conntrack_count", "/proc/sys/net/netfilter/nf_conntrack_max"},
		Sources: []string{"kernel documentation: nf_conntrack-sysctl", "kt's proposal"},
		Check: func(m *Machine, _ Rule) Reading {
			if !m.Exists(host.SysctlFile("net.netfilter.nf_conntrack_max")) {
				return Absent("no connection tracking here")
			}
			most, err := m.Number(host.SysctlFile("net.netfilter.nf_conntrack_max"))
			if err != nil {
				return Denied(err)
			}
			used, err := m.Number(host.SysctlFile("net.netfilter.nf_conntrack_count"))
			if err != nil {
				return Denied(err)
			}
			if most <= 0 {
				return Reading{Verdict: OK, Current: fmt.Sprintf("%d, no limit", used)}
			}
			r := Reading{Verdict: OK, Current: fmt.Sprintf("%d of %d", used, most), Wanted: "≤ 70 %"}
			if float64(used) > 0.7*float64(most) {
				r.Verdict = Warn
				r.Command = sysctlCommand("net.netfilter.nf_conntrack_max", strconv.FormatInt(2*most, 10))
			}
			return r
		},
	}
}

func netRetransmits() *Setting {
	return &Setting{
		ID: "tcp.retransmits", Group: Network, Title: "retransmitted packets", Roles: []Role{Broker, Client},
		Severity: Warning, Confidence: Folklore,
		Why: "each lost packet delays its connection, by 200 ms or more in the worst case",
		Detail: "The share of all sent segments. 0.1 % is kt's proposal for one site. Over the internet more is normal, so a count since " +
			"boot is only a note.",
		Reads:   []string{"/proc/net/snmp"},
		Sources: []string{"kt's proposal"},
		Check: func(m *Machine, _ Rule) Reading {
			again, sent := countOf(m.Before.TCP, m.After.TCP, "RetransSegs"), countOf(m.Before.TCP, m.After.TCP, "OutSegs")
			if !again.seen || !sent.seen {
				return Reading{Verdict: Unknown, Note: "the kernel's TCP counters could not be read"}
			}
			n, of, when, bad := again.grew, sent.grew, fmt.Sprintf("in %s", m.Interval), Warn
			if of < 1000 { // too few to judge by
				n, of, when, bad = again.total, sent.total, "since boot", Info
			}
			if of < 1000 {
				return Absent("too little was sent: %s", plural(float64(of), "segment"))
			}
			share := float64(n) / float64(of)
			r := Reading{
				Verdict: OK, Current: strconv.FormatFloat(share*100, 'f', 3, 64) + " %", Wanted: "≤ 0.1 %",
				Note: fmt.Sprintf("%d of %d segments %s", n, of, when),
			}
			if share > 0.001 {
				r.Verdict = bad
			}
			return r
		},
	}
}
