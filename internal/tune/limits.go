package tune

import (
	"fmt"
)

// fs.nr_open stands before limits.nofile: no process may be allowed more open files
// than that, and changes are made in this order.
func limitSettings() []*Setting {
	return []*Setting{
		nrOpen(), nofile(), nofileClient(), openFiles(), fileMax(),
		nproc(), tasks(), pidMax(), threadsMax(), memlock(),
	}
}

const openFilesLimit = "Max open files" // as the kernel calls it

func nrOpen() *Setting {
	return &Setting{
		ID: "fs.nr_open", Group: Limits, Title: "maximum of open files that a process can get",
		Roles: []Role{Broker, Controller}, Severity: Fatal, Confidence: Documented, Applies: true,
		Want:  ">= 100000",
		Valid: raiseOnly(1),
		Why:   "the broker's unit does not start. It cannot get more open files than this",
		Detail: "It must be at least the value of limits.nofile; saptune warns of the same. The kernel's default is 1048576, so a lower " +
			"value was set by a person or a program.",
		Reads:   []string{"/proc/sys/fs/nr_open"},
		Sources: []string{"kernel documentation: sysctl/fs", "saptune: note on nr_open"},
		Risk:    "none: it is only a limit",
		Check: func(m *Machine, want Rule) Reading {
			return numberCheck("fs.nr_open", Fail, true)(m, want.Floor(m.filesWanted()))
		},
	}
}

func openFiles() *Setting {
	return &Setting{
		ID: "limits.open_files", Group: Limits, Title: "open files, as a share of the broker's limit",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Want: "<= 70",
		Valid:   figure,
		Why:     "no new connections and no new segments at the limit",
		Detail:  "Only root and the broker's user may count them. The limit of 70 % is kt's proposal.",
		Reads:   []string{"/proc/PID/fd", "/proc/PID/limits"},
		Sources: []string{"Kafka documentation, Operations: Hardware and OS", "kt's proposal (70 %)"},
		Check: func(m *Machine, want Rule) Reading {
			l, missing := m.limitOf(openFilesLimit)
			if missing != nil {
				return *missing
			}
			n, err := m.OpenFiles(m.Process.PID)
			if err != nil {
				return Denied(err)
			}
			if l.Soft == 0 {
				return Reading{Verdict: Unknown, Note: "the limit reads as 0"}
			}
			r := judge(100*float64(n)/float64(countable(l.Soft)), " %", want, Warn)
			r.Note = fmt.Sprintf("%d of %s", n, limitText(l.Soft))
			return r
		},
	}
}

func fileMax() *Setting {
	return &Setting{
		ID: "fs.file-max", Group: Limits, Title: "open files of the whole machine",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: ">= 1000000",
		Valid: raiseOnly(1),
		Why:   "every process fails when the machine has no more files, the broker first",
		Detail: "Often repeated, seldom needed. The kernel's default is a tenth of the memory's KiB; newer versions of systemd raise it " +
			"to the maximum.",
		Reads:   []string{"/proc/sys/fs/file-max"},
		Sources: []string{"often repeated, without a source", "systemd NEWS 240"},
		Risk:    "none: it is only a limit",
		Check:   numberCheck("fs.file-max", Info, false),
	}
}

func nproc() *Setting {
	return &Setting{
		ID: "limits.nproc", Group: Limits, Title: "maximum of threads for the broker's user",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Documented, Want: ">= 32768",
		Valid: raiseOnly(1),
		Why:   "the broker ends: Java cannot start a thread and reports that memory ran out",
		Detail: "All threads of all processes of the user count. Intel sets 32768. By kt's proposal less than 4096 is a warning, values " +
			"between are a note. The limit does not apply to root.",
		Reads:   []string{"/proc/PID/limits"},
		Sources: []string{"Intel: Kafka optimisation guide (32768)", "kt's proposal (4096)"},
		Check: func(m *Machine, want Rule) Reading {
			l, missing := m.limitOf("Max processes")
			if missing != nil {
				return *missing
			}
			if m.Process.UID == 0 {
				return Absent("the broker runs as root: the limit does not apply")
			}
			r := threadReading(l.Soft, want)
			if r.Verdict == Warn || r.Verdict == Info && !want.Leave() {
				r.Command = fmt.Sprintf("LimitNPROC=%s in the broker's systemd unit", want.Target(r.Current))
			}
			return r
		},
	}
}

