package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// ownPrefix begins the names of the topic and the group that an examination makes for itself.
const ownPrefix = "kt-doctor-"

type own struct {
	*examination
	topic result.Topic
}

// rights tries what a load does on a topic of its own, and deletes that again.
func (e *examination) rights(ctx context.Context) {
	if e.readOnly() {
		e.permitted(ctx)
		c := Check{Name: "rights", State: Unknown, Text: "creating, committing and deleting are not tried, and no clock is compared (--read-only)"}
		if !e.ReadOnly {
			c.Text = strings.Replace(c.Text, "--read-only", fmt.Sprintf("cluster %s is protected", e.Protected), 1)
			c.Advice = "--yes tries them, on a topic of kt's own that is deleted again"
		}
		e.add(c)
		return
	}
	name := ownPrefix + strings.ToLower(rand.Text()[:10])
	// The brokers stamp the records, which tells their clocks.
	p := plan.Plan{Topic: plan.Topic{
		Name: name, Partitions: int32(len(e.Cluster.Brokers)), Configs: map[string]string{"message.timestamp.type": "LogAppendTime"},
	}}
	made, err := e.cluster.EnsureTopics(ctx, p, true)
	switch {
	case kafka.Denied(err) || errors.Is(err, kerr.PolicyViolation):
		e.warn("create", "", fmt.Sprintf("name a topic that exists with --topic, or allow Create on topics (or the cluster), %s* for kt doctor", ownPrefix),
			"this client may not make a topic (%v), so writing, reading and committing are not tried", err)
		e.permitted(ctx)
		return
	case err != nil:
		e.fail("create", "", "look at the log of the controller", "%v", err)
		if err := e.cluster.DeleteTopics(context.WithoutCancel(ctx), name); err != nil { // it may exist
			e.fail("delete", "", "delete topic "+name+" by hand, if it is there", "%v", err)
		}
		return
	}
	topic := made[0]
	o := own{e, topic}
	e.pass("create", "", "made topic %s (%s, replication factor %d)", name, theme.Plural(topic.Partitions, "partition", "partitions"), topic.ReplicationFactor)
	defer func() {
		if err := e.cluster.DeleteTopics(context.WithoutCancel(ctx), name); err != nil {
			e.fail("delete", "", "delete topic "+name+" by hand, or allow Delete on topics", "topic %s is left: %v", name, err)
			return
		}
		e.pass("delete", "", "topic %s is deleted again", name)
	}()
	if _, err := kafka.Values(o.admin.DescribeTopicConfigs(ctx, name)); err != nil {
		o.warn("describe", "", "allow DescribeConfigs on topic "+name+": kt says then what a topic is set to", "the settings of a topic may not be read: %v", err)
	} else {
		o.pass("describe", "", "the topic and its settings can be read")
	}
	if sent := o.write(ctx); sent != nil && o.read(ctx, sent) {
		o.clocks(sent)
	}
	o.commit(ctx)
	if o.cluster.CheckShare(ctx, 0) == nil {
		o.share(ctx)
	}
}

func (e *examination) readOnly() bool { return e.ReadOnly || e.Protected != "" }

// permitted asks what this client may do with the topic of the load, and tries nothing.
func (e *examination) permitted(ctx context.Context) {
	about := "topic " + e.Topic
	m, err := e.admin.Metadata(kadm.WithAuthorizedOps(ctx), e.Topic)
	t := m.Topics[e.Topic]
	write := slices.Contains(t.AuthorizedOperations, kadm.OpWrite)
	read := slices.Contains(t.AuthorizedOperations, kadm.OpRead)
	allow := "allow %s on " + about + " (kafka-acls --add)"
	switch {
	case kafka.Denied(err) || kafka.Denied(t.Err):
		e.fail("rights", about, fmt.Sprintf(allow, "Describe, Write and Read"), "it is not there for this client, or does not exist")
	case err != nil:
		e.unread("rights", about, "", err)
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition) && e.readOnly():
		e.unknown("rights", about, "it does not exist")
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		e.fail("rights", about, "let somebody make it, or name another --topic", "it does not exist, and this client may not make it")
	case t.Err != nil || len(t.AuthorizedOperations) == 0:
		e.unknown("rights", about, "the brokers do not say what this client may do with it")
	case !write && !read:
		e.fail("rights", about, fmt.Sprintf(allow, "Write and Read"), "this client may neither write nor read it")
	case !write:
		e.warn("rights", about, fmt.Sprintf(allow, "Write"), "this client may read it, and not write")
	case !read:
		e.warn("rights", about, fmt.Sprintf(allow, "Read"), "this client may write it, and not read")
	default:
		e.pass("rights", about, "this client may write and read it")
	}
}

