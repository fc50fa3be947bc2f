package tune

import (
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

// sysctlPath is a kernel setting's name below /proc/sys.
func sysctlPath(key string) string { return strings.TrimPrefix(host.SysctlFile(key), "proc/sys/") }

// sysctlCheck is the check of a kernel setting that a rule judges by itself; bad is
// the verdict when it does not hold. kt sets it where applies is true.
func sysctlCheck(id, key string, bad Verdict, applies bool) func(*Machine, Rule) Reading {
	return func(m *Machine, want Rule) Reading {
		current, err := m.Text(host.SysctlFile(key))
		if err != nil {
			return Denied(err)
		}
		current = strings.Join(strings.Fields(current), " ")
		r := Compare(current, want, bad)
		if applies && r.Verdict == bad && !want.Leave() {
			r.Changes = []Change{Sysctl(id, key, current, want.Target(current))}
		}
		return r
	}
}
