package pulsar

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

type session struct {
	*System
	plan    *plan.Plan
	options run.Options
	tls     *tls.Config // of the client's connections; nil: plain text
	admin   *admin
	seen    error // why the admin API does not answer; nil: it does
	cluster result.Cluster
	topics  *queue.Layout
	watched []string // web addresses of the brokers

	opening          sync.Mutex      // held to add to these
	writers, readers []*engine.Shard // whole before anybody watches
	subscriptions    []string        // of the groups
	own              bool            // there is no group, and its subscription is deleted at the end
}

// Describe completes a header with the settings, the cluster and the topic.
func (s *session) Describe(h *result.Header) {
	s.System.Describe(h)
	h.Environment.Cluster = s.cluster
	h.Environment.SetTopics(s.topics.All)
}

// Times of the client.
const (
	requestTimeout = 30 * time.Second   // for each request that is not a message; a third of it to connect
	openTimeout    = 2 * requestTimeout // for all requests of a question, or of a producer or consumer that is opened
	leaveTimeout   = 3 * time.Second    // to close
)

// reach asks the admin API for the cluster. Without an answer it notes that.
func (s *System) reach(ctx context.Context, t plan.Topic) *session {
	c := &session{System: s, admin: s.newAdmin(), topics: queue.Named(t.Names()), cluster: result.Cluster{Version: "Pulsar", Controller: -1}}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout/4)
	defer cancel()
	if c.watched, c.seen = c.admin.brokers(ctx); c.seen != nil {
		c.cluster.Brokers = []result.Broker{{Addr: s.URL.Host}}
		return c
	}
	c.admin.learn(c.watched)
	var version string
	if c.admin.Get(ctx, "/admin/v2/brokers/version", &version) == nil {
		c.cluster.Version += " " + version
	}
	var clusters []string // that know each other
	if c.admin.Get(ctx, "/admin/v2/clusters", &clusters) == nil && len(clusters) > 0 {
		c.cluster.ID = clusters[0]
	}
	for i, addr := range c.watched {
		c.cluster.Brokers = append(c.cluster.Brokers, result.Broker{ID: int32(i), Addr: addr})
	}
	return c
}

// Connect reaches the cluster, makes the topics that p writes to and finds those that it reads.
func (s *System) Connect(ctx context.Context, p *plan.Plan, o run.Options) (run.Session, error) {
	// The client dials by itself, this address first, so often that its error does not tell what is wrong.
	conn, err := s.Dial(ctx, s.URL.Host, p.Encrypts(), requestTimeout/3)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", s.URL.Host, queue.Cause(err))
	}
	_ = conn.Close() // it carries nothing
	c := s.reach(ctx, p.Topic)
	c.plan, c.options = p, o
	// The settings name no host: lookups and redirects lead to others than that of the URL. Who connects to one completes a
	// copy with its name.
	if c.tls, err = s.TLS(""); err != nil {
		return nil, &result.MisfitError{Err: err}
	}
	if queue.Status(c.seen) == http.StatusUnauthorized {
		return nil, fmt.Errorf("%s: log in: %w: url.password=TOKEN goes into the file of --command-config", c.admin.Base, c.seen)
	}
	asking, err := c.client() // a broker for the partitions of the topic
	if err != nil {
		return nil, err
	}
	err = c.prepare(ctx, asking)
	leave(asking)
	if err != nil {
		return nil, err
	}
	c.fit(p.Producers, c.topics.Count())
	if p.Reads() {
		c.subscriptions, c.own = []string{p.Read.Group}, p.Read.Group == ""
		if c.own { // with failover a broker waits for a second before it sends anything
			c.subscriptions[0] = fmt.Sprintf("kt-%016x", rand.Uint64())
			c.Derive("subscription.type", "exclusive", "no partition has more than one consumer")
		} else if p.Read.Groups > 1 {
			c.subscriptions = nil
			for g := range p.Read.Groups {
				c.subscriptions = append(c.subscriptions, fmt.Sprintf("%s-%d", p.Read.Group, g))
			}
		}
	}
	return c, nil
}

