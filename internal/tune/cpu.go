package tune

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/theme"
)

// The preference of a policy stands before its governor: while the governor is
// performance, drivers refuse any other preference. So it is set first, and put back
// last when changes are undone from the end.
func cpuSettings() []*Setting {
	return []*Setting{
		preference(), governor(), energyBias(), minPerformance(), boost(), idleStates(), platformProfile(),
		cpuCount(), steal(), throttling(), hyperThreads(), mitigations(), loadAverage(), numaNodes(), numaBalancing(),
	}
}

func cpuCount() *Setting {
	return &Setting{
		ID: "cpu.count", Group: CPU, Title: "CPUs that the broker may use",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Documented, Want: ">= 4",
		Valid: figure,
		Why:   "network threads, request handlers, fetchers and the collector wait for one another",
		Detail: "Those of the machine, less what the CPU set and the CPU limit of the control group take away. Sources go from 4 (kcpilot) " +
			"over 8, better 16 (Intel), to two sockets of 12 (Confluent).",
		Reads:   []string{"/sys/devices/system/cpu/online", "/proc/PID/status", "the control group's cpu.max"},
		Sources: []string{"kcpilot (4)", "Intel: Kafka optimisation guide (8, better 16)", "Confluent Platform: production deployment (24)"},
		Check: func(m *Machine, want Rule) Reading {
			if m.CPUs <= 0 {
				return Reading{Verdict: Unknown, Note: "the number of CPUs is not known"}
			}
			r := judge(m.CPUs, "", want, Info)
			if m.Logical > 0 && m.CPUs < float64(m.Logical) {
				r.Note = fmt.Sprintf("of the machine's %d", m.Logical)
			}
			return r
		},
	}
}

func steal() *Setting {
	return &Setting{
		ID: "cpu.steal", Group: CPU, Title: "CPU time that the hypervisor took away",
		Roles: []Role{Broker, Client}, Severity: Warning, Confidence: Folklore, Want: "<= 1",
		Valid: figure,
		Why:   "the machine stands still while others run: latencies rise, and a measurement says nothing",
		Detail: "While kt looked, or since the machine started. More than 5 % make a benchmark worthless. Both bounds are kt's proposal. " +
			"Hypervisors may hide it, and burstable machines show it once their credits are used up.",
		Reads:   []string{"/proc/stat"},
		Sources: []string{"kernel documentation: proc, stat", "kt's proposal (1 %, 5 %)"},
		Check: func(m *Machine, want Rule) Reading {
			stolen, seen := Delta(m.Before.CPU, m.After.CPU, "steal")
			total, known := Delta(m.Before.CPU, m.After.CPU, "total")
			when := "in " + theme.Duration(m.Interval)
			if m.Interval == 0 {
				stolen, total, when = m.After.CPU["steal"], m.After.CPU["total"], "since the machine started"
			}
			if !seen || !known || total <= 0 || stolen < 0 {
				return Reading{Verdict: Unknown, Note: "/proc/stat does not tell"}
			}
			share := 100 * float64(stolen) / float64(total)
			r := judge(share, " %", want, Warn)
			r.Note = when
			if share > 5 {
				r.addNote("what is measured here means nothing")
			}
			return r
		},
	}
}

func throttling() *Setting {
	return &Setting{
		ID: "cpu.throttling", Group: CPU, Title: "periods in which the CPU limit stopped the broker",
		Roles: []Role{Broker, Controller, Client}, Severity: Warning, Confidence: Documented, Want: "<= 1",
		Valid: figure,
		Why:   "every thread stands still for up to 100 ms, which shows as latency and as lost followers",
		Detail: "Of all periods since the control group was made, from its cpu.stat. A broker has many threads, which use up the quota of a " +
			"period in a few milliseconds. Give it a CPU request without a limit, or whole CPUs of its own. That 1 % is too much is " +
			"kt's proposal.",
		Reads:   []string{"the control group's cpu.max and cpu.stat"},
		Sources: []string{"kernel documentation: CFS bandwidth control", "kt's proposal (1 %)"},
		Check: func(m *Machine, want Rule) Reading {
			switch {
			case m.Cgroup.Layout == "":
				return Absent("no control groups are known")
			case m.Cgroup.Cores <= 0 && m.Cgroup.Throttled <= 0:
				return Absent("there is no CPU limit")
			case m.Cgroup.Periods <= 0:
				return Reading{Verdict: Unknown, Note: "the control group's cpu.stat counts no periods"}
			}
			r := judge(100*float64(m.Cgroup.Throttled)/float64(m.Cgroup.Periods), " %", want, Warn)
			if m.Cgroup.Cores > 0 {
				r.Note = fmt.Sprintf("the limit is %s CPUs", strconv.FormatFloat(m.Cgroup.Cores, 'f', -1, 64))
			}
			if m.Cgroup.ThrottledUS > 0 {
				r.addNote("stopped for %s in all", theme.Duration(time.Duration(m.Cgroup.ThrottledUS)*time.Microsecond))
			}
			return r
		},
	}
}

