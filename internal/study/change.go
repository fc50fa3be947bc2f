package study

import (
	"slices"
	"strings"
	"time"
)

// Set gives a factor other values, or a flag of all loads of a run a value. LOAD.FLAG is a flag of one load, which may be prepared.
func (s *Study) Set(name string, values []string) {
	for i := range s.Factors {
		if s.Factors[i].Name == name {
			s.Factors[i].Values = values
			return
		}
	}
	load, flag := s.target(name)
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			if l := &loads[i]; l.Name == load || load == "" && !s.isPrepared(l.Name) {
				l.set(flag, strings.Join(values, ","))
			}
		}
	}
}

func (s *Study) isPrepared(name string) bool {
	return slices.ContainsFunc(s.Prepare, func(l Load) bool { return l.Name == name })
}

// Share gives every load a flag, those that are prepared too.
func (s *Study) Share(name string, values []string) {
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			loads[i].set(name, strings.Join(values, ","))
		}
	}
}

// LimitTo ends every load after a time, instead of its own end.
func (s *Study) LimitTo(d time.Duration) {
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			l := &loads[i]
			l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return f.Name == "num-records" || f.Name == "warmup" })
			l.set("duration", d.String())
		}
	}
}
