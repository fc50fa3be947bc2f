package config

import (
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Run is the request to a command that makes a load.
type Run struct {
	Plan plan.Plan

	// The Java properties of the producer and of the consumer, from files, flags
	// and kt's own flags. A client that the command does not have has none.
	Properties         map[string]plan.Given
	ConsumerProperties map[string]plan.Given

	Security Security // of the connections to the cluster

	Name  string // of the run, by which it is merged with others; "": none
	Tags  []string
	Hosts Hosts

	Execs      []plan.Exec // in the order in which they were given
	LedgerFile string      // of an earlier run, whose records are looked for; "": none
	Ledger     string      // where to leave one when the plan says Verify; "": beside the run file

	Limits  []string // what the run has to keep, as it was given
	AbortOn []string // conditions that end the load

	Output     string // "" means: the screen when there is a terminal, text when not
	ResultFile string // "": the state folder; "none": no file
	HTML       string // where to write a page; "": none
	Interval   time.Duration
	FPS        int
	Quiet      bool
	Verbose    bool
	Look

	// The lines of Kafka's consumer test, for the output perf-test.
	HideHeader   bool
	ShowDetailed bool   // lines of intervals instead of the last one
	DateFormat   string // as Java's SimpleDateFormat has it

	Cluster   string // the name of the one that is used; "": none
	Foreign   bool   // --bootstrap-server is from a file that may be somebody else's
	Protected string // the name of the protected cluster that the load goes to; "": none
	Yes       bool   // do not ask before a load of a protected cluster

	PrintConfig  bool
	PrintMetrics bool
	Metrics      string // HOST:PORT where metrics are served for Prometheus while the run goes on; "": nowhere
	Lenient      bool

	Warnings []string          // to be shown before the run
	Flags    map[string]string // flag → its value
	Sources  map[string]string // flag → where that came from
}

// Outputs are the forms of output of a load command.
var Outputs = []string{"tui", "text", "line", "json", "yaml", "jsonl", "csv", "perf-test", "markdown", "junit"}

// Kafka answers questions about Kafka's clients, so that this package need not import
// their package.
type Kafka struct {
	Nearest            Nearest
	Producer, Consumer Client
	Security           func(name string) bool // reports whether a property is one of security
}

// Client is the Java properties of a client.
type Client struct {
	Has   func(name string) bool
	Names []string // for guesses at a mistyped name
}

// Nearest gives the name among some that is most like another, or "".
type Nearest func(name string, among []string) string

// hint returns "; did you mean X?" for the name that is most like another, or otherwise if there is none.
func (n Nearest) hint(name string, among []string, otherwise string) string {
	if near := n(name, among); near != "" {
		return "; did you mean " + near + "?"
	}
	return otherwise
}
