package study

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/suggest"
)

// maxTurns bounds the runs of a study: at ten seconds a run they take four months.
const maxTurns = 1_000_000

// OwnFlags are flags of loads that a study sets itself, or that mean nothing in one.
var OwnFlags = []string{"topic", "include", "delete-topic", "result", "output", "run", "ledger", "print-config", "limit", "abort-on"}

// isOwn reports whether a flag is one of OwnFlags. The loads of a workload have limits, and so may all together.
func (l *Load) isOwn(flag string) bool {
	return slices.Contains(OwnFlags, flag) && (flag != "limit" || !l.IsWorkload())
}

// ofTrials are flags that a search gives its trials.
var ofTrials = []string{"rate", "throughput", "duration", "num-records", "messages", "warmup", "warmup-records"}

// ofLoads are flags that say which load it is. What is best is best for one load.
var ofLoads = append([]string{"record-size", "scale", "speed", "run-time", "limit", "engine", "url", "bootstrap-server", "cluster", "topics", "seed"}, ofTrials...)

// mostOfPhase bounds the runs of a phase of a search for the best settings, of each side.
const mostOfPhase = 1000

// mostCells bounds the cells of a search for the best settings, which have numbers.
const mostCells = 1 << 50

// mostValues bounds the values of a factor of such a search, which makes some 60 runs before its proof.
const mostValues = 100

// notYours says why a load may not have one of OwnFlags.
func notYours(in, flag string) string {
	if flag == "limit" || flag == "abort-on" {
		return "it judges a run by itself, and a " + in + " judges its runs together: use kt find --slo, or kt compare --fail-on on the runs"
	}
	return "a " + in + " gives every run its own"
}

// Check returns all that is wrong with a study before its flags are looked at.
func (s *Study) Check() error {
	bad := s.problems()
	for _, part := range s.Parts {
		part = cmp.Or(part, new(Study)) // of a copied file
		if err := part.Check(); err != nil {
			bad = append(bad, fmt.Errorf("part %s: %w", part.Name, err))
		}
	}
	return errors.Join(bad...)
}

// problem is what is wrong with a part of a study: a key, "load NAME", "flag LOAD NAME", "factor NAME" or "ask N".
type problem struct {
	error

	part string
}

type problems []error

func (p *problems) refuse(wrong bool, part, format string, args ...any) {
	if wrong {
		*p = append(*p, problem{fmt.Errorf(format, args...), part})
	}
}

func (s *Study) problems() (bad problems) {
	var names []string
	for _, part := range s.Parts {
		part = cmp.Or(part, new(Study))
		err := plan.CheckName(part.Name)
		bad.refuse(err != nil, "parts", "parts: name %q: %w", part.Name, err)
		bad.refuse(slices.Contains(names, part.Name), "parts", "parts: two have the name %s", part.Name)
		names = append(names, part.Name)
	}
	if len(s.Parts) > 0 {
		own := len(s.Loads)+len(s.Prepare)+len(s.Factors)+len(s.Ask) > 0 || s.Find != nil
		bad.refuse(own, "parts", "parts: each has loads, factors and questions of its own: leave them out beside parts")
		return bad
	}
	bad.refuse(len(s.Loads) == 0, "", "load: there is none; write load: {command: produce, …}")
	bad.refuse(s.Repeats < 1 || s.Repeats > maxTurns, "repeats", "repeats %d: it must be from 1 to %d", s.Repeats, maxTurns)
	bad.refuse(s.Discard < 0 || s.Discard > maxTurns, "discard", "discard %d: it must be from 0 to %d", s.Discard, maxTurns)
	bad.refuse(s.Bytes > 0 && slices.ContainsFunc(s.Loads, func(l Load) bool { return l.IsWorkload() }), "bytes", "bytes: the loads of a workload say themselves how much they write: leave it out")
	bad.refuse(s.Rest < 0, "rest", "rest %s: it must be 0 or more", s.Rest)
	looks := cmp.Or(s.Trial, &Proposal{Looks: defaultLooks}).Looks
	bad.refuse(len(looks) == 0 || looks[0] < 1 || !slices.IsSorted(looks) || looks[len(looks)-1] > maxTurns, "trial", "trial: looks %d: they must be from 1 to %d, the least first", looks, maxTurns)
	if s.Find != nil {
		s.checkFind(&bad)
	}
	if s.Optimum != nil {
		s.checkOptimum(&bad)
	}
	s.checkLoads(&bad)
	s.checkFactors(&bad)
	return bad
}

