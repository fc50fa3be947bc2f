package tune

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

// Report is what the checks found on a machine.
type Report struct {
	Machine  *Machine
	Findings []Finding // in the order of the catalogue
}

// Finding is one setting on one machine.
type Finding struct {
	*Setting
	Reading
}

// Check makes the checks that matter in the machine's role.
func Check(m *Machine, settings []*Setting) *Report {
	r := &Report{Machine: m}
	for _, s := range settings {
		if s.For(m.Role) {
			r.Findings = append(r.Findings, Finding{s, m.check(s)})
		}
	}
	return r
}

// check makes one check, and adds what holds for all settings alike.
func (m *Machine) check(s *Setting) Reading {
	if s.Group == Network && m.OtherNetwork != "" {
		return Reading{Verdict: Unknown, Note: m.OtherNetwork}
	}
	r := s.Check(m, m.Profile.Rule(s))
	if m.Calls.Root() && r.Verdict == Unknown { // root that lacks a right, as in a container
		r.Note = strings.ReplaceAll(r.Note, needsRoot, "the container or virtual machine does not allow it")
	}
	m.persisted(s, &r)
	if r.Verdict == OK {
		for _, c := range m.unkept { // what kt set for now only: it is right, and will not be after a reboot
			if c.Setting == s.ID {
				r.Verdict, r.Drifts = s.drift(), true
				r.Changes = append(r.Changes, c)
				r.addNote("%s after a reboot: kt set it only until then", c.Old)
			}
		}
	}
	m.contain(&r)
	for _, text := range []*string{&r.Current, &r.Note, &r.Persisted, &r.PersistedIn, &r.Command} {
		*text = strings.Map(func(c rune) rune { // files of the machine may hold anything
			if c == '\n' {
				return c
			}
			return theme.CleanRune(c)
		}, *text)
	}
	return r
}

// persisted notes what a kernel setting will be after the next boot, if a file says so.
func (m *Machine) persisted(s *Setting, r *Reading) {
	all := m.Sysctls[s.ID]
	if len(all) == 0 || r.Verdict == NotApplicable || r.Persisted != "" {
		return
	}
	last := all[len(all)-1]
	r.Persisted, r.PersistedIn = last.Value, last.File
	if r.Verdict == OK && s.Applies && !r.rule.Holds(last.Value) {
		r.Verdict, r.Drifts = s.drift(), true
		r.addNote("%s after a reboot: %s, line %d", last.Value, last.File, last.Line)
		target := r.rule.Target(last.Value)
		r.Changes = []Change{{
			Setting: s.ID, Kind: KeepOnly, Path: last.File, Old: last.Value, New: target,
			Keep: []Line{{File: SysctlFile, Text: s.ID + " = " + target}},
		}}
	}
	if len(r.Changes) > 0 && after(last.File, SysctlFile) {
		r.addNote("%s, line %d, is read after %s and wins at the next boot: remove the line there", last.File, last.Line, SysctlFile)
	}
}

// drift is the verdict of a value that is right now and will not be after a reboot.
func (s *Setting) drift() Verdict {
	if s.Severity == Informational {
		return Info
	}
	return Warn
}

// after reports whether a file of kernel settings is read after another at boot.
func after(file, other string) bool {
	const procps = "/etc/sysctl.conf" // which sysctl --system reads last
	if file == procps || other == procps {
		return file == procps && other != procps
	}
	return path.Base(file) > path.Base(other)
}

// contain takes away the changes that cannot be made from here: of what is mounted read only, or in a container the machine's.
func (m *Machine) contain(r *Reading) {
	all := len(r.Changes)
	r.Changes = slices.DeleteFunc(slices.Clone(r.Changes), m.readOnly)
	switch writable := len(r.Changes); {
	case writable < all && m.Container == "":
		r.addNote("mounted read-only here")
	case writable < all:
		r.addNote("read-only in this container: change it where the container is started")
	}
	if m.Container == "" || len(r.Changes) == 0 {
		return
	}
	all = len(r.Changes)
	r.Changes = slices.DeleteFunc(r.Changes, func(c Change) bool { // what touches more than the container
		return c.Kind != Prlimit && !strings.HasPrefix(c.Path, "/proc/sys/net/ipv4/") && c.Path != "/proc/sys/net/core/somaxconn"
	})
	for i := range r.Changes { // nothing in a container reads its files of kernel settings
		if c := &r.Changes[i]; c.Kind == WriteFile {
			key := strings.ReplaceAll(strings.TrimPrefix(c.Path, "/proc/sys/"), "/", ".")
			c.Keep, c.Advice = nil, fmt.Sprintf("start the container with --sysctl %s=%q, or securityContext.sysctls of the pod", key, c.New)
		}
	}
	if len(r.Changes) < all {
		r.addNote("belongs to the node, not to this container: run kt tune there")
	}
}

