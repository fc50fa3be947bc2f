package pulsar

import (
	"cmp"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/payload"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// System is Pulsar, with the settings of the clients of one plan. New makes it.
type System struct {
	access             queue.Access
	url                *url.URL
	namespace          string // behind its tenant and a slash
	values             *payload.Values
	producer, consumer settings // zero values: nobody writes, or reads
}

// What Pulsar can do beside runs.
var _ interface {
	run.System
	run.Acknowledging
	run.Delivering
	run.TopicLister
	run.TopicDeleter
} = (*System)(nil)

// New checks the properties of the clients of a plan, and makes what its messages hold. It completes the plan with what a
// payload file says.
func New(p *plan.Plan, producer, consumer map[string]plan.Given, a queue.Access) (*System, []string, error) {
	s := &System{access: a}
	var err error
	if s.url, err = plan.ParseURL(p.URL); err != nil {
		return nil, nil, err
	}
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	if s.url.User != nil {
		note(plan.Refuse("url", nil, "Pulsar has no users: leave out what is before the @, and give a token by url.password"))
	}
	s.namespace = cmp.Or(strings.Trim(s.url.Path, "/"), "public/default")
	if strings.Count(s.namespace, "/") != 1 {
		note(plan.Refuse("url", nil, "/%s: write pulsar://HOST:PORT/TENANT/NAMESPACE", s.namespace))
	}
	if strings.ContainsAny(p.Topic.Name, "/") {
		note(plan.Refuse("topic", p.Topic.Name, "give the name alone; the tenant and the namespace go into --url"))
	}
	if p.Writes() {
		s.producer, err = parse(producerProperties, producer)
		note(err)
		s.values, err = payload.MakeValues(p)
		note(err)
	}
	if p.Reads() {
		s.consumer, err = parse(consumerProperties, consumer)
		note(err)
		if from := p.Read.From; from.HasOffset || !from.Time.IsZero() {
			note(plan.Refuse("from", from, "a subscription of Pulsar begins at earliest or latest"))
		}
		if p.Read.Commit == plan.CommitSync {
			note(plan.Refuse("commit", "sync", "kt does not wait until Pulsar has an acknowledgement: async comes nearest, which sends it within 0.1 s of the reading"))
		}
	}
	return s, nil, errors.Join(errs...)
}

// Describe completes a header with the settings of the clients.
func (s *System) Describe(h *result.Header) {
	h.Config, h.ConsumerConfig = s.producer.all, s.consumer.all
}

// Acks returns the acknowledgements that the producers wait for.
func (s *System) Acks() string { return queue.Value(s.producer.all, "acks") }

// DeliveryTimeout returns how long a message may wait for its outcome. The client looks for late ones once in
// delivery.timeout.ms, so one may wait twice as long.
func (s *System) DeliveryTimeout() time.Duration { return 2 * s.producer.timeout }
