package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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

// EnsureTopics checks that the plan can be carried out on this cluster and creates those of its topics that are missing. Every
// check comes before the first creation. If one fails, those that were created are deleted again. Compressed records may be
// larger than the topics take.
func (c *Cluster) EnsureTopics(ctx context.Context, p plan.Plan, compressed bool) ([]result.Topic, error) {
	checking, cancel := context.WithTimeout(ctx, 2*AdminTimeout)
	defer cancel()
	topics, err := c.CheckTopics(checking, p, compressed)
	if err != nil {
		return nil, err
	}
	if err := c.createOrFind(ctx, p.Topic, topics); err != nil {
		return nil, err
	}
	c.describeConfigs(ctx, topics)
	return topics, nil
}

// CheckTopics returns the topics of a plan, in the order of their names. Those that are missing have no partitions. The error
// says why the plan does not fit this cluster.
func (c *Cluster) CheckTopics(ctx context.Context, p plan.Plan, compressed bool) ([]result.Topic, error) {
	if n := int(p.Topic.ReplicationFactor); n > len(c.Info.Brokers) {
		return nil, result.Misfit("--replication-factor %d: the cluster has %s", n, theme.Plural(len(c.Info.Brokers), "broker", "brokers")).About("replication-factor")
	}
	found, err := c.lookUp(ctx, p.Topic.Names()...)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if t := &found[i]; t.Partitions > 0 {
			if err := t.Fits(p.Topic); err != nil {
				return nil, err
			}
		}
	}
	limit, where, err := c.messageLimit(ctx, p.Topic, found)
	if err != nil {
		return nil, err
	}
	if limit > 0 && batchBytes(p.Payload.MaxBytes()) > limit && !compressed {
		return nil, result.Misfit("a record of up to %d bytes makes a batch of %d bytes, above max.message.bytes=%d (%s)", p.Payload.MaxBytes(), batchBytes(p.Payload.MaxBytes()), limit, where)
	}
	return found, nil
}

// missing returns the names of the topics without partitions.
func missing(topics []result.Topic) (names []string) {
	for i := range topics {
		if topics[i].Partitions == 0 {
			names = append(names, topics[i].Name)
		}
	}
	return names
}

