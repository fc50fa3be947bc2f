package pulsar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/theme"
)

type admin struct {
	queue.API
	access queue.Access
}

const (
	adminTimeout = 20 * time.Second
	maxRedirects = 5

	defaultTLSPort = "8443" // Pulsar's own for the admin API with TLS
)

func newAdmin(base string, access queue.Access) *admin {
	a := &admin{access: access}
	a.API = access.NewAPI(base, adminTimeout, a.logIn, a.follow)
	return a
}

func (s *System) newAdmin() *admin {
	return newAdmin(s.Admin(s.URL, "8080", defaultTLSPort), s.Access)
}

func (a *admin) logIn(r *http.Request) {
	if token := a.access.Password.Reveal(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
}

// follow follows the way to the broker that owns a partition. Only addresses that the token is bound to get it: Go's client
// would give it to other ports of the same host too, and over plain HTTP.
func (a *admin) follow(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errors.New("too many redirects")
	}
	next.Header.Del("Authorization")
	first := via[0].URL
	if next.URL.Scheme == first.Scheme && (next.URL.Host == first.Host || a.access.Bound.Permit(next.URL.Host) == nil) {
		a.logIn(next)
	}
	return nil
}

// learn notes the brokers of the cluster, with one port of each. A redirect over TLS leads to another: that of the API, or
// Pulsar's default.
func (a *admin) learn(brokers []string) {
	for _, addr := range brokers {
		a.access.Bound.Learn(addr)
		if at, _ := url.Parse(a.Base); at != nil && at.Scheme == "https" {
			a.access.Bound.Learn(net.JoinHostPort(hostOf(addr), at.Port()), net.JoinHostPort(hostOf(addr), defaultTLSPort))
		}
	}
}

func hostOf(addr string) string { return (&url.URL{Host: addr}).Hostname() }

