package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// maxTurns bounds the runs of a study: at ten seconds a run they take four months.
const maxTurns = 1_000_000

// Cell is one choice of values: one for each factor, in the order of the factors.
type Cell struct {
	Index int
	At    []Flag

	called string // "": by its values
}

// String returns what a cell is called: "partitions=4 acks=all".
func (c Cell) String() string {
	if c.called != "" {
		return c.called
	}
	var parts []string
	for _, f := range c.At {
		parts = append(parts, f.Name+"="+f.Value)
	}
	return strings.Join(parts, " ")
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

func (s *Study) problems() (all []problem) {
	bad := func(part, format string, args ...any) { all = append(all, problem{part, fmt.Errorf(format, args...)}) }
	if len(s.Parts) > 0 {
		s.checkParts(bad)
		return all
	}
	if len(s.Loads) == 0 {
		bad("", "load: there is none; write load: {command: produce, …}")
	}
	if s.Find != nil {
		s.checkFind(bad)
	}
	if s.Repeats < 1 {
		bad("repeats", "repeats %d: it must be 1 or more", s.Repeats)
	}
	if s.Discard < 0 || s.Discard > maxTurns {
		bad("discard", "discard %d: it must be from 0 to %d", s.Discard, maxTurns)
	}
	s.checkNames(bad)
	s.checkFactors(bad)
	return all
}

// OwnFlags are flags of loads that a study sets itself, or that mean nothing in one.
var OwnFlags = []string{"topic", "include", "delete-topic", "result", "output", "run", "ledger", "print-config", "limit", "abort-on"}

// notYours says why a load may not have one of OwnFlags.
func notYours(in, flag string) string {
	if flag == "limit" || flag == "abort-on" {
		return "it judges a run by itself, and a " + in + " judges its runs together: use kt find --slo, or kt compare --fail-on on the runs"
	}
	return "a " + in + " gives every run its own"
}

func (s *Study) checkNames(bad func(part, format string, args ...any)) {
	var names []string
	for l := range s.loads() {
		part := "load " + l.Name
		if l.Name != "" || len(s.Prepare)+len(s.Loads) > 1 {
			switch err := plan.CheckName(l.Name); {
			case slices.Contains(names, l.Name):
				bad(part, "load %q: two have this name", l.Name)
			case l.Name != "" && err != nil:
				bad(part, "load %q: %w", l.Name, err)
			case l.Name != "" && hasPrefix(l.Name+".", topicPrefix, brokerPrefix, sysctlPrefix, tunePrefix):
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

func (s *Study) checkFactors(bad func(part, format string, args ...any)) {
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
	s.checkTwice(bad)
	if s.Order == ABBA && cells != 2 && s.Trial == nil {
		bad("order", "order abba: it needs two cells, and there are %d", cells)
	}
}

// checkTwice refuses a value that a factor has twice, or in pairs a pair.
func (s *Study) checkTwice(bad func(part, format string, args ...any)) {
	seen := make(map[string]bool)
	for _, c := range s.Cells() {
		if s.Pair && seen[c.String()] {
			bad("pair", "pair: %s is there twice", c)
		}
		seen[c.String()] = true
	}
	for _, f := range s.Factors {
		for i, v := range f.Values {
			same := func(o string) bool {
				a, err := plan.ParseCount(v)
				b, other := plan.ParseCount(o)
				return v == o || err == nil && other == nil && a == b // 1000 and 1k
			}
			if !s.Pair && slices.ContainsFunc(f.Values[:i], same) {
				bad("factor "+f.Name, "%s: %s is there twice", f.Name, v)
			}
		}
	}
}

func (s *Study) factorNames() (names []string) {
	for _, f := range s.Factors {
		names = append(names, f.Name)
	}
	return names
}

// Cells returns every choice of values: the last factor varies fastest. Without factors there is one.
func (s *Study) Cells() (cells []Cell) {
	if s.Trial != nil {
		return s.Trial.cells()
	}
	all := [][]Flag{nil}
	if s.Pair && len(s.Factors) > 0 {
		all = make([][]Flag, len(s.Factors[0].Values))
	}
	for _, f := range s.Factors {
		var longer [][]Flag
		for i, at := range all {
			values := f.values()
			if s.Pair {
				values = values[i : i+1]
			}
			for _, v := range values {
				longer = append(longer, append(slices.Clone(at), Flag{f.Name, v}))
			}
		}
		all = longer
	}
	for i, at := range all {
		cells = append(cells, Cell{Index: i, At: at})
	}
	return cells
}

// at returns a load of a run with the values of a cell.
func (s *Study) at(c Cell, l Load) Load {
	l, _ = s.with(c, l, func(load, flag, value string) bool {
		return (load == "" || load == l.Name) && !isOutside(flag) && (value != Default || hasPrefix(flag, topicPrefix))
	})
	return l
}

// prepared returns a prepared load with the values of a cell, and what is added to the name of its
// topic: a prepared load depends on the factors that name it alone.
func (s *Study) prepared(c Cell, l Load) (_ Load, suffix string) {
	return s.with(c, l, func(load, _, _ string) bool { return load == l.Name })
}

// with returns a load with those values of a cell that are of it, and the values.
func (s *Study) with(c Cell, l Load, isOf func(load, flag, value string) bool) (_ Load, suffix string) {
	l.Flags = slices.Clone(l.Flags)
	for _, f := range c.At {
		if load, flag := s.target(f.Name); isOf(load, flag, f.Value) {
			l.set(flag, f.Value)
			suffix += "-" + f.Value
		}
	}
	l.fit(s.Bytes)
	return l, suffix
}

// target returns the load that a factor is of, and its flag. load is empty for all loads of a run.
func (s *Study) target(factor string) (load, flag string) {
	before, after, ok := strings.Cut(factor, ".")
	for l := range s.loads() {
		if ok && l.Name == before {
			return before, after
		}
	}
	return "", factor
}

// fit gives a load that writes as many records as have some bytes of values; 0 bytes: it stays as it is.
func (l *Load) fit(bytes int64) {
	size, err := plan.ParseSize(cmp.Or(l.value("record-size"), strconv.Itoa(plan.DefaultRecordSize)))
	if bytes == 0 || l.Command == "consume" || err != nil { // CheckLoads tells the error
		return
	}
	l.drop("duration")
	l.set("num-records", strconv.FormatInt(max(1, int64(float64(bytes)/size.Mean())), 10))
}

// set gives a flag a value instead of those that it has. A topic setting is one of several. Where a load is to be made on a
// number of hosts, the first ones of --on are left; when it names fewer, the run refuses to begin.
func (l *Load) set(name, value string) {
	if setting, ok := strings.CutPrefix(name, topicPrefix); ok {
		l.Flags = slices.DeleteFunc(l.Flags, func(f Flag) bool { return f.Name == "topic-config" && strings.HasPrefix(f.Value, setting+"=") })
		if value != Default {
			l.Flags = append(l.Flags, Flag{"topic-config", setting + "=" + value})
		}
		return
	}
	n, err := plan.ParseCount(value)
	for i := range l.Flags {
		f := &l.Flags[i]
		if hosts := strings.Split(f.Value, ","); name == "hosts" && f.Name == "on" && err == nil && n >= 1 && int(n) <= len(hosts) {
			f.Value = strings.Join(hosts[:n], ",")
		}
	}
	l.drop(name)
	l.Flags = append(l.Flags, Flag{name, value})
}
