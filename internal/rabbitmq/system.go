// Package rabbitmq makes loads on RabbitMQ possible for package run, by AMQP 0-9-1 and
// github.com/rabbitmq/amqp091-go. A topic is a durable direct exchange, and its partition i the
// queue TOPIC-i, bound with the key "i".
package rabbitmq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// System is RabbitMQ, with the settings of the clients of one plan. New makes it.
type System struct {
	queue.System[settings]
	user, vhost string
	tls         bool
	hosts       []string // with their ports; the first one is that of the URL
	admin       string   // URL of the management API
}

// What RabbitMQ can do beside runs.
var _ interface {
	run.System
	run.Acknowledging
	run.Delivering
	run.TopicLister
	run.TopicDeleter
} = (*System)(nil)

// New checks a plan and the properties of its clients, and makes what its messages hold. It completes the plan with what a
// payload file says.
func New(p *plan.Plan, producer, consumer map[string]plan.Given, access queue.Access) (*System, []string, error) {
	q, err := properties.New(p, producer, consumer, access)
	if q == nil {
		return nil, nil, err
	}
	u := q.URL
	s := &System{System: *q, tls: p.Encrypts(), hosts: []string{u.Host}, admin: access.Admin(u, "15672", "15671")}
	s.user, s.vhost = cmp.Or(u.User.Username(), "guest"), cmp.Or(strings.TrimPrefix(u.Path, "/"), "/") // as RabbitMQ's own tools
	return s, nil, errors.Join(fits(p), err)
}

// DeliveryTimeout returns how long a message may wait for its outcome.
func (s *System) DeliveryTimeout() time.Duration { return s.Settings.deliveryTimeout }

// Connect reaches a node, and finds or makes the exchange and the queues of the plan.
func (s *System) Connect(ctx context.Context, p *plan.Plan, o run.Options) (run.Session, error) {
	c := &session{System: s, plan: p, options: o, management: s.newManagement(), asker: dialer{name: "kt"}, gone: make(map[string]bool)}
	err := c.look(ctx)
	if err == nil {
		err = c.prepare(ctx)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

type session struct {
	*System
	plan       *plan.Plan
	options    run.Options
	management *management // nil: it does not answer
	cluster    result.Cluster
	topics     *queue.Layout
	found      found // of the topics, when they were ready

	read *consumer // nil: nobody reads

	asking sync.Mutex // guards admin and asker
	admin  *link      // for questions; nil: there is none
	asker  dialer

	flow, limit atomic.Value    // map[string]bool: local ports that credit flow holds back; string: at which limit queues refuse messages, "" for none
	mu          sync.Mutex      // guards gone
	gone        map[string]bool // hosts while connections to them are lost, and queues
}

func (s *session) look(ctx context.Context) error {
	if err := s.ask(ctx, func(*amqp.Channel) error { return nil }); err != nil {
		return err
	}
	s.cluster = result.Cluster{Controller: -1}
	s.cluster.ID, _ = s.admin.Properties["cluster_name"].(string)
	version, _ := s.admin.Properties["version"].(string)
	s.cluster.Version = "RabbitMQ " + version
	if err := s.management.describe(ctx, &s.cluster); err != nil {
		text, do := s.management.unanswered(err)
		s.options.Notify(run.Notice{Kind: run.BrokerUnreached, Text: fmt.Sprintf("%s (%v): nodes and leaders of queues are not watched, and types of queues and exchanges are not checked; %s", text, err, do)})
		s.management = nil
		s.cluster.Brokers = []result.Broker{{ID: 1, Addr: s.hosts[0]}}
	}
	s.learn(ctx, s.cluster.Brokers)
	return nil
}

// learn adds the hosts of nodes. That of the URL keeps the name that it has there, so that no node has two.
func (s *System) learn(ctx context.Context, nodes []result.Broker) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout) // for all names
	defer cancel()
	for i := range nodes {
		b := &nodes[i]
		switch {
		case b.Addr == "" || slices.Contains(s.hosts, b.Addr): // it does not run, or is known
		case len(nodes) == 1 || sameHost(ctx, b.Addr, s.hosts[0]):
			b.Addr = s.hosts[0]
		default:
			s.hosts = append(s.hosts, b.Addr)
		}
	}
}

