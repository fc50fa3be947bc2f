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

// Setting is one entry of the catalogue: a row of checks.yaml.
type Setting struct {
	ID         string     `yaml:"id"` // "vm.swappiness"; kernel settings have the kernel's name
	Group      Group      `yaml:"-"`
	Title      string     `yaml:"title"` // what it is, in a few words: "how readily the kernel swaps"
	Roles      []Role     `yaml:"roles"`
	Severity   Severity   `yaml:"severity"`
	Confidence Confidence `yaml:"confidence"`

	// Want is the wanted value as a rule, see [ParseRule]. It is "" where it depends
	// on the profile, each of which has one then, and where the check says it.
	Want  string `yaml:"want"`
	Takes Takes  `yaml:"takes"` // which rules of a profile make sense

	Why     string   `yaml:"why"`     // what happens otherwise, in one line without a full stop
	Detail  string   `yaml:"detail"`  // more: where sources disagree, traps, how a figure was found
	Reads   []string `yaml:"reads"`   // where it looks: "/proc/sys/vm/swappiness"
	Sources []string `yaml:"sources"` // who says so
	Risk    string   `yaml:"risk"`    // of changing it; "" for none worth mention

	Applies bool     `yaml:"applies"` // kt can change it: some reading has changes
	Sets    []target `yaml:"sets"`    // the files of the kernel's that it may change
	Needs   string   `yaml:"needs"`   // without which it does not apply, or is not known
	Read    Read     `yaml:"read"`    // how its value is read; rows without it have a function

	Check check `yaml:"-"`
}

// For reports whether the setting matters in a role.
func (s *Setting) For(r Role) bool { return slices.Contains(s.Roles, r) }
