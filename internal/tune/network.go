package tune

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/kt-bench/kt/internal/host"
)

func checkNetNotsentLowat(m *Machine, want Rule) Reading {
	const key = "net.ipv4.tcp_notsent_lowat"
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
}

func checkNetRecycle(m *Machine, want Rule) Reading {
	const key = "net.ipv4.tcp_tw_recycle"
	if !m.Exists(host.SysctlFile(key)) {
		return Absent("removed from this kernel")
	}
	return numberCheck(key, Warn, false)(m, want)
}

// ifCounted is the check of a kernel setting that is worth a change only where the
// kernel counts what it would help against.
func ifCounted(key, counter, what string) check {
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

func checkNetBusyPoll(m *Machine, want Rule) Reading {
	const poll, read = "net.core.busy_poll", "net.core.busy_read"
	r := numberCheck(poll, Info, false)(m, want)
	if other, err := numbersOf(m, read, 1); err == nil && other != r.Current && r.Current != "" {
		r.Note = "net.core.busy_read is " + other
	}
	return r
}

func checkNetKeepalive(m *Machine, _ Rule) Reading {
	const key = "net.ipv4.tcp_keepalive_time"
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
}

func checkNetCongestion(m *Machine, want Rule) Reading {
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
}

// kernelName is a name as the kernel has them: "cubic", "fq_codel".
var kernelName = regexp.MustCompile(`^[a-z0-9_-]+$`)

func checkNetConntrack(m *Machine, _ Rule) Reading {
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
}

func checkNetRetransmits(m *Machine, _ Rule) Reading {
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
}
