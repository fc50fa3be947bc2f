package rabbitmq

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
)

// settings are what can be set of the clients.
type settings struct {
	confirms        bool
	mandatory       bool
	deliveryMode    uint8
	bufferMemory    int64
	deliveryTimeout time.Duration
	prefetch        int
	autoAck         bool
	producer        []result.Setting
	consumer        []result.Setting
}

// property is one setting: its name, its default, what takes it, and what it means to the client.
type property struct {
	name, value, client string
	apply               func(s *settings, value string) error
}

var producerProperties = []property{
	{"acks", "all", "confirm.select", func(s *settings, v string) error {
		s.confirms = v == "all" || v == "-1"
		if !s.confirms && v != "0" {
			return errors.New("a confirm says that the queue has the message, on most of its members: write all or 0")
		}
		return nil
	}},
	{"buffer.memory", "33554432", "", func(s *settings, v string) (err error) {
		s.bufferMemory, err = positive(v)
		return err
	}},
	{"delivery.mode", "persistent", "delivery-mode", func(s *settings, v string) error {
		s.deliveryMode = amqp.Persistent
		switch v {
		case "persistent":
		case "transient":
			s.deliveryMode = amqp.Transient
		default:
			return errors.New("write persistent or transient")
		}
		return nil
	}},
	{"delivery.timeout.ms", "120000", "", func(s *settings, v string) error {
		ms, err := positive(v)
		s.deliveryTimeout = time.Duration(ms) * time.Millisecond
		return err
	}},
	{"mandatory", "true", "basic.publish mandatory", func(s *settings, v string) (err error) {
		s.mandatory, err = yesNo(v)
		return err
	}},
}

var consumerProperties = []property{
	{"auto.ack", "false", "basic.consume no-ack", func(s *settings, v string) (err error) {
		s.autoAck, err = yesNo(v)
		return err
	}},
	{"prefetch.count", "1000", "basic.qos", func(s *settings, v string) error {
		n, err := positive(v)
		s.prefetch = int(n)
		if n > 65535 {
			return errors.New("write a number from 1 to 65535")
		}
		return err
	}},
}

// ProducerProperties are the settings of producers that go with --command-property.
var ProducerProperties = names(producerProperties)

// ConsumerProperties are those of consumers.
var ConsumerProperties = names(consumerProperties)

func names(properties []property) (all []string) {
	for _, p := range properties {
		all = append(all, p.name)
	}
	return all
}

func positive(v string) (int64, error) {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
		return n, nil
	}
	return 0, errors.New("write a number above 0")
}

func yesNo(v string) (bool, error) {
	if v != "true" && v != "false" {
		return false, errors.New("write true or false")
	}
	return v == "true", nil
}

// nearest is what comes nearest to Kafka's properties.
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

// set returns the properties in force, with those that were given.
func (s *settings) set(properties []property, given map[string]plan.Given) (all []result.Setting, err error) {
	for _, p := range properties {
		at := result.Setting{Name: p.name, Value: p.value, Default: p.value, Source: "default", Client: p.client}
		if g, ok := given[p.name]; ok {
			at.Value, at.Source = strings.TrimSpace(g.Value), g.Source
		}
		if bad := p.apply(s, at.Value); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s=%s (from %s): %w", p.name, at.Value, at.Source, bad))
		}
		all = append(all, at)
	}
	return all, errors.Join(err, queue.Refuse("RabbitMQ", given, names(properties), nearest))
}

// fits returns what of a plan RabbitMQ does not have.
func fits(p *plan.Plan) error {
	var errs []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(p.Read.From.HasOffset || !p.Read.From.Time.IsZero(), "--from %s: reading begins with the oldest message of each queue; leave it out", p.Read.From)
	kind, given := p.Topic.Configs["x-queue-type"]
	refuse(p.Topic.ReplicationFactor > 1 && given && kind != "quorum",
		"--replication-factor %d: only a quorum queue has members, not x-queue-type=%s; leave one of them out", p.Topic.ReplicationFactor, kind)
	for name := range p.Topic.Configs {
		refuse(!strings.HasPrefix(name, "x-"), "--topic-config %s: queues have arguments, such as x-queue-type, x-message-ttl, x-max-length-bytes", name)
	}
	return errors.Join(errs...)
}
