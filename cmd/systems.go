package cmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/kafka/security"
	"github.com/kt-bench/kt/internal/kafka/system"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/pulsar"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/rabbitmq"
)

// chooseSystem checks the settings of the load's clients, and makes the system that the load goes to.
func (l *load) chooseSystem(secure security.Settings) (warnings []string, err error) {
	p, access := &l.Plan, queue.Access{Password: secure.Password, Bound: secure.Bound, TLS: secure.TLS}
	switch p.System() {
	case plan.RabbitMQ:
		l.system, warnings, err = rabbitmq.New(p, l.Properties, l.ConsumerProperties, access)
	case plan.Pulsar:
		l.system, warnings, err = pulsar.New(p, l.Properties, l.ConsumerProperties, access)
	default:
		l.kafka, warnings, err = system.New(p, l.Properties, l.ConsumerProperties, l.Lenient)
		l.kafka.Security, l.system = secure, l.kafka
	}
	return warnings, err
}

// topicAdmin is a system without Kafka's admin API.
type topicAdmin interface {
	Topics(ctx context.Context) []string
	DeleteTopic(ctx context.Context, name string) error
}

var (
	_ topicAdmin = (*rabbitmq.System)(nil)
	_ topicAdmin = (*pulsar.System)(nil)
)

// topicsOf returns the topics of the system that a plan's URL names; nil: it does not say.
func topicsOf(ctx context.Context, p *plan.Plan, secure security.Settings) []string {
	l := load{Run: &config.Run{Plan: plan.Plan{URL: p.URL}}} // the rest of the plan may not be complete
	_, err := l.chooseSystem(secure)
	if admin, ok := l.system.(topicAdmin); ok && err == nil {
		return admin.Topics(ctx)
	}
	return nil
}

// checkTLS returns what properties say of TLS that a URL does not.
func checkTLS(p *plan.Plan, given map[string]plan.Given) (warnings []string, err error) {
	if p.URL == "" || p.Encrypts() {
		return nil, nil
	}
	plain, secure := "amqp://", "amqps://"
	if p.System() == plan.Pulsar {
		plain, secure = "pulsar://", "pulsar+ssl://"
	}
	if g := given["security.protocol"]; slices.Contains([]string{"SSL", "SASL_SSL"}, strings.ToUpper(strings.TrimSpace(g.Value))) {
		return nil, fmt.Errorf("security.protocol=%s (from %s): %s in --url connects without TLS: write %s", g.Value, g.Source, plain, secure)
	}
	for name := range given {
		if strings.HasPrefix(name, "ssl.") {
			return []string{"the ssl. properties have no effect with " + plain + ": " + secure + " connects by TLS"}, nil
		}
	}
	return nil, nil
}

// ofURL returns the security properties of a load on a system that a URL names: the URL says whether there is TLS.
func ofURL(p *plan.Plan, given map[string]plan.Given) map[string]plan.Given {
	if p.URL == "" {
		return given
	}
	given = maps.Clone(given)
	if !p.Encrypts() {
		maps.DeleteFunc(given, func(name string, _ plan.Given) bool { return strings.HasPrefix(name, "ssl.") }) // checkTLS says so
		return given
	}
	if given == nil {
		given = make(map[string]plan.Given)
	}
	given["security.protocol"] = plan.Given{Value: "SSL", Source: "--url"}
	return given
}

// acks returns the acknowledgements that the load waits for.
func (l *load) acks() string {
	if l.kafka != nil {
		return l.kafka.Producer.Acks()
	}
	if given := l.Properties["acks"].Value; given != "" {
		return given
	}
	return "all"
}

// deliveryTimeout returns how long a record may wait for its outcome.
func (l *load) deliveryTimeout() time.Duration {
	if l.kafka != nil {
		return l.kafka.Producer.DeliveryTimeout()
	}
	if p, ok := l.system.(*pulsar.System); ok {
		return p.DeliveryTimeout()
	}
	if ms, err := strconv.ParseInt(l.Properties["delivery.timeout.ms"].Value, 10, 32); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	return engine.DefaultDrainTimeout
}
