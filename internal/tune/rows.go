package tune

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Role is what a machine is for.
type Role string

// The roles.
const (
	Broker     Role = "broker"
	Controller Role = "controller"
	Client     Role = "client" // makes the load: where kt runs
)

// Roles are all roles.
var Roles = []Role{Broker, Controller, Client}

// Group is a part of the catalogue.
type Group string

// The groups.
const (
	Memory  Group = "memory"
	Limits  Group = "limits"
	CPU     Group = "cpu"
	Clock   Group = "clock"
	Disks   Group = "disks"
	Network Group = "network"
	JVM     Group = "jvm"
	Kafka   Group = "kafka"
	Context Group = "context"
)

// Groups are all groups in the order in which they are shown.
var Groups = []Group{Memory, Limits, CPU, Clock, Disks, Network, JVM, Kafka, Context}

// Severity is what it means when a setting is not as wanted.
type Severity string

// The severities, each also a verdict, but for Fatal, whose verdict is Fail.
const (
	Fatal         Severity = "fatal" // Kafka fails, or loses data
	Warning       Severity = "warn"  // an effect was measured or is documented
	Informational Severity = "info"  // good to know; never counts against a machine
)

// Confidence is how well a wanted value is founded.
type Confidence string

// The confidences.
const (
	Documented Confidence = "doc"      // Kafka's or a vendor's documentation
	Measured   Confidence = "measured" // a published measurement
	Folklore   Confidence = "folklore" // often repeated, or kt's own proposal
)

// About is what is shown of a setting wherever it is named.
type About struct {
	ID         string     `yaml:"id" json:"id"` // "vm.swappiness"; kernel settings have the kernel's name
	Group      Group      `yaml:"-" json:"group"`
	Title      string     `yaml:"title" json:"title"` // what it is, in a few words: "how readily the kernel swaps"
	Severity   Severity   `yaml:"severity" json:"severity"`
	Confidence Confidence `yaml:"confidence" json:"confidence"`
	Why        string     `yaml:"why" json:"why"`             // what happens otherwise, in one line without a full stop
	Risk       string     `yaml:"risk" json:"risk,omitempty"` // of changing it; "" for none worth mention
}

// Setting is one entry of the catalogue: a row of checks.yaml.
type Setting struct {
	About   `yaml:",inline"`
	Roles   []Role   `yaml:"roles" json:"roles"`
	Detail  string   `yaml:"detail" json:"detail,omitempty"` // more: where sources disagree, traps, how a figure was found
	Reads   []string `yaml:"reads" json:"reads"`             // where it looks: "/proc/sys/vm/swappiness"
	Sources []string `yaml:"sources" json:"sources"`         // who says so
	Applies bool     `yaml:"applies" json:"applies"`         // kt can change it: some reading has changes

	// Want is the wanted value as a rule, see [ParseRule]; "" where each profile has one, or the check says it.
	Want  string   `yaml:"want" json:"-"`
	Takes Takes    `yaml:"takes" json:"-"` // which rules of a profile make sense
	Sets  []target `yaml:"sets" json:"-"`  // the files of the kernel's that it may change
	Needs string   `yaml:"needs" json:"-"` // without which it does not apply, or is not known
	Read  Read     `yaml:"read" json:"-"`  // how its value is read; rows without it have a function

	Check func(m *Machine, want Rule) Reading `yaml:"-" json:"-"`
}

// For reports whether the setting matters in a role.
func (s *Setting) For(r Role) bool { return slices.Contains(s.Roles, r) }

// want is the setting's own rule, which was parsed when the row was read.
func (s *Setting) want() Rule {
	r, _ := ParseRule(s.Want)
	return r
}

// checksYAML is everything that kt knows of machines: one row a check.
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
			s.Severity, s.Confidence = cmp.Or(s.Severity, Informational), cmp.Or(s.Confidence, Documented)
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
	number := s.Takes.Number
	if err := new(accepted).UnmarshalText([]byte(number)); number != "" && (err != nil || !strings.HasPrefix(number, "0..")) {
		return fmt.Errorf("takes: number: %q is not a range from 0, as 0..200", number)
	}
	return s.Read.check()
}

// complete checks a row, and fills in what follows from its other fields. read is the function of its ID, nil for none.
func (s *Setting) complete(read check) error {
	if err := s.check(); err != nil {
		return err
	}
	way, needs := s.Read.way(), requirements[s.Needs]
	switch {
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

// functions are what rows of checks.yaml cannot tell by themselves, by their IDs.
func functions() map[string]check {
	return map[string]check{
		"vm.swappiness":        checkSwappiness,
		"vm.max_map_count":     checkMaxMapCount,
		"memory.page_cache":    checkPageCache,
		"vm.dirty_background":  dirtyPair{"vm.dirty_background", AtMost}.check,
		"vm.dirty_limit":       dirtyPair{"vm.dirty", AtLeast}.check,
		"limits.nofile":        checkNofile,
		"cpu.idle_states":      wakeUpTime,
		"cpu.mitigations":      mitigations,
		"numa.nodes":           numaNodes,
		"net.core.rmem_max":    buffer(receiveBuffer, true),
		"net.core.wmem_max":    buffer(sendBuffer, true),
		"net.ipv4.tcp_rmem":    buffer(receiveBuffer, false),
		"net.ipv4.tcp_wmem":    buffer(sendBuffer, false),
		"net.listener_ports":   takenPorts,
		"tcp.retransmits":      retransmits,
		"nic.bond":             cardsOfBond,
		"nic.offloads":         cardOffloads,
		"nic.rps":              cardSteering,
		"nic.cloud_allowance":  cardAllowance,
		"disk.scheduler":       readScheduler,
		"disk.read_ahead_kb":   readAhead,
		"disk.cloud":           readVolume,
		"disk.cgroup_limits":   readLimits,
		"disk.shared":          readShared,
		"fs.noatime":           readAtime,
		"fs.obsolete_options":  readObsolete,
		"fs.ext4_journal":      readJournal,
		"jvm.version":          checkJavaVersion,
		"jvm.full_gc":          checkFullCollections,
		"kafka.data_in_tmp":    checkTemporaryDirs,
		"kafka.flush":          checkFlush,
		"kafka.metadata_dir":   checkMetadataDir,
		"context.kernel":       checkKernelVersion,
		"context.proc_sys":     writableSysctls,
		"context.tuners":       tuners,
		"context.sysctl_order": sysctlOrder,
		"context.battery":      battery,
	}
}
