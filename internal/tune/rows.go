package tune

import (
	"bytes"
	"cmp"
	_ "embed" // for checks.yaml
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// checksYAML is everything that kt knows of machines: one row a check, in the order in which they are shown and
// their changes are made.
//
//go:embed checks.yaml
var checksYAML []byte

// Catalogue returns the rows of checks.yaml. They are the same at each call.
func Catalogue() []*Setting {
	catalogueOnce.Do(func() {
		var err error
		if catalogue, err = readRows(checksYAML); err != nil {
			panic("checks.yaml: " + err.Error()) // it is part of the program, and a test reads it
		}
	})
	return catalogue
}

var (
	catalogueOnce sync.Once
	catalogue     []*Setting
)

// readRows reads a catalogue. Its error names the line of what is wrong.
func readRows(text []byte) ([]*Setting, error) {
	var groups []struct {
		Group  Group      `yaml:"group"`
		Roles  []Role     `yaml:"roles"` // of its checks without any
		Note   string     `yaml:"note"`  // ends the detail of each of its checks
		Checks []*Setting `yaml:"checks"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&groups); err != nil {
		return nil, err
	}
	var all []*Setting
	byID := functions()
	var problems []error
	for _, g := range groups {
		for _, s := range g.Checks {
			s.Group, s.Detail = g.Group, strings.TrimSpace(s.Detail+" "+g.Note)
			s.Confidence = cmp.Or(s.Confidence, Documented)
			if s.Roles == nil {
				s.Roles = g.Roles
			}
			err := s.complete(byID[s.ID])
			if slices.ContainsFunc(all, func(other *Setting) bool { return other.ID == s.ID }) {
				err = errors.New("it stands there twice")
			}
			if err != nil {
				before := text[:max(0, bytes.LastIndex(text, []byte("id: "+s.ID+"\n")))]
				line, column := bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n')
				problems = append(problems, fmt.Errorf("line %d, column %d: %s: %w", line, column, s.ID, err))
			}
			all = append(all, s)
		}
	}
	return all, errors.Join(problems...)
}

// check refuses a row that cannot be checked.
func (s *Setting) check() error {
	for _, rule := range []string{s.Want, s.Read.Good, strings.TrimPrefix(s.Read.Milder, "!")} {
		if _, err := ParseRule(rule); err != nil {
			return fmt.Errorf("a rule of it: %w", err)
		}
	}
	for _, t := range s.Sets {
		if t.Sane.spans == nil && (t.Sane.words == nil || t.Holds.spans != nil) || t.Holds.spans == nil && t.Sane.words == nil {
			return fmt.Errorf("sets: %s: give what it holds and what is sane, or words that are", t.Path)
		}
	}
	_, known := requirements[s.Needs]
	switch {
	case !slices.Contains(Groups, s.Group):
		return fmt.Errorf("there is no group %q", s.Group)
	case !known:
		return fmt.Errorf("needs: there is no %q", s.Needs)
	case s.Title == "" || s.Why == "" || len(s.Sources) == 0 || len(s.Roles) == 0:
		return errors.New("it lacks a title, why, sources or roles")
	case s.verdict() == "":
		return fmt.Errorf("there is no severity %q", s.Severity)
	}
	return cmp.Or(s.Takes.check(), s.Read.check())
}

// complete checks a row, and fills in what follows from its other fields. read is the function of its ID, nil for none.
func (s *Setting) complete(read check) error {
	if err := s.check(); err != nil {
		return err
	}
	way, needs := s.Read.way(), requirements[s.Needs]
	switch {
	case read != nil && way != nil:
		return errors.New("it has a function, and a way to read")
	case read == nil && way == nil:
		return errors.New("it has neither a function nor a way to read")
	case read == nil:
		read = way
	}
	s.Applies = s.Applies || len(s.Sets) > 0
	switch {
	case s.Read.Property != "":
		s.Read.Command = cmp.Or(s.Read.Command, s.Read.Property+"=TARGET")
	case s.Read.Flags != nil:
		s.Read.Command = addFlag("-XX:+" + s.Read.Flags[0])
	case s.Read.G1 != "":
		s.Read.Command = addFlag("-XX:" + s.Read.G1 + "=TARGET")
	}
	switch {
	case len(s.Reads) > 0:
	case s.Read.Sysctl > 0:
		s.Reads = []string{"/proc/sys/" + sysctlPath(s.ID)}
	case s.Read.File != "":
		s.Reads = []string{"/" + s.Read.File}
	case s.Read.Options != nil:
		s.Reads = []string{"/proc/self/mountinfo"}
	case needs.reads != "":
		s.Reads = []string{needs.reads}
	}
	s.Check = func(m *Machine, want Rule) Reading {
		if r := needs.missing(m); r.Verdict != "" {
			return r
		}
		r := place{Machine: m, row: s, want: want}.readAll(read)
		if s.Needs == "flags" || s.Needs == "g1" {
			r = lacksOptions(m, r)
		}
		return r
	}
	return nil
}

// verdict is that of a value that is not as wanted.
func (s *Setting) verdict() Verdict {
	return map[Severity]Verdict{Fatal: Fail, Warning: Warn, Informational: Info}[s.Severity]
}

// IDs are the names of all settings.
func IDs() []string {
	var ids []string
	for _, s := range Catalogue() {
		ids = append(ids, s.ID)
	}
	return ids
}

// rowOf is the row of an ID that the program itself names.
func rowOf(id string) *Setting {
	all := Catalogue()
	return all[slices.IndexFunc(all, func(s *Setting) bool { return s.ID == id })]
}
