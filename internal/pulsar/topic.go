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

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/run"
)

func misfit(format string, args ...any) error {
	return &run.MisfitError{Err: fmt.Errorf(format, args...)}
}

// single reports whether the topic is not a partitioned one.
func (s *session) single() bool { return s.topic.Leaders == nil }

// each returns the partitions of the topic, whose whole name or path is given.
func (s *session) each(topic string) (list []string) {
	if s.single() {
		return []string{topic}
	}
	for i := range s.topic.Partitions {
		list = append(list, topic+"-partition-"+strconv.Itoa(i))
	}
	return list
}

// prepare finds the topic, or makes it. names is what a broker said of its partitions.
func (s *session) prepare(ctx context.Context, names []string) error {
	partitioned := len(names) > 1 || names[0] != s.full()
	there := partitioned
	if !there && s.seen == nil {
		err := s.admin.get(ctx, s.path()+"/stats", nil)
		if there = err == nil; !there && status(err) != http.StatusNotFound {
			return fmt.Errorf("look up topic %s: %w", s.topic.Name, err)
		}
	}
	switch {
	case there:
		s.found(len(names), partitioned)
		return s.matches(ctx)
	case s.seen != nil:
		return misfit("topic %s is not a partitioned one, and only the admin API tells whether it is there: %w; ?admin=http://HOST:PORT behind --url says where it is", s.topic.Name, s.seen)
	case !s.plan.Writes():
		return &run.MisfitError{Err: fmt.Errorf("topic %s in namespace %s %w", s.topic.Name, s.namespace, plan.ErrNoTopic)}
	}
	return s.create(ctx)
}

func (s *session) found(partitions int, partitioned bool) {
	s.topic.Partitions = partitions
	if partitioned {
		s.topic.Leaders = make(map[int32]int32)
		for i := range int32(partitions) {
			s.topic.Leaders[i] = 0 // lead looks, if there are several brokers
		}
	}
}

// matches checks a topic that was there, and finds its brokers.
func (s *session) matches(ctx context.Context) error {
	var errs []error
	refuse := func(isWrong bool, format string, args ...any) {
		if isWrong {
			errs = append(errs, misfit("topic %s exists "+format+", or name another --topic", append([]any{s.topic.Name}, args...)...))
		}
	}
	bookies := s.lead(ctx)
	want, has := s.plan.Topic, s.topic
	if n := int(want.Partitions); n > 0 {
		refuse(n != has.Partitions, "with %d partitions, not --partitions %d; leave the flag out to use it as it is", has.Partitions, n)
	}
	refuse(len(want.Configs) > 0, "and kt changes no topic that it did not create; leave --topic-config out")
	if s.producer != nil && s.producer.ackQuorum > 0 {
		refuse(s.producer.ackQuorum != bookies.AckQuorum, "with ack quorum %d, not ack.quorum=%d; leave the property out to use it as it is", bookies.AckQuorum, s.producer.ackQuorum)
	}
	if n := int(want.ReplicationFactor); n > 0 {
		refuse(n != has.ReplicationFactor, "with write quorum %d, not --replication-factor %d; leave the flag out to use it as it is", has.ReplicationFactor, n)
	}
	return errors.Join(errs...)
}

// persistence is how many bookies have a message.
type persistence struct {
	Ensemble    int     `json:"bookkeeperEnsemble"`
	WriteQuorum int     `json:"bookkeeperWriteQuorum"`
	AckQuorum   int     `json:"bookkeeperAckQuorum"`
	MarkDelete  float64 `json:"managedLedgerMaxMarkDeleteRate"`
}

// policies returns the policies of a topic to make, as paths below it and what is posted there.
func (s *session) policies() (map[string]any, error) {
	all := make(map[string]any)
	var errs []error
	for name, value := range s.plan.Topic.Configs {
		var v any
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			errs = append(errs, misfit(`--topic-config %s=%s: write the policy as the admin API takes it, in JSON, such as deduplicationEnabled=true`, name, value))
		}
		all[url.PathEscape(name)] = v
	}
	n, quorum := int(s.plan.Topic.ReplicationFactor), s.producer.ackQuorum
	switch {
	case n == 0 && quorum > 0:
		errs = append(errs, misfit("ack.quorum=%d: it needs --replication-factor, the number of bookies that a message is written to", quorum))
	case quorum > n:
		errs = append(errs, misfit("ack.quorum=%d: a message is written to %d bookies only (--replication-factor)", quorum, n))
	case n > 0:
		if quorum == 0 {
			quorum = n
		}
		all["persistence"] = persistence{Ensemble: n, WriteQuorum: n, AckQuorum: quorum}
	}
	return all, errors.Join(errs...)
}

// create makes the topic, with its policies.
func (s *session) create(ctx context.Context) error {
	policies, err := s.policies()
	if err != nil {
		return err
	}
	if n := int(s.plan.Topic.ReplicationFactor); n > 1 {
		var bookies struct {
			Bookies []struct{} `json:"bookies"`
		}
		if err := s.admin.get(ctx, "/admin/v2/bookies/all", &bookies); err == nil && len(bookies.Bookies) < n {
			return misfit("--replication-factor %d: the cluster has %d bookies", n, len(bookies.Bookies))
		}
	}
	partitions := max(1, int(s.plan.Topic.Partitions))
	err = s.admin.do(ctx, http.MethodPut, s.path()+"/partitions", partitions, nil)
	switch {
	case status(err) == http.StatusConflict: // another process was faster, with what cannot be compared
		s.plan.Topic.Configs = nil
	case status(err) == http.StatusPreconditionFailed || status(err) == http.StatusNotFound:
		return misfit("create topic %s in namespace %s: %w", s.topic.Name, s.namespace, err)
	case err != nil:
		return fmt.Errorf("create topic %s, which may exist now: %w", s.topic.Name, err)
	}
	s.topic.Created = err == nil
	s.found(partitions, true)
	if !s.topic.Created {
		return s.matches(ctx)
	}
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		if err := s.admin.do(ctx, http.MethodPost, s.path()+"/"+name, policies[name], nil); err != nil {
			return errors.Join(misfit("topic %s: policy %s: %w", s.topic.Name, name, err), s.Delete(context.WithoutCancel(ctx)))
		}
	}
	s.topic.Configs = s.plan.Topic.Configs
	s.lead(ctx)
	s.options.Notify(run.Notice{Kind: run.TopicCreated, Text: fmt.Sprintf("created topic %s (partitions %d, write quorum %d)", s.topic.Name, partitions, s.topic.ReplicationFactor)})
	return nil
}

// lead finds the brokers of the partitions. It returns how many bookies have a message, as far as is known.
func (s *session) lead(ctx context.Context) (bookies persistence) {
	if s.seen == nil {
		_ = s.admin.get(ctx, s.path()+"/persistence?applied=true", &bookies) // else nothing is known of them
	}
	s.topic.ReplicationFactor = max(1, bookies.WriteQuorum)
	if len(s.watched) < 2 || s.single() {
		return bookies
	}
	for i := range s.topic.Partitions {
		var at struct{ HTTPURL, HTTPURLTLS string }
		name := url.PathEscape(s.plan.Topic.Name + "-partition-" + strconv.Itoa(i))
		if s.admin.get(ctx, "/lookup/v2/topic/persistent/"+s.namespace+"/"+name, &at) != nil {
			s.topic.Leaders[int32(i)] = -1
			continue
		}
		if u, err := url.Parse(cmp.Or(at.HTTPURL, at.HTTPURLTLS)); err == nil {
			s.topic.Leaders[int32(i)] = s.brokerOf(u.Host)
		}
	}
	return bookies
}
