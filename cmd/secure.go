package cmd

import (
	"syscall"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/plan"
)

// secure turns security properties of a load into settings. From then on this process holds secrets, so it leaves no core dump.
func (e *Env) secure(p *plan.Plan, s config.Security) (security.Settings, []string, error) {
	given := ofURL(p, s.Given())
	if len(given) > 0 {
		forbidCoreDump()
	}
	return security.Parse(given, s.Named(), e.Getenv)
}

// forbidCoreDump keeps the kernel from writing a core dump of this process, as GOTRACEBACK=crash and a signal ask for. The hard
// limit stays as it is for commands that a user has beside a load.
func forbidCoreDump() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // a lower limit is always allowed
	}
}