// checkFind looks for what a search of the highest rate cannot have.
func (s *Study) checkFind(bad *problems) {
	if len(s.Loads) != 1 || len(s.Prepare)+len(s.Ask) > 0 {
		bad.refuse(true, "find", "find: a search has one load, and no questions")
		return
	}
	for _, f := range s.Factors {
		bad.refuse(f.Search != nil, "factor "+f.Name, "find: its factors have lists of values, with a search of the highest rate for each")
		bad.refuse(f.Search == nil && isOutside(f.Name), "factor "+f.Name, "find: %s: a search changes no broker and no host; vary it in a study without find", f.Name)
	}
	f, l := s.Find, &s.Loads[0]
	bad.refuse(f.Trial.Std() < time.Second, "find", "find: trial %s: a run of less than 1s says nothing", f.Trial)
	bad.refuse(!(f.Precision >= 0.001 && f.Precision <= 0.5), "find", "find: precision %v: it must be from 0.001 to 0.5", f.Precision) // not a number is neither
	for _, share := range f.Curve {
		bad.refuse(!(share > 0 && share <= 1), "find", "find: curve %v: a share of the peak is from 0 to 1", share)
	}
	flags := ofTrials
	if l.IsWorkload() {
		flags = []string{"scale", "run-time"}
	}
	for _, flag := range flags {
		bad.refuse(l.has(flag), "load "+l.Name, "--%s: kt find gives every trial its rate (or scale) and its time: leave it out (--ladder and --trial-time choose them)", flag)
	}
	l.checkReads(bad)
}

// checkReads looks for what runs cannot have that all read the same old records.
func (l *Load) checkReads(bad *problems) {
	reads := l.Command == "consume"
	bad.refuse(reads && !l.has("topic"), "load "+l.Name, "consume: each trial reads old records at a rate: name a topic that holds enough of them with --topic")
	bad.refuse(reads && l.has("group"), "load "+l.Name, "--group: its committed offsets would let each trial begin where the one before ended; leave it out")
}

// checkOptimum looks for what a search for the best settings cannot have.
func (s *Study) checkOptimum(bad *problems) {
	if len(s.Loads) != 1 || len(s.Prepare)+len(s.Ask) > 0 || s.Find != nil || s.Trial != nil {
		bad.refuse(true, "", "optimum: a search for the best settings has one load, and nothing else is asked of it")
		return
	}
	s.Loads[0].checkReads(bad)
	o := s.Optimum
	for _, n := range append([]int{o.Most, o.Repeats}, o.Looks...) { // of a file that was changed
		bad.refuse(n < 1 || n > mostOfPhase, "optimum", "optimum: %d runs: write 1 to %d", n, mostOfPhase)
	}
	bad.refuse(len(o.Looks) == 0 || len(o.Looks) > mostOfPhase, "optimum", "optimum: looks: write 1 to %d of them", mostOfPhase)
	bad.refuse(!slices.IsSorted(o.Looks), "optimum", "optimum: looks %d: write the least first", o.Looks)
	_, err := metric.Find(string(o.By))
	load, _, _ := strings.Cut(string(o.By), ".")
	bad.refuse(err != nil && !slices.ContainsFunc(s.Loads[0].Loads, func(l Load) bool { return l.Name == load }), "", "optimum: by %q: %w", o.By, err)
	bad.refuse(len(s.Factors) == 0, "", "kt knows no setting that this load takes and that may be better: name some with --over, as in --over producers=1,2,4")
	cells, now := 1, mapped(o.Present, func(f Flag) string { return f.Name })
	for _, f := range s.Factors {
		_, flag := s.target(f.Name)
		bad.refuse(slices.Contains(ofLoads, flag), "", "--over %s: it is the load itself that it changes, and no setting of it", f.Name)
		bad.refuse(len(f.Values) == 0 || f.Search != nil, "", "factor %s: a search for the best settings has a list of its values", f.Name)
		bad.refuse(len(f.Values) > mostValues, "", "factor %s: it has %d values, and a search takes at most %d of each", f.Name, len(f.Values), mostValues)
		bad.refuse(!slices.Contains(now, f.Name), "", "factor %s: the search does not say what it is now", f.Name)
		cells = min(cells, mostCells/max(1, len(f.Values))) * len(f.Values)
	}
	bad.refuse(cells > mostCells/2, "", "%d settings with all their values are too many to search: name fewer with --over", len(s.Factors))
}

