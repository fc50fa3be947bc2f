package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// LoadCommands returns the names of the commands that make a load.
func LoadCommands() []string {
	return []string{string(plan.Produce), string(plan.Consume), string(plan.Roundtrip)}
}

// check makes the run.
func (r *Run) check(p *problems) {
	b := newBuilder(&r.layers, p)
	r.Sources, r.Flags = make(map[string]string), make(map[string]string)
	b.flags.VisitAll(func(f *pflag.Flag) { r.Flags[f.Name], r.Sources[f.Name] = f.Value.String(), b.value(f.Name).source })
	for _, c := range b.clients { // a layer's file, then its pairs, then kt's own flags
		if file := b.chosen("command-config", c.name+".config"); file != "" {
			b.readProperties(c, file, b.text(file))
		}
		if list := b.chosen("command-property", c.name+"-props"); list != "" {
			b.putPairs(c, list)
		}
		b.provide(c)
	}
	b.ownFlags()
	if r.LedgerFile = b.text("verify"); b.writes {
		r.LedgerFile = ""
	}
	b.plan(&r.Plan, r.LedgerFile != "", len(named(r.Hosts.On)) > 0)
	r.Security = b.security()
	for _, c := range b.clients { // without what only Kafka's clients get: brokers, and what the user has not set
		maps.DeleteFunc(c.given, func(name string, g plan.Given) bool {
			return r.Plan.URL != "" && (name == bootstrapProperty || g.Source == fromNobody)
		})
	}
	r.Properties, r.ConsumerProperties = b.producer.given, b.consumer.given
	r.Foreign = b.cluster == "" && b.from("bootstrap-server").isForeign()
	r.Cluster, r.Protected = b.cluster, b.protected(r.Plan.Bootstrap)
	if c := b.clients[0].given[bootstrapProperty]; len(r.Plan.Bootstrap) > 0 && c.Value != "" { // however they were given
		r.Flags["bootstrap-server"], r.Sources["bootstrap-server"] = strings.Join(r.Plan.Bootstrap, ","), c.Source
	}
	b.hosts(&r.Hosts, &r.Plan)
	if err := plan.CheckName(r.Name); r.Name != "" && err != nil {
		b.bad("run", r.Name, "%w", err)
	}
	r.Execs = execs(b.layers, b.problems, r.Plan.Load.Duration.Std())
	b.add(plan.CheckTags(r.Tags))
	b.checkVerify(r)
	for _, removed := range []string{"threads", "num-fetch-threads", "broker-list"} {
		if removed != "threads" || r.Plan.Read.Share == nil {
			b.chosen(removed) // which warns
		}
	}
	r.Warnings = b.warnings
	b.add(r.Plan.Validate())
}

// builder turns the values of the flags into a plan and collects their problems.
type builder struct {
	*layers
	*problems
	warnings []string

	writes, reads      bool // records
	producer, consumer *client
	clients            []*client // of the two, those that the command has

	oneAtATime bool // a record waits for the one before
}

func newBuilder(l *layers, p *problems) *builder {
	b := &builder{layers: l, problems: p, writes: l.command != string(plan.Consume), reads: l.command != string(plan.Produce)}
	b.producer, b.consumer = newClient("producer", l.sys.Kafka.Producer), newClient("consumer", l.sys.Kafka.Consumer)
	if b.writes {
		b.clients = append(b.clients, b.producer)
	}
	if b.reads {
		b.clients = append(b.clients, b.consumer)
	}
	// A command line of kafka-e2e-latency has these flags, and none by which a load of kt's would go otherwise.
	by, otherwise := b.from("producer-acks"), []string{"rate", "throughput", "one-at-a-time", "duration", "producers", "consumers"}
	if by >= fromForeign && b.from("num-records") >= by && !slices.ContainsFunc(otherwise, func(flag string) bool { return b.from(flag) >= by }) {
		b.value("one-at-a-time").put([]string{"true"}, "--producer-acks, as kafka-e2e-latency", by)
		b.warn("One record at a time, as kafka-e2e-latency sends them: give --rate for a load at a rate, -1 for as fast as possible.")
	}
	b.oneAtATime = b.chosen("rate", "throughput", "one-at-a-time") == "one-at-a-time"
	return b
}

// Sourced names the source of each value that an error of the run is about.
func (r *Run) Sourced(err error) error {
	if r.flags == nil { // it was asked for by another process
		return err
	}
	return r.sourced(err)
}