func hyperThreads() *Setting {
	return &Setting{
		ID: "cpu.smt", Group: CPU, Title: "two threads on each core",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore,
		Why:     "half of the CPUs that are counted are not whole cores: twice the load takes more than twice the share",
		Detail:  "Only shown, because figures of two machines cannot be compared without it. Nothing is wanted.",
		Reads:   []string{"/sys/devices/system/cpu/smt/active"},
		Sources: []string{"kernel documentation: ABI, /sys/devices/system/cpu/smt"},
		Check: func(m *Machine, _ Rule) Reading {
			n, err := m.Number("sys/devices/system/cpu/smt/active")
			switch {
			case err != nil:
				return lacking(err, "the kernel does not tell")
			case n == 1:
				return Reading{Verdict: Info, Current: "on"}
			}
			return Reading{Verdict: Info, Current: "off"}
		},
	}
}

func mitigations() *Setting {
	return &Setting{
		ID: "cpu.mitigations", Group: CPU, Title: "weaknesses of the CPU that the kernel works around",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore,
		Why: "each costs something at every system call, of which a broker makes many",
		Detail: "Only shown, because figures of two machines cannot be compared without it. kt never advises to switch them off: what the " +
			"machine is exposed to is not kt's to judge.",
		Reads:   []string{"/sys/devices/system/cpu/vulnerabilities/*"},
		Sources: []string{"kernel documentation: hardware vulnerabilities"},
		Check: func(m *Machine, _ Rule) Reading {
			var worked int
			var open []string
			files := m.Glob("sys/devices/system/cpu/vulnerabilities/*")
			if len(files) == 0 {
				return Absent("the kernel does not list them")
			}
			for _, f := range files {
				text, err := m.Text(f)
				switch {
				case err != nil:
					return Denied(err)
				case strings.HasPrefix(text, "Mitigation"):
					worked++
				case strings.HasPrefix(text, "Vulnerable"):
					open = append(open, path.Base(f))
				}
			}
			r := Reading{Verdict: Info, Current: fmt.Sprintf("%d worked around", worked)}
			if len(open) > 0 {
				r.Note = "open: " + strings.Join(open, ", ")
			}
			return r
		},
	}
}

func loadAverage() *Setting {
	return &Setting{
		ID: "cpu.load", Group: CPU, Title: "threads that ran or waited in the last minute, for each CPU",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: "<= 1",
		Valid: figure,
		Why:   "a machine that is busy already shows what others do, not what Kafka can",
		Detail: "The load average of one minute over the machine's CPUs. Linux counts threads that wait for a disk too, so that a high value " +
			"need not mean busy CPUs. It only says what kind of moment this is.",
		Reads:   []string{"/proc/loadavg"},
		Sources: []string{"kernel documentation: proc, loadavg", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			text, err := m.Text("proc/loadavg")
			if err != nil {
				return Denied(err)
			}
			first, _, _ := strings.Cut(text, " ")
			load, err := strconv.ParseFloat(first, 64)
			if err != nil || !(load >= 0 && load < 1e9) || m.Logical <= 0 {
				return Reading{Verdict: Unknown, Note: "the load, or the number of CPUs, is not known"}
			}
			r := judge(load/float64(m.Logical), "", want, Info)
			r.Note = first + " in all"
			return r
		},
	}
}
