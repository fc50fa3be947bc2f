package study

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Given is what a study leaves open: $NAME in its values.
type Given struct {
	Name  string `json:"name"`
	About string `json:"about"` // what to give
	Value string `json:"value"` // "": not given
}

// What a study may name without a given: the brokers of the cluster, and how many replicas a topic
// there has for safety.
const (
	brokersGiven  = "brokers"
	replicasGiven = "replicas"
)

// safeReplicas is the number of replicas that Kafka's documents recommend.
const safeReplicas = 3

// open is a value that is left open: $stop, 4*$brokers, 80%*$peak.
var open = regexp.MustCompile(`^(?:([1-9][0-9]{0,5}%?)\*)?\$([a-z][a-z0-9-]*)$`)

// open returns the names that the values of a study leave open, and that are not given in it.
func (s *Study) open() (names []string) {
	for _, part := range s.Parts {
		names = append(names, part.open()...)
	}
	s.values(func(v string) string {
		if m := open.FindStringSubmatch(v); m != nil {
			names = append(names, m[2])
		}
		return v
	})
	return slices.DeleteFunc(names, s.isGiven)
}

// NeedsBrokers reports whether a value of the study depends on how many brokers there are.
func (s *Study) NeedsBrokers() bool {
	names := s.open()
	return slices.Contains(names, brokersGiven) || slices.Contains(names, replicasGiven)
}

// Fill puts what was given into the values that were left open. brokers is how many there are; 0: not
// known. A value that a factor then has twice is there once. The error says what is not given. A search with factors becomes several parts.
func (s *Study) Fill(brokers int) error {
	if len(s.Parts) > 0 {
		return s.fillParts(brokers)
	}
	if brokers > 0 {
		s.Given = append(s.Given, Given{Name: brokersGiven, Value: strconv.Itoa(brokers)}, Given{Name: replicasGiven, Value: strconv.Itoa(min(brokers, safeReplicas))})
	}
	var missing []string
	s.values(func(v string) string {
		m := open.FindStringSubmatch(v)
		if m == nil {
			return v
		}
		value, err := s.given(m[1], m[2])
		if err != nil {
			missing = append(missing, err.Error())
		}
		return value
	})
	s.dropTwice()
	if len(missing) == 0 {
		s.split()
	}
	return allOf(missing)
}

// allOf returns an error of several sentences, each once; nil: there are none.
func allOf(sentences []string) error {
	var errs []error
	for _, text := range once(sentences) {
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// dropTwice drops values, or pairs, that are the same when they are filled in.
func (s *Study) dropTwice() {
	if s.Pair && slices.ContainsFunc(s.Factors, func(f Factor) bool { return len(f.Values) != len(s.Factors[0].Values) }) {
		return // Check says so
	}
	seen := make(map[string]bool)
	cells := slices.DeleteFunc(s.Cells(), func(c Cell) bool {
		twice := seen[c.String()]
		seen[c.String()] = true
		return twice
	})
	for i := range s.Factors {
		if !s.Pair {
			s.Factors[i].Values = once(s.Factors[i].Values)
			continue
		}
		s.Factors[i].Values = nil
		for _, c := range cells {
			s.Factors[i].Values = append(s.Factors[i].Values, c.At[i].Value)
		}
	}
}

// given returns the value of an open name, times a number if there is one.
func (s *Study) given(times, name string) (string, error) {
	i := slices.IndexFunc(s.Given, func(g Given) bool { return g.Name == name })
	switch {
	case i < 0:
		return "", fmt.Errorf("$%s: the study gives no such name; write it below given:, with what it is", name)
	case s.Given[i].Value == "":
		return "", fmt.Errorf("this study needs %s: %s; add --set %s=…", name, s.Given[i].About, name)
	case times == "":
		return s.Given[i].Value, nil
	case open.MatchString(s.Given[i].Value): // what it is comes later
		return times + "*" + s.Given[i].Value, nil
	}
	n, err := strconv.Atoi(s.Given[i].Value)
	if err != nil {
		return "", fmt.Errorf("%s*$%s: %s is %q, and not a number", times, name, name, s.Given[i].Value)
	}
	whole, isShare := strings.CutSuffix(times, "%")
	by, err := strconv.Atoi(whole)
	if isShare {
		return strconv.Itoa(max(1, by*n/100)), err
	}
	return strconv.Itoa(by * n), err
}

// give gives a name a value.
func (s *Study) give(name, value string) {
	if i := slices.IndexFunc(s.Given, func(g Given) bool { return g.Name == name }); i >= 0 {
		s.Given[i].Value = value
	} else {
		s.Given = append(s.Given, Given{Name: name, Value: value})
	}
}

// isGiven reports whether a name is one that the study leaves open.
func (s *Study) isGiven(name string) bool {
	return slices.ContainsFunc(s.Given, func(g Given) bool { return g.Name == name })
}

// values replaces every value of the study.
func (s *Study) values(with func(string) string) {
	for l := range s.loads() {
		for i := range l.Flags {
			l.Flags[i].Value = with(l.Flags[i].Value)
		}
	}
	for i := range s.Factors {
		for j, v := range s.Factors[i].Values {
			s.Factors[i].Values[j] = with(v)
		}
		if span := s.Factors[i].Search; span != nil {
			span.From, span.To = with(span.From), with(span.To)
		}
	}
}

// once returns values without those that were there before.
func once[T comparable](values []T) (unique []T) {
	for _, v := range values {
		if !slices.Contains(unique, v) {
			unique = append(unique, v)
		}
	}
	return unique
}
