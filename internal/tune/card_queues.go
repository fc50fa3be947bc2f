package tune

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/host"
)

func checkCardSteering(m *Machine, _ Rule) Reading {
	return eachCard(m, func(n NIC) Reading {
		queues := m.Glob(n.class("queues/rx-*/rps_cpus"))
		if len(queues) == 0 {
			return Absent("the queues of %s are not visible", n.Name)
		}
		steered := 0
		for _, q := range queues {
			mask, err := m.Text(q)
			if err != nil {
				return Denied(err)
			}
			if mask == "" || strings.Trim(mask, "0123456789abcdef,") != "" {
				return Reading{Verdict: Unknown, Note: fmt.Sprintf("%s: %q is no set of CPUs", q, mask)}
			}
			if strings.Trim(mask, "0,") != "" {
				steered++
			}
		}
		r := Reading{Verdict: OK, Current: fmt.Sprintf("%s, %d shared", plural(float64(len(queues)), "queue"), steered)}
		if steered == 0 && 4*len(queues) < m.Logical {
			r.Verdict, r.Note = Info, fmt.Sprintf("%s has %s for %d CPUs", n.Name, plural(float64(len(queues)), "queue"), m.Logical)
		}
		return r
	})
}

func checkCardBalance(m *Machine, want Rule) Reading {
	switch {
	case m.Container != "":
		return Absent("a container cannot see the machine's programs")
	case m.Logical < 2:
		return Absent("there is one CPU, or their number is not known")
	}
	running, err := runs(m, "irqbalance")
	if err != nil {
		return Denied(err)
	}
	current := "not running"
	if running {
		current = "running"
	}
	r := Compare(current, want, Info)
	if r.Verdict == Info && !want.Leave() {
		r.Command = "systemctl enable --now irqbalance"
	}
	return r
}

// runs reports whether a program runs: by the folder that it keeps below /run, or as a
// process.
func runs(m *Machine, program string) (bool, error) {
	if sockets, err := m.Names("run/" + program); err == nil && len(sockets) > 0 {
		return true, nil
	}
	all, err := m.Processes()
	if err == nil && len(all) == 0 {
		err = errors.New("the running programs are not visible")
	}
	return slices.ContainsFunc(all, func(p host.Process) bool {
		return len(p.Args) > 0 && path.Base(p.Args[0]) == program
	}), err
}
