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
		ID: "cpu.count", Group: CPU, Title: "CPUs available to the broker",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Documented, Want: ">= 4",
		Valid: figure,
		Why:   "threads of the broker wait for a CPU: network, requests, fetchers and collector",
		Detail: "The CPUs of the machine, less those that the control group's CPU set and CPU limit exclude. Sources say 4 (kcpilot), 8 " +
			"or better 16 (Intel), or two sockets of 12 (Confluent).",
		Reads:   []string{"/sys/devices/system/cpu/online", "/proc/PID/status", "the control group's cpu.max"},
		Sources: []string{"kcpilot (4)", "Intel: Kafka optimisation guide (8, better 16)", "Confluent Platform: production deployment (24)"},
		Check: func(m *Machine, want Rule) Reading {
			if m.CPUs <= 0 {
				return Reading{Verdict: Unknown, Note: "the number of CPUs is not known"}
			}
			r := judge(m.CPUs, "", want, Info)
			if m.Logical > 0 && m.CPUs < float64(m.Logical) {
				r.Note = fmt.Sprintf("the machine has %d", m.Logical)
			}
			return r
		},
	}
}

func steal() *Setting {
	return &Setting{
		ID: "cpu.steal", Group: CPU, Title: "CPU time used by other virtual machines",
		Roles: []Role{Broker, Client}, Severity: Warning, Confidence: Folklore, Want: "<= 1",
		Valid: figure,
		Why:   "latencies rise and measurements are useless. The machine stands still while others run",
		Detail: "Measured during the check, or since boot. More than 5 % makes a benchmark worthless. Both limits are kt's proposal. " +
			"Hypervisors may hide it. Burstable machines show it once their credits are used up.",
		Reads:   []string{"/proc/stat"},
		Sources: []string{"kernel documentation: proc, stat", "kt's proposal (1 %, 5 %)"},
		Check: func(m *Machine, want Rule) Reading {
			stolen, seen := Delta(m.Before.CPU, m.After.CPU, "steal")
			total, known := Delta(m.Before.CPU, m.After.CPU, "total")
			when := "in " + theme.Duration(m.Interval)
			if m.Interval == 0 {
				stolen, total, when = m.After.CPU["steal"], m.After.CPU["total"], "since boot"
			}
			if !seen || !known || total <= 0 || stolen < 0 {
				return Reading{Verdict: Unknown, Note: "/proc/stat does not report it"}
			}
			share := 100 * float64(stolen) / float64(total)
			r := judge(share, " %", want, Warn)
			r.Note = when
			if share > 5 {
				r.addNote("measurements here mean nothing")
			}
			return r
		},
	}
}

func throttling() *Setting {
	return &Setting{
		ID: "cpu.throttling", Group: CPU, Title: "periods with the broker stopped by its CPU limit",
		Roles: []Role{Broker, Controller, Client}, Severity: Warning, Confidence: Documented, Want: "<= 1",
		Valid: figure,
		Why:   "all threads stop for up to 100 ms. Latency rises and followers fall out of the in-sync replicas",
		Detail: "The share of all periods since the control group was made, from its cpu.stat. A broker has many threads; they use up " +
			"the quota of a period in a few milliseconds. Give it a CPU request without a limit, or whole CPUs of its own. The limit " +
			"of 1 % is kt's proposal.",
		Reads:   []string{"the control group's cpu.max and cpu.stat"},
		Sources: []string{"kernel documentation: CFS bandwidth control", "kt's proposal (1 %)"},
		Check: func(m *Machine, want Rule) Reading {
			switch {
			case m.Cgroup.Layout == "":
				return Absent("no control groups are known")
			case m.Cgroup.Cores <= 0 && m.Cgroup.Throttled <= 0:
				return Absent("no CPU limit")
			case m.Cgroup.Periods <= 0:
				return Reading{Verdict: Unknown, Note: "the control group's cpu.stat counts no periods"}
			}
			r := judge(100*float64(m.Cgroup.Throttled)/float64(m.Cgroup.Periods), " %", want, Warn)
			if m.Cgroup.Cores > 0 {
				r.Note = fmt.Sprintf("the limit is %s CPUs", strconv.FormatFloat(m.Cgroup.Cores, 'f', -1, 64))
			}
			if m.Cgroup.ThrottledUS > 0 {
				r.addNote("stopped for %s in total", theme.Duration(time.Duration(m.Cgroup.ThrottledUS)*time.Microsecond))
			}
			return r
		},
	}
}

func hyperThreads() *Setting {
	return &Setting{
		ID: "cpu.smt", Group: CPU, Title: "two threads on each core",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore,
		Why:     "half of the counted CPUs are no whole cores. Twice the load needs more than twice the share",
		Detail:  "Shown only: figures of two machines cannot be compared without it. No value is wanted.",
		Reads:   []string{"/sys/devices/system/cpu/smt/active"},
		Sources: []string{"kernel documentation: ABI, /sys/devices/system/cpu/smt"},
		Check: func(m *Machine, _ Rule) Reading {
			n, err := m.Number("sys/devices/system/cpu/smt/active")
			switch {
			case err != nil:
				return lacking(err, "the kernel does not report it")
			case n == 1:
				return Reading{Verdict: Info, Current: "on"}
			}
			return Reading{Verdict: Info, Current: "off"}
		},
	}
}

func mitigations() *Setting {
	return &Setting{
		ID: "cpu.mitigations", Group: CPU, Title: "mitigations of CPU weaknesses",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore,
		Why: "each mitigation slows every system call. A broker makes many",
		Detail: "Shown only: figures of two machines cannot be compared without it. kt never advises switching them off, because it " +
			"cannot judge the risk.",
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
		ID: "cpu.load", Group: CPU, Title: "load average for each CPU",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: "<= 1",
		Valid: figure,
		Why:   "the machine is busy. A measurement now shows the load of others",
		Detail: "The load average of one minute, divided by the number of CPUs. Linux also counts threads that wait for a disk, so a " +
			"high value need not mean busy CPUs. It describes the present minute only.",
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
			r.Note = first + " in total"
			return r
		},
	}
}
