package pulsar

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/prometheus/client_golang/prometheus"

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
	namespace          string
	values             *payload.Values
	producer, consumer *settings // nil: nobody writes, or reads
}

var _ run.System = (*System)(nil)

// New checks the properties of the clients of a plan, and makes what its messages hold. It completes the plan with what a
// payload file says.
func New(p *plan.Plan, producer, consumer map[string]plan.Given, a queue.Access) (*System, []string, error) {
	s := &System{access: a}
	var err error
	if s.url, err = plan.ParseURL(p.URL); err != nil {
		return nil, nil, err
	}
	s.namespace, err = namespace(s.url.Path)
	errs := []error{err}
	note := func(err error) { errs = append(errs, err) }
	if s.url.User != nil {
		note(errors.New("--url: Pulsar has no users: leave out what is before the @, and give a token by url.password"))
	}
	if strings.ContainsAny(p.Topic.Name, "/") {
		note(fmt.Errorf("--topic %q: give the name alone; the tenant and the namespace go into --url", p.Topic.Name))
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
			note(fmt.Errorf("--from %s: a subscription of Pulsar begins at earliest or latest", from))
		}
		if p.Read.Commit == plan.CommitSync {
			note(errors.New("--commit sync: kt does not wait until Pulsar has an acknowledgement: write auto, or none"))
		}
	}
	return s, nil, errors.Join(errs...)
}

// namespace returns the tenant and the namespace that the path of a URL names, as tenant/namespace.
func namespace(path string) (string, error) {
	path = strings.Trim(path, "/")
	if path == "" {
		return "public/default", nil
	}
	if strings.Count(path, "/") != 1 {
		return "", fmt.Errorf("--url: /%s: write pulsar://HOST:PORT/TENANT/NAMESPACE", path)
	}
	return path, nil
}

// Describe completes a header with the settings of the clients.
func (s *System) Describe(h *result.Header) {
	if s.producer != nil {
		h.Config = s.producer.all
	}
	if s.consumer != nil {
		h.ConsumerConfig = s.consumer.all
	}
}

// openTimeout is how long a client may take to connect, and for each other request that is not a message.
const openTimeout = 30 * time.Second

// client makes a client with connections of its own. The engine bounds the memory of what is on its way.
func (s *System) client() (client.Client, error) {
	o := client.ClientOptions{
		URL:               s.url.Scheme + "://" + s.url.Host,
		Logger:            log.DefaultNopLogger(),
		MetricsRegisterer: prometheus.NewRegistry(), // not that of the process
		MemoryLimitBytes:  -1,
		ConnectionTimeout: openTimeout / 3, OperationTimeout: openTimeout,
		ConnectionMaxIdleTime: -1,
		Description:           "kt",
	}
	var err error
	if o.TLSConfig, err = s.tls(); err != nil {
		return nil, err
	}
	if token := s.access.Password.Reveal(); token != "" {
		o.Authentication = client.NewAuthenticationToken(token)
	}
	return client.NewClient(o)
}

// DeliveryTimeout returns how long a message may wait for its outcome. The client looks for late ones once in
// delivery.timeout.ms, so one may wait twice as long.
func (s *System) DeliveryTimeout() time.Duration { return 2 * s.producer.timeout }

// tls returns the settings of all connections, nil for plain text. They name no host: lookups and redirects lead to others
// than that of the URL, and whoever connects completes a copy with the host that it connects to.
func (s *System) tls() (*tls.Config, error) {
	if s.access.TLS == nil {
		return nil, nil
	}
	return s.access.TLS("")
}

// Connect reaches the cluster, makes the topic that p writes to and finds the one that it reads.
func (s *System) Connect(ctx context.Context, p *plan.Plan, o run.Options) (run.Session, error) {
	c := &session{System: s, plan: p, options: o, topic: result.Topic{Name: p.Topic.Name}}
	if err := c.connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
