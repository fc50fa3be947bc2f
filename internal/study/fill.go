package study

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Given is what a study leaves open: $NAME in its values.
type Given struct {
	Name  string `json:"name"`
	About string `json:"about"` // what to give
	Value string `json:"value"` // "": not given
}

// What a study may name without a given.
const (
	brokersGiven  = "brokers"  // of the cluster
	replicasGiven = "replicas" // that a topic there has for safety
	peakGiven     = "peak"     // in a part: the least of the rates that the searches before it have found

	safeReplicas = 3    // as Kafka's documents recommend
	somePeak     = 1000 // records a second, in place of a peak that is not known yet
)

// open is a value that is left open: $stop, 4*$brokers, 80%*$peak.
var open = regexp.MustCompile(`^(?:([1-9][0-9]{0,5}%?)\*)?\$([a-z][a-z0-9-]*)$`)

// values returns what may be left open in the study and its parts: values of flags and factors, and bounds of searches.
func (s *Study) values() (all []*string) {
	for _, part := range s.Parts {
		all = append(all, part.values()...)
	}
	for _, l := range s.loads() {
		for i := range l.Flags {
			all = append(all, &l.Flags[i].Value)
		}
	}
	for _, f := range s.Factors {
		for i := range f.Values {
			all = append(all, &f.Values[i])
		}
		if f.Search != nil {
			all = append(all, &f.Search.From, &f.Search.To)
		}
	}
	return all
}

// asksFor reports whether a value of the study is one of some names.
func (s *Study) asksFor(names ...string) bool {
	return slices.ContainsFunc(s.values(), func(v *string) bool {
		m := open.FindStringSubmatch(*v)
		return m != nil && slices.Contains(names, m[2])
	})
}

// NeedsBrokers reports whether a value of the study depends on how many brokers there are.
func (s *Study) NeedsBrokers() bool {
	return s.asksFor(slices.DeleteFunc([]string{brokersGiven, replicasGiven}, s.isGiven)...)
}

