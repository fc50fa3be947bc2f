package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Load applies the layers and makes the plan. It reports every problem that it
// finds, each naming the flag.
func (f *Flags) Load(sys System, kafka Kafka) (Run, error) {
	l, err := loadLayers(f.set, string(f.command), f.config, f.profile, sys, kafka.Nearest)
	if err != nil {
		return Run{}, err
	}
	b := newBuilder(f, l, kafka)
	r := f.run
	r.Sources, r.Flags = l.sources, make(map[string]string)
	f.set.VisitAll(func(fl *pflag.Flag) { r.Flags[fl.Name] = fl.Value.String() })
	b.javaProperties()
	r.Plan = b.plan()
	r.Security = b.security()
	if r.Plan.URL != "" {
		b.onlyGiven()
	}
	r.Properties, r.ConsumerProperties = b.producer.given, b.consumer.given
	r.Foreign = l.cluster == "" && l.from["bootstrap-server"].isForeign()
	r.Cluster, r.Protected = l.cluster, l.protected(r.Plan.Bootstrap)
	r.showBrokers(b)
	r.Hosts = b.hostsOf(&r.Plan)
	r.Execs = b.execs(r.Plan.Load.Duration.Std())
	r.Interval = b.interval()
	r.Output = b.output()
	b.checkMetrics()
	b.errs = append(b.errs, checkHTML(f.set, r.HTML))
	if r.Tags, err = tagsOf(f.run.Tags); err != nil {
		b.errs = append(b.errs, err)
	}
	b.checkVerify()
	b.ignored()
	if err := r.Plan.Validate(); err != nil {
		b.errs = append(b.errs, f.asGiven(err))
	}
	r.Warnings = b.warnings
	return r, b.err()
}

// onlyGiven leaves out the properties that only Kafka's clients get: brokers, and what the user has not set.
func (b *builder) onlyGiven() {
	for _, c := range b.clients {
		maps.DeleteFunc(c.given, func(name string, g plan.Given) bool { return name == bootstrapProperty || g.Source == fromNobody })
	}
}

// showBrokers shows the brokers of the run as the value of --bootstrap-server, however they were given.
func (r *Run) showBrokers(b *builder) {
	if c := b.clients[0].given[bootstrapProperty]; len(r.Plan.Bootstrap) > 0 && c.Value != "" {
		r.Flags["bootstrap-server"], r.Sources["bootstrap-server"] = strings.Join(r.Plan.Bootstrap, ","), c.Source
	}
}

// asGiven returns the problems of a plan with the warm-up as it was typed: 1k, where the plan says 1000.
func (f *Flags) asGiven(problems error) error {
	_, of, found := strings.Cut(problems.Error(), "--warmup ")
	value, _, _ := strings.Cut(of, ":")
	if !found || f.warmup == "" {
		return problems
	}
	return errors.New(strings.Replace(problems.Error(), "--warmup "+value+":", "--warmup "+f.warmup+":", 1))
}

// builder turns the values of the flags into a plan and collects their problems.
type builder struct {
	*layers
	f        *Flags
	kafka    Kafka
	warnings []string
	errs     []error

	producer, consumer *client
	clients            []*client // of the two, those that the command has

	oneAtATime bool // a record waits for the one before
}

func newBuilder(f *Flags, l *layers, kafka Kafka) *builder {
	b := &builder{layers: l, f: f, kafka: kafka}
	b.producer, b.consumer = newClient("producer", kafka.Producer), newClient("consumer", kafka.Consumer)
	if f.writes() {
		b.clients = append(b.clients, b.producer)
	}
	if f.reads() {
		b.clients = append(b.clients, b.consumer)
	}
	b.likeLatencyTool()
	b.oneAtATime = b.chosen("rate", "throughput", "one-at-a-time") == "one-at-a-time"
	return b
}

// likeLatencyTool sets --one-at-a-time if the command line is one of kafka-e2e-latency: --producer-acks and --num-records, and
// no flag by which a load of kt's would go otherwise.
func (b *builder) likeLatencyTool() {
	by := b.from["producer-acks"]
	otherwise := slices.ContainsFunc([]string{"rate", "throughput", "one-at-a-time", "duration", "producers", "consumers"}, func(flag string) bool { return b.from[flag] >= by })
	if by < fromForeign || b.from["num-records"] < by || otherwise {
		return
	}
	b.errs = append(b.errs, b.set(b.flags.Lookup("one-at-a-time"), setting{[]string{"true"}, "--producer-acks, as kafka-e2e-latency"}, by))
	b.warn("One record at a time, as kafka-e2e-latency sends them: give --rate for a load at a rate, -1 for as fast as possible.")
}

