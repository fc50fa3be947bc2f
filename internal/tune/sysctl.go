package tune

import (
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

// sysctl reads a kernel setting of n numbers.
func (m *Machine) sysctl(key string, n int) Reading {
	current, err := numbersOf(m, key, n)
	if err != nil {
		return Denied(err)
	}
	return Reading{Current: current, set: func(value string) Change { return Sysctl(key, key, current, value) }}
}

// numberCheck is the check of a kernel setting that is one number, see [numbersCheck].
func numberCheck(key string, bad Verdict, applies bool) check {
	return numbersCheck(key, 1, bad, applies)
}

// numbersCheck is the check of a kernel setting of n numbers. Where it does not hold the
// verdict is bad, and the reading has a change, or without applies the command.
func numbersCheck(key string, n int, bad Verdict, applies bool) check {
	return func(m *Machine, want Rule) Reading {
		current, err := numbersOf(m, key, n)
		if err != nil {
			return Denied(err)
		}
		r := Compare(current, want, bad)
		switch {
		case want.Leave() || r.Verdict == OK:
		case applies:
			r.Changes = []Change{Sysctl(key, key, current, want.Target(current))}
		default:
			r.Command = sysctlCommand(key, want.Target(current))
		}
		return r
	}
}

// sysctlCommand sets a kernel setting until the machine starts again.
func sysctlCommand(key, value string) string {
	if strings.ContainsRune(value, ' ') {
		value = `"` + value + `"`
	}
	return "sysctl -w " + key + "=" + value
}
