package study

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
)

// peakGiven is what a part may name: the least of the rates that the searches before it have found.
const peakGiven = "peak"

// somePeak stands for a peak that is not known yet, in records a second, where the flags of a part are checked.
const somePeak = 1000

// All returns the parts of a study, or the study itself if it has none: what runs are made of.
func (s *Study) All() []*Study {
	if len(s.Parts) > 0 {
		return s.Parts
	}
	return []*Study{s}
}

// checkParts looks for what is wrong with a study of parts, besides what is wrong within them.
func (s *Study) checkParts(bad func(part, format string, args ...any)) {
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
func (s *Study) checkFind(bad func(part, format string, args ...any)) {
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

// CheckSet returns an error if a name for Set is of a part that the study does not have.
func (s *Study) CheckSet(name string) error {
	before, _, dotted := strings.Cut(name, ".")
	if !dotted || len(s.Parts) == 0 || hasPrefix(name, topicPrefix) || isOutside(name) {
		return nil
	}
	var names []string
	for _, part := range s.Parts {
		if load, _ := part.target(name); load != "" || strings.HasPrefix(name, part.Name+".") {
			return nil
		}
		names = append(names, part.Name)
	}
	return fmt.Errorf("--set %s: the study has no part %s; it has %s", name, before, strings.Join(names, ", "))
}

// setParts is Set for a study of parts: PART.NAME is of one part.
func (s *Study) setParts(name string, values []string) {
	var one *Study
	for _, part := range s.Parts { // names may have dots
		if strings.HasPrefix(name, part.Name+".") && (one == nil || len(part.Name) > len(one.Name)) {
			one = part
		}
	}
	if one != nil {
		one.Set(strings.TrimPrefix(name, one.Name+"."), values)
		return
	}
	if name == peakGiven {
		s.give(peakGiven, strings.Join(values, ","))
		return
	}
	for _, part := range s.Parts {
		if part.Find == nil || !slices.Contains(ofTrials, name) {
			part.Set(name, values)
		}
	}
}

// fillParts is Fill for a study of parts. $peak stays open behind a search.
func (s *Study) fillParts(brokers int) error {
	hasPeak := s.isGiven(peakGiven)
	if !hasPeak {
		s.give(peakGiven, "$"+peakGiven)
	}
	var parts []*Study
	var wrong []string
	for _, part := range s.Parts {
		if !hasPeak && part.needsPeak() {
			wrong = append(wrong, fmt.Sprintf("part %s: $%s: no part before it is a search (find:); put one there, or add --set %s=RATE", part.Name, peakGiven, peakGiven))
		}
		hasPeak = hasPeak || part.Find != nil
		part.Given = append(part.Given, s.Given...)
		if err := part.Fill(brokers); err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...) // parts may miss the same
			continue
		}
		parts = append(parts, part.All()...)
	}
	if len(wrong) == 0 {
		s.Parts = parts
	}
	return allOf(wrong)
}

// split makes a search with factors a study of parts: one search for each of its cells.
func (s *Study) split() {
	if s.Find == nil || len(s.Factors) == 0 {
		return
	}
	var parts []*Study
	for i, c := range s.Cells() {
		one := *s
		one.Name, one.Of, one.At, one.Factors, one.Pair = fmt.Sprintf("%s-%d", s.Name, i+1), s.Name, c.At, nil, false
		one.About = strings.TrimSpace(s.About + " (" + one.place() + ")")
		one.Loads = []Load{s.at(c, s.Loads[0])}
		parts = append(parts, &one)
	}
	*s = Study{Name: s.Name, About: s.About, Found: s.Found, Given: s.Given, Parts: parts, Repeats: 1, Order: Listed}
}

// Heading returns what a search is called above what it found: its load, or what tells a part that was split from the others.
func (s *Study) Heading() string {
	if s.Of == "" {
		return s.Loads[0].String()
	}
	return s.Name + ": " + s.Loads[0].Command + " " + s.place()
}

// place returns the values of the factors that a part was split by. Defaults say nothing, and properties files go with systems.
func (s *Study) place() string {
	at := slices.DeleteFunc(slices.Clone(s.At), func(f Flag) bool { return f.Value == Default || f.Name == "command-config" })
	return Cell{At: at}.String()
}

// AtPeak returns the study with a number of records a second for each $peak in it. 0 is some number, to check the study with.
func (s *Study) AtPeak(rate float64) (*Study, error) {
	if !s.needsPeak() {
		return s, nil
	}
	if rate == 0 {
		rate = somePeak
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	at := new(Study)
	if err := json.Unmarshal(text, at); err != nil {
		return nil, err
	}
	at.Given = []Given{{Name: peakGiven, Value: strconv.Itoa(int(math.Max(1, rate)))}}
	return at, at.Fill(0)
}

// needsPeak reports whether $peak is in the study.
func (s *Study) needsPeak() bool {
	one := *s
	one.Given = nil // in a part $peak may be given as itself
	return slices.Contains(one.open(), peakGiven)
}

// checkSearch refuses a search that cannot be made.
func (s *Study) checkSearch(bad func(part, format string, args ...any)) {
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
