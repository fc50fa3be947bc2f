package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/kt-bench/kt/internal/kafka"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// target is the cluster and the topics that a run goes to.
type target struct {
	bootstrap []string
	embedded  *kafka.Embedded // nil: a real cluster
	cluster   *kafka.Cluster
	topics    []result.Topic // the one that is written to, or all that are read
}

// openTarget connects, or starts the embedded broker when none is configured
// anywhere; it never does the second because the first failed.
func openTarget(ctx context.Context, env *Env, l *load) (*target, error) {
	t := &target{bootstrap: l.Plan.Bootstrap}
	if l.Plan.Embedded() {
		embedded, err := kafka.StartEmbedded(l.Plan.Reads())
		if err != nil {
			return nil, err
		}
		t.embedded, t.bootstrap = embedded, embedded.Addrs()
		fitEmbedded(env, l)
	}
	if err := t.prepare(ctx, env, l); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// embeddedRate is what a round trip offers the embedded broker without --rate, in
// records a second. It holds what was not read in memory: unlimited, a reader that
// falls behind would fill that.
const embeddedRate = 50_000

// fitEmbedded fits the plan of a round trip to the embedded broker.
func fitEmbedded(env *Env, l *load) {
	p := &l.Plan
	if !p.Reads() {
		return
	}
	if p.Load.Rate.IsUnlimited() && !p.Load.OneAtATime {
		p.Load.Rate = plan.Rate{PerSecond: embeddedRate}
		if !l.Quiet {
			env.say("the broker inside kt keeps in memory what was not read yet, so it is offered %s records a second; set another with --rate", theme.Count(embeddedRate))
		}
	}
	p.Topic.Configs = maps.Clone(p.Topic.Configs)
	if p.Topic.Configs == nil {
		p.Topic.Configs = make(map[string]string)
	}
	if _, given := p.Topic.Configs["segment.bytes"]; !given {
		p.Topic.Configs["segment.bytes"] = fmt.Sprint(kafka.EmbeddedSegment)
	}
}

func (t *target) prepare(ctx context.Context, env *Env, l *load) (err error) {
	within := l.consumer.ReachTimeout()
	if l.Plan.Writes() {
		within = l.producer.ReachTimeout()
	}
	if t.cluster, err = kafka.Connect(ctx, kafka.Access{Bootstrap: t.bootstrap, ClientID: "kt-admin", Timeout: within}); err != nil {
		var bad *kafka.AddressError
		if errors.As(err, &bad) {
			return usageError(err)
		}
		return err
	}
	if l.part != nil {
		if err := t.cluster.Reach(ctx); err != nil {
			return err
		}
	}
	for _, u := range t.cluster.Unreached {
		env.say("bootstrap server %v; going on with the others", u)
	}
	if l.Plan.Writes() {
		err = t.ensureTopic(ctx, env, l)
	} else {
		t.topics, err = t.cluster.ReadTopics(ctx, l.Plan)
	}
	if err != nil {
		return misfitIsUsage(err)
	}
	if n := l.Plan.Share.Slots; n > t.topics[0].Partitions {
		err := fmt.Errorf("topic %s has %s: each of %d processes reads what it wrote, from partitions of its own; give it more, or fewer --processes", t.topics[0].Name, theme.Plural(t.topics[0].Partitions, "partition", "partitions"), n)
		return errors.Join(usageError(err), t.undo(ctx))
	}
	if err := l.checkBook(t.topics[0]); err != nil {
		return errors.Join(usageError(err), t.undo(ctx))
	}
	return nil
}

func (t *target) ensureTopic(ctx context.Context, env *Env, l *load) error {
	topic, err := t.cluster.EnsureTopic(ctx, l.Plan, l.producer.Compression() != "none")
	if err != nil {
		return err
	}
	t.topics = []result.Topic{topic}
	if topic.Created && t.embedded == nil && !l.Quiet {
		env.say("created topic %s (partitions %d, replication factor %d)", topic.Name, topic.Partitions, topic.ReplicationFactor)
	}
	return nil
}

// misfitIsUsage gives an error of what does not fit the cluster the exit code of a
// command line that is wrong.
func misfitIsUsage(err error) error {
	var misfit *kafka.MisfitError
	if errors.As(err, &misfit) {
		return usageError(err)
	}
	return err
}

// topic is the one that is written to, or the first that is read.
func (t *target) topic() *result.Topic { return &t.topics[0] }

// undo deletes the topic that was created for a load that never began.
func (t *target) undo(ctx context.Context) error {
	if !t.topic().Created {
		return nil
	}
	return t.cluster.DeleteTopic(context.WithoutCancel(ctx), t.topic().Name)
}

func (t *target) close() {
	if t.cluster != nil {
		t.cluster.Close()
	}
	if t.embedded != nil {
		t.embedded.Close()
	}
}
