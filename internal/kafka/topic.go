package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Denied reports whether brokers refused a request because an ACL is missing.
func Denied(err error) bool {
	return IsAny(err, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed)
}

// IsAny reports whether an error is one of these of a broker.
func IsAny(err error, codes ...*kerr.Error) bool {
	return slices.ContainsFunc(codes, func(code *kerr.Error) bool { return errors.Is(err, code) })
}

// batchBytes returns the size of a record batch with one record, whose key, value and headers take n bytes.
func batchBytes(n int) int {
	varint := func(n int) int { return (bits.Len(uint(2*n)) + 6) / 7 }
	record := 5 + varint(n) + n
	return 61 + varint(record) + record
}

// EnsureTopic checks that the plan can be carried out on this cluster and creates the topic when it is missing. Every check
// comes before the creation. Compressed records may be larger than the topic takes.
func (c *Cluster) EnsureTopic(ctx context.Context, p plan.Plan, compressed bool) (result.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*AdminTimeout)
	defer cancel()
	found, err := c.CheckTopic(ctx, p, compressed)
	if err != nil {
		return result.Topic{}, err
	}
	if found == nil {
		if found, err = c.createOrFind(ctx, p.Topic); err != nil {
			return result.Topic{}, err
		}
	}
	found.Configs = c.topicConfigs(ctx, p.Topic.Name)
	return *found, nil
}

// CheckTopic returns the topic of a plan, or nil when it is missing. The error says why the plan does not fit this cluster.
func (c *Cluster) CheckTopic(ctx context.Context, p plan.Plan, compressed bool) (*result.Topic, error) {
	if n := int(p.Topic.ReplicationFactor); n > len(c.Info.Brokers) {
		return nil, result.Misfit("--replication-factor %d: the cluster has %s", n, theme.Plural(len(c.Info.Brokers), "broker", "brokers")).About("replication-factor")
	}
	found, err := c.lookUp(ctx, p.Topic.Name)
	if err != nil {
		return nil, err
	}
	if found != nil {
		if err := found.Fits(p.Topic); err != nil {
			return nil, err
		}
	}
	limit, where, err := c.messageLimit(ctx, p.Topic, found != nil)
	if err != nil {
		return nil, err
	}
	if limit > 0 && batchBytes(p.Payload.MaxBytes()) > limit && !compressed {
		return nil, result.Misfit("a record of up to %d bytes makes a batch of %d bytes, above max.message.bytes=%d (%s)", p.Payload.MaxBytes(), batchBytes(p.Payload.MaxBytes()), limit, where)
	}
	return found, nil
}

// createOrFind creates a topic, or returns that of another process at the same time if it matches.
func (c *Cluster) createOrFind(ctx context.Context, t plan.Topic) (*result.Topic, error) {
	err := c.create(ctx, t)
	theirs := errors.Is(err, kerr.TopicAlreadyExists)
	if err != nil && !theirs {
		return nil, err
	}
	found, err := c.awaitLeaders(ctx, t.Name)
	switch {
	case err != nil && theirs:
		return nil, err
	case err != nil:
		return nil, errors.Join(err, c.DeleteTopic(context.WithoutCancel(ctx), t.Name))
	case theirs:
		t.Configs = nil // the other process has set its own, which cannot be compared
		return found, found.Fits(t)
	}
	found.Created = true
	return found, nil
}

func (c *Cluster) lookUp(ctx context.Context, name string) (*result.Topic, error) {
	m, err := c.admin.Metadata(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", name, err)
	}
	d, ok := m.Topics[name]
	if !ok || errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
		return nil, nil
	}
	if d.Err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", name, d.Err)
	}
	return topicOf(d), nil
}

func topicOf(d kadm.TopicDetail) *result.Topic {
	t := &result.Topic{Name: d.Topic, ID: d.ID.String(), Partitions: len(d.Partitions), Leaders: make(map[int32]int32), Replicas: make(map[int32]result.Replicas)}
	for id, part := range d.Partitions {
		t.Leaders[id] = part.Leader
		for _, broker := range part.Replicas {
			r := t.Replicas[broker]
			r.All++
			if slices.Contains(part.ISR, broker) {
				r.InSync++
			}
			t.Replicas[broker] = r
		}
		t.ReplicationFactor = max(t.ReplicationFactor, len(part.Replicas))
	}
	return t
}