// stamp is a record of one partition, by the clock of this host and by that of its leader.
type stamp struct {
	sent, acknowledged time.Time
	appended           time.Time // zero: it was not read
}

// write writes a record to each partition twice: the first one opens connections.
func (o own) write(ctx context.Context) map[int32]*stamp {
	stamps := make(map[int32]*stamp)
	for range 2 {
		for p := range int32(o.topic.Partitions) {
			s := &stamp{sent: time.Now()}
			err := o.client.ProduceSync(ctx, &kgo.Record{Topic: o.topic.Name, Partition: p, Value: []byte("kt doctor")}).FirstErr()
			s.acknowledged = time.Now()
			if err != nil {
				o.fail("write", "", o.mend(err, "Write"), "partition %d on broker %d: %v", p, o.topic.Leaders[p], err)
				return nil
			}
			stamps[p] = s
		}
	}
	o.pass("write", "", "a record to each partition, with acks=all")
	return stamps
}

func (o own) mend(err error, right string) string {
	switch {
	case kafka.Denied(err):
		return fmt.Sprintf("allow %s on the topics of the load (kafka-acls --add --operation %s --topic NAME)", right, right)
	case errors.Is(err, kerr.NotEnoughReplicas), errors.Is(err, kerr.NotEnoughReplicasAfterAppend):
		return "set min.insync.replicas of the brokers to at most their number of replicas, or start the brokers that are down"
	}
	return "look at the log of the broker"
}

func (o own) read(ctx context.Context, stamps map[int32]*stamp) bool {
	from := make(map[int32]kgo.Offset)
	for p := range stamps {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := o.cluster.Client(append(o.clientOptions(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o.topic.Name: from}))...)
	if err != nil {
		o.fail("read", "", "", "%v", err)
		return false
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, kafka.AdminTimeout)
	defer cancel()
	for n := 0; n < 2*len(stamps); {
		fetches := client.PollFetches(ctx)
		if failed := fetches.Errors(); len(failed) > 0 {
			err := failed[0].Err
			o.fail("read", "", o.mend(err, "Read"), "%d of %d records were read: %v", n, 2*len(stamps), err)
			return false
		}
		fetches.EachRecord(func(r *kgo.Record) {
			stamps[r.Partition].appended = r.Timestamp
			n++
		})
	}
	o.pass("read", "", "every record is read again")
	return true
}

const tolerance = time.Second

func (o own) clocks(stamps map[int32]*stamp) {
	worst, seen := time.Duration(0), make(map[int32]bool)
	for p, s := range stamps {
		broker := o.topic.Leaders[p]
		seen[broker] = true
		off := s.off()
		if off.Abs() > tolerance {
			o.warn("clock", aboutBroker(broker), "synchronise both clocks (chrony): timestamps, retention and end-to-end latency between hosts depend on them",
				"it is %s %s this host's", theme.Duration(off.Abs()), map[bool]string{true: "ahead of", false: "behind"}[off > 0])
		}
		worst = max(worst, off.Abs())
	}
	if worst <= tolerance {
		o.add(Check{
			Name: "clock", State: Pass, Text: fmt.Sprintf("%s within %s of this host's", theme.Plural(len(seen), "clock is", "clocks are"), theme.Duration(max(worst, time.Millisecond))),
			Figures: map[string]int64{"offset_ms": worst.Milliseconds()},
		})
	}
}

// off returns by how much the broker's clock is ahead at least, negative if it is behind, in whole milliseconds.
func (s *stamp) off() time.Duration {
	if ahead := s.appended.Sub(s.acknowledged); ahead > 0 {
		return ahead
	}
	return min(0, s.appended.Add(time.Millisecond).Sub(s.sent))
}

