package study

import (
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Set gives a factor other values, fills in what the study leaves open, or gives a flag of all loads of
// a run a value. LOAD.FLAG is a flag of one load, which may be prepared.
func (s *Study) Set(name string, values []string) {
	_, flag := s.target(name)
	if s.isGiven(name) {
		flag = "" // any may have it
	}
	for _, part := range s.All() {
		for _, loads := range [][]Load{part.Prepare, part.Loads} {
			for i := range loads {
				loads[i].typed(flag, append(slices.Clone(values), strings.Join(values, ","))...)
			}
		}
	}
	for i := range s.Given {
		if s.Given[i].Name == name {
			s.Given[i].Value = strings.Join(values, ",")
			return
		}
	}
	if len(s.Parts) > 0 {
		s.setParts(name, values)
		return
	}
	if name == brokersGiven || name == replicasGiven {
		s.give(Given{Name: name, Value: strings.Join(values, ",")})
		return
	}
	for i := range s.Factors {
		if s.Factors[i].Name == name {
			if s.Pair && len(values) == 1 {
				values = slices.Repeat(values, len(s.Factors[i].Values))
			}
			s.Factors[i].Values, s.Factors[i].Search = values, spanOf(values)
			if s.Factors[i].Search != nil {
				s.Factors[i].Values = nil
			}
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

// Share gives every load a flag, those that are prepared too. typed is true if the flag is from the person who starts the study, and
// not from a file that may be somebody else's.
func (s *Study) Share(name string, values []string, typed bool) {
	s.Keep(name, strings.Join(values, ","), typed)
}

// Keep is Share for the loads that have none of some flags, of their own, by a factor or by a change.
func (s *Study) Keep(name, value string, typed bool, unless ...string) {
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			if !s.sets(&loads[i], unless) {
				loads[i].set(name, value)
				if typed {
					loads[i].typed(name, value)
				}
			}
		}
	}
}

// Sets reports whether the study gives a load a flag, of its own, by a factor or by a change.
func (s *Study) Sets(flag string) bool {
	return slices.ContainsFunc(slices.Concat(s.Prepare, s.Loads), func(l Load) bool { return s.sets(&l, []string{flag}) })
}

func (s *Study) sets(l *Load, flags []string) bool {
	all := slices.Clone(l.Flags)
	for _, f := range s.Factors {
		all = append(all, Flag{Name: f.Name})
	}
	if s.Trial != nil {
		all = append(all, s.Trial.Changes...)
	}
	return slices.ContainsFunc(all, func(f Flag) bool {
		load, flag := s.target(f.Name)
		return (load == "" || load == l.Name) && slices.Contains(flags, flag)
	})
}

// typed notes values of a flag from the person who starts the study; "": of any flag.
func (l *Load) typed(flag string, values ...string) {
	for _, v := range values {
		if f := (Flag{flag, v}); !slices.Contains(l.Typed, f) {
			l.Typed = append(l.Typed, f)
		}
	}
}

// IsTyped reports whether a flag is of the person who started the study.
func (l Load) IsTyped(f Flag) bool {
	return slices.Contains(l.Typed, f) || slices.Contains(l.Typed, Flag{Value: f.Value})
}

// LimitTo ends every load after a time, instead of its own end. One that reads all that was prepared
// still does, because less is prepared. Commands of a load come earlier or later
// by as much as it gets shorter or longer.
func (s *Study) LimitTo(d time.Duration) {
	if s.Find != nil {
		s.Find.Trial = plan.Duration(d)
		return
	}
	s.Bytes = 0
	for _, loads := range [][]Load{s.Prepare, s.Loads} {
		for i := range loads {
			l := &loads[i]
			if l.Reads != "" && !slices.ContainsFunc(l.Flags, func(f Flag) bool { return f.Name == "duration" }) {
				continue
			}
			l.scale(d)
			l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return f.Name == "num-records" || f.Name == "warmup" })
			l.set("duration", d.String())
		}
	}
}

// scale moves the commands of a load that will last for another time.
func (l *Load) scale(to time.Duration) {
	i := slices.IndexFunc(l.Flags, func(f Flag) bool { return f.Name == "duration" })
	if i < 0 {
		return
	}
	from, err := plan.ParseDuration(l.Flags[i].Value)
	if err != nil || from <= 0 {
		return // Check says so
	}
	for j := range l.Flags {
		f := &l.Flags[j]
		if at, err := plan.ParseDuration(f.Value); err == nil && f.Name == "at" {
			f.Value = time.Duration(float64(at) * float64(to) / float64(from)).Round(time.Millisecond).String()
		}
	}
}