// client makes a client with connections of its own. The engine bounds the memory of what is on its way.
func (s *session) client() (client.Client, error) {
	o := client.ClientOptions{
		URL:               s.URL.Scheme + "://" + s.URL.Host,
		Logger:            log.DefaultNopLogger(),
		MetricsRegisterer: prometheus.NewRegistry(), // not that of the process
		MemoryLimitBytes:  -1,
		ConnectionTimeout: requestTimeout / 3, OperationTimeout: requestTimeout,
		ConnectionMaxIdleTime: -1, TLSConfig: s.tls,
		Description: "kt",
	}
	if token := s.Password.Reveal(); token != "" {
		o.Authentication = client.NewAuthenticationToken(token)
	}
	return client.NewClient(o)
}

// leave closes a client with its producers and consumers, which wait for their brokers' answers.
func leave(c client.Client) {
	_, _ = within(context.Background(), leaveTimeout, func() (struct{}, error) { c.Close(); return struct{}{}, nil }) // late: it goes on by itself
}

// within calls f, and returns an error if ctx ends first, or if f takes longer than most: the client's calls take no context.
func within[T any](ctx context.Context, most time.Duration, f func() (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("the broker keeps the connection, and did not answer within %s: check its log", most))
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() { value, err := f(); done <- answer{value, err} }() // late: nobody takes it
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// NewBook opens the account of the messages of this run.
func (s *session) NewBook(context.Context) (*ledger.Book, error) {
	return &ledger.Book{Retries: true}, nil
}

// Open makes the drivers and the sources beside them.
func (s *session) Open(_ context.Context, book *ledger.Book) (c run.Clients, err error) {
	accounts, o := queue.Begin(s.plan, s.topics, book)
	if s.plan.Writes() {
		const usual = 2000 // two batches of usual size
		perBatch := int(min(int64(s.Settings.batchMessages), int64(s.Settings.batchBytes)/max(1, int64(s.plan.Payload.MeanBytes()))))
		unlimited := max(usual, 2*perBatch*s.topics.Count()) // two batches of each partition
		c.Send, c.Limits = &producer{s, accounts}, queue.Limits(s.plan, s.Settings.bufferBytes, unlimited, s.DeliveryTimeout())
		c.Limits.MaxBlock = max(s.Settings.maxBlock, 1)
	}
	if s.plan.Reads() {
		o.Backlog = s.backlog
		o.Shared = func(int32) bool { return s.Settings.shared() }
		d := newConsumers(s, o)
		c.Read, c.Sources = d, append(c.Sources, d.Arrivals)
	}
	if s.seen != nil { // the consumer lag is not known
		s.options.Notify(run.Notice{Kind: run.BrokerUnreached, Text: fmt.Sprintf("admin API: %v: neither brokers nor backlogs are watched; ?admin=http://HOST:PORT behind --url says where it is", s.seen)})
		return c, nil
	}
	c.Sources = append(c.Sources, newWatcher(s))
	return c, nil
}

// Delete deletes the topics that were created for the load, one after the other: Pulsar refuses changes at the same time. It goes on
// behind an answer that is an error.
func (s *session) Delete(ctx context.Context) (err error) {
	for i, bad := 0, error(nil); i < len(s.topics.All) && (bad == nil || queue.Status(bad) > 0); i++ {
		if t := &s.topics.All[i]; t.Created {
			if bad = s.admin.remove(ctx, s.path(t)+"/partitions"); bad != nil {
				err = errors.Join(err, fmt.Errorf("delete topic %s: %w", t.Name, bad))
			}
		}
	}
	return err
}

// DeleteTopic deletes a partitioned topic. It is for names that only kt gives. One that is not there is no error.
func (s *System) DeleteTopic(ctx context.Context, name string) (err error) {
	c := s.reach(ctx, plan.Topic{Name: name}) // which may mean several
	if c.seen != nil {
		return fmt.Errorf("delete topic %s: %w", name, c.seen)
	}
	for i := range c.topics.All {
		c.topics.All[i].Created = true
	}
	return c.Delete(ctx)
}

// Close deletes the subscriptions of a reading without a group.
func (s *session) Close() {
	if !s.own {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout/4)
	defer cancel()
	err := s.seen
	if err == nil {
		err = cmp.Or(s.topics.Each(func(_ int, t *result.Topic) error {
			return s.admin.remove(ctx, s.path(t)+"/subscription/"+s.subscriptions[0])
		})...)
	}
	if err != nil {
		text := fmt.Sprintf("subscription %s of topic %s stays, and with it what it has not read, because the admin API did not delete it: %v", s.subscriptions[0], s.plan.Topic.Short(), err)
		s.options.Notify(run.Notice{Kind: run.TopicKept, Text: text})
	}
}