// sourced returns an error beside what flags did not take. Each problem has the source of its value, and the value as it was given: 1k,
// where a plan says 1000.
func (l *layers) sourced(err error) error {
	rest := slices.DeleteFunc(Flat(err), func(one error) bool { // nothing that follows from a value that was refused
		var p *plan.Problem
		return errors.As(one, &p) && l.isRefused(p.Flag)
	})
	return sourced(errors.Join(append(l.refused(), rest...)...), func(p *plan.Problem) *plan.Problem {
		v, of := l.value(p.Flag), *p
		switch {
		case v.from == fromDefault || v.source == fromNobody:
			return p
		case p.Value != "" && !v.isList() && len(v.refused) == 0:
			if of.Value = v.texts[0]; v.is == any(of.Value) {
				of.Value = plan.Refuse("", of.Value, "").Value
			}
		}
		if v.source != "--"+p.Flag {
			return of.From(v.source)
		}
		return &of
	})
}

// sourced returns an error with each problem of it once. A problem without a source gets its place.
func sourced(err error, place func(*plan.Problem) *plan.Problem) error {
	var errs []error
	told := make(map[string]bool)
	for _, one := range Flat(err) {
		var p *plan.Problem
		if errors.As(one, &p) && p.Error() == one.Error() && p.Source == "" {
			one = place(p)
		}
		if text := one.Error(); text != "" && !told[text] {
			errs = append(errs, one)
			told[text] = true
		}
	}
	return errors.Join(errs...)
}

// Flat returns the single errors that errors.Join put together, at any depth.
func Flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, Flat(one)...)
	}
	return all
}

func (b *builder) warn(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.warnings, text) { // what is found for each of two clients
		b.warnings = append(b.warnings, text)
	}
}

// chosen returns the one that is given of several flags that exclude each other; "" when none is. One of a higher layer wins; two of
// the same layer contradict each other.
func (b *builder) chosen(names ...string) string {
	var highest level
	var found []string
	for _, name := range names {
		switch from := b.from(name); {
		case from == fromDefault || from < highest:
		case b.text(name) == "false": // a switch that is given as off
		case from == highest:
			found = append(found, name)
		default:
			highest, found = from, []string{name}
		}
	}
	if len(found) == 0 {
		return ""
	}
	if len(found) > 1 {
		dashes := "" // a file and a variable have none
		if highest >= fromForeign {
			dashes = "--"
		}
		b.add(plan.About(found[0], fmt.Errorf("%s%s exclude each other: give one", dashes, strings.Join(found, " and "+dashes))))
	}
	if text := b.value(found[0]).Warning; text != "" {
		b.warn("%s", text)
	}
	return found[0]
}

// checkVerify refuses a ledger that would not be written, stamps that nobody would look at, and the switch that --verify is elsewhere.
func (b *builder) checkVerify(r *Run) {
	if !is[bool](b.layers, "verify") && r.Ledger != "" {
		b.bad("ledger", r.Ledger, "it goes with --verify")
	}
	for _, flag := range []string{"stamp", "ledger-sync"} {
		if !is[bool](b.layers, "verify") && is[bool](b.layers, flag) {
			b.bad(flag, nil, "it goes with --verify")
		}
	}
	if name := r.LedgerFile; name == "true" || name == "false" {
		b.bad("verify", name, "kt consume takes the ledger that kt produce --verify left")
	}
}

// Run is the settings of a command that makes a load.
type Run struct {
	base
	Plan plan.Plan `flag:",squash"`

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
	LedgerSync bool        `flag:"ledger-sync"`

	Limits  []string `flag:"limit"`    // what the run has to keep, as it was given
	AbortOn []string `flag:"abort-on"` // conditions that end the load
	Doubts  `flag:",squash"`

	Output     string        `flag:"output"` // "" means: the screen when there is a terminal, text when not
	ResultFile string        `flag:"result"` // "": the state folder; "none": no file
	HTML       string        `flag:"html"`   // where to write a page; "": none
	Interval   time.Duration `flag:"reporting-interval"`
	FPS        int           `flag:"fps"`
	Quiet      bool          `flag:"quiet"`
	Verbose    bool          `flag:"verbose"`
	Look       `flag:",squash"`

	// The lines of Kafka's consumer test, for the output perf-test.
	HideHeader    bool   `flag:"hide-header"`
	ShowDetailed  bool   `flag:"show-detailed-stats"` // lines of intervals instead of the last one
	ShowConsumers bool   `flag:"show-consumer-stats"`
	DateFormat    string `flag:"date-format"` // as Java's SimpleDateFormat has it

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
	Security           func(name string) bool          // reports whether a property is one of security
	Takes              func(url, property string) bool // reports whether producers of the system at a URL have a property
}

// Client is the Java properties of a client.
type Client struct {
	Has   func(name string) bool
	Names []string // for guesses at a mistyped name
}