func (o own) commit(ctx context.Context) {
	group := o.topic.Name
	var at kadm.Offsets
	at.AddOffset(group, 0, 1, -1)
	answers, err := o.admin.CommitOffsets(ctx, group, at)
	if err == nil {
		err = answers.Error()
	}
	_, left := o.admin.DeleteGroup(context.WithoutCancel(ctx), group) // it may exist, whatever came of the commit
	switch {
	case kafka.Denied(err):
		o.fail("commit", "", "allow Read on groups (kafka-acls --add --operation Read --group NAME); kt consume --no-group does without", "%v", err)
	case err != nil:
		o.fail("commit", "", "look at the log of the broker that has the partition of __consumer_offsets", "%v", err)
	case left != nil:
		o.warn("commit", "", "none: its offsets expire by themselves", "an offset was committed, and group %s cannot be deleted: %v", group, left)
	default:
		o.pass("commit", "", "an offset for a group of its own, which is deleted again")
	}
}

// share sets where a share group of its own begins, as a load does with one that it makes. No group comes of it.
func (o own) share(ctx context.Context) {
	g := kafka.ShareGroup{Name: o.topic.Name, Made: true}
	err := o.cluster.StartShare(ctx, g, "earliest")
	left := o.cluster.StartShare(context.WithoutCancel(ctx), g, "")
	if err = errors.Join(err, left); err != nil {
		o.warn("share groups", "", "allow AlterConfigs on groups (kafka-acls --add --operation AlterConfigs --group NAME): kt consume --group-protocol share says with it where a new group begins", "%v", err)
		return
	}
	o.pass("share groups", "", "where a new one begins can be set")
}

func (e *examination) quotas(ctx context.Context) {
	all, err := e.admin.DescribeClientQuotas(ctx, false, nil) // none named: all
	if err != nil {
		e.unread("quotas", "", "DescribeConfigs on the cluster", err)
		return
	}
	found := false
	for _, q := range all {
		if len(q.Values) == 0 || !e.bound(q.Entity) {
			continue
		}
		var limits []string
		for _, v := range q.Values {
			limit := fmt.Sprintf("%s %g/s", v.Key, v.Value)
			switch {
			case strings.HasSuffix(v.Key, "_byte_rate"):
				limit = fmt.Sprintf("%s %s/s on each broker", v.Key, theme.Bytes(int64(v.Value)))
			case v.Key == "request_percentage":
				limit = fmt.Sprintf("%s %g%% of a broker's threads", v.Key, v.Value)
			}
			limits = append(limits, limit)
		}
		slices.Sort(limits)
		if e.authenticates() && slices.ContainsFunc(q.Entity, func(p kadm.ClientQuotaEntityComponent) bool { return p.Type == "user" && p.Name != nil }) {
			e.unknown("quotas", entity(q.Entity), strings.Join(limits, ", ")+", if that is the user of this client")
			continue
		}
		found = true
		e.warn("quotas", entity(q.Entity), "raise it, or stay below: brokers hold back a load that exceeds it (kafka-configs --alter --delete-config removes a quota)",
			"%s", strings.Join(limits, ", "))
	}
	if !found {
		e.pass("quotas", "", "none applies to client ids %s", strings.Join(e.ClientIDs, ", "))
	}
}

// bound reports whether a quota may apply to the load: each part of its entity is a default or names the load.
func (e *examination) bound(parts kadm.ClientQuotaEntity) bool {
	for _, p := range parts {
		switch {
		case p.Name == nil:
		case p.Type == "client-id" && slices.Contains(e.ClientIDs, *p.Name):
		case p.Type == "user" && (e.authenticates() || *p.Name == kafka.Anonymous):
		default:
			return false
		}
	}
	return true
}

// authenticates reports whether this client has a user's name. Only the brokers know it.
func (e *examination) authenticates() bool {
	return e.Access.Security.Mechanism() != "" || e.Access.Security.Encrypts()
}

func entity(parts kadm.ClientQuotaEntity) string {
	var words []string
	for _, p := range parts {
		name := "default"
		if p.Name != nil {
			name = *p.Name
		}
		words = append(words, p.Type+" "+name)
	}
	return strings.Join(words, ", ")
}