func (r *Reading) addNote(format string, args ...any) {
	r.Note = strings.Trim(r.Note+"; "+fmt.Sprintf(format, args...), "; ")
}

// Changes are those that would make the machine as wanted, in the order in which they are to be made.
func (r *Report) Changes() []Change {
	var all []Change
	for _, f := range r.Findings {
		all = append(all, f.Changes...)
	}
	return all
}

// Limit leaves out the changes that have no part in what is asked for: nothing now, or nothing lasting.
func (r *Report) Limit(o ApplyOptions) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Changes = slices.DeleteFunc(slices.Clone(f.Changes), func(c Change) bool {
			return !o.Later() && c.Kind == KeepOnly || !o.Now() && len(c.Keep) == 0
		})
	}
}

// Mended reports whether the changes of a finding are all that it needs.
func (f Finding) Mended() bool { return len(f.Changes) > 0 && f.Command == "" }

// cost is how far down a finding stands in a list by cost, in the parts that decide one after the other.
func (f Finding) cost() []int {
	idle := 0
	if f.Verdict == Info && f.Command == "" && len(f.Changes) == 0 { // a note without anything to do
		idle = 1
	}
	severities := []Severity{Fatal, Warning, Informational}
	return []int{slices.Index(Verdicts, f.Verdict), idle, slices.Index(severities, f.Severity), slices.Index(costs, f.Group)}
}

// Manual returns the findings that a person has to act on, because kt does not mend them, by cost.
func (r *Report) Manual() []Finding {
	return slices.DeleteFunc(r.ByCost(), func(f Finding) bool {
		return f.Mended() || f.Verdict != Fail && f.Verdict != Warn && (f.Verdict != Info || f.Command == "")
	})
}

// costs are the groups by what a bad value in them may cost: an end of the broker, lost data, stalls, slowness.
var costs = []Group{Limits, Kafka, Memory, Disks, JVM, Clock, Network, CPU, Context}

// ByCost returns the findings by verdict, notes without anything to do last, then by severity, then in the order of costs.
func (r *Report) ByCost() []Finding {
	return slices.SortedStableFunc(slices.Values(r.Findings), func(a, b Finding) int { return slices.Compare(a.cost(), b.cost()) })
}

// Count is how many findings have a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Fit reports whether the machine is fit for Kafka: nothing fails, and if strict nothing warns either.
func (r *Report) Fit(strict bool) bool {
	return r.Count(Fail) == 0 && (!strict || r.Count(Warn) == 0)
}

// names are what a person may call a setting: its ID, its group, and the first part of the ID.
func (s *Setting) names() []string {
	family, _, _ := strings.Cut(s.ID, ".")
	return []string{s.ID, string(s.Group), family}
}

// Select are the settings of a list that only names, or all without it, and skip does not. A name is an ID, its first part or a group.
func Select(settings []*Setting, only, skip []string) ([]*Setting, error) {
	names := Names(settings)
	var problems []error
	for _, n := range slices.Concat(only, skip) {
		if !slices.Contains(names, n) {
			problems = append(problems, unknown(n, names))
		}
	}
	named := func(in []string, s *Setting) bool {
		return slices.ContainsFunc(s.names(), func(name string) bool { return slices.Contains(in, name) })
	}
	return slices.DeleteFunc(slices.Clone(settings), func(s *Setting) bool {
		return len(only) > 0 && !named(only, s) || named(skip, s)
	}), errors.Join(problems...)
}

