package study

import (
	"encoding/json"
	"errors"
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

// All returns the studies whose runs are made: the parts, or the study itself.
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
	if s.searched() != nil {
		bad("find", "find: its factors have lists of values, with a search of the highest rate for each")
	}
	if err := s.Loads[0].checkFind(); err != nil {
		bad("load "+s.Loads[0].Name, "%w", err)
	}
}

// setParts is Set for a study of parts: PART.NAME is of one part.
func (s *Study) setParts(name string, values []string) {
	before, after, _ := strings.Cut(name, ".")
	for _, part := range s.Parts {
		if part.Name == before {
			part.Set(after, values)
			return
		}
	}
	if name == peakGiven {
		s.give(Given{Name: peakGiven, Value: strings.Join(values, ",")})
		return
	}
	for _, part := range s.Parts {
		if part.Find == nil || !slices.Contains(ofTrials, name) {
			part.Set(name, values)
		}
	}
}

// fillParts is Fill for a study of parts. A search with factors becomes a search for each of its cells.
func (s *Study) fillParts(brokers int) error {
	s.give(Given{Name: peakGiven, Value: "$" + peakGiven})
	var parts []*Study
	var wrong []string
	known := s.Given[slices.IndexFunc(s.Given, func(g Given) bool { return g.Name == peakGiven })].Value != "$"+peakGiven
	for _, part := range s.Parts {
		if known = known || part.Find != nil; !known && part.needsPeak() {
			wrong = append(wrong, fmt.Sprintf("part %s: $%s: no part before it is a search (find:); put one there, or add --set %s=RATE", part.Name, peakGiven, peakGiven))
		}
		part.Given = append(part.Given, s.Given...)
		if err := part.Fill(brokers); err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...) // parts may miss the same
			continue
		}
		parts = append(parts, part.searches()...)
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(once(wrong), "\n"))
	}
	s.Parts = parts
	return nil
}

// searches returns the searches of a part, one for each of its cells; a part that is none is alone.
func (s *Study) searches() (parts []*Study) {
	if s.Find == nil || len(s.Factors) == 0 {
		return []*Study{s}
	}
	for i, c := range s.Cells() {
		one := *s
		one.Name, one.Of, one.Factors, one.Pair = fmt.Sprintf("%s-%d", s.Name, i+1), s.Name, nil, false
		one.About = strings.TrimSpace(s.About + " (" + c.String() + ")")
		one.Loads = []Load{s.at(c, s.Loads[0])}
		parts = append(parts, &one)
	}
	return parts
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
func (s *Study) needsPeak() (needs bool) {
	s.values(func(v string) string {
		m := open.FindStringSubmatch(v)
		needs = needs || m != nil && m[2] == peakGiven
		return v
	})
	return needs
}
