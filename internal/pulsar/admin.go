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

	client "github.com/apache/pulsar-client-go/pulsar"

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

// single reports whether a topic has no partitions, and so counts as one.
func single(t *result.Topic) bool { return t.Leaders == nil }

// each returns the partitions of a topic, whose whole name or path is given.
func (s *session) each(t *result.Topic, topic string) (list []string) {
	if single(t) {
		return []string{topic}
	}
	for i := range t.Partitions {
		list = append(list, topic+partitionOf+strconv.Itoa(i))
	}
	return list
}

func (s *session) full(t *result.Topic) string { return "persistent://" + s.namespace + "/" + t.Name }

// at returns the path of a topic below a part of the admin API.
func (s *session) at(part string, t *result.Topic) string {
	return part + s.namespace + "/" + url.PathEscape(t.Name)
}

func (s *session) path(t *result.Topic) string { return s.at("/admin/v2/persistent/", t) }

// number returns the number of a partition by its whole name, also of one that the topic has got since.
func (s *session) number(name string) int32 {
	topic, digits, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], partitionOf)
	id, _ := strconv.ParseUint(digits, 10, 31) // 0: the topic has none
	return max(0, s.topics.Number(topic, int(min(id, plan.MaxPartitions-1))))
}

// prepare finds the topics, and makes those that are missing when all others are as they should be.
func (s *session) prepare(ctx context.Context, asking client.Client) error {
	err := cmp.Or(s.topics.Each(func(_ int, t *result.Topic) error { return s.find(ctx, asking, t) })...)
	if err != nil {
		return err
	}
	var made []*result.Topic
	for i := 0; i < len(s.topics.All) && err == nil; i++ {
		if t := &s.topics.All[i]; t.Partitions == 0 {
			err, made = s.create(ctx, t), append(made, t)
		}
	}
	if s.topics.Lay(); err != nil {
		return errors.Join(err, s.Delete(context.WithoutCancel(ctx)))
	}
	made = slices.DeleteFunc(made, func(t *result.Topic) bool { return !t.Created }) // another process was faster
	if n := len(made); n > 0 {
		t, text := made[0], "created topic %[2]s (partitions %[3]d, write quorum %[4]d)"
		if n > 1 {
			text = "created %d topics: %s and so on (partitions of each: %d, write quorum %d)"
		}
		s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf(text, n, t.Name, t.Partitions, t.ReplicationFactor)})
	}
	return nil
}

// find looks for a topic: one without partitions is to be made.
func (s *session) find(ctx context.Context, asking client.Client, t *result.Topic) error {
	names, err := within(ctx, openTimeout, func() ([]string, error) { return asking.TopicPartitions(s.full(t)) })
	if err != nil {
		return fmt.Errorf("look up topic %s in namespace %s at %s: %w; is the namespace there, the port that of Pulsar's own protocol (6650), and the token (url.password in the file of --command-config) right?", t.Name, s.namespace, s.URL.Host, err)
	}
	if len(names) != 1 || names[0] != s.full(t) {
		t.Partitions = len(names)
		return s.fits(ctx, t, s.plan.Topic)
	}
	if s.seen != nil {
		return result.Misfit("topic %s is not a partitioned one, and only the admin API tells whether it is there: %w; ?admin=http://HOST:PORT behind --url says where it is", t.Name, s.seen)
	}
	switch err := s.admin.Get(ctx, s.path(t)+"/stats", nil); {
	case err == nil:
		t.Partitions, t.Leaders = 1, nil
		return s.fits(ctx, t, s.plan.Topic)
	case queue.Status(err) != http.StatusNotFound:
		return fmt.Errorf("look up topic %s: %w", t.Name, err)
	case !s.plan.Writes():
		return result.Misfit("topic %s in namespace %s %w", t.Name, s.namespace, plan.ErrNoTopic)
	}
	return nil
}

