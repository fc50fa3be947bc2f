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

	Name  string   `flag:"run"` // of the run, by which it is merged with others; "": none
	Tags  []string `flag:"tag"`
	Hosts Hosts    `flag:",squash"`

	Execs      []plan.Exec // in the order in which they were given
	LedgerFile string      // of an earlier run, whose records are looked for; "": none
	Ledger     string      `flag:"ledger"` // where to leave one when the plan says Verify; "": beside the run file

	Limits  []string `flag:"limit"`    // what the run has to keep, as it was given
	AbortOn []string `flag:"abort-on"` // conditions that end the load

	Output     string        `flag:"output"` // "" means: the screen when there is a terminal, text when not
	ResultFile string        `flag:"result"` // "": the state folder; "none": no file
	HTML       string        `flag:"html"`   // where to write a page; "": none
	Interval   time.Duration `flag:"reporting-interval"`
	FPS        int           `flag:"fps"`
	Quiet      bool          `flag:"quiet"`
	Verbose    bool          `flag:"verbose"`
	Look       `flag:",squash"`

	// The lines of Kafka's consumer test, for the output perf-test.
	HideHeader   bool   `flag:"hide-header"`
	ShowDetailed bool   `flag:"show-detailed-stats"` // lines of intervals instead of the last one
	DateFormat   string `flag:"date-format"`         // as Java's SimpleDateFormat has it

	Cluster   string // the name of the one that is used; "": none
	Foreign   bool   // --bootstrap-server is from a file that may be somebody else's
	Protected string // the name of the protected cluster that the load goes to; "": none
	Yes       bool   `flag:"yes"` // do not ask before a load of a protected cluster

	PrintConfig  bool   `flag:"print-config"`
	PrintMetrics bool   `flag:"print-metrics"`
	Metrics      string `flag:"metrics-listen"` // HOST:PORT where metrics are served for Prometheus while the run goes on; "": nowhere
	Lenient      bool   `flag:"lenient"`

	Warnings []string          // to be shown before the run
	Flags    map[string]string // flag → its value
	Sources  map[string]string // flag → where that came from
}

// Kafka answers questions about Kafka's clients, so that this package need not import
// their package.
type Kafka struct {
	Producer, Consumer Client
	Security           func(name string) bool // reports whether a property is one of security
}

// Client is the Java properties of a client.
type Client struct {
	Has   func(name string) bool
	Names []string // for guesses at a mistyped name
}
