package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// defaultDuration is how long a load lasts when neither a count nor a duration is
// given: long enough to see a cluster settle, and an end for who forgot one.
const defaultDuration = time.Minute

// defaultTransaction is the transaction length of Kafka's own tool.
const defaultTransaction = 3 * time.Second

// Nearest gives the name among some that is most like another, or "".
type Nearest func(name string, among []string) string

// Load applies the layers and makes the plan. It reports every problem that it
// finds, each naming the flag.
func (f *ProduceFlags) Load(sys System, nearest Nearest) (Produce, error) {
	l := &layers{flags: f.set, command: "produce", sys: sys, nearest: nearest}
	l.sources, l.from = make(map[string]string), make(map[string]layer)
	if err := l.apply(f.configName(sys), f.profileName(sys)); err != nil {
		return Produce{}, err
	}
	b := &builder{f: f, sources: l.sources, from: l.from}
	p := Produce{
		Output: f.output, ResultFile: f.resultFile, FPS: f.fps, Quiet: f.quiet, ASCII: f.ascii,
		NoColor: f.noColor || sys.Getenv("NO_COLOR") != "", PrintConfig: f.printConfig,
		PrintMetrics: f.printMetrics, Lenient: f.lenient, Sources: l.sources,
	}
	p.Flags = make(map[string]string)
	f.set.VisitAll(func(fl *pflag.Flag) { p.Flags[fl.Name] = fl.Value.String() })
	p.Properties = b.javaProperties()
	p.Plan = b.plan(p.Properties)
	p.Interval = b.interval()
	b.checkOutput()
	if err := p.Plan.Validate(); err != nil {
		b.errs = append(b.errs, err)
	}
	p.Warnings = b.warnings
	return p, b.err()
}

// configName and profileName are --config and --profile, which are needed before
// the layers that they name.
func (f *ProduceFlags) configName(sys System) string {
	if f.config != "" {
		return f.config
	}
	return sys.Getenv(EnvName("config"))
}

func (f *ProduceFlags) profileName(sys System) string {
	if f.profile != "" {
		return f.profile
	}
	return sys.Getenv(EnvName("profile"))
}

// builder turns the values of the flags into a plan and collects what is wrong
// with them.
type builder struct {
	f        *ProduceFlags
	sources  map[string]string
	from     map[string]layer // by flag
	levels   map[string]layer // by Java property
	warnings []string
	errs     []error
}