// fits looks at a topic that is there.
func (s *session) fits(ctx context.Context, t *result.Topic, wanted plan.Topic) error {
	var errs []error
	if has, want := s.lead(ctx, t), s.Settings.ackQuorum; want > 0 && want != has {
		errs = append(errs, result.Misfit("topic %s exists with ack quorum %d, not ack.quorum %d; leave that out to use it as it is, or name another --topic", t.Name, has, want).About("ack.quorum"))
	}
	var schema struct{ Type string }
	err := s.admin.Get(ctx, s.at("/admin/v2/schemas/", t)+"/schema", &schema) // one that is not known is none
	if err == nil && s.plan.Writes() && !slices.Contains([]string{"", "NONE", "BYTES", "STRING"}, schema.Type) {
		errs = append(errs, result.Misfit("topic %s has a schema of type %s, and kt writes plain bytes; name another --topic", t.Name, schema.Type))
	}
	return errors.Join(append(errs, t.Fits(wanted))...)
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

func (s *session) create(ctx context.Context, t *result.Topic) error {
	policies, err := s.policies()
	if err != nil {
		return err
	}
	var all struct{ Bookies []struct{} }
	if n := int(s.plan.Topic.ReplicationFactor); n > 1 && s.admin.Get(ctx, "/admin/v2/bookies/all", &all) == nil && len(all.Bookies) < n {
		return result.Misfit("--replication-factor %d: the cluster has %d bookies", n, len(all.Bookies)).About("replication-factor")
	}
	t.Partitions = max(1, int(s.plan.Topic.Partitions))
	err = s.admin.Do(ctx, http.MethodPut, s.path(t)+"/partitions", t.Partitions, nil)
	switch queue.Status(err) {
	case http.StatusConflict: // another process was faster, with what cannot be compared
		wanted := s.plan.Topic
		wanted.Configs = nil
		return s.fits(ctx, t, wanted)
	case http.StatusPreconditionFailed, http.StatusNotFound:
		return result.Misfit("create topic %s in namespace %s: %w", t.Name, s.namespace, err)
	}
	if err != nil {
		return fmt.Errorf("create topic %s, which may exist now: %w", t.Name, err)
	}
	t.Created = true
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if err := s.admin.Do(ctx, http.MethodPost, s.path(t)+"/"+name, policies[name], nil); err != nil {
			return result.Misfit("topic %s: policy %s: %w", t.Name, name, err)
		}
	}
	t.Configs = s.plan.Topic.Configs
	s.lead(ctx, t)
	return nil
}

// lead finds the brokers of a topic's partitions, and how many bookies have a message. It returns how many of those have to answer, as far
// as is known.
func (s *session) lead(ctx context.Context, t *result.Topic) (ackQuorum int) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout) // for all partitions
	defer cancel()
	var bookies persistence
	if s.seen == nil {
		_ = s.admin.Get(ctx, s.path(t)+"/persistence?applied=true", &bookies) // else nothing is known of them
	}
	t.ReplicationFactor = max(1, bookies.WriteQuorum)
	if single(t) {
		return bookies.AckQuorum
	}
	for i, path := range s.each(t, s.at("/lookup/v2/topic/persistent/", t)) {
		if t.Leaders[int32(i)] = 0; len(s.watched) < 2 {
			continue
		}
		var at struct{ HTTPURL, HTTPURLTLS string }
		_ = s.admin.Get(ctx, path, &at) // else it is none of them: -1
		t.Leaders[int32(i)] = int32(slices.IndexFunc(s.watched, func(addr string) bool { return at.HTTPURL == "http://"+addr || at.HTTPURLTLS == "https://"+addr }))
	}
	return bookies.AckQuorum
}

type partitionStats struct {
	MsgInCounter, BytesInCounter, PublishRateLimitedTimes int64   // since its broker has loaded it
	MsgRateIn, MsgThroughputIn                            float64 // of the last minute
	Publishers                                            []struct{}
	Subscriptions                                         map[string]struct {
		Type                       string
		MsgRateOut                 float64 // of the last minute
		MsgBacklog                 int64   // in entries
		BacklogSize, MsgOutCounter int64
		Consumers                  []struct{ AvgMessagesPerEntry, AvailablePermits int64 }
	}
}

// stats returns what the brokers count, by partition, and then of those that were added; nil for those without an answer. The errors
// are by topic.
func (s *session) stats(ctx context.Context) ([]*partitionStats, []error) {
	const precise = "getPreciseBacklog=true&subscriptionBacklogSize=true"
	answers := make([]map[string]*partitionStats, len(s.topics.All))
	errs := s.topics.Each(func(i int, t *result.Topic) error {
		if single(t) {
			p := new(partitionStats)
			answers[i] = map[string]*partitionStats{s.full(t): p}
			return s.admin.Get(ctx, s.path(t)+"/stats?"+precise, p)
		}
		answer := struct{ Partitions *map[string]*partitionStats }{&answers[i]}
		return s.admin.Get(ctx, s.path(t)+"/partitioned-stats?perPartition=true&"+precise, &answer)
	})
	all := make([]*partitionStats, s.topics.Count())
	for _, answer := range answers {
		for name, p := range answer {
			n := int(s.number(name))
			all = append(all, make([]*partitionStats, max(0, n+1-len(all)))...)
			all[n] = p
		}
	}
	return all, errs
}

// backlog returns how many messages of each subscription wait, as the brokers say it.
func (s *session) backlog(ctx context.Context) ([]int64, error) {
	all, errs := s.stats(ctx)
	if err := cmp.Or(errs...); err != nil {
		return nil, fmt.Errorf("backlog of topic %s: %w", s.plan.Topic.Short(), err)
	}
	waiting := make([]int64, 0, len(s.subscriptions)*s.topics.Count())
	for _, name := range s.subscriptions {
		for i, p := range all[:s.topics.Count()] {
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
