package pulsar

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	client "github.com/apache/pulsar-client-go/pulsar"

	"github.com/kt-bench/kt/internal/engine"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

// session is a cluster and its topic, for one run.
type session struct {
	*System
	plan    *plan.Plan
	options run.Options
	admin   *admin
	seen    error // why the admin API does not answer; nil: it does
	cluster result.Cluster
	topic   result.Topic
	own     string // the subscription of a reading without a group, deleted at the end
	watched []string

	accounts *queue.Accounts // nil: nobody writes
}

// Describe completes a header with the settings, the cluster and the topic.
func (s *session) Describe(h *result.Header) {
	s.System.Describe(h)
	h.Environment.Cluster, h.Environment.Topic = s.cluster, s.topic
}

// connect reaches the cluster and prepares the topic.
func (s *session) connect(ctx context.Context) (err error) {
	if s.admin, err = newAdmin(s.System); err != nil {
		return &run.MisfitError{Err: err}
	}
	if err := s.reach(ctx); err != nil {
		return fmt.Errorf("connect to %s: %w", s.url.Host, cause(err))
	}
	s.describeCluster(ctx)
	if status(s.seen) == http.StatusUnauthorized {
		return fmt.Errorf("%s: log in: %w: url.password=TOKEN goes into the file of --command-config", s.admin.base, s.seen)
	}
	c, err := s.client()
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.url.Host, err)
	}
	defer c.Close()
	partitions, err := lookUp(ctx, c, s.full())
	if err != nil {
		return fmt.Errorf("look up topic %s at %s: %w; the server may want a token: url.password=TOKEN in the file of --command-config", s.topic.Name, s.url.Host, err)
	}
	if err := s.prepare(ctx, partitions); err != nil {
		return err
	}
	for _, settings := range []*settings{s.producer, s.consumer} {
		if settings != nil {
			settings.fit(s.plan.Producers, s.topic.Partitions)
		}
	}
	if s.plan.Reads() && s.plan.Read.Group == "" {
		s.own = fmt.Sprintf("kt-%016x", rand.Uint64())
		s.consumer.fitOwn(s.plan.Read.Consumers <= s.topic.Partitions && s.plan.Share.IsZero())
	}
	return nil
}

// reach opens a connection and closes it again. The client tries so often that its error does not tell what is wrong.
func (s *session) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout/3)
	defer cancel()
	config, err := s.tls()
	if err != nil {
		return err
	}
	var d interface {
		DialContext(ctx context.Context, network, addr string) (net.Conn, error)
	} = &net.Dialer{}
	if config != nil {
		d = &tls.Dialer{Config: config}
	}
	c, err := d.DialContext(ctx, "tcp", s.url.Host)
	if err != nil {
		return err
	}
	return c.Close()
}

