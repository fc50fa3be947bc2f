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
		ID: "fs.nr_open", Group: Limits, Title: "open files that any process can be allowed",
		Roles: []Role{Broker, Controller}, Severity: Fatal, Confidence: Documented, Applies: true,
		Want:  ">= 100000",
		Valid: raiseOnly(1),
		Why:   "a limit of open files above this cannot be set: the broker's unit does not start",
		Detail: "It has to be at least what limits.nofile wants; saptune warns of the same. The kernel's own value is 1048576, so " +
			"that a lower one was set by somebody.",
		Reads:   []string{"/proc/sys/fs/nr_open"},
		Sources: []string{"kernel documentation: sysctl/fs", "saptune: note on nr_open"},
		Risk:    "none worth mention: it is only a limit",
		Check: func(m *Machine, want Rule) Reading {
			return numberCheck("fs.nr_open", Fail, true)(m, want.Floor(m.filesWanted()))
		},
	}
}

func openFiles() *Setting {
	return &Setting{
		ID: "limits.open_files", Group: Limits, Title: "open files, of those that the broker may have",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Want: "<= 70",
		Valid:   figure,
		Why:     "at the limit a broker takes no new connections, and cannot begin a new segment",
		Detail:  "Only root and the broker's own user may count them. The bound of 70 % is kt's proposal.",
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
		Why:   "when the machine has no more, every process fails, the broker first",
		Detail: "Often repeated, and seldom needed: the kernel takes a tenth of the memory's KiB, and newer versions of systemd raise it " +
			"as far as it goes.",
		Reads:   []string{"/proc/sys/fs/file-max"},
		Sources: []string{"often repeated, without a source", "systemd NEWS 240"},
		Risk:    "none worth mention: it is only a limit",
		Check:   numberCheck("fs.file-max", Info, false),
	}
}

func nproc() *Setting {
	return &Setting{
		ID: "limits.nproc", Group: Limits, Title: "threads that the broker's user may have",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Documented, Want: ">= 32768",
		Valid: raiseOnly(1),
		Why:   "Java cannot start a thread then, says that memory ran out, and the broker ends",
		Detail: "Every thread counts, of all of the user's processes together. Intel sets 32768; less than 4096 warns, what is between is " +
			"mentioned, by kt's proposal. Processes of root are not held to it.",
		Reads:   []string{"/proc/PID/limits"},
		Sources: []string{"Intel: Kafka optimisation guide (32768)", "kt's proposal (4096)"},
		Check: func(m *Machine, want Rule) Reading {
			l, missing := m.limitOf("Max processes")
			if missing != nil {
				return *missing
			}
			if m.Process.UID == 0 {
				return Absent("the broker runs as root, who is not held to it")
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
		ID: "limits.tasks", Group: Limits, Title: "threads that the broker's control group may have",
		Roles: []Role{Broker, Controller}, Severity: Warning, Confidence: Folklore, Want: ">= 32768",
		Valid: raiseOnly(1),
		Why:   "Java cannot start a thread then, says that memory ran out, and the broker ends",
		Detail: "This is TasksMax of a systemd unit, or a container's limit of processes: the one that nobody thinks of when ulimit -u is " +
			"high enough. systemd takes 15 % of the machine's. The bounds are those of limits.nproc.",
		Reads:   []string{"the control group's pids.max"},
		Sources: []string{"systemd documentation: systemd.resource-control, TasksMax", "kt's proposal"},
		Check: func(m *Machine, want Rule) Reading {
			switch {
			case m.Process == nil:
				return Absent("no broker runs here")
			case m.Cgroup.Layout == "":
				return Absent("no control groups are known")
			case m.Cgroup.Pids == 0:
				return Absent("the control group has no limit of threads")
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
		ID: "kernel.pid_max", Group: Limits, Title: "numbers for processes and threads",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: ">= 131072",
		Valid:   raiseOnly(1),
		Why:     "every thread takes a number, and none can be started without one",
		Detail:  "The figure is kt's proposal. systemd sets 4194304 on machines of 64 bits; containers may show another value than the files of the machine.",
		Reads:   []string{"/proc/sys/kernel/pid_max"},
		Sources: []string{"kernel documentation: sysctl/kernel", "kt's proposal"},
		Risk:    "none worth mention: it is only a limit",
		Check:   numberCheck("kernel.pid_max", Info, false),
	}
}

func threadsMax() *Setting {
	return &Setting{
		ID: "kernel.threads-max", Group: Limits, Title: "threads of the whole machine",
		Roles: []Role{Broker, Client}, Severity: Informational, Confidence: Folklore, Want: ">= 32768",
		Valid:   raiseOnly(1),
		Why:     "when the machine has no more, no process can start a thread",
		Detail:  "The kernel takes as many as fill an eighth of the memory, so that small machines have few. The figure is kt's proposal.",
		Reads:   []string{"/proc/sys/kernel/threads-max"},
		Sources: []string{"kernel documentation: sysctl/kernel", "kt's proposal"},
		Risk:    "none worth mention: it is only a limit",
		Check:   numberCheck("kernel.threads-max", Info, false),
	}
}

func memlock() *Setting {
	return &Setting{
		ID: "limits.memlock", Group: Limits, Title: "memory that the broker may lock",
		Roles: []Role{Broker}, Severity: Informational, Confidence: Folklore, Want: "unlimited",
		Valid:   oneOf("unlimited"),
		Why:     "a JVM with large pages starts without them",
		Detail:  "Kafka locks no memory, so that the limit matters only with -XX:+UseLargePages. Intel's scripts set it at any rate.",
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
