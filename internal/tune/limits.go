package tune

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// unlimited is a limit that is none, as a number to compare.
const unlimited = math.MaxInt64

func limitWord(n int64) string {
	if n == unlimited {
		n = -1
	}
	return limitText(n)
}

// limitReading is the reading of a limit.
func limitReading(n int64) Reading {
	return Reading{Current: strconv.FormatInt(n, 10), shown: limitWord(n)}
}

// limitOf is a resource limit of the broker by the kernel's name for it.
func (m *Machine) limitOf(name string) (host.Limit, error) {
	if m.Process == nil {
		return host.Limit{}, none("no broker runs here")
	}
	return m.processLimit(m.Process.PID, name)
}

// processLimit is a limit of a process; of kt for 0.
func (m *Machine) processLimit(pid int, name string) (host.Limit, error) {
	all, err := m.Limits(pid)
	l, ok := all[name]
	if err == nil && !ok {
		err = fmt.Errorf("/proc/%s/limits has no %q", strings.Replace(strconv.Itoa(pid), "0", "self", 1), name)
	}
	for _, n := range []*int64{&l.Soft, &l.Hard} {
		if *n < 0 {
			*n = unlimited
		}
	}
	return l, err
}

func openFiles(m *Machine) (Reading, error) {
	l, err := m.limitOf(openFilesLimit)
	if err != nil {
		return Reading{}, err
	}
	n, err := m.OpenFiles(m.Process.PID)
	if err == nil && l.Soft == 0 {
		err = errors.New("the limit reads as 0")
	}
	f := partOf(int64(n), l.Soft)
	f.shown = fmt.Sprintf("%d of %s", n, limitWord(l.Soft))
	return f, err
}

func userThreads(m *Machine) (Reading, error) {
	l, err := m.limitOf("Max processes")
	if err == nil && m.Process.UID == 0 {
		err = none("the broker runs as root: the limit does not apply")
	}
	return limitReading(l.Soft), err
}

func groupThreads(m *Machine) (Reading, error) {
	switch {
	case m.Process == nil:
		return Reading{}, none("no broker runs here")
	case m.Cgroup.Layout == "":
		return Reading{}, none("no control groups are known")
	case m.Cgroup.Pids == 0:
		return Reading{}, none("the control group has no thread limit")
	}
	return limitReading(m.Cgroup.Pids), nil
}

func lockedMemory(m *Machine) (Reading, error) {
	if m.Process != nil && m.Process.JVM.XX["UseLargePages"] != "true" {
		return Reading{}, none("the broker does not use large pages")
	}
	l, err := m.limitOf("Max locked memory")
	return Reading{Current: limitWord(l.Soft)}, err
}

func clientFiles(m *Machine) (Reading, error) {
	l, err := m.processLimit(0, openFilesLimit)
	return limitReading(l.Hard), err
}

func checkNrOpen(m *Machine, want Rule) Reading {
	return rowOf("fs.nr_open").kernel(m, want.Floor(m.filesWanted()))
}
