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
		for _, l := range part.loads() {
			l.typed(typed, append(slices.Clone(values), text)...)
		}
	}
	f := slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Name == name })
	switch {
	case s.isGiven(name), len(s.Parts) == 0 && (name == brokersGiven || name == replicasGiven), len(s.Parts) > 0 && name == peakGiven:
		s.give(name, text)
	case len(s.Parts) > 0:
		parts, within := s.partsOf(name)
		for _, part := range parts {
			part.Set(within, values)
		}
	case f >= 0:
		if s.Pair && len(values) == 1 {
			values = slices.Repeat(values, len(s.Factors[f].Values))
		}
		s.Factors[f].Values, s.Factors[f].Search = values, spanOf(values)
		if s.Factors[f].Search != nil {
			s.Factors[f].Values = nil
		}
	default:
		for _, l := range s.loads() {
			if l.Name == load || load == "" && !s.isPrepared(l.Name) {
				l.set(flag, text)
			}
		}
	}
}

// partsOf returns the parts that a name is of, and what it is within them: PART.NAME is of one part.
func (s *Study) partsOf(name string) (parts []*Study, within string) {
	within = name
	for _, part := range s.Parts {
		if rest, ok := strings.CutPrefix(name, part.Name+"."); ok && len(rest) < len(within) { // names may have dots
			parts, within = []*Study{part}, rest
		} else if within == name && (part.Find == nil || !slices.Contains(ofTrials, name)) {
			parts = append(parts, part)
		}
	}
	return parts, within
}

func (s *Study) isPrepared(name string) bool {
	return slices.ContainsFunc(s.Prepare, func(l Load) bool { return l.Name == name })
}

// Share gives a flag to every load that has none of some flags, of its own, by a factor or by a change: those that are prepared too. typed is
// true if the flag is from the person who starts the study, and not from a file that may be somebody else's.
func (s *Study) Share(name, value string, typed bool, unless ...string) {
	for _, l := range s.loads() {
		if s.sets(l, unless) {
			continue
		}
		if l.set(name, value); typed {
			l.typed(name, value)
		}
	}
}

// Sets reports whether the study gives a load a flag, of its own, by a factor or by a change.
func (s *Study) Sets(flag string) bool {
	return slices.ContainsFunc(s.loads(), func(l *Load) bool { return s.sets(l, []string{flag}) })
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
		l.Typed = append(l.Typed, Flag{flag, v})
	}
	l.Typed = once(l.Typed)
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
	for _, l := range s.loads() {
		if l.Reads != "" && !l.has("duration") {
			continue
		}
		from, err := plan.ParseDuration(l.value("duration"))
		for j := range l.Flags {
			f := &l.Flags[j]
			if at, bad := plan.ParseDuration(f.Value); f.Name == "at" && err == nil && bad == nil && from > 0 {
				f.Value = time.Duration(float64(at) * float64(d) / float64(from)).Round(time.Millisecond).String()
			}
		}
		l.drop("num-records", "warmup")
		l.set("duration", d.String())
	}
}
