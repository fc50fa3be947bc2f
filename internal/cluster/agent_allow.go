package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Limits bound the loads that an agent makes. A zero field is no limit.
type Limits struct {
	Rate           float64        // records a second, of all loads of the host together; --max-rate
	BytesPerSecond float64        // likewise; --max-rate with a unit
	Producers      int            // producers and consumers of all loads of the host; --max-producers
	Topic          *regexp.Regexp // must match the whole name of a topic; nil: any; --allow-topic
	Duration       time.Duration  // of a load; --max-duration

	Broker func(addr string) error // refuses addresses at which this host must not log in; nil: none; --allow-broker
}

// allow returns all reasons for refusing an offer, or nil. others are the loads that the host makes already.
func (l *Limits) allow(o *offer, others ...*offer) error {
	if len(o.Shares) == 0 {
		return nil // it is only watched
	}
	var errs []error
	if len(o.Loads) > 0 {
		for _, one := range o.loads() {
			errs = append(errs, l.allow(one, others...))
			others = append(others, one)
		}
		return errors.Join(errs...)
	}
	for _, j := range o.jobs() {
		if err := allowPlan(&j.Plan); err != nil {
			errs = append(errs, err)
			break // the other jobs have the same plan
		}
	}
	errs = append(errs, allowProperties(o.Producer), allowProperties(o.Consumer))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p := &o.Plan
	errs = nil
	for _, addr := range p.Addresses() {
		if l.Broker != nil {
			errs = append(errs, l.Broker(addr))
		}
	}
	errs = append(errs, l.allowRate(o, others))
	if l.Topic != nil && (p.Read.Include != "" || p.Topic.Name == "") {
		errs = append(errs, fmt.Errorf("--allow-topic %s: a pattern of topics may match others; name one with --topic", l.Topic))
	} else {
		errs = append(errs, l.AllowsTopic(p.Topic.Name))
	}
	// A load of unknown length is stopped at the limit and overtime.
	if lasts := lasts(p); l.Duration > 0 && lasts > l.Duration {
		errs = append(errs, fmt.Errorf("--max-duration %v: the load lasts %v", l.Duration, lasts.Round(time.Millisecond)))
	}
	return errors.Join(errs...)
}

// allowPlan returns the reasons why no agent makes such a load for a peer.
func allowPlan(p *plan.Plan) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Embedded() {
		bad("--bootstrap-server: it is needed, for the broker inside kt is of one process")
	}
	for _, b := range p.Bootstrap {
		if b != clean(b, 300) {
			bad("--bootstrap-server %q: it is no address", clean(b, 64))
		}
	}
	if y := &p.Payload; y.File != "" || y.Delimiter != "" || y.Kind == plan.File || y.Kind == plan.Template || y.FileMean != 0 || y.FileMax != 0 {
		bad("--payload-file, --payload-template: a load on other hosts reads no files of theirs")
	}
	if p.Verify && (!p.Writes() || !p.Reads()) {
		bad("--verify: a ledger does not leave its host; kt roundtrip needs none")
	}
	if p.Share.IsZero() {
		bad("the plan is no share of a load")
	}
	if !slices.Contains([]plan.Command{plan.Produce, plan.Consume, plan.Roundtrip}, p.Command) {
		bad("command %q: it makes no load", clean(string(p.Command), 64))
	}
	ends := p.Load.Duration > 0 || p.Load.Records > 0 || !p.Writes() && (p.Read.ToEnd || p.Read.Timeout > 0)
	if !ends { // the coordinator may be gone by then
		bad("the load has no end of its own: give --duration or --num-records")
	}
	if err := p.Validate(); err != nil {
		errs = append(errs, errors.New(oneLine(err, maxText)))
	}
	return errors.Join(errs...)
}

// demand returns what shares of loads need: records a second, bytes a second and clients.
func demand(offers ...*offer) (sum [3]float64) {
	for _, o := range offers {
		for _, j := range o.jobs() {
			rate, clients := j.Plan.Peak(), j.Plan.Producers
			if j.Plan.Reads() {
				clients += j.Plan.Read.Clients()
			}
			for i, n := range []float64{rate, rate * j.Plan.Payload.MeanBytes(), float64(clients)} {
				sum[i] += n
			}
		}
	}
	return sum
}

