package tune

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// sysctlPath is a kernel setting's name below /proc/sys.
func sysctlPath(key string) string { return strings.TrimPrefix(host.SysctlFile(key), "proc/sys/") }

// numbersOf reads a kernel setting of n whole numbers, with one space between them. What holds
// anything else is not compared: kt would only overwrite what it does not understand.
func numbersOf(m *Machine, key string, n int) (string, error) {
	name := host.SysctlFile(key)
	text, err := m.Text(name)
	if err != nil {
		return "", err
	}
	fields := strings.Fields(text)
	if len(fields) != n {
		if n == 1 {
			return "", fmt.Errorf("%s: %q is not a number", name, text)
		}
		return "", fmt.Errorf("%s: %q is not %d numbers", name, text, n)
	}
	for _, f := range fields {
		_, signed := strconv.ParseInt(f, 10, 64)
		_, large := strconv.ParseUint(f, 10, 64) // as fs.file-max can be
		if signed != nil && large != nil {
			return "", fmt.Errorf("%s: %q is not a number", name, f)
		}
	}
	return strings.Join(fields, " "), nil
}

// intsOf are the numbers of a kernel setting that has n.
func intsOf(m *Machine, key string, n int) ([]int64, error) {
	text, err := numbersOf(m, key, n)
	ints := make([]int64, n)
	for i, f := range strings.Fields(text) {
		ints[i], _ = strconv.ParseInt(f, 10, 64) // numbersOf has parsed it
	}
	return ints, err
}

// sysctl reads a kernel setting of n numbers.
func (m *Machine) sysctl(key string, n int) Reading {
	current, err := numbersOf(m, key, n)
	if err != nil {
		return Denied(err)
	}
	return Reading{Current: current, set: func(value string) Change { return Sysctl(key, key, current, value) }}
}

// kernel is the check of the kernel setting that the row is named after.
func (s *Setting) kernel(m *Machine, want Rule) Reading {
	r := m.sysctl(s.ID, max(1, s.Read.Sysctl, s.Takes.Raise))
	switch r.Verdict {
	case NotApplicable:
		r.Note = cmp.Or(s.Read.Missing, r.Note)
	case "":
		r.Note = s.Read.beside(m)
	}
	return s.told(r, want)
}

// beside tells of the other kernel setting of a row, where it has one.
func (r Read) beside(m *Machine) string {
	text, err := m.Text(host.SysctlFile(r.Beside))
	if r.Beside == "" || err != nil {
		return ""
	}
	return r.Beside + " is " + strings.Join(strings.Fields(text), " ")
}

// sysctlCommand sets a kernel setting until the machine starts again.
func sysctlCommand(key, value string) string {
	if strings.ContainsRune(value, ' ') {
		value = `"` + value + `"`
	}
	return "sysctl -w " + key + "=" + value
}
