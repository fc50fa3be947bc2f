package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/capture"
	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/kafka/doctor"
	"github.com/kt-bench/kt/internal/kafka/javaconf"
	"github.com/kt-bench/kt/internal/kafka/look"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/kafka/wire"
	"github.com/kt-bench/kt/internal/kafka/writing"
	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

// System is Kafka, with the settings of the clients of one plan. New makes it.
type System struct {
	Producer javaconf.Producer // of a plan that writes
	Consumer javaconf.Consumer // of a plan that reads
	Security security.Settings // of the connections; the broker inside kt has none

	// Embedded is the broker inside kt, where several loads share one that keeps records for readers; nil: a load has its own.
	Embedded *kafka.Embedded

	values        *payload.Values
	writes, reads bool
	bootstrap     []string // none: the broker is inside kt
}

// New checks the Java properties of the clients of a plan, and makes what its records hold. It completes the plan with what a
// payload file says. With lenient, a property that a client does not have is a warning.
func New(p *plan.Plan, producer, consumer map[string]plan.Given, lenient bool) (*System, []string, error) {
	s := &System{writes: p.Writes(), reads: p.Reads(), bootstrap: p.Bootstrap}
	var warnings []string
	var err error
	if s.writes {
		var bad error
		s.values, err = payload.MakeValues(p)
		s.Producer, warnings, bad = javaconf.ParseProducer(producer, p.Payload.MaxBytes(), lenient)
		if bad == nil && p.Verify && !p.Payload.Stamp && !s.Producer.Idempotent() { // no batch has sequences to know its records by
			p.Payload.Stamp = true
			s.Producer, warnings, bad = javaconf.ParseProducer(producer, p.Payload.MaxBytes(), lenient)
			bad = errors.Join(bad, p.Validate())
		}
		if err = errors.Join(err, bad); err == nil {
			s.Producer = writing.FitBatches(s.Producer, *p, s.values)
			if p.Engine == plan.Wire {
				s.Producer.SystemSendBuffer()
				err = errors.Join(wire.Fits(p, s.Producer)...)
			}
		}
	}
	if s.reads {
		settings, more, bad := javaconf.ParseConsumer(consumer, lenient)
		s.Consumer, warnings, err = settings, append(warnings, more...), errors.Join(err, bad)
		if p.Engine == plan.Wire && bad == nil {
			s.Consumer.CheckByDefault()
			err = errors.Join(err, wire.FitsReading(p))
		}
	}
	return s, warnings, err
}

// Describe completes a header with the settings of the clients.
func (s *System) Describe(h *result.Header) {
	if s.writes {
		h.Config = s.Producer.All()
	}
	if s.reads {
		h.ConsumerConfig = s.Consumer.All()
	}
}

// Connect connects to the cluster of the plan, or starts the embedded broker where the plan names none. It never does the
// second because the first failed.
func (s *System) Connect(ctx context.Context, p *plan.Plan, o run.Options) (run.Session, error) {
	c := &session{System: s, plan: p, options: o, bootstrap: p.Bootstrap}
	if p.Embedded() {
		if c.embedded = s.Embedded; c.embedded == nil {
			embedded, err := kafka.StartEmbedded(p.Reads())
			if err != nil {
				return nil, err
			}
			c.embedded = embedded
		}
		if c.bootstrap = c.embedded.Addrs(); p.Writes() && (p.Reads() || s.Embedded != nil) {
			fitEmbedded(p, o.Notify)
		}
	}
	if err := c.connect(ctx); err != nil {
		c.Close()
		if kafka.Denied(err) {
			err = fmt.Errorf("%w (kt doctor says which rights are missing)", err)
		}
		return nil, misfit(err)
	}
	return c, nil
}

// embeddedRate is the rate of a round trip with the embedded broker, in records/s: that holds unread records in memory.
const embeddedRate = 50_000

func fitEmbedded(p *plan.Plan, notify func(run.Notice)) {
	if p.Load.Rate.IsUnlimited() && !p.Load.OneAtATime {
		p.Load.Rate = plan.Rate{PerSecond: embeddedRate}
		notify(run.Notice{Kind: run.RateChosen, Text: fmt.Sprintf("the broker inside kt holds unread records in memory, so kt limits the rate to %s records/s; --rate sets another", theme.Count(embeddedRate))})
	}
}

