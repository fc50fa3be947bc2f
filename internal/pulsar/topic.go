package pulsar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/queue"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
)

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

// prepare finds the topic, or makes it. names is what a broker said of its partitions.
func (s *session) prepare(ctx context.Context, names []string) error {
	s.topic.Partitions, s.single = len(names), len(names) == 1 && names[0] == s.full()
	if !s.single {
		return s.matches(ctx)
	}
	if s.seen != nil {
		return result.Misfit("topic %s is not a partitioned one, and only the admin API tells whether it is there: %w; ?admin=http://HOST:PORT behind --url says where it is", s.topic.Name, s.seen)
	}
	switch err := s.admin.get(ctx, s.path()+"/stats", nil); {
	case err == nil:
		return s.matches(ctx)
	case queue.Status(err) != http.StatusNotFound:
		return fmt.Errorf("look up topic %s: %w", s.topic.Name, err)
	case !s.plan.Writes():
		return result.Misfit("topic %s in namespace %s %w", s.topic.Name, s.namespace, plan.ErrNoTopic)
	}
	return s.create(ctx)
}

func (s *session) matches(ctx context.Context) error {
	bookies, want := s.lead(ctx), s.plan.Topic
	var errs []error
	for _, c := range []struct {
		name, asked string
		has, want   int
	}{
		{"partitions", "--partitions", s.topic.Partitions, int(want.Partitions)},
		{"write quorum", "--replication-factor", s.topic.ReplicationFactor, int(want.ReplicationFactor)},
		{"ack quorum", "ack.quorum", bookies.AckQuorum, s.producer.ackQuorum},
	} {
		if c.want > 0 && c.want != c.has {
			errs = append(errs, result.Misfit("topic %s exists with %s %d, not %s %d; leave that out to use it as it is, or name another --topic", s.topic.Name, c.name, c.has, c.asked, c.want).About(strings.TrimPrefix(c.asked, "--")))
		}
	}
	var schema struct{ Type string }
	err := s.admin.get(ctx, "/admin/v2/schemas/"+s.namespace+"/"+url.PathEscape(s.topic.Name)+"/schema", &schema) // one that is not known is none
	if err == nil && s.plan.Writes() && !slices.Contains([]string{"", "NONE", "BYTES", "STRING"}, schema.Type) {
		errs = append(errs, result.Misfit("topic %s has a schema of type %s, and kt writes plain bytes; name another --topic", s.topic.Name, schema.Type))
	}
	if len(want.Configs) > 0 {
		errs = append(errs, result.Misfit("topic %s exists, and kt changes no topic that it did not create; leave --topic-config out, or name another --topic", s.topic.Name).About("topic-config"))
	}
	return errors.Join(errs...)
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
	quorum := cmp.Or(s.producer.ackQuorum, n)
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
	if n := int(s.plan.Topic.ReplicationFactor); n > 1 && s.admin.get(ctx, "/admin/v2/bookies/all", &all) == nil && len(all.Bookies) < n {
		return result.Misfit("--replication-factor %d: the cluster has %d bookies", n, len(all.Bookies)).About("replication-factor")
	}
	partitions := max(1, int(s.plan.Topic.Partitions))
	err = s.admin.do(ctx, http.MethodPut, s.path()+"/partitions", partitions, nil)
	switch {
	case queue.Status(err) == http.StatusConflict: // another process was faster, with what cannot be compared
		s.plan.Topic.Configs = nil
	case queue.Status(err) == http.StatusPreconditionFailed || queue.Status(err) == http.StatusNotFound:
		return result.Misfit("create topic %s in namespace %s: %w", s.topic.Name, s.namespace, err)
	case err != nil:
		return fmt.Errorf("create topic %s, which may exist now: %w", s.topic.Name, err)
	}
	s.topic.Created = err == nil
	s.topic.Partitions, s.single = partitions, false
	if !s.topic.Created {
		return s.matches(ctx)
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if err := s.admin.do(ctx, http.MethodPost, s.path()+"/"+name, policies[name], nil); err != nil {
			return errors.Join(result.Misfit("topic %s: policy %s: %w", s.topic.Name, name, err), s.Delete(context.WithoutCancel(ctx)))
		}
	}
	s.topic.Configs = s.plan.Topic.Configs
	s.lead(ctx)
	s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf("created topic %s (partitions %d, write quorum %d)", s.topic.Name, partitions, s.topic.ReplicationFactor)})
	return nil
}

// lead finds the brokers of the partitions. It returns how many bookies have a message, as far as is known.
func (s *session) lead(ctx context.Context) (bookies persistence) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout) // for all partitions
	defer cancel()
	if s.seen == nil {
		_ = s.admin.get(ctx, s.path()+"/persistence?applied=true", &bookies) // else nothing is known of them
	}
	s.topic.ReplicationFactor = max(1, bookies.WriteQuorum)
	if s.single {
		return bookies
	}
	s.topic.Leaders = make(map[int32]int32)
	for i, path := range s.each("/lookup/v2/topic/persistent/" + s.namespace + "/" + url.PathEscape(s.topic.Name)) {
		if s.topic.Leaders[int32(i)] = 0; len(s.watched) < 2 {
			continue
		}
		var at struct{ HTTPURL, HTTPURLTLS string }
		_ = s.admin.get(ctx, path, &at) // else it is none of them: -1
		s.topic.Leaders[int32(i)] = int32(slices.IndexFunc(s.watched, func(addr string) bool { return at.HTTPURL == "http://"+addr || at.HTTPURLTLS == "https://"+addr }))
	}
	return bookies
}