// createOrFind creates the missing topics, or finds those of another process at the same time if they match.
func (c *Cluster) createOrFind(ctx context.Context, t plan.Topic, topics []result.Topic) (err error) {
	names := missing(topics)
	made, err := c.create(ctx, t, names)
	defer func() {
		if err != nil && len(made) > 0 {
			err = errors.Join(err, c.DeleteTopics(context.WithoutCancel(ctx), slices.Collect(maps.Keys(made))...))
		}
	}()
	if err != nil {
		return err
	}
	found, err := c.awaitLeaders(ctx, inBatches(t, names))
	if err != nil {
		return err
	}
	t.Configs = nil // another process has set its own, which cannot be compared
	for i := range topics {
		if topics[i].Partitions > 0 {
			continue
		}
		topics[i], found = found[0], found[1:]
		if topics[i].Created = made[topics[i].Name]; !topics[i].Created {
			if err := topics[i].Fits(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// manyTopics is for how many topics one request asks.
const manyTopics = 500

// inBatches returns new topics as they are created: in requests that a slow broker carries out in time.
func inBatches(t plan.Topic, names []string) iter.Seq[[]string] {
	const partitions = 1000
	return slices.Chunk(names, max(1, partitions/max(10, int(t.Partitions))))
}

// lookUp returns topics by name, in that order. Those that are missing have no partitions.
func (c *Cluster) lookUp(ctx context.Context, names ...string) (topics []result.Topic, err error) {
	for some := range slices.Chunk(names, manyTopics) {
		m, err := c.admin.Metadata(ctx, some...)
		for _, name := range some {
			d, ok := m.Topics[name]
			switch err := cmp.Or(err, d.Err); {
			case errors.Is(err, kerr.UnknownTopicOrPartition), err == nil && !ok:
				topics = append(topics, result.Topic{Name: name})
			case err != nil:
				return nil, fmt.Errorf("look up topic %s: %w", name, err)
			default:
				topics = append(topics, topicOf(d))
			}
		}
	}
	return topics, nil
}

func topicOf(d kadm.TopicDetail) result.Topic {
	t := result.Topic{Name: d.Topic, ID: d.ID.String(), Partitions: len(d.Partitions), Leaders: make(map[int32]int32), Replicas: make(map[int32]result.Replicas)}
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

// messageLimit returns the largest record batch that all of the topics take, 0 if that is unknown, and the owner of the setting.
func (c *Cluster) messageLimit(ctx context.Context, t plan.Topic, found []result.Topic) (limit int, where string, err error) {
	if v, ok := t.Configs["max.message.bytes"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			return 0, "", result.Misfit("--topic-config max.message.bytes=%s: it must be a number of bytes", v).About("topic-config")
		}
		return n, "--topic-config", nil
	}
	c.describeConfigs(ctx, found)
	if len(missing(found)) > 0 {
		configs := c.brokerSettings(ctx) // none: the broker refuses each record that is too large
		limit, _ = strconv.Atoi(configs["message.max.bytes"])
		where = "the brokers"
	}
	if n, of := MessageLimit(found); n > 0 && (limit == 0 || n <= limit) {
		limit, where = n, "topic "+of
	}
	return limit, where, nil
}

// MessageLimit returns the largest record batch that all of some topics take, 0 if that is unknown, and the topic that takes the least.
func MessageLimit(topics []result.Topic) (limit int, of string) {
	for i := range topics {
		n, _ := strconv.Atoi(topics[i].Configs["max.message.bytes"]) // 0: the broker refuses each record that is too large
		if n > 0 && (limit == 0 || n < limit) {
			limit, of = n, topics[i].Name
		}
	}
	return limit, of
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

// describeConfigs sets the settings of topics that exist, as far as this client may read them and they are not known.
func (c *Cluster) describeConfigs(ctx context.Context, topics []result.Topic) {
	for some := range slices.Chunk(topics, manyTopics) {
		at := make(map[string]*result.Topic, len(some))
		for i := range some {
			if some[i].Partitions > 0 && some[i].Configs == nil {
				at[some[i].Name] = &some[i]
			}
		}
		described, _ := c.admin.DescribeTopicConfigs(ctx, slices.Collect(maps.Keys(at))...) // a client may not read them
		for _, d := range described {
			if t := at[d.Name]; t != nil {
				t.Configs, _ = Values(kadm.ResourceConfigs{d}, nil)
			}
		}
	}
}

// Compacted returns the first of some topics that is compacted; nil: none. Settings that are not known yet are asked for.
func (c *Cluster) Compacted(ctx context.Context, topics []result.Topic) *result.Topic {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AdminTimeout) // an aborted run has a result too
	defer cancel()
	c.describeConfigs(ctx, topics)
	for i := range topics {
		if strings.Contains(topics[i].Configs["cleanup.policy"], "compact") {
			return &topics[i]
		}
	}
	return nil
}

// CompactedSince returns an error that names a topic that is compacted now, whatever was known of its settings; nil: none is.
func (c *Cluster) CompactedSince(ctx context.Context, l *Layout) error {
	now := slices.Clone(l.Topics)
	now[0].Configs = nil // those of before the run; the others have none
	if t := c.Compacted(ctx, now); t != nil {
		return fmt.Errorf("topic %s is compacted since the run began: missing records may have been compacted, and are unchecked", t.Name)
	}
	return nil
}

// create asks for a dry run first, so that a bad setting is reported before anything exists. It returns the topics that it has
// made: others were made by another process meanwhile.
func (c *Cluster) create(ctx context.Context, t plan.Topic, names []string) (made map[string]bool, err error) {
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
	made = make(map[string]bool)
	for step, ask := range []func(context.Context, int32, int16, map[string]*string, ...string) (kadm.CreateTopicResponses, error){
		c.admin.ValidateCreateTopics, c.admin.CreateTopics,
	} {
		for some := range inBatches(t, names) {
			if err := ctx.Err(); err != nil {
				return made, err
			}
			rs, failed := ask(context.WithoutCancel(ctx), partitions, factor, configs, some...) // else it is not known what was made
			for _, name := range some {
				bad := failed
				if bad == nil {
					bad = refuse(rs[name].Err, rs[name].ErrMessage)
				}
				switch {
				case bad == nil && step == 0: // a dry run
				case bad == nil:
					made[name] = true
				case errors.Is(bad, kerr.TopicAlreadyExists): // another process was faster
				case IsAny(bad, kerr.InvalidTopicException, kerr.InvalidPartitions, kerr.InvalidReplicationFactor, kerr.InvalidReplicaAssignment,
					kerr.InvalidConfig, kerr.InvalidRequest, kerr.PolicyViolation): // for good
					err = cmp.Or(err, error(result.Misfit("create topic %s: %w", name, bad)))
				default:
					err = cmp.Or(err, fmt.Errorf("create topic %s, which may exist now: %w", name, bad))
				}
			}
			if err != nil {
				return made, err
			}
		}
	}
	return made, nil
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

// awaitLeaders waits until every partition of new topics has a leader that serves it. Brokers may make all of them at once, in any
// order. So the time for each batch is one for all: a busy disk took 130 s for 10,000 partitions.
func (c *Cluster) awaitLeaders(ctx context.Context, batches iter.Seq[[]string]) (topics []result.Topic, err error) {
	all := slices.Collect(batches)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(len(all))*2*AdminTimeout)
	defer cancel()
	for _, names := range all {
		found, err := c.awaitBatch(ctx, names)
		if err != nil {
			return nil, err
		}
		topics = append(topics, found...)
	}
	return topics, nil
}

func (c *Cluster) awaitBatch(ctx context.Context, names []string) ([]result.Topic, error) {
	for {
		topics, err := c.lookUp(ctx, names...)
		if err != nil && ctx.Err() == nil && !errors.Is(err, kerr.LeaderNotAvailable) {
			return nil, err
		}
		if err == nil && !slices.ContainsFunc(topics, leaderless) {
			// The metadata names the leaders before they answer, and with acks=0 records that are sent in between are lost silently.
			if offsets, err := c.admin.ListEndOffsets(ctx, names...); err == nil && offsets.Error() == nil {
				return topics, nil
			}
		}
		if !Pause(ctx, leaderPoll) {
			return nil, fmt.Errorf("topic %s: its partitions have no leaders yet: %w", names[max(0, slices.IndexFunc(topics, leaderless))], ctx.Err())
		}
	}
}

func leaderless(t result.Topic) bool {
	return t.Partitions == 0 || slices.Contains(slices.Collect(maps.Values(t.Leaders)), -1)
}

// DeleteTopics deletes topics. One that is not there is no error. Callers delete only topics that kt created for them.
func (c *Cluster) DeleteTopics(ctx context.Context, names ...string) (err error) {
	for some := range slices.Chunk(names, manyTopics/5) {
		ctx, cancel := context.WithTimeout(ctx, AdminTimeout)
		rs, failed := c.admin.DeleteTopics(ctx, some...)
		cancel()
		for _, name := range some {
			if bad := cmp.Or(failed, rs[name].Err); bad != nil && !errors.Is(bad, kerr.UnknownTopicOrPartition) {
				err = cmp.Or(err, fmt.Errorf("delete topic %s: %w", name, bad))
			}
		}
	}
	return err
}