// allowRate checks the host's shares of all its loads against the limits of rates and clients.
func (l *Limits) allowRate(o *offer, others []*offer) error {
	own, other := demand(o), demand(others...)
	var errs []error
	for i, of := range []struct {
		limit        float64
		counts, rate bool
		flag, what   string
	}{ // in the order of a demand
		{l.Rate, true, true, "--max-rate %.0f", "records/s"},
		{l.BytesPerSecond, o.Plan.Writes(), true, "--max-rate %.0f B/s", "B/s"},
		{float64(l.Producers), true, false, "--max-producers %.0f", "producers and consumers"},
	} {
		flag := fmt.Sprintf(of.flag, of.limit)
		switch {
		case of.limit == 0 || !of.counts:
		case of.rate && o.Plan.Load.Rate.IsUnlimited():
			errs = append(errs, fmt.Errorf("%s: the load has no --rate", flag))
		case own[i]+other[i] > of.limit*(1+rounding):
			text := fmt.Sprintf("%s: this host's share is %.0f %s", flag, own[i], of.what)
			if len(others) > 0 {
				text += fmt.Sprintf(", and its other loads have %.0f", other[i])
			}
			errs = append(errs, errors.New(text))
		}
	}
	return errors.Join(errs...)
}

// rounding is the relative error of floating-point sums of a few hundred shares.
const rounding = 1e-9

// AllowsTopic returns an error if the limits refuse loads of a topic, or of one of several, as plan.ParseTopics reads its name.
func (l *Limits) AllowsTopic(name string) error {
	if l.Topic == nil {
		return nil
	}
	names, bad := plan.ParseTopics(name)
	whole, err := regexp.Compile(`^(?:` + l.Topic.String() + `)$`)
	if err = errors.Join(bad, err); err != nil {
		return fmt.Errorf("--allow-topic %s: %w", l.Topic, err)
	}
	if i := slices.IndexFunc(names, func(n string) bool { return !whole.MatchString(n) }); i >= 0 {
		return fmt.Errorf("--allow-topic %s: the topic is %s", l.Topic, names[i])
	}
	return nil
}

// lasts returns the duration of a load without its drain; 0: unknown. A share of a plan lasts as long as the whole.
func lasts(p *plan.Plan) time.Duration {
	if d := p.Load.Duration.Std(); d > 0 {
		return d
	}
	rate := p.Load.Rate.RecordsPerSecond(p.Payload.MeanBytes())
	if p.Load.Records == 0 || rate <= 0 || !p.Writes() {
		return 0
	}
	if s := float64(p.Load.Records) / rate; s < maxRunTime.Seconds() {
		return time.Duration(s * float64(time.Second))
	}
	return maxRunTime
}

// allowed are the Java properties that an agent takes from other hosts. None of them names a file, a program or a source
// of other values. A property that kt learns later has to be added here after a review.
var allowed = strings.Fields(`
	acks batch.size buffer.memory client.dns.lookup client.id client.rack compression.gzip.level
	compression.lz4.level compression.type compression.zstd.level connections.max.idle.ms
	delivery.timeout.ms enable.idempotence enable.metrics.push interceptor.classes key.serializer
	linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size metadata.max.age.ms
	metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
	metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
	partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
	partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms
	reconnect.backoff.ms request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms
	send.buffer.bytes socket.connection.setup.timeout.max.ms
	socket.connection.setup.timeout.ms transaction.timeout.ms transaction.two.phase.commit.enable
	transactional.id value.serializer

	allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs default.api.timeout.ms
	enable.auto.commit exclude.internal.topics fetch.max.bytes fetch.max.wait.ms fetch.min.bytes
	group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
	isolation.level key.deserializer max.partition.fetch.bytes max.poll.interval.ms max.poll.records
	partition.assignment.strategy session.timeout.ms share.acknowledgement.mode share.acquire.mode
	value.deserializer

	auto.ack delivery.mode mandatory prefetch.count

	ack.quorum batching.max.messages max.pending.messages receiver.queue.size subscription.type`)

// AllowsProperty reports whether an agent takes a Java property from another host.
func AllowsProperty(name string) bool { return slices.Contains(allowed, name) }

// allowProperties returns an error for each property that is not allowed, and for values that refer to a file.
func allowProperties(properties map[string]plan.Given) error {
	var errs []error
	for name, g := range properties {
		value := strings.ToLower(strings.TrimSpace(g.Value))
		switch {
		case !AllowsProperty(name):
			errs = append(errs, fmt.Errorf("property %q: agents do not take it from other hosts: leave it out", clean(name, 64)))
		case strings.HasPrefix(value, "file:") || strings.Contains(value, "${"):
			errs = append(errs, fmt.Errorf("property %s: its value names a file, and a load on other hosts reads no file there", name))
		}
	}
	return errors.Join(errs...)
}