// Fill puts what was given into the values that were left open. brokers is how many there are; 0: not
// known. The error says what is not given. A search with factors becomes several parts. $peak stays open behind a search.
func (s *Study) Fill(brokers int) error {
	if brokers > 0 {
		s.Given = append(s.Given, Given{Name: brokersGiven, Value: strconv.Itoa(brokers)}, Given{Name: replicasGiven, Value: strconv.Itoa(min(brokers, safeReplicas))})
	}
	hasPeak := s.isGiven(peakGiven)
	if len(s.Parts) > 0 && !hasPeak {
		s.Given = append(s.Given, Given{Name: peakGiven, Value: "$" + peakGiven})
	}
	var missing []error
	for _, part := range s.Parts {
		if !hasPeak && part.asksFor(peakGiven) {
			missing = append(missing, fmt.Errorf("part %s: $%s: no part before it is a search (find:); put one there, or add --set %s=RATE", part.Name, peakGiven, peakGiven))
		}
		hasPeak = hasPeak || part.Find != nil
	}
	for _, v := range s.values() {
		if m := open.FindStringSubmatch(*v); m != nil {
			value, err := s.given(m[1], m[2])
			if *v = value; err != nil {
				missing = append(missing, err)
			}
		}
	}
	if len(missing) > 0 {
		return errors.Join(missing...)
	}
	var parts []*Study
	for _, part := range s.All() {
		part.Given = s.Given
		if part.Find == nil || len(part.Factors) == 0 {
			parts = append(parts, part)
			continue
		}
		for i, c := range part.Cells() { // one search for each
			one := *part
			one.Name, one.Of, one.At, one.Factors, one.Pair = fmt.Sprintf("%s-%d", part.Name, i+1), part.Name, c.At, nil, false
			one.About = strings.TrimSpace(part.About + " (" + one.place() + ")")
			one.Loads = []Load{part.at(c, part.Loads[0])}
			parts = append(parts, &one)
		}
	}
	switch {
	case len(s.Parts) > 0:
		s.Parts = parts
	case parts[0] != s:
		*s = Study{Name: s.Name, About: s.About, Found: s.Found, Given: s.Given, Parts: parts, Repeats: 1, Order: Listed}
	}
	return nil
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

// given returns the value of an open name, times a number if there is one.
func (s *Study) given(times, name string) (string, error) {
	g := s.givenAs(name)
	switch {
	case g == nil:
		return "", fmt.Errorf("$%s: the study gives no such name; write it below given:, with what it is", name)
	case g.Value == "":
		return "", fmt.Errorf("this study needs %s: %s; add --set %s=…", name, g.About, name)
	case times == "":
		return g.Value, nil
	case open.MatchString(g.Value): // what it is comes later
		return times + "*" + g.Value, nil
	}
	n, err := strconv.Atoi(g.Value)
	if err != nil {
		return "", fmt.Errorf("%s*$%s: %s is %q, and not a number", times, name, name, g.Value)
	}
	whole, isShare := strings.CutSuffix(times, "%")
	by, err := strconv.Atoi(whole)
	if isShare {
		return strconv.Itoa(max(1, by*n/100)), err
	}
	return strconv.Itoa(by * n), err
}

func (s *Study) givenAs(name string) *Given {
	if i := slices.IndexFunc(s.Given, func(g Given) bool { return g.Name == name }); i >= 0 {
		return &s.Given[i]
	}
	return nil
}

func (s *Study) isGiven(name string) bool { return s.givenAs(name) != nil }

// All returns the parts of a study, or the study itself if it has none: what runs are made of.
func (s *Study) All() []*Study {
	if len(s.Parts) > 0 {
		return s.Parts
	}
	return []*Study{s}
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
	return Cell{At: slices.DeleteFunc(set(s.At), func(f Flag) bool { return f.Name == "command-config" })}.String()
}

// AtPeak returns the study with a number of records a second for each $peak in it. 0 is some number, to check the study with; +Inf: none was found.
func (s *Study) AtPeak(rate float64) (*Study, error) {
	if !s.asksFor(peakGiven) {
		return s, nil
	}
	if math.IsInf(rate, 1) {
		return nil, fmt.Errorf("a part needs $%s, and no search before it has found a rate that holds: make the study again with --set %s=RATE", peakGiven, peakGiven)
	}
	at := new(Study)
	text, err := json.Marshal(s)
	err = cmp.Or(err, json.Unmarshal(text, at))
	at.Given = []Given{{Name: peakGiven, Value: strconv.Itoa(int(math.Max(1, cmp.Or(rate, somePeak))))}}
	return at, cmp.Or(err, at.Fill(0))
}

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
		if g := s.givenAs(name); g != nil {
			g.Value = text
		} else {
			s.Given = append(s.Given, Given{Name: name, Value: text})
		}
	case len(s.Parts) > 0:
		var parts []*Study
		within := name
		for _, part := range s.Parts {
			if rest, ok := strings.CutPrefix(name, part.Name+"."); ok && len(rest) < len(within) { // names may have dots
				parts, within = []*Study{part}, rest
			} else if within == name && (part.Find == nil || !slices.Contains(ofTrials, name)) {
				parts = append(parts, part)
			}
		}
		for _, part := range parts {
			part.Set(within, values)
		}
	case f >= 0:
		if s.Pair && len(values) == 1 {
			values = slices.Repeat(values, len(s.Factors[f].Values))
		}
		s.Factors[f].Values, s.Factors[f].Search = values, nil
		if search, ok := strings.CutPrefix(values[0], "search:"); ok { // as search:1..64,fine:2
			s.Factors[f].Values, s.Factors[f].Search = nil, parseSpan(search, strings.TrimPrefix(strings.Join(values[1:], ","), "fine:"))
		}
	default:
		for _, l := range s.loads() {
			if l.Name == load || load == "" && !s.isPrepared(l.Name) {
				l.set(flag, text)
			}
		}
	}
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
	all := slices.Concat(l.Flags, mapped(s.factorNames(), func(name string) Flag { return Flag{Name: name} }))
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
	l.Typed = once(append(l.Typed, mapped(values, func(v string) Flag { return Flag{flag, v} })...))
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
		if l.IsWorkload() {
			l.set("run-time", d.String())
			continue
		}
		l.drop("num-records", "warmup")
		l.set("duration", d.String())
	}
}