// messageLimit returns the largest record batch that the topic takes, 0 if that is unknown, and the owner of the setting.
func (c *Cluster) messageLimit(ctx context.Context, t plan.Topic, exists bool) (int, string, error) {
	if v, ok := t.Configs["max.message.bytes"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			return 0, "", result.Misfit("--topic-config max.message.bytes=%s: it must be a number of bytes", v).About("topic-config")
		}
		return n, "--topic-config", nil
	}
	if exists {
		n, _ := strconv.Atoi(c.topicConfigs(ctx, t.Name)["max.message.bytes"]) // 0: the broker refuses each record that is too large
		return n, "topic " + t.Name, nil
	}
	configs, _ := Values(c.admin.DescribeBrokerConfigs(ctx, c.Info.Brokers[0].ID)) // the same
	n, _ := strconv.Atoi(configs["message.max.bytes"])
	return n, "the brokers", nil
}

// Values returns settings that brokers have described, but for secrets.
func Values(described kadm.ResourceConfigs, err error) (map[string]string, error) {
	out := make(map[string]string)
	for _, r := range described {
		err = cmp.Or(err, r.Err)
		for _, kv := range r.Configs {
			if kv.Value != nil && !kv.Sensitive {
				out[kv.Key] = *kv.Value
			}
		}
	}
	return out, err
}

func (c *Cluster) topicConfigs(ctx context.Context, name string) map[string]string {
	configs, _ := Values(c.admin.DescribeTopicConfigs(ctx, name)) // a client may not read them
	return configs
}

// Compacted reports whether a topic is compacted now.
func (c *Cluster) Compacted(ctx context.Context, topic string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AdminTimeout) // an aborted run has a result too
	defer cancel()
	return strings.Contains(c.topicConfigs(ctx, topic)["cleanup.policy"], "compact")
}

// create asks for a dry run first, so that a bad setting is reported before anything exists.
func (c *Cluster) create(ctx context.Context, t plan.Topic) error {
	partitions, factor := t.Partitions, t.ReplicationFactor
	if partitions == 0 {
		partitions = -1 // num.partitions of the broker
	}
	if factor == 0 {
		factor = -1 // default.replication.factor of the broker
	}
	configs := make(map[string]*string, len(t.Configs))
	for _, k := range slices.Sorted(maps.Keys(t.Configs)) {
		v := t.Configs[k]
		configs[k] = &v
	}
	for _, ask := range []func(context.Context, int32, int16, map[string]*string, ...string) (kadm.CreateTopicResponses, error){
		c.admin.ValidateCreateTopics, c.admin.CreateTopics,
	} {
		rs, err := ask(ctx, partitions, factor, configs, t.Name)
		if err == nil {
			err = refuse(rs[t.Name].Err, rs[t.Name].ErrMessage)
		}
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return err // another process was faster
		}
		if IsAny(err, kerr.InvalidTopicException, kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidReplicaAssignment,
			kerr.InvalidConfig, kerr.InvalidRequest, kerr.PolicyViolation) { // for good
			return result.Misfit("create topic %s: %w", t.Name, err)
		}
		if err != nil {
			return fmt.Errorf("create topic %s, which may exist now: %w", t.Name, err)
		}
	}
	return nil
}

type refusal struct {
	code     error
	sentence string
}

func (r refusal) Error() string { return r.sentence }
func (r refusal) Unwrap() error { return r.code }

func refuse(code error, message string) error {
	if code != nil && message != "" {
		return refusal{code, message}
	}
	return code
}

const leaderPoll = 50 * time.Millisecond

// awaitLeaders waits until every partition of a new topic has a leader that serves it.
func (c *Cluster) awaitLeaders(ctx context.Context, name string) (*result.Topic, error) {
	for {
		t, err := c.lookUp(ctx, name)
		if err != nil && ctx.Err() == nil && !errors.Is(err, kerr.LeaderNotAvailable) {
			return nil, err
		}
		if err == nil && t != nil && t.Partitions > 0 && !slices.Contains(slices.Collect(maps.Values(t.Leaders)), -1) {
			// The metadata names the leaders before they answer, and with acks=0 records that are sent in between are lost silently.
			if offsets, err := c.admin.ListEndOffsets(ctx, name); err == nil && offsets.Error() == nil {
				return t, nil
			}
		}
		if !Pause(ctx, leaderPoll) {
			return nil, fmt.Errorf("topic %s: its partitions have no leaders yet: %w", name, ctx.Err())
		}
	}
}

// DeleteTopic deletes a topic. One that is not there is no error. Callers delete only topics that kt created for them.
func (c *Cluster) DeleteTopic(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
	defer cancel()
	if _, err := c.admin.DeleteTopic(ctx, name); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("delete topic %s: %w", name, err)
	}
	return nil
}
