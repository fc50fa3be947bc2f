package study

import (
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Set gives a factor other values, fills in what the study leaves open, or gives a flag of all loads of
// a run a value. LOAD.FLAG is a flag of one load, which may be prepared, and PART.NAME is of one part.
func (s *Study) Set(name string, values []string) {
	text := strings.Join(values, ",")
	load, flag := s.target(name)
	typed := flag
	if s.isGiven(name) {
		typed = "" // any flag may have it
	}
	for _, part := range s.All() {
		for l := range part.loads() {
			l.typed(typed, append(slices.Clone(values), text)...)
		}
	}
	f := slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Name == name })
	switch {
	case s.isGiven(name), len(s.Parts) == 0 && (name == brokersGiven || name == replicasGiven):
		s.give(name, text)
	case len(s.Parts) > 0:
		s.setParts(name, values)
	case f >= 0:
		if s.Pair && len(values) == 1 {
			values = slices.Repeat(values, len(s.Factors[f].Values))
		}
		s.Factors[f].Values, s.Factors[f].Search = values, spanOf(values)
		if s.Factors[f].Search != nil {
			s.Factors[f].Values = nil
		}
	default:
		for l := range s.loads() {
			if l.Name == load || load == "" && !s.isPrepared(l.Name) {
				l.set(flag, text)
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
	for l := range s.loads() {
		if !s.sets(l, unless) {
			l.set(name, value)
			if typed {
				l.typed(name, value)
			}
		}
	}
}

// Sets reports whether the study gives a load a flag, of its own, by a factor or by a change.
func (s *Study) Sets(flag string) bool {
	for l := range s.loads() {
		if s.sets(l, []string{flag}) {
			return true
		}
	}
	return false
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
	for l := range s.loads() {
		if l.Reads == "" || l.has("duration") {
			l.scale(d)
			l.drop("num-records", "warmup")
			l.set("duration", d.String())
		}
	}
}

// scale moves the commands of a load that will last for another time.
func (l *Load) scale(to time.Duration) {
	from, err := plan.ParseDuration(l.value("duration"))
	if err != nil || from <= 0 {
		return // it has none, or Check says so
	}
	for j := range l.Flags {
		f := &l.Flags[j]
		if at, err := plan.ParseDuration(f.Value); err == nil && f.Name == "at" {
			f.Value = time.Duration(float64(at) * float64(to) / float64(from)).Round(time.Millisecond).String()
		}
	}
}
