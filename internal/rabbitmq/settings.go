package rabbitmq

import (
	"errors"
	"math"
	"slices"
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
	maxMessage      int64

	producer, consumer []result.Setting // nil: nobody writes, or reads
}

var modes = map[string]uint8{"persistent": amqp.Persistent, "transient": amqp.Transient}

var producerProperties = []queue.Property[settings]{
	{Name: "acks", Default: "all", Client: "confirm.select", Set: func(s *settings, v string) error {
		if queue.Choice(v, map[string]bool{"all": true, "-1": true, "0": false}, &s.confirms) != nil {
			return errors.New("a confirm says that the queue has the message, on most of its members: write all or 0")
		}
		return nil
	}},
	{Name: "buffer.memory", Default: "33554432", Set: func(s *settings, v string) error {
		return queue.Number(v, 1, math.MaxInt64, &s.bufferMemory)
	}},
	{Name: "delivery.mode", Default: "persistent", Client: "delivery-mode", Set: func(s *settings, v string) error {
		return queue.Choice(v, modes, &s.deliveryMode)
	}},
	{Name: "delivery.timeout.ms", Default: "120000", Set: func(s *settings, v string) error {
		return queue.Millis(v, time.Millisecond, &s.deliveryTimeout)
	}},
	{Name: "mandatory", Default: "true", Client: "basic.publish mandatory", Set: func(s *settings, v string) error {
		return queue.Choice(v, queue.YesNo, &s.mandatory)
	}},
}

var consumerProperties = []queue.Property[settings]{
	{Name: "auto.ack", Default: "false", Client: "basic.consume no-ack", Set: func(s *settings, v string) error {
		return queue.Choice(v, queue.YesNo, &s.autoAck)
	}},
	{Name: "max.message.bytes", Default: "134217728", Client: "kt itself", Set: func(s *settings, v string) error {
		return queue.Number(v, 1, 1<<30, &s.maxMessage)
	}},
	{Name: "prefetch.count", Default: "1000", Client: "basic.qos", Set: func(s *settings, v string) error {
		return queue.Number(v, 1, math.MaxUint16, &s.prefetch)
	}},
}

// ProducerProperties and ConsumerProperties are the settings that go with --command-property.
var (
	ProducerProperties = queue.Names(producerProperties)
	ConsumerProperties = queue.Names(consumerProperties)
)

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

// queueTypes are the types of queues that kt can use. A consumer takes a message out of such a queue, and of no stream.
var queueTypes = []string{"classic", "quorum"}

// fits returns what of a plan RabbitMQ does not have.
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
