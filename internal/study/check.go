package study

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kt-bench/kt/internal/plan"
)

// maxTurns bounds the runs of a study: at ten seconds a run they take four months.
const maxTurns = 1_000_000

// OwnFlags are flags of loads that a study sets itself, or that mean nothing in one.
var OwnFlags = []string{"topic", "include", "delete-topic", "result", "output", "run", "ledger", "print-config", "limit", "abort-on"}

// notYours says why a load may not have one of OwnFlags.
func notYours(in, flag string) string {
	if flag == "limit" || flag == "abort-on" {
		return "it judges a run by itself, and a " + in + " judges its runs together: use kt find --slo, or kt compare --fail-on on the runs"
	}
	return "a " + in + " gives every run its own"
}

// Check returns all that is wrong with a study before its flags are looked at.
func (s *Study) Check() error {
	var errs []error
	for _, p := range s.problems() {
		errs = append(errs, p.err)
	}
	for _, part := range s.Parts {
		if err := part.Check(); err != nil {
			errs = append(errs, fmt.Errorf("part %s: %w", part.Name, err))
		}
	}
	return errors.Join(errs...)
}

// problem is what is wrong with a part of a study: a key, "load NAME", "flag LOAD NAME", "factor NAME" or "ask N".
type problem struct {
	part string
	err  error
}

// report notes what is wrong with a part of a study.
type report func(part, format string, args ...any)

func (s *Study) problems() (all []problem) {
	bad := func(part, format string, args ...any) { all = append(all, problem{part, fmt.Errorf(format, args...)}) }
	if len(s.Parts) > 0 {
		s.checkParts(bad)
		return all
	}
	if len(s.Loads) == 0 {
		bad("", "load: there is none; write load: {command: produce, …}")
	}
	if s.Repeats < 1 {
		bad("repeats", "repeats %d: it must be 1 or more", s.Repeats)
	}
	if s.Discard < 0 || s.Discard > maxTurns {
		bad("discard", "discard %d: it must be from 0 to %d", s.Discard, maxTurns)
	}
	if s.Find != nil {
		s.checkFind(bad)
	}
	s.checkNames(bad)
	s.checkFactors(bad)
	return all
}

// checkParts looks for what is wrong with a study of parts, besides what is wrong within them.
func (s *Study) checkParts(bad report) {
	if len(s.Loads)+len(s.Prepare)+len(s.Factors)+len(s.Ask) > 0 || s.Find != nil {
		bad("parts", "parts: each has loads, factors and questions of its own: leave them out beside parts")
	}
	var names []string
	for _, part := range s.Parts {
		if err := plan.CheckName(part.Name); err != nil {
			bad("parts", "parts: name %q: %w", part.Name, err)
		}
		if slices.Contains(names, part.Name) {
			bad("parts", "parts: two have the name %s", part.Name)
		}
		names = append(names, part.Name)
	}
}

// checkFind looks for what a search cannot have.
func (s *Study) checkFind(bad report) {
	if len(s.Loads) != 1 || len(s.Prepare)+len(s.Ask) > 0 {
		bad("find", "find: a search has one load, and no questions")
		return
	}
	for _, f := range s.Factors {
		switch {
		case f.Search != nil:
			bad("factor "+f.Name, "find: its factors have lists of values, with a search of the highest rate for each")
		case isOutside(f.Name):
			bad("factor "+f.Name, "find: %s: a search changes no broker and no host; vary it in a study without find", f.Name)
		}
	}
	if err := s.Find.check(); err != nil {
		bad("find", "find: %w", err)
	}
	if err := s.Loads[0].checkFind(); err != nil {
		bad("load "+s.Loads[0].Name, "%w", err)
	}
}

func (s *Study) checkNames(bad report) {
	var names []string
	for _, l := range s.loads() {
		part := "load " + l.Name
		if l.Name != "" || len(s.Prepare)+len(s.Loads) > 1 {
			switch err := plan.CheckName(l.Name); {
			case slices.Contains(names, l.Name):
				bad(part, "load %q: two have this name", l.Name)
			case l.Name != "" && err != nil:
				bad(part, "load %q: %w", l.Name, err)
			case l.Name != "" && (isOutside(l.Name+".") || l.Name+"." == topicPrefix):
				bad(part, "load %q: factors of that name are no flags of a load; give it another one", l.Name)
			}
			names = append(names, l.Name)
		}
		for _, f := range l.Flags {
			if slices.Contains(OwnFlags, f.Name) && (f.Name != "topic" || !l.readsOld()) {
				bad("flag "+l.Name+" "+f.Name, "%s: %s", f.Name, notYours("study", f.Name))
			}
		}
		if l.Reads != "" && !s.isPrepared(l.Reads) {
			bad(part, "reads %q: no load of that name is prepared", l.Reads)
		}
	}
}

func (s *Study) checkFactors(bad report) {
	factors := s.factorNames()
	for i, q := range s.Ask {
		if !slices.Contains(factors, q.Factor()) {
			bad(fmt.Sprint("ask ", i), "ask %q: there is no such factor%s", q.Factor(), didYouMean(q.Factor(), factors))
		}
	}
	s.checkSearch(bad)
	cells := 1
	for i, f := range s.Factors {
		load, flag := s.target(f.Name)
		writes := slices.ContainsFunc(s.Loads, func(l Load) bool { return (load == "" || l.Name == load) && !l.readsOld() })
		if slices.Contains(OwnFlags, flag) && (flag != "topic" || writes) {
			bad("factor "+f.Name, "factor %s: %s", f.Name, notYours("study", flag))
		}
		if s.Pair && s.searched() == nil && len(f.Values) != len(s.Factors[0].Values) {
			bad("pair", "pair: %s has %d values and %s has %d; in pairs all factors have as many", s.Factors[0].Name, len(s.Factors[0].Values), f.Name, len(f.Values))
			return
		}
		if i == 0 || !s.Pair {
			cells = min(cells*len(f.values()), maxTurns+1)
		}
	}
	if cells*min(s.Repeats, maxTurns) > maxTurns {
		bad("factors", "it has more than %d runs", maxTurns)
	}
	if s.Order == ABBA && cells != 2 && s.Trial == nil {
		bad("order", "order abba: it needs two cells, and there are %d", cells)
	}
}

// checkSearch refuses a search that cannot be made.
func (s *Study) checkSearch(bad report) {
	f := s.searched()
	if f == nil {
		return
	}
	if _, err := f.Search.steps(); err != nil && !f.Search.isOpen() {
		bad("factor "+f.Name, "%s: search %w", f.Name, err)
	}
	for _, other := range s.Factors {
		if other.Search != nil && other.Name != f.Name {
			bad("factor "+other.Name, "%s: a study searches one factor, and this one searches %s; list the values of one of them", other.Name, f.Name)
		}
	}
	if s.Pair {
		bad("pair", "%s: values that are searched have no pairs; leave pair out", f.Name)
	}
	if s.searchedBy() == "" {
		bad("factor "+f.Name, "%s: a search needs a question for the best value: add ask: [{best: %s, by: throughput}]", f.Name, f.Name)
	}
}