// sameHost reports whether two addresses have the same port, and mean the same host.
func sameHost(ctx context.Context, a, b string) bool {
	one, port, err := net.SplitHostPort(a)
	other, otherPort, bad := net.SplitHostPort(b)
	if err != nil || bad != nil || port != otherPort {
		return false
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, one)
	others, bad := net.DefaultResolver.LookupHost(ctx, other)
	return err == nil && bad == nil && slices.ContainsFunc(ips, func(ip string) bool { return slices.Contains(others, ip) })
}

// Describe completes a header with the settings, the cluster and the queues.
func (s *session) Describe(h *result.Header) {
	s.System.Describe(h)
	h.Environment.Cluster = s.cluster
	h.Environment.SetTopics(s.topics.All)
}

// NewBook opens the account of the records of this run.
func (s *session) NewBook(context.Context) (*ledger.Book, error) {
	acks := "" // what it says of Kafka's replicas is not meant
	if !s.Settings.confirms {
		acks = "0"
	}
	return &ledger.Book{Acks: acks}, nil
}

// Open makes the drivers and the sources beside them.
func (s *session) Open(_ context.Context, book *ledger.Book) (c run.Clients, err error) {
	accounts, o := queue.Begin(s.plan, s.topics, book)
	if s.plan.Writes() {
		c.Send, c.Limits = &producer{s, accounts}, queue.Limits(s.plan, s.Settings.bufferMemory, unlimitedRecords, s.Settings.deliveryTimeout)
		refuses, _ := queueLimit(s.found.configs)
		s.limit.Store(refuses)
	}
	if s.plan.Reads() {
		o.Backlog, o.Shared = s.backlog, s.shared
		s.read = &consumer{session: s, Arrivals: queue.NewArrivals(o)}
		c.Read = s.read
		c.Sources = append(c.Sources, s.read.Arrivals)
	}
	if s.management != nil {
		c.Sources = append(c.Sources, &watcher{session: s})
	}
	return c, nil
}

// unlimitedRecords is how many messages may be unconfirmed at an unlimited rate: enough for all queues to be busy.
const unlimitedRecords = 2000

// Close frees the connection.
func (s *session) Close() {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.admin != nil {
		s.admin.end()
		s.admin = nil
	}
}

// ask opens a channel for a question, because one about a missing thing ends it.
func (s *session) ask(ctx context.Context, question func(*amqp.Channel) error) error {
	s.asking.Lock()
	var err error
	if s.admin == nil || s.admin.frames.isClosed() || s.admin.IsClosed() {
		err = s.anyNode(func() (err error) { s.admin, err = s.asker.reach(ctx, s.System); return err })
	}
	l := s.admin
	s.asking.Unlock()
	if err != nil {
		return err
	}
	err = l.within(ctx, answerTimeout, func() error {
		ch, err := l.Channel()
		if err == nil {
			err = question(ch)
		}
		if err == nil {
			err = ch.Close()
		}
		return err
	})
	if errors.As(err, new(*lateError)) {
		return fmt.Errorf("ask %s: %w", l.host, err)
	}
	return err
}

type settings struct {
	confirms        bool
	mandatory       bool
	deliveryMode    uint8
	bufferMemory    int64
	deliveryTimeout time.Duration
	prefetch        int
	autoAck         bool
	maxMessage      int64
}

var modes = map[string]uint8{"persistent": amqp.Persistent, "transient": amqp.Transient}

var properties = queue.Properties[settings]{System: "RabbitMQ", Producer: producerProperties, Consumer: consumerProperties, Nearest: nearest}