// lookUp asks a broker for the partitions of a topic: the first contact.
func lookUp(ctx context.Context, c client.Client, topic string) (names []string, err error) {
	type answer struct {
		names []string
		err   error
	}
	answers := make(chan answer, 1)
	go func() { // ends with openTimeout at the latest
		names, err := c.TopicPartitions(topic)
		answers <- answer{names, err}
	}()
	select {
	case a := <-answers:
		return a.names, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// full returns the whole name of the topic.
func (s *session) full() string { return "persistent://" + s.namespace + "/" + s.plan.Topic.Name }

// path returns the topic's path in the admin API.
func (s *session) path() string {
	return "/admin/v2/persistent/" + s.namespace + "/" + url.PathEscape(s.plan.Topic.Name)
}

// describeCluster asks for the brokers and their version. Without an answer of the admin API it notes that.
func (s *session) describeCluster(ctx context.Context) {
	s.cluster = result.Cluster{Version: "Pulsar", Controller: -1}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout/4)
	defer cancel()
	if s.watched, s.seen = s.admin.brokers(ctx); s.seen != nil {
		s.cluster.Brokers = []result.Broker{{Addr: s.url.Host}}
		return
	}
	s.admin.know(s.watched)
	var version string
	if s.admin.get(ctx, "/admin/v2/brokers/version", &version) == nil {
		s.cluster.Version += " " + version
	}
	var clusters []string
	if s.admin.get(ctx, "/admin/v2/clusters", &clusters) == nil && len(clusters) > 0 {
		s.cluster.ID = clusters[0]
	}
	for i, addr := range s.watched {
		s.cluster.Brokers = append(s.cluster.Brokers, result.Broker{ID: int32(i), Addr: addr})
	}
}

// NewBook opens the account of the messages of this run.
func (s *session) NewBook(context.Context) (*ledger.Book, error) {
	return &ledger.Book{Topic: s.topic.Name, SameTopic: true, Retries: true}, nil
}

// Open makes the drivers and the sources beside them.
func (s *session) Open(_ context.Context, book *ledger.Book) (c run.Clients, err error) {
	var id uint64
	if book != nil && s.plan.Writes() {
		id = book.Run
	}
	if s.plan.Writes() {
		s.accounts = queue.NewAccounts(s.plan, id, s.topic.Partitions)
		c.Send, c.Limits = &producer{s, s.accounts}, s.limits()
	}
	if s.seen != nil {
		text := fmt.Sprintf("admin API: %v: neither brokers nor backlogs are watched; ?admin=http://HOST:PORT behind --url says where it is", s.seen)
		s.options.Notify(run.Notice{Kind: run.BrokerUnreached, Text: text})
	} else if s.options.Watch {
		c.Sources = append(c.Sources, newWatcher(s))
	}
	if s.plan.Reads() {
		o := queue.Options{Plan: *s.plan, Queues: s.topic.Partitions, Run: id, Backlog: s.backlog}
		if s.plan.Verify {
			o.Book = book
		}
		if s.accounts != nil {
			o.Written = s.accounts.Acked
		}
		d := newConsumers(s, o)
		c.Read = d
		if s.seen == nil {
			c.Sources = append(c.Sources, d.Arrivals)
		}
	}
	return c, nil
}

// pipelined is how many messages wait for their receipts at an unlimited rate: two batches of usual size.
const pipelined = 2000

// limits returns how much may wait for receipts, and how long.
func (s *session) limits() engine.Options {
	o := engine.Options{
		BufferBytes: s.producer.bufferBytes, MaxBlock: max(s.producer.maxBlock, 1),
		DrainTimeout: s.DeliveryTimeout() + 5*time.Second, // to report them
	}
	if s.plan.Load.Rate.IsUnlimited() {
		perBatch := int(min(int64(s.producer.batchMessages), int64(s.producer.batchBytes)/max(1, int64(s.plan.Payload.MeanBytes()))))
		o.BufferRecords = min(engine.DefaultBufferRecords, max(pipelined, 2*perBatch*s.topic.Partitions))
	}
	return o
}

// backlog returns how many messages wait, as the brokers say it.
func (s *session) backlog(ctx context.Context) ([]int64, error) {
	all, err := s.stats(ctx)
	if err != nil {
		return nil, fmt.Errorf("backlog of topic %s: %w", s.topic.Name, err)
	}
	groups := max(1, s.plan.Read.Groups)
	waiting := make([]int64, groups*len(all))
	for g := range groups {
		for i := range all {
			switch {
			case !queue.Mine(s.plan, int32(i)): // another process counts it
			case all[i] == nil:
				waiting[g*len(all)+i] = -1
			default:
				waiting[g*len(all)+i] = all[i].backlog(s.subscription(g))
			}
		}
	}
	return waiting, nil
}

// stats returns what the brokers count, by partition; nil for those without an answer.
func (s *session) stats(ctx context.Context) ([]*partitionStats, error) {
	const precise = "getPreciseBacklog=true&subscriptionBacklogSize=false"
	all := make([]*partitionStats, s.topic.Partitions)
	if s.single() {
		all[0] = new(partitionStats)
		return all, s.admin.get(ctx, s.path()+"/stats?"+precise, all[0])
	}
	var answer struct {
		Partitions map[string]*partitionStats `json:"partitions"`
	}
	if err := s.admin.get(ctx, s.path()+"/partitioned-stats?perPartition=true&"+precise, &answer); err != nil {
		return nil, err
	}
	for i, name := range s.partitions() {
		all[i] = answer.Partitions[name]
	}
	return all, nil
}

// subscription returns the name of a group's subscription.
func (s *session) subscription(group int) string {
	switch {
	case s.own != "":
		return s.own
	case s.plan.Read.Groups > 1:
		return fmt.Sprintf("%s-%d", s.plan.Read.Group, group)
	}
	return s.plan.Read.Group
}

// Delete deletes the topic that was created for the load.
func (s *session) Delete(ctx context.Context) error {
	if !s.topic.Created {
		return nil
	}
	err := s.admin.do(ctx, http.MethodDelete, s.path()+"/partitions?force=true", nil, nil)
	if err != nil && status(err) != http.StatusNotFound {
		return fmt.Errorf("delete topic %s: %w", s.topic.Name, err)
	}
	s.own = "" // its subscriptions went with it
	return nil
}

// Close deletes the subscription of a reading without a group.
func (s *session) Close() {
	if s.own == "" || s.topic.Partitions == 0 {
		return
	}
	if s.seen != nil {
		s.options.Notify(run.Notice{Kind: run.TopicKept, Text: fmt.Sprintf("subscription %s of topic %s stays, and with it what it has not read: only the admin API deletes it", s.own, s.topic.Name)})
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout/4)
	defer cancel()
	err := s.admin.do(ctx, http.MethodDelete, s.path()+"/subscription/"+s.own+"?force=true", nil, nil)
	if err != nil && status(err) != http.StatusNotFound {
		s.options.Notify(run.Notice{Kind: run.TopicKept, Text: fmt.Sprintf("subscription %s of topic %s was not deleted: %v", s.own, s.topic.Name, err)})
	}
}

// brokerOf returns the number of the broker at a web address, -1 if it is not known.
func (s *session) brokerOf(addr string) int32 { return int32(slices.Index(s.watched, addr)) }