func (b *builder) bad(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// err joins the problems, each once. Each begins with its flag, and ends with the source of
// the value if that is not the flag itself.
func (b *builder) err() error {
	var errs []error
	told := make(map[string]bool)
	for _, one := range flat(errors.Join(b.errs...)) {
		line := one.Error()
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "--"), " ")
		name = strings.TrimSuffix(name, ":")
		if source := b.sources[name]; source != "" && source != "--"+name && b.given(name) {
			line += " (from " + source + ")"
		}
		if line != "" && !told[line] {
			errs = append(errs, errors.New(line))
			told[line] = true
		}
	}
	return errors.Join(errs...)
}

// flat returns the single errors that errors.Join put together, at any depth.
func flat(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, flat(one)...)
	}
	return all
}

// value returns the value of a flag of this command, as text.
func (b *builder) value(flag string) string { return b.flags.Lookup(flag).Value.String() }

func (b *builder) given(flag string) bool { return b.from[flag] != fromDefault }

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// deprecated adds the sentence of Kafka's own tool: its producer test and its consumer
// test do not have the same.
func (b *builder) deprecated(old, name string) {
	if old == "messages" || old == "consumer.config" {
		b.warn("Warning: --%s is deprecated. Use --%s instead.", old, name)
		return
	}
	b.warn("Option --%s has been deprecated and will be removed in a future version. Use --%s instead.", old, name)
}

// ignored warns of flags that Kafka's consumer test once had.
func (b *builder) ignored() {
	for _, name := range noEffect {
		if b.given(name) {
			b.warn("Option --%s was removed in Kafka 4.0 and has no effect: kt reads with --consumers N.", name)
		}
	}
	if b.given("broker-list") {
		b.warn("Option --broker-list was removed in Kafka 4.0. Use --bootstrap-server instead.")
	}
}

// chosen returns the one that is given of several flags that exclude each other; "" when
// none is. One of a higher layer wins, as it would if they were one flag; two of
// the same layer contradict each other. Flags that the command does not have are
// not given.
func (b *builder) chosen(names ...string) string {
	var highest layer
	var found []string
	for _, name := range names {
		switch from := b.from[name]; {
		case from == fromDefault || from < highest:
		case b.value(name) == "false": // a switch that is given as off
		case from == highest:
			found = append(found, "--"+name)
		default:
			highest, found = from, []string{"--" + name}
		}
	}
	if len(found) == 0 {
		return ""
	}
	if len(found) > 1 {
		b.bad("%s exclude each other: give one", strings.Join(found, " and "))
	}
	return strings.TrimPrefix(found[0], "--")
}

func (b *builder) interval() time.Duration {
	d, err := plan.ParseTime(b.f.interval, time.Millisecond)
	if err != nil || d <= 0 {
		b.bad("--reporting-interval %q: write milliseconds above 0 (5000) or a time (5s)", b.f.interval)
	}
	return d
}

// checkVerify refuses a ledger that would not be written, stamps that nobody would look at, and a ledger whose name can
// only be the switch that --verify is elsewhere, as in a file for all commands.
func (b *builder) checkVerify() {
	if b.f.run.Ledger != "" && !b.f.verify {
		b.bad("--ledger %s: it goes with --verify", b.f.run.Ledger)
	}
	if b.f.stamp && !b.f.verify {
		b.bad("--stamp: it goes with --verify")
	}
	if name := b.f.run.LedgerFile; name == "true" || name == "false" {
		b.bad("--verify %s: kt consume takes the ledger that kt produce --verify left", name)
	}
}

// checkMetrics refuses an address that names no host or no port. To serve on all networks takes a word: 0.0.0.0.
func (b *builder) checkMetrics() {
	addr := b.f.run.Metrics
	if addr == "" && !b.given("metrics-listen") {
		return
	}
	host, port, err := net.SplitHostPort(addr)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		b.bad("--metrics-listen %q: write HOST:PORT, as 127.0.0.1:9111, or 0.0.0.0:9111 for all networks", addr)
	}
}

// output returns the form of the result; "": the screen, or text.
func (b *builder) output() string {
	b.errs = append(b.errs, b.f.run.check(b.kafka.Nearest))
	if b.f.run.FPS < 1 || b.f.run.FPS > 30 {
		b.bad("--fps %d: it must be from 1 to 30", b.f.run.FPS)
	}
	if b.f.output == "" || isForOthers(b.f.set, b.f.output, Outputs) {
		return ""
	}
	err := oneOf("output", b.f.output, Outputs, b.kafka.Nearest)
	if err != nil && slices.Contains(ReportOutputs, b.f.output) {
		err = fmt.Errorf("%w; kt report FILE --output %s writes it from the run file", err, b.f.output)
	}
	if err != nil {
		b.errs = append(b.errs, err)
	}
	return b.f.output
}
