package tune

import "slices"

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

// The severities. Each is also the verdict of a reading that is not as wanted, but
// for Fatal, whose verdict is Fail.
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

	// Want is the wanted value as a rule, see [ParseRule]. It is "" where it depends
	// on the profile, each of which has one then, and where the check says it.
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
