package config

import (
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// execs pairs every --at with its --exec, in the order in which they were given.
// length is how long the run lasts; 0: not known.
func (b *builder) execs(length time.Duration) []plan.Exec {
	at, commands := b.list("at"), b.list("exec")
	switch {
	case len(at) > len(commands):
		b.bad("at", at[len(commands)], "there is no command to run then: give it an --exec COMMAND of its own")
		return nil
	case len(commands) > len(at):
		b.bad("exec", commands[len(at)], "there is no time to run it at: give it an --at TIME of its own")
		return nil
	}
	var all []plan.Exec
	for i, text := range at {
		after, err := plan.ParseTime(text, time.Second)
		switch {
		case err != nil || after < 0:
			b.bad("at", text, "write a time from the start of the run (30s)")
		case length > 0 && after >= length:
			b.bad("at", text, "the run is over by then, with --duration %s", length)
		case strings.TrimSpace(commands[i]) == "":
			b.bad("exec", commands[i], "it is no command")
		}
		all = append(all, plan.Exec{After: after, Command: commands[i]})
	}
	return all
}