func (s *session) connect(ctx context.Context) (err error) {
	within := s.Consumer.ReachTimeout()
	if s.writes {
		within = s.Producer.ReachTimeout()
	}
	access := kafka.Access{Bootstrap: s.bootstrap, ClientID: "kt-admin", Timeout: within}
	if s.embedded == nil {
		access.Security = s.Security
		s.Security.Notify(func(text string) { s.options.Notify(run.Notice{Kind: run.StoreUnread, Text: text}) })
	}
	if s.cluster, err = kafka.Connect(ctx, access); err != nil {
		return err
	}
	unreached, err := s.cluster.Reach(ctx)
	if err != nil { // before anything is made
		return err
	}
	for _, u := range unreached {
		s.options.Notify(run.Notice{Kind: run.BrokerUnreached, Text: fmt.Sprintf("%v; going on with the others", u)})
	}
	for _, u := range s.cluster.Unreached {
		s.options.Notify(run.Notice{Kind: run.BrokerUnreached, Text: fmt.Sprintf("bootstrap server %v; going on with the others", u)})
	}
	switch {
	case s.reads && s.plan.Read.Share != nil:
		err = s.findShare(ctx)
	case s.reads && s.plan.Read.Group != "":
		err = s.cluster.CheckConsumerGroup(ctx, s.plan.Read.Group)
	}
	if err != nil {
		return err
	}
	if !s.writes {
		s.topics, err = s.cluster.ReadTopics(ctx, *s.plan)
	} else {
		err = s.ensureTopics(ctx)
	}
	if err != nil {
		return err
	}
	if s.plan.Verify {
		if t := s.cluster.Compacted(ctx, s.topics); t != nil {
			err := fmt.Errorf("--verify: topic %s is compacted (cleanup.policy=%s): compaction removes records that a later one replaces", t.Name, t.Configs["cleanup.policy"])
			return errors.Join(&result.MisfitError{Err: err}, s.Delete(context.WithoutCancel(ctx)))
		}
	}
	for i := range s.topics[1:] {
		s.topics[1+i].Configs = nil // the header of a run has those of the first
	}
	for i := 0; s.options.Book != nil && !s.options.Book.Mirror && len(s.topics) > 1 && i < len(s.topics); i++ { // its numbers count on: partitions since then follow
		s.topics[i].Partitions = min(s.topics[i].Partitions, s.options.Book.Topics[i].Partitions)
	}
	s.layout = kafka.NewLayout(s.topics)
	if s.embedded == nil {
		s.cluster.FindDirs(ctx, &s.topics[0])
		s.quotas = s.cluster.Quotas(ctx, map[string]string{"producer_byte_rate": s.Producer.Value("client.id"), "consumer_byte_rate": s.Consumer.Value("client.id")})
	}
	return nil
}

func (s *session) ensureTopics(ctx context.Context) (err error) {
	if s.topics, err = s.cluster.EnsureTopics(ctx, *s.plan, s.Producer.Compression() != "none"); err != nil {
		return err
	}
	if made := s.made(); len(made) > 0 && s.embedded == nil {
		t, text := made[0], "created topic %[2]s (partitions %[3]d, replication factor %[4]d)"
		if len(made) > 1 {
			text = "created %d topics: %s and so on (partitions of each: %d, replication factor %d)"
		}
		s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf(text, len(made), t.Name, t.Partitions, t.ReplicationFactor)})
	}
	limit, of := kafka.MessageLimit(s.topics)
	producer, lowered := s.Producer.Limited(limit)
	if s.Producer = producer; lowered {
		s.Producer = writing.FitBatches(producer, *s.plan, s.values)
		s.options.Notify(run.Notice{Kind: run.BatchLimited, Text: fmt.Sprintf("topic %s takes batches of %s (max.message.bytes): kt lowers batch.size to that", of, theme.Plural(limit, "byte", "bytes"))})
	}
	return nil
}

// made returns the topics that were created for the load.
func (s *session) made() []result.Topic {
	return slices.DeleteFunc(slices.Clone(s.topics), func(t result.Topic) bool { return !t.Created })
}

func misfit(err error) error {
	if address := new(kafka.AddressError); errors.As(err, &address) {
		return &result.MisfitError{Err: err}
	}
	return err
}

// What Kafka can do beside runs.
var _ interface {
	run.System
	run.Acknowledging
	run.Delivering
	run.TopicLister
	run.GroupLister
	run.TopicDeleter
	run.Unreachable
	run.Partitioned
	run.Calibrated
	run.Administered
	capture.Looker
} = (*System)(nil)

// Acks returns the acknowledgements that the producer waits for.
func (s *System) Acks() string { return s.Producer.Acks() }

// DeliveryTimeout returns how long a record may wait for its outcome.
func (s *System) DeliveryTimeout() time.Duration { return s.Producer.DeliveryTimeout() }

// ReadsByPartition reports whether each partition is read by one consumer of a group.
func (s *System) ReadsByPartition() bool { return !s.Consumer.Shared() }