func (b *builder) bad(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

// err joins all that is wrong. Each problem begins with its flag; one that was not
// set by the flag itself is told where it was.
func (b *builder) err() error {
	var errs []error
	for line := range strings.SplitSeq(errorText(errors.Join(b.errs...)), "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "--"), " ")
		name = strings.TrimSuffix(name, ":")
		if source := b.sources[name]; source != "" && source != "--"+name && b.given(name) {
			line += " (from " + source + ")"
		}
		if line != "" {
			errs = append(errs, errors.New(line))
		}
	}
	return errors.Join(errs...)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (b *builder) given(flag string) bool { return b.from[flag] != fromDefault }

// deprecated is the sentence of Kafka's own tool.
func (b *builder) deprecated(old, name string) {
	b.warnings = append(b.warnings, fmt.Sprintf(
		"Option --%s has been deprecated and will be removed in a future version. Use --%s instead.", old, name))
}

// oneOf is the one that is given of several flags that exclude each other; "" when
// none is. One of a higher layer wins, as it would if they were one flag; two of
// the same layer contradict each other.
func (b *builder) oneOf(names ...string) string {
	var highest layer
	var found []string
	for _, name := range names {
		off := b.f.set.Lookup(name).Value.String() == "false" // a switch that is given as off
		switch from := b.from[name]; {
		case from == fromDefault || from < highest || off:
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

func (b *builder) plan(props map[string]Given) plan.Plan {
	f := b.f
	p := plan.Plan{
		Command:   plan.Produce,
		Bootstrap: b.bootstrap(props),
		Topic: plan.Topic{
			Name: f.topic, Partitions: f.partitions, ReplicationFactor: f.replication, Delete: f.deleteTopic,
			Configs: b.pairs("topic-config", f.topicConfig),
		},
		Producers: f.producers,
		Seed:      f.seed,
		Load: plan.Load{
			Rate: b.rate(), Records: f.records, Arrivals: plan.Arrivals(f.arrivals),
			Warmup: b.warmup(), Transaction: b.transaction(props),
		},
		Payload: b.payload(),
	}
	if b.given("partitions") && f.partitions == 0 {
		b.bad("--partitions 0: it must be 1 or more")
	}
	if b.given("replication-factor") && f.replication == 0 {
		b.bad("--replication-factor 0: it must be 1 or more")
	}
	if b.given("num-records") && f.records == 0 {
		b.bad("--num-records 0: it must be 1 or more")
	}
	p.Load.Duration = b.duration()
	return p
}

// bootstrap is the list of brokers. One that is given and names nobody is an
// error: it is a variable that was not set, and not a wish for the embedded broker.
func (b *builder) bootstrap(props map[string]Given) []string {
	g, ok := props["bootstrap.servers"]
	if !ok {
		return nil
	}
	var servers []string
	for server := range strings.SplitSeq(g.Value, ",") {
		if server = strings.TrimSpace(server); server != "" {
			servers = append(servers, server)
		}
	}
	if len(servers) == 0 {
		b.bad("%s: it names no broker; leave it out to use the one inside kt", g.Source)
	}
	return servers
}

func (b *builder) rate() plan.Rate {
	name := b.oneOf("rate", "throughput")
	if name == "" {
		return plan.Unlimited
	}
	r, err := plan.ParseRate(b.f.set.Lookup(name).Value.String())
	if err != nil {
		b.bad("--%s: %w", name, err)
	}
	return r
}

func (b *builder) duration() plan.Duration {
	f := b.f
	if !b.given("duration") {
		if f.records > 0 {
			return 0
		}
		return plan.Duration(defaultDuration)
	}
	d, err := parseTime(f.duration, time.Second)
	if err != nil || d < 0 {
		b.bad("--duration %q: write a time above 0 (90s, 5m), or 0 for no end", f.duration)
		return 0
	}
	return plan.Duration(d)
}

func (b *builder) warmup() plan.Warmup {
	f := b.f
	if b.oneOf("warmup", "warmup-records") == "warmup-records" {
		return plan.Warmup{Records: f.warmupRecords}
	}
	if f.warmup == "" {
		return plan.Warmup{}
	}
	if n, err := strconv.ParseInt(f.warmup, 10, 64); err == nil {
		return plan.Warmup{Records: n}
	}
	d, err := time.ParseDuration(f.warmup)
	if err != nil {
		b.bad("--warmup %q: write a time (10s) or a number of records (100000)", f.warmup)
	}
	return plan.Warmup{Duration: plan.Duration(d)}
}

// transaction follows Kafka's own tool: an id, a duration or the transactional.id
// property turns transactions on, and what is missing gets its default.
func (b *builder) transaction(props map[string]Given) plan.Duration {
	_, id := props["transactional.id"]
	if !id && !b.given("transaction-duration-ms") {
		return 0
	}
	if !id {
		props["transactional.id"] = Given{Value: "performance-producer-" + randomID(), Source: "--transaction-duration-ms"}
	}
	if !b.given("transaction-duration-ms") {
		return plan.Duration(defaultTransaction)
	}
	if b.f.transactionMS < 1 {
		b.bad("--transaction-duration-ms %d: it must be 1 or more", b.f.transactionMS)
		return 0
	}
	return plan.Duration(time.Duration(b.f.transactionMS) * time.Millisecond)
}

func (b *builder) payload() plan.Payload {
	f := b.f
	p := plan.Payload{
		Kind: plan.Letters, Keys: plan.KeyDistribution(f.keys), KeyRange: f.keyRange,
		Compressibility: f.compressibility,
	}
	for _, h := range f.headers {
		k, v, err := splitProperty("--header", h)
		if err != nil {
			b.errs = append(b.errs, err)
			continue
		}
		p.Headers = append(p.Headers, plan.Header{Key: k, Value: v})
	}
	switch b.oneOf("record-size", "payload-file", "payload-monotonic") {
	case "payload-file":
		p.Kind, p.File, p.Delimiter = plan.File, f.payloadFile, b.delimiter()
	case "payload-monotonic":
		p.Kind = plan.Monotonic
	default:
		p.Size = b.size()
		if b.given("compressibility") {
			p.Kind = plan.Mixed
		}
	}
	if b.given("compressibility") && p.Kind != plan.Mixed {
		b.bad("--compressibility goes with generated payloads, not with --payload-file or --payload-monotonic")
	}
	return p
}

// defaultSize is the record size of most published Kafka tests that kt's users
// compare with.
const defaultSize = 512

func (b *builder) size() plan.Size {
	if b.f.size == "" && !b.given("record-size") {
		return plan.FixedSize(defaultSize)
	}
	z, err := plan.ParseSize(b.f.size)
	if err != nil {
		b.bad("--record-size: %w", err)
		return plan.FixedSize(defaultSize)
	}
	return z
}

// delimiter undoes the escapes that a shell leaves alone: \n, \t, \0, \x1e.
func (b *builder) delimiter() string {
	s, err := strconv.Unquote(`"` + strings.ReplaceAll(b.f.delimiter, `"`, `\"`) + `"`)
	if err != nil || s == "" {
		b.bad("--payload-delimiter %q: write the text between two payloads, with \\n or \\t for what cannot be typed", b.f.delimiter)
		return "\n"
	}
	return s
}

func (b *builder) interval() time.Duration {
	d, err := parseTime(b.f.interval, time.Millisecond)
	if err != nil || d <= 0 {
		b.bad("--reporting-interval %q: write milliseconds above 0 (5000) or a time (5s)", b.f.interval)
	}
	return d
}

func (b *builder) checkOutput() {
	if b.f.fps < 1 || b.f.fps > 30 {
		b.bad("--fps %d: it must be from 1 to 30", b.f.fps)
	}
	if b.f.output == "" {
		return
	}
	for _, o := range Outputs {
		if o == b.f.output {
			return
		}
	}
	b.bad("--output %q: it must be one of %s", b.f.output, strings.Join(Outputs, ", "))
}

// parseTime reads a duration; a bare number counts in unit.
func parseTime(s string, unit time.Duration) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		v := n * float64(unit)
		if math.IsNaN(v) || math.Abs(v) > math.MaxInt64 {
			return 0, fmt.Errorf("%q is out of range", s)
		}
		return time.Duration(v), nil
	}
	return time.ParseDuration(s)
}
