package javaconf

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Consumer is the consumer properties in effect: every property Kafka's
// Java consumer has, given or not. ParseConsumer makes it.
type Consumer struct{ settings }

// ParseConsumer is ParseProducer for the properties of Kafka's Java consumer 4.x. Commands pass
// settings of flags, such as the group, as properties too.
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

// Group returns group.id, empty without a group.
func (s Consumer) Group() string { return s.value("group.id") }

// InstanceID returns group.instance.id, which makes members static, or empty.
func (s Consumer) InstanceID() string { return s.value("group.instance.id") }

// Protocol returns "classic", or "consumer" when the broker assigns partitions.
func (s Consumer) Protocol() string { return s.value("group.protocol") }

// NextGen reports whether the broker assigns the partitions.
func (s Consumer) NextGen() bool { return s.Protocol() == nextGen }

// ReadCommitted reports whether records of open and aborted transactions are left out.
func (s Consumer) ReadCommitted() bool { return s.value("isolation.level") == "read_committed" }

// CheckCRCs reports whether the checksum of each batch is verified.
func (s Consumer) CheckCRCs() bool { return s.bool("check.crcs") }

// CheckByDefault turns check.crcs on, unless it is given.
func (s Consumer) CheckByDefault() {
	if !s.isGiven("check.crcs") {
		s.derive("check.crcs", "true", "On, as Kafka's default: --engine wire has time for it.")
	}
}

// AutoCommit reports whether offsets are committed in the background; never without
// a group.
func (s Consumer) AutoCommit() bool { return s.bool("enable.auto.commit") }

// AutoCommitInterval returns the time between two such commits.
func (s Consumer) AutoCommitInterval() time.Duration {
	return s.duration("auto.commit.interval.ms")
}

// MaxPollRecords returns the largest number of records of a poll, 0 for no limit. The caller passes
// it to PollRecords.
func (s Consumer) MaxPollRecords() int { return s.int("max.poll.records") }

// FetchMaxBytes returns the largest size of an answer.
func (s Consumer) FetchMaxBytes() int { return s.int("fetch.max.bytes") }

// FetchMinBytes returns the size that a broker waits for before it answers.
func (s Consumer) FetchMinBytes() int { return s.int("fetch.min.bytes") }

// FetchMaxWait returns the longest time that it waits.
func (s Consumer) FetchMaxWait() time.Duration { return s.duration("fetch.max.wait.ms") }

// MaxPartitionFetchBytes returns the largest size of one partition's records in an answer.
func (s Consumer) MaxPartitionFetchBytes() int { return s.int("max.partition.fetch.bytes") }

// OffsetReset returns auto.offset.reset: "earliest", "latest", "none", or "by_duration:"
// and a duration as Java writes it.
func (s Consumer) OffsetReset() string { return s.value("auto.offset.reset") }

// From returns the start of reading where a group has no committed offset. It is the given one,
// or that of auto.offset.reset if the given one is the earliest. Its duration counts back from
// now, as in Java. With refuse, a partition without a committed offset is an error.
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

// applyRules settles properties that depend on others.
func (s Consumer) applyRules() error {
	const beat, session, commit = "heartbeat.interval.ms", "session.timeout.ms", "enable.auto.commit"
	if s.MaxPartitionFetchBytes() > s.FetchMaxBytes() && !s.isGiven("fetch.max.bytes") { // kt's own is lower than Kafka's
		s.derive("fetch.max.bytes", s.value("max.partition.fetch.bytes"), "Raised to max.partition.fetch.bytes.")
	}
	errs := []error{s.settleProtocol()}
	if s.Group() != "" && !s.NextGen() && s.int(beat) >= s.int(session) { // without a group Java accepts them too
		errs = append(errs, fmt.Errorf("%s: must be less than %s", s.cite(beat), s.cite(session)))
	}
	switch {
	case s.Group() != "" || !s.AutoCommit():
	case s.isGiven(commit):
		errs = append(errs, fmt.Errorf("%s needs group.id", s.cite(commit)))
	default:
		s.derive(commit, "false", "Off without group.id, as in Java.")
	}
	return errors.Join(errs...)
}

// settleProtocol refuses properties that the group's protocol leaves to the other side, as Java
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
	for _, name := range []string{"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"} {
		if s.isGiven(name) {
			problems = append(problems, fmt.Errorf("%s cannot be set with %s: the broker decides", s.cite(name), s.cite("group.protocol")))
			continue
		}
		s.derive(name, "", "Not used: with group.protocol=consumer the broker decides.")
	}
	return errors.Join(problems...)
}
