package javaconf

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/kt-bench/kt/internal/plan"
)

// Consumer is the consumer properties in effect: every property Kafka's
// Java consumer has, given or not. ParseConsumer makes it.
type Consumer struct{ settings }

// ParseConsumer is ParseProducer for the properties of Kafka's Java consumer 4.x.
// What a command decides for itself, such as the group or where to begin, it gives
// as properties too.
func ParseConsumer(given map[string]plan.Given, lenient bool) (Consumer, []string, error) {
	in, warnings, err := resolve("consumer", consumerProperties(), given, lenient)
	s := Consumer{in}
	if err := errors.Join(err, s.applyRules()); err != nil {
		return Consumer{}, warnings, err
	}
	return s, warnings, nil
}

// IsConsumerProperty reports whether Kafka's consumer has the property. Security
// properties count, as they do for IsProducerProperty.
func IsConsumerProperty(name string) bool { return has(consumerProperties(), name) }

// Options returns the franz-go options for one client that need no group. The
// caller adds the brokers to start from, what to read and where to begin, hooks and
// pools.
func (s Consumer) Options() []kgo.Opt { return options(clientProperties(), s) }

// GroupOptions returns the further options for one member of the group, none
// without a group. The caller adds InstanceID, which no two members may share.
//
// With Protocol "consumer" franz-go joins with the classic protocol all the same,
// and says so to its log only, when the broker does not offer the other one. Who
// measures must look which requests are sent: JoinGroup is classic.
func (s Consumer) GroupOptions() []kgo.Opt {
	if s.Group() == "" {
		return nil
	}
	return options(groupProperties(), s)
}

// Group is group.id, "" without a group.
func (s Consumer) Group() string { return s.value("group.id") }

// InstanceID returns what makes members static, "" when they are not.
func (s Consumer) InstanceID() string { return s.value("group.instance.id") }

// Protocol is "classic", or "consumer" when the broker assigns partitions.
func (s Consumer) Protocol() string { return s.value("group.protocol") }

// NextGen reports whether the broker assigns the partitions.
func (s Consumer) NextGen() bool { return s.Protocol() == nextGen }

// ReadCommitted reports whether only records of committed transactions are read,
// beside those of none.
func (s Consumer) ReadCommitted() bool { return s.value("isolation.level") == "read_committed" }

// AutoCommit reports whether offsets are committed in the background; never without
// a group.
func (s Consumer) AutoCommit() bool { return s.bool("enable.auto.commit") }

// AutoCommitInterval returns the time between two such commits.
func (s Consumer) AutoCommitInterval() time.Duration {
	return s.duration("auto.commit.interval.ms")
}

// MaxPollRecords returns how many records a poll may return, as PollRecords takes it: 0
// is no limit. The caller passes it.
func (s Consumer) MaxPollRecords() int { return s.int("max.poll.records") }

// FetchMaxBytes returns how much a broker may answer at a time.
func (s Consumer) FetchMaxBytes() int { return s.int("fetch.max.bytes") }

// FetchMinBytes returns how much a broker waits for before it answers.
func (s Consumer) FetchMinBytes() int { return s.int("fetch.min.bytes") }

// FetchMaxWait returns how long it waits.
func (s Consumer) FetchMaxWait() time.Duration { return s.duration("fetch.max.wait.ms") }

// MaxPartitionFetchBytes returns how much of an answer one partition may take.
func (s Consumer) MaxPartitionFetchBytes() int { return s.int("max.partition.fetch.bytes") }

// OffsetReset is auto.offset.reset: "earliest", "latest", "none", or "by_duration:"
// and a duration as Java writes it.
func (s Consumer) OffsetReset() string { return s.value("auto.offset.reset") }

// From returns the place to start reading from where a group has committed no offset: the
// one given, unless that is the earliest and auto.offset.reset says more. Its
// duration counts back from now, as in Java. refuse tells that there is none: a
// partition without a committed offset is not to be read.
func (s Consumer) From(given plan.From, now time.Time) (from plan.From, refuse bool) {
	reset := s.OffsetReset()
	if given != (plan.From{}) {
		return given, false
	}
	if text, ok := strings.CutPrefix(reset, byDuration); ok {
		back, _ := parseISODuration(text) // its check has read it
		return plan.From{Time: now.Add(-back)}, false
	}
	return given, reset == "none"
}

// applyRules settles what depends on more than one property.
func (s Consumer) applyRules() error {
	s.settleFetch()
	return errors.Join(
		s.settleProtocol(),
		s.checkHeartbeat(),
		s.settleCommits(),
	)
}

// settleFetch lets kt's own fetch.max.bytes, which is lower than Kafka's, give way
// to what was asked for from each partition.
func (s Consumer) settleFetch() {
	if s.MaxPartitionFetchBytes() <= s.FetchMaxBytes() || s.isGiven("fetch.max.bytes") {
		return
	}
	s.derive("fetch.max.bytes", s.value("max.partition.fetch.bytes"), "Raised to max.partition.fetch.bytes.")
}

// settleProtocol refuses what the group's protocol leaves to the other side, as Java
// does.
func (s Consumer) settleProtocol() error {
	const remote = "group.remote.assignor"
	if s.Protocol() == classic {
		if s.value(remote) != "" {
			return fmt.Errorf("%s needs group.protocol=%s, not %s", s.cite(remote), nextGen, s.cite("group.protocol"))
		}
		return nil
	}
	var problems []error
	for _, name := range classicOnly() {
		if s.isGiven(name) {
			problems = append(problems, fmt.Errorf("%s cannot be set with %s: the broker decides", s.cite(name), s.cite("group.protocol")))
			continue
		}
		s.derive(name, "", "Not used: with group.protocol=consumer the broker decides.")
	}
	return errors.Join(problems...)
}

// checkHeartbeat wants several heartbeats to fit into a session, or one at least.
// Like Java, it does not mind without a group.
func (s Consumer) checkHeartbeat() error {
	const beat, session = "heartbeat.interval.ms", "session.timeout.ms"
	if s.Group() == "" || s.NextGen() || s.int(beat) < s.int(session) {
		return nil
	}
	return fmt.Errorf("%s: must be less than %s", s.cite(beat), s.cite(session))
}

// settleCommits turns commits off where there is nobody to keep them. Asked for by
// name, they are a conflict instead.
func (s Consumer) settleCommits() error {
	const name = "enable.auto.commit"
	if s.Group() != "" || !s.AutoCommit() {
		return nil
	}
	if s.isGiven(name) {
		return fmt.Errorf("%s needs group.id", s.cite(name))
	}
	s.derive(name, "false", "Off without group.id, as in Java.")
	return nil
}
