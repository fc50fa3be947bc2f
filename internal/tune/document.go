package tune

import "strings"

// Schema is the version of the document that --output json writes. It grows by one
// when a field changes its meaning or goes away.
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
