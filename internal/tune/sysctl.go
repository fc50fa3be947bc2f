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
		if _, err := strconv.ParseUint(f, 10, 64); err != nil && !whole64(f) { // fs.file-max can be large
			return "", fmt.Errorf("%s: %q is not a number", name, f)
		}
	}
	return strings.Join(fields, " "), nil
}

// whole64 reports whether a text is a whole number.
func whole64(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
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

// kernel reads the kernel setting that the row is named after.
func (a place) kernel() Reading {
	id := a.row.ID
	current, err := numbersOf(a.Machine, id, max(1, a.row.Read.Sysctl, a.row.Takes.Raise))
	if err != nil {
		return a.unreadable(err)
	}
	return Reading{Current: current, set: func(value string) Change { return Sysctl(id, id, current, value) }}
}

// judgedKernel is the reading of that setting with its verdict.
func (a place) judgedKernel() Reading { return a.judge(a.kernel()) }

// sysctlCommand sets a kernel setting until the machine starts again.
func sysctlCommand(key, value string) string {
	if strings.ContainsRune(value, ' ') {
		value = `"` + value + `"`
	}
	return "sysctl -w " + key + "=" + value
}