// remove deletes what is at a path, if there is something.
func (a *admin) remove(ctx context.Context, path string) error {
	err := a.Do(ctx, http.MethodDelete, path+"?force=true", nil, nil)
	if queue.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

func (a *admin) brokers(ctx context.Context) (list []string, err error) {
	err = a.Get(ctx, "/admin/v2/brokers", &list)
	slices.Sort(list)
	for i := range list {
		list[i] = theme.Name(list[i])
	}
	return list, cmp.Or(err, result.CheckBrokers(len(list)))
}

// Topics returns the names of the topics of the namespace.
func (s *System) Topics(ctx context.Context) (topics []string) {
	var all []string                                                     // with the partitions of each
	_ = s.newAdmin().Get(ctx, "/admin/v2/persistent/"+s.namespace, &all) // names for completion: without an answer there are none
	for _, name := range all {
		name = name[strings.LastIndexByte(name, '/')+1:]
		if at := strings.LastIndex(name, partitionOf); at > 0 {
			name = name[:at]
		}
		topics = append(topics, name)
	}
	slices.Sort(topics)
	return slices.Compact(topics)
}

// partitionOf is what stands between the name of a topic and the number of a partition.
const partitionOf = "-partition-"

// each returns the partitions of the topic, whose whole name or path is given.
func (s *session) each(topic string) (list []string) {
	if s.single {
		return []string{topic}
	}
	for i := range s.topic.Partitions {
		list = append(list, topic+partitionOf+strconv.Itoa(i))
	}
	return list
}

func (s *session) full() string { return "persistent://" + s.namespace + "/" + s.topic.Name }

// at returns the path of the topic below a part of the admin API.
func (s *session) at(part string) string {
	return part + s.namespace + "/" + url.PathEscape(s.topic.Name)
}

func (s *session) path() string { return s.at("/admin/v2/persistent/") }

// prepare finds the topic, or makes it. names is what a broker said of its partitions.
func (s *session) prepare(ctx context.Context, names []string) error {
	s.topic.Partitions, s.single = len(names), len(names) == 1 && names[0] == s.full()
	if !s.single {
		return s.fits(ctx)
	}
	if s.seen != nil {
		return result.Misfit("topic %s is not a partitioned one, and only the admin API tells whether it is there: %w; ?admin=http://HOST:PORT behind --url says where it is", s.topic.Name, s.seen)
	}
	switch err := s.admin.Get(ctx, s.path()+"/stats", nil); {
	case err == nil:
		return s.fits(ctx)
	case queue.Status(err) != http.StatusNotFound:
		return fmt.Errorf("look up topic %s: %w", s.topic.Name, err)
	case !s.plan.Writes():
		return result.Misfit("topic %s in namespace %s %w", s.topic.Name, s.namespace, plan.ErrNoTopic)
	}
	return s.create(ctx)
}

// fits looks at a topic that is there.
func (s *session) fits(ctx context.Context) error {
	var errs []error
	if has, want := s.lead(ctx), s.Settings.ackQuorum; want > 0 && want != has {
		errs = append(errs, result.Misfit("topic %s exists with ack quorum %d, not ack.quorum %d; leave that out to use it as it is, or name another --topic", s.topic.Name, has, want).About("ack.quorum"))
	}
	var schema struct{ Type string }
	err := s.admin.Get(ctx, s.at("/admin/v2/schemas/")+"/schema", &schema) // one that is not known is none
	if err == nil && s.plan.Writes() && !slices.Contains([]string{"", "NONE", "BYTES", "STRING"}, schema.Type) {
		errs = append(errs, result.Misfit("topic %s has a schema of type %s, and kt writes plain bytes; name another --topic", s.topic.Name, schema.Type))
	}
	return errors.Join(append(errs, s.topic.Fits(s.plan.Topic))...)
}

// persistence is how many bookies have a message.
type persistence struct {
	Ensemble    int `json:"bookkeeperEnsemble"`
	WriteQuorum int `json:"bookkeeperWriteQuorum"`
	AckQuorum   int `json:"bookkeeperAckQuorum"`
}

func (s *session) policies() (map[string]any, error) {
	all := make(map[string]any)
	var errs []error
	for name, value := range s.plan.Topic.Configs {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			errs = append(errs, result.Misfit(`--topic-config %s=%s: write the policy as the admin API takes it, in JSON, such as deduplicationEnabled=true`, name, value).About("topic-config"))
		}
		all[url.PathEscape(name)] = v
	}
	n := int(s.plan.Topic.ReplicationFactor)
	quorum := cmp.Or(s.Settings.ackQuorum, n)
	if quorum > n {
		errs = append(errs, result.Misfit("ack.quorum=%d: it needs --replication-factor %d or more, the number of bookies that a message is written to", quorum, quorum).About("replication-factor"))
	}
	if n > 0 {
		all["persistence"] = persistence{Ensemble: n, WriteQuorum: n, AckQuorum: quorum}
	}
	return all, errors.Join(errs...)
}

func (s *session) create(ctx context.Context) error {
	policies, err := s.policies()
	if err != nil {
		return err
	}
	var all struct{ Bookies []struct{} }
	if n := int(s.plan.Topic.ReplicationFactor); n > 1 && s.admin.Get(ctx, "/admin/v2/bookies/all", &all) == nil && len(all.Bookies) < n {
		return result.Misfit("--replication-factor %d: the cluster has %d bookies", n, len(all.Bookies)).About("replication-factor")
	}
	s.topic.Partitions, s.single = max(1, int(s.plan.Topic.Partitions)), false
	err = s.admin.Do(ctx, http.MethodPut, s.path()+"/partitions", s.topic.Partitions, nil)
	switch queue.Status(err) {
	case http.StatusConflict: // another process was faster, with what cannot be compared
		s.plan.Topic.Configs = nil
		return s.fits(ctx)
	case http.StatusPreconditionFailed, http.StatusNotFound:
		return result.Misfit("create topic %s in namespace %s: %w", s.topic.Name, s.namespace, err)
	}
	if err != nil {
		return fmt.Errorf("create topic %s, which may exist now: %w", s.topic.Name, err)
	}
	s.topic.Created = true
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if err := s.admin.Do(ctx, http.MethodPost, s.path()+"/"+name, policies[name], nil); err != nil {
			return errors.Join(result.Misfit("topic %s: policy %s: %w", s.topic.Name, name, err), s.Delete(context.WithoutCancel(ctx)))
		}
	}
	s.topic.Configs = s.plan.Topic.Configs
	s.lead(ctx)
	s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf("created topic %s (partitions %d, write quorum %d)", s.topic.Name, s.topic.Partitions, s.topic.ReplicationFactor)})
	return nil
}