// LikeSink reports whether the connections have neither TLS nor SASL, as those to a sink.
func (s *System) LikeSink() bool { return s.Security.Protocol() == security.Plaintext }

// Sink returns the sink for a load of so many clients at most. Each has a partition, for a consumer without one reads nothing.
func (s *System) Sink(p *plan.Plan, clients int) kafka.Sink {
	const usual = 12 // partitions of a topic
	k := kafka.Sink{Partitions: int32(max(usual, clients)), RecordBytes: plan.DefaultRecordSize}
	if s.writes {
		k.RecordBytes = p.Payload.MaxBytes()
	}
	return k
}

func (s *System) access(within time.Duration) kafka.Access {
	return kafka.Access{Bootstrap: s.bootstrap, ClientID: "kt-admin", Timeout: within, Security: s.Security}
}

// Examine examines the cluster from this host, as kt doctor does.
func (s *System) Examine(ctx context.Context, o doctor.Options) (*doctor.Report, error) {
	if o.Access = s.access(0); o.ClientIDs == nil {
		producer, _, _ := javaconf.ParseProducer(nil, 0, false) // the defaults fit together
		consumer, _, _ := javaconf.ParseConsumer(nil, false)
		o.ClientIDs = []string{producer.Value("client.id"), consumer.Value("client.id")}
	}
	return doctor.Examine(ctx, o)
}

// Look looks at the cluster for the load that it carries.
func (s *System) Look(ctx context.Context, l capture.Look, say func(string)) (*capture.Cluster, error) {
	c, err := kafka.Connect(ctx, s.access(kafka.AdminTimeout))
	if err != nil {
		return nil, misfit(err)
	}
	defer c.Close()
	return look.At(ctx, c, l, say)
}

// WhyUnreachable returns why the brokers cannot be reached now, if records failed because the client gave up on them or could
// not log in. That is the reason as a rule, as when a password was changed.
func (s *System) WhyUnreachable(ctx context.Context, code string) error {
	if len(s.bootstrap) == 0 || !strings.HasPrefix(code, "client:") && code != "SASL_AUTHENTICATION_FAILED" {
		return nil
	}
	const within = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	c, err := kafka.Connect(ctx, s.access(within))
	if err == nil {
		c.Close()
	} else if errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

type admin struct {
	*kafka.Cluster
	compressed bool // by the producer
}

// Administer connects to the cluster; nil: the broker is inside kt.
func (s *System) Administer(ctx context.Context) (run.Admin, error) {
	a, err := s.administer(ctx)
	if a == nil {
		return nil, err
	}
	return a, nil
}

func (s *System) administer(ctx context.Context) (*admin, error) {
	if len(s.bootstrap) == 0 {
		return nil, nil
	}
	c, err := kafka.Connect(ctx, s.access(kafka.AdminTimeout))
	if err != nil {
		return nil, err
	}
	return &admin{c, s.writes && s.Producer.Compression() != "none"}, nil
}

// Brokers returns the brokers of the cluster.
func (a *admin) Brokers() []result.Broker { return a.Info.Brokers }

// Fits returns an error if the cluster cannot carry a load.
func (a *admin) Fits(ctx context.Context, p plan.Plan) error {
	var err error
	if p.Writes() {
		_, err = a.CheckTopics(ctx, p, a.compressed)
	} else {
		_, err = a.ReadTopics(ctx, p)
	}
	if unfit := new(result.MisfitError); errors.As(err, &unfit) {
		return err
	}
	return nil // it may not be asked, which a run tells
}

// Topics returns the topics of the cluster.
func (s *System) Topics(ctx context.Context) []string { return s.names(ctx, (*kafka.Cluster).Topics) }

// Groups returns the groups of the cluster, of consumers and share groups.
func (s *System) Groups(ctx context.Context) []string { return s.names(ctx, (*kafka.Cluster).Groups) }

func (s *System) names(ctx context.Context, of func(*kafka.Cluster, context.Context) []string) []string {
	a, err := s.administer(ctx)
	if a == nil || err != nil {
		return nil
	}
	defer a.Close()
	return of(a.Cluster, ctx)
}

// DeleteTopic deletes the topics of a name, as plan.ParseTopics reads it. With a broker inside kt they went already.
func (s *System) DeleteTopic(ctx context.Context, name string) error {
	names, err := plan.ParseTopics(name)
	if err != nil {
		return fmt.Errorf("delete topic: %w", err)
	}
	a, err := s.administer(ctx)
	if err != nil {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	if a == nil {
		return nil
	}
	defer a.Close()
	return a.DeleteTopics(ctx, names...)
}