// Names are the IDs of settings, their first parts and their groups.
func Names(settings []*Setting) (names []string) {
	for _, s := range settings {
		for _, name := range s.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Find is the setting of an ID. An unknown one is an error that suggests another.
func Find(settings []*Setting, id string) (*Setting, error) {
	i := slices.IndexFunc(settings, func(s *Setting) bool { return s.ID == id })
	if i < 0 {
		return nil, unknown(id, IDs())
	}
	return settings[i], nil
}

func unknown(name string, names []string) error {
	return fmt.Errorf("there is no check %q%s", name, cmp.Or(didYouMean(name, names), "; kt tune --list names them all"))
}

// didYouMean is "; did you mean X?" for the name most like another, or like its last part: "swappiness" is vm.swappiness.
func didYouMean(name string, names []string) string {
	last := make([]string, len(names))
	for i, full := range names {
		last[i] = full[strings.LastIndexByte(full, '.')+1:]
	}
	if n := suggest.Nearest(name, last); n != "" && suggest.Nearest(name, names) == "" {
		return "; did you mean " + names[slices.Index(last, n)] + "?"
	}
	return suggest.Hint(name, names, "")
}

// Schema is the version of the document that --output json writes: another when a field changes its meaning or goes away.
const Schema = 1

// Document is a report for programs.
type Document struct {
	Schema   int             `json:"schema"`
	Host     HostDocument    `json:"host"`
	Role     Role            `json:"role"`
	RoleFrom string          `json:"role_from"`
	Profile  string          `json:"profile"`
	Fit      bool            `json:"fit"` // as the exit code says
	Checks   []CheckDocument `json:"checks"`
	Summary  map[Verdict]int `json:"summary"`
}

// HostDocument is the machine.
type HostDocument struct {
	Name             string   `json:"name"`
	Kernel           string   `json:"kernel"`
	CPUs             float64  `json:"cpus"`
	MemoryBytes      int64    `json:"memory_bytes"`
	Container        string   `json:"container,omitempty"`
	VirtualMachine   string   `json:"virtual_machine,omitempty"`
	Cloud            string   `json:"cloud,omitempty"`
	BrokerPID        int      `json:"broker_pid,omitempty"`
	BrokerUnit       string   `json:"broker_unit,omitempty"`
	ServerProperties string   `json:"server_properties,omitempty"`
	LogDirs          []string `json:"log_dirs,omitempty"`
}

// CheckDocument is one finding.
type CheckDocument struct {
	About
	Reading
	Source string `json:"source"`
}

// Document is the report for programs. fit is what the exit code says.
func (r *Report) Document(fit bool) Document {
	m := r.Machine
	d := Document{
		Schema: Schema, Role: m.Role, RoleFrom: m.RoleFrom, Profile: m.Profile.Name, Fit: fit,
		Host: HostDocument{
			Name: m.Hostname, Kernel: m.Kernel, CPUs: m.CPUs, MemoryBytes: m.Memory,
			Container: m.Container, VirtualMachine: m.Virtual, Cloud: m.Cloud, ServerProperties: m.Config.File,
		},
		Checks: []CheckDocument{}, Summary: make(map[Verdict]int),
	}
	if m.Process != nil {
		d.Host.BrokerPID, d.Host.BrokerUnit = m.Process.PID, m.Process.Unit
	}
	for _, dir := range m.Dirs {
		d.Host.LogDirs = append(d.Host.LogDirs, dir.Path)
	}
	for _, v := range Verdicts {
		d.Summary[v] = r.Count(v)
	}
	for _, f := range r.Findings {
		d.Checks = append(d.Checks, CheckDocument{f.About, f.Reading, strings.Join(f.Sources, "; ")})
	}
	return d
}

// SettingDocument is an entry of the catalogue for programs.
type SettingDocument struct {
	*Setting
	Wanted map[string]string `json:"wanted"` // by profile; "" where the check says it, or the value is left alone
}

// Document is the setting for programs, with what some profiles want.
func (s *Setting) Document(profiles []*Profile) SettingDocument {
	d := SettingDocument{s, make(map[string]string)}
	for _, p := range profiles {
		d.Wanted[p.Name] = strings.Replace(p.Rule(s).String(), Rule{}.String(), "", 1)
	}
	return d
}

// Settings are settings for programs.
func Settings(all []*Setting, profiles []*Profile) []SettingDocument {
	documents := []SettingDocument{}
	for _, s := range all {
		documents = append(documents, s.Document(profiles))
	}
	return documents
}