// lead finds the brokers of the partitions, and how many bookies have a message. It returns how many of those have to answer, as far
// as is known.
func (s *session) lead(ctx context.Context) (ackQuorum int) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout) // for all partitions
	defer cancel()
	var bookies persistence
	if s.seen == nil {
		_ = s.admin.Get(ctx, s.path()+"/persistence?applied=true", &bookies) // else nothing is known of them
	}
	s.topic.ReplicationFactor = max(1, bookies.WriteQuorum)
	if s.single {
		return bookies.AckQuorum
	}
	s.topic.Leaders = make(map[int32]int32)
	for i, path := range s.each(s.at("/lookup/v2/topic/persistent/")) {
		if s.topic.Leaders[int32(i)] = 0; len(s.watched) < 2 {
			continue
		}
		var at struct{ HTTPURL, HTTPURLTLS string }
		_ = s.admin.Get(ctx, path, &at) // else it is none of them: -1
		s.topic.Leaders[int32(i)] = int32(slices.IndexFunc(s.watched, func(addr string) bool { return at.HTTPURL == "http://"+addr || at.HTTPURLTLS == "https://"+addr }))
	}
	return bookies.AckQuorum
}

type partitionStats struct {
	MsgInCounter, BytesInCounter, PublishRateLimitedTimes int64 // since its broker has loaded it
	Subscriptions                                         map[string]struct {
		MsgBacklog                 int64 // in entries
		BacklogSize, MsgOutCounter int64
		Consumers                  []struct{ AvgMessagesPerEntry, AvailablePermits int64 }
	}
}

// stats returns what the brokers count, by partition, with those that were added; nil for those without an answer.
func (s *session) stats(ctx context.Context) ([]*partitionStats, error) {
	const precise = "getPreciseBacklog=true&subscriptionBacklogSize=true"
	all := make([]*partitionStats, s.topic.Partitions)
	if s.single {
		all[0] = new(partitionStats)
		return all, s.admin.Get(ctx, s.path()+"/stats?"+precise, all[0])
	}
	var answer struct{ Partitions map[string]*partitionStats }
	err := s.admin.Get(ctx, s.path()+"/partitioned-stats?perPartition=true&"+precise, &answer)
	all = append(all, make([]*partitionStats, max(0, len(answer.Partitions)-len(all)))...)
	for i := range all {
		all[i] = answer.Partitions[s.full()+partitionOf+strconv.Itoa(i)]
	}
	return all, err
}

// backlog returns how many messages of each subscription wait, as the brokers say it.
func (s *session) backlog(ctx context.Context) ([]int64, error) {
	all, err := s.stats(ctx)
	if err != nil {
		return nil, fmt.Errorf("backlog of topic %s: %w", s.topic.Name, err)
	}
	waiting := make([]int64, 0, len(s.subscriptions)*s.topic.Partitions)
	for _, name := range s.subscriptions {
		for i, p := range all[:s.topic.Partitions] {
			n := p.backlog(name)
			if !queue.Mine(s.plan, int32(i)) { // another process counts it
				n = 0
			}
			waiting = append(waiting, n)
		}
	}
	return waiting, nil
}

// backlog returns how many messages of a subscription wait, -1 if p is nil. Entries are batches, so it is a guess.
func (p *partitionStats) backlog(subscription string) int64 {
	if p == nil {
		return -1
	}
	s, perEntry := p.Subscriptions[subscription], int64(1)
	if s.MsgBacklog > 0 && s.BacklogSize > 0 && p.MsgInCounter > 0 {
		return max(s.MsgBacklog, int64(float64(s.BacklogSize)*float64(p.MsgInCounter)/float64(p.BytesInCounter)))
	}
	for _, c := range s.Consumers {
		perEntry = max(perEntry, c.AvgMessagesPerEntry)
	}
	return s.MsgBacklog * perEntry
}
