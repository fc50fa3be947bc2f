package config

import (
	"strings"
	"time"
)

// moments pairs every --at with its --exec, in the order in which they were given.
// length is how long the run lasts, 0 when nobody knows.
func (b *builder) moments(length time.Duration) []Moment {
	at, commands := b.f.at, b.f.exec
	switch {
	case len(at) > len(commands):
		b.bad("--at %q: there is no command to run then: give it an --exec COMMAND of its own", at[len(commands)])
		return nil
	case len(commands) > len(at):
		b.bad("--exec %q: there is no time to run it at: give it an --at TIME of its own", commands[len(at)])
		return nil
	}
	var all []Moment
	for i, text := range at {
		after, err := parseTime(text, time.Second)
		switch {
		case err != nil || after < 0:
			b.bad("--at %q: write a time from the start of the run (30s)", text)
		case length > 0 && after >= length:
			b.bad("--at %s: the run is over by then, with --duration %s", text, length)
		case strings.TrimSpace(commands[i]) == "":
			b.bad("--exec %q: it is no command", commands[i])
		}
		all = append(all, Moment{after, commands[i]})
	}
	return all
}