var producerProperties = []queue.Property[settings]{
	{Name: "acks", Default: "all", Client: "confirm.select", Set: func(s *settings, v string) error {
		if queue.Choice(v, map[string]bool{"all": true, "-1": true, "0": false}, &s.confirms) != nil {
			return errors.New("a confirm says that the queue has the message, on most of its members: write all or 0")
		}
		return nil
	}},
	{Name: "buffer.memory", Default: "33554432", Set: func(s *settings, v string) error { return queue.Number(v, 1, math.MaxInt64, &s.bufferMemory) }},
	{Name: "delivery.mode", Default: "persistent", Client: "delivery-mode", Set: func(s *settings, v string) error { return queue.Choice(v, modes, &s.deliveryMode) }},
	{Name: "delivery.timeout.ms", Default: "120000", Set: func(s *settings, v string) error { return queue.Millis(v, time.Millisecond, &s.deliveryTimeout) }},
	{Name: "mandatory", Default: "true", Client: "basic.publish mandatory", Set: func(s *settings, v string) error { return queue.Choice(v, queue.YesNo, &s.mandatory) }},
}

var consumerProperties = []queue.Property[settings]{
	{Name: "auto.ack", Default: "false", Client: "basic.consume no-ack", Set: func(s *settings, v string) error { return queue.Choice(v, queue.YesNo, &s.autoAck) }},
	{Name: "max.message.bytes", Default: "134217728", Client: "kt itself", Set: func(s *settings, v string) error { return queue.Number(v, 1, 1<<30, &s.maxMessage) }},
	{Name: "prefetch.count", Default: "1000", Client: "basic.qos", Set: func(s *settings, v string) error { return queue.Number(v, 1, math.MaxUint16, &s.prefetch) }},
}

// ProducerProperties and ConsumerProperties are the settings that go with --command-property.
var (
	ProducerProperties = queue.Names(producerProperties)
	ConsumerProperties = queue.Names(consumerProperties)
)

var nearest = map[string]string{
	"auto.offset.reset":                     "reading begins with the oldest message of each queue; leave it out",
	"batch.size":                            "each message goes by itself; leave it out",
	"compression.type":                      "messages go as they are; leave it out",
	"enable.idempotence":                    "kt publishes no message twice; leave it out",
	"fetch.max.bytes":                       "prefetch.count bounds what is on its way",
	"fetch.min.bytes":                       "each message comes by itself; leave it out",
	"group.id":                              "all consumers of a queue share its messages; leave the group out",
	"linger.ms":                             "each message goes by itself; leave it out",
	"max.in.flight.requests.per.connection": "buffer.memory bounds what is not confirmed",
	"max.poll.records":                      "prefetch.count bounds what is on its way",
	"transactional.id":                      "publisher confirms (acks=all) are what there is",
}

// queueTypes are the types of queues that kt can use. A consumer takes a message out of such a queue, and of no stream.
var queueTypes = []string{"classic", "quorum"}

func fits(p *plan.Plan) error {
	var errs []error
	bad := func(flag string, value any, why string, args ...any) {
		errs = append(errs, plan.Refuse(flag, value, why, args...))
	}
	if p.Read.From.HasOffset || !p.Read.From.Time.IsZero() {
		bad("from", p.Read.From, "reading begins with the oldest message of each queue; leave it out")
	}
	switch kind, given := p.Topic.Configs["x-queue-type"]; {
	case given && !slices.Contains(queueTypes, kind):
		bad("topic-config", "x-queue-type="+kind, "kt uses queues of the types %s", strings.Join(queueTypes, " and "))
	case p.Topic.ReplicationFactor > 1 && given && kind != "quorum":
		bad("replication-factor", p.Topic.ReplicationFactor, "only a quorum queue has members, not x-queue-type=%s; leave one of them out", kind)
	}
	for name := range p.Topic.Configs {
		if !strings.HasPrefix(name, "x-") {
			bad("topic-config", name, "queues have arguments, such as x-queue-type, x-message-ttl, x-max-length-bytes")
		}
	}
	return errors.Join(errs...)
}