func (s *Study) checkLoads(bad *problems) {
	var names []string
	for _, l := range s.loads() {
		part := "load " + l.Name
		if l.Name != "" || len(s.Prepare)+len(s.Loads) > 1 {
			err := plan.CheckName(l.Name)
			bad.refuse(slices.Contains(names, l.Name), part, "load %q: two have this name", l.Name)
			bad.refuse(l.Name != "" && err != nil, part, "load %q: %w", l.Name, err)
			bad.refuse(isOutside(l.Name+".") || l.Name+"." == topicPrefix, part, "load %q: factors of that name are no flags of a load; give it another one", l.Name)
			names = append(names, l.Name)
		}
		for _, f := range l.Flags {
			isOwn := l.isOwn(f.Name) && (f.Name != "topic" || !l.readsOld())
			bad.refuse(isOwn, "flag "+l.Name+" "+f.Name, "%s: %s", f.Name, notYours("study", f.Name))
		}
		bad.refuse(l.Captured != nil, "captured "+l.Name, "captured: it is for a load of a workload: make the file with kt run, or as load: {command: run, file: FILE}")
		bad.refuse(l.Reads != "" && !s.isPrepared(l.Reads), part, "reads %q: no load of that name is prepared", l.Reads)
	}
}

func (s *Study) checkFactors(bad *problems) {
	factors, searched, cells := s.factorNames(), s.searched(), 1
	for i, q := range s.Ask {
		bad.refuse(!slices.Contains(factors, q.Factor()), fmt.Sprint("ask ", i), "ask %q: there is no such factor%s", q.Factor(), suggest.Hint(q.Factor(), factors, ""))
		load, _, _ := strings.Cut(string(q.By), ".")
		_, err := metric.Find(string(q.By))
		ofLoad := slices.ContainsFunc(s.Loads, func(l Load) bool { // before its file is read its loads are not known
			return l.IsWorkload() && len(l.Loads) == 0 || slices.ContainsFunc(l.Loads, func(l Load) bool { return l.Name == load })
		})
		bad.refuse(err != nil && !ofLoad, fmt.Sprint("ask ", i), "ask by %q: there is no load %s", q.By, load)
	}
	if f := searched; f != nil {
		_, err := f.Search.steps()
		bad.refuse(err != nil && !open.MatchString(f.Search.From) && !open.MatchString(f.Search.To), "factor "+f.Name, "%s: search %w", f.Name, err)
		for _, other := range s.Factors {
			bad.refuse(other.Search != nil && other.Name != f.Name, "factor "+other.Name, "%s: a study searches one factor, and this one searches %s; list the values of one of them", other.Name, f.Name)
		}
		bad.refuse(s.Pair, "pair", "%s: values that are searched have no pairs; leave pair out", f.Name)
		bad.refuse(s.searchedBy() == "", "factor "+f.Name, "%s: a search needs a question for the best value: add ask: [{best: %s, by: throughput}]", f.Name, f.Name)
	}
	for i, f := range s.Factors {
		load, flag := s.target(f.Name)
		writes := slices.ContainsFunc(s.Loads, func(l Load) bool { return (load == "" || l.Name == load) && !l.readsOld() })
		isOwn := slices.ContainsFunc(s.Loads, func(l Load) bool { return l.isOwn(flag) })
		bad.refuse(isOwn && (flag != "topic" || writes), "factor "+f.Name, "factor %s: %s", f.Name, notYours("study", flag))
		if first := s.Factors[0]; s.Pair && searched == nil && len(f.Values) != len(first.Values) {
			bad.refuse(true, "pair", "pair: %s has %d values and %s has %d; in pairs all factors have as many", first.Name, len(first.Values), f.Name, len(f.Values))
			return
		}
		if (i == 0 || !s.Pair) && s.Optimum == nil {
			cells = min(cells*len(f.values()), maxTurns+1)
		}
	}
	bad.refuse(cells == 0, "factors", "factors: one has no values")
	bad.refuse(cells*min(s.Repeats, maxTurns) > maxTurns, "factors", "it has more than %d runs", maxTurns)
	bad.refuse(s.Order == ABBA && cells != 2 && s.Trial == nil, "order", "order abba: it needs two cells, and there are %d", cells)
}
