package config

import (
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// execs pairs every --at with its --exec, in the order in which they were given.
// length is how long the run lasts; 0: not known.
func (b *builder) execs(length time.Duration) []plan.Exec {
	at, commands := b.f.at, b.f.exec
	switch {
	case len(at) > len(commands):
		b.bad("--at %q: there is no command to run then: give it an --exec COMMAND of its own", at[len(commands)])
		return nil
	case len(commands) > len(at):
		b.bad("--exec %q: there is no time to run it at: give it an --at TIME of its own", commands[len(at)])
		return nil
	}
	var all []plan.Exec
	for i, text := range at {
		after, err := plan.ParseTime(text, time.Second)
		switch {
		case err != nil || after < 0:
			b.bad("--at %q: write a time from the start of the run (30s)", text)
		case length > 0 && after >= length:
			b.bad("--at %s: the run is over by then, with --duration %s", text, length)
		case strings.TrimSpace(commands[i]) == "":
			b.bad("--exec %q: it is no command", commands[i])
		}
		all = append(all, plan.Exec{After: after, Command: commands[i]})
	}
	return all
}
