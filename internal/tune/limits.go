package tune

import (
	"fmt"
)

const openFilesLimit = "Max open files" // as the kernel calls it

func checkNrOpen(m *Machine, want Rule) Reading {
	return numberCheck("fs.nr_open", Fail, true)(m, want.Floor(m.filesWanted()))
}

func checkOpenFiles(m *Machine, want Rule) Reading {
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
}

func checkNproc(m *Machine, want Rule) Reading {
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

func checkTasks(m *Machine, want Rule) Reading {
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
}

func checkMemlock(m *Machine, want Rule) Reading {
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
}