// threadReading judges a limit of threads: few are a warning, less than wanted is
// worth knowing.
func threadReading(n int64, want Rule) Reading {
	r := compareLimit(n, want, Info)
	if r.Verdict == Info && n < 4096 && !want.Leave() {
		r.Verdict = Warn
	}
	return r
}

func tasks() *Setting {
	return &Setting{
		ID: "limits.tasks", Group: Limits, Title: "maximum of threads for the broker's control group",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Want: ">= 32768",
		Valid: raiseOnly(1),
		Why:   "the broker ends: Java cannot start a thread and reports that memory ran out",
		Detail: "This is TasksMax of a systemd unit, or the process limit of a container. It is easy to forget when ulimit -u is high " +
			"enough. systemd's default is 15 % of the machine's. The limits are those of limits.nproc.",
		Reads:   []string{"the control group's pids.max"},
		Sources: []string{"systemd documentation: systemd.resource-control, TasksMax", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			switch {
			case m.Process == nil:
				return Absent("no broker runs here")
			case m.Cgroup.Layout == "":
				return Absent("no control groups are known")
			case m.Cgroup.Pids == 0:
				return Absent("the control group has no thread limit")
			}
			r := threadReading(m.Cgroup.Pids, want)
			if r.Verdict == Warn || r.Verdict == Info && !want.Leave() {
				r.Command = fmt.Sprintf("TasksMax=%s in the broker's systemd unit, or the container's limit of processes", want.Target(r.Current))
			}
			return r
		},
	}
}

func pidMax() *Setting {
	return &Setting{
		ID: "kernel.pid_max", Group: Limits, Title: "maximum number of processes and threads",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: ">= 131072",
		Valid: raiseOnly(1),
		Why:   "no thread can start without a free number",
		Detail: "The value is kt's proposal. systemd sets 4194304 on machines of 64 bits. Containers may show another value than the " +
			"machine's files.",
		Reads:   []string{"/proc/sys/kernel/pid_max"},
		Sources: []string{"kernel documentation: sysctl/kernel", "kt's proposal"},
		Risk:    "none: it is only a limit",
		Check:   numberCheck("kernel.pid_max", Info, false),
	}
}

func threadsMax() *Setting {
	return &Setting{
		ID: "kernel.threads-max", Group: Limits, Title: "maximum of threads on the whole machine",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: ">= 32768",
		Valid:   raiseOnly(1),
		Why:     "no process can start a thread when the machine has no more",
		Detail:  "The kernel's default fills an eighth of the memory, so small machines have few. The value is kt's proposal.",
		Reads:   []string{"/proc/sys/kernel/threads-max"},
		Sources: []string{"kernel documentation: sysctl/kernel", "kt's proposal"},
		Risk:    "none: it is only a limit",
		Check:   numberCheck("kernel.threads-max", Info, false),
	}
}

func memlock() *Setting {
	return &Setting{
		ID: "limits.memlock", Group: Limits, Title: "maximum of locked memory for the broker",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Folklore, Want: "unlimited",
		Valid:   oneOf("unlimited"),
		Why:     "a JVM with large pages starts without them",
		Detail:  "Kafka locks no memory: the limit matters only with -XX:+UseLargePages. Intel's scripts always set it.",
		Reads:   []string{"/proc/PID/limits", "the broker's command line"},
		Sources: []string{"Intel: Kafka optimisation guide (unlimited)", "Java documentation: large pages"},
		Check: func(m *Machine, want Rule) Reading {
			if m.Process != nil && m.Process.JVM.XX["UseLargePages"] != "true" {
				return Absent("the broker does not use large pages")
			}
			l, missing := m.limitOf("Max locked memory")
			if missing != nil {
				return *missing
			}
			r := Compare(limitText(l.Soft), want, Info)
			if r.Verdict == Info && !want.Leave() {
				r.Command = "LimitMEMLOCK=infinity in the broker's systemd unit"
			}
			return r
		},
	}
}
