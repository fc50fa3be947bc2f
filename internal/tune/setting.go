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

// Setting is one entry of the catalogue.
type Setting struct {
	ID         string // "vm.swappiness"; kernel settings have the kernel's name
	Group      Group
	Title      string // what it is, in a few words: "how readily the kernel swaps"
	Roles      []Role
	Severity   Severity
	Confidence Confidence

	// Want is the wanted value as a rule, see [ParseRule]. It is "" where it depends
	// on the profile, each of which has one then, and where the check says it.
	Want string

	Why     string   // what happens otherwise, in one line without a full stop
	Detail  string   // more: where sources disagree, traps, how a figure was found
	Reads   []string // where it looks: "/proc/sys/vm/swappiness"
	Sources []string // who says so
	Risk    string   // of changing it; "" for none worth mention

	// Applies tells that kt can change it: some reading of Check has changes.
	Applies bool

	// Valid tells what is wrong with a rule for this setting that [ParseRule] can read;
	// nil: nothing more is asked of it.
	Valid func(Rule) error

	// Check looks at the machine. It changes nothing, and never fails: what it may
	// not read is [Denied] or [Absent].
	Check func(m *Machine, want Rule) Reading
}

// For reports whether the setting matters in a role.
func (s *Setting) For(r Role) bool { return slices.Contains(s.Roles, r) }
