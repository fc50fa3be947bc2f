package javaconf

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
)

// Consumer is the consumer properties in effect: every property Kafka's Java consumer has, given or not. ParseConsumer makes
// it.
type Consumer struct{ settings }

// ParseConsumer is ParseProducer for the properties of Kafka's Java consumer 4.x. Commands pass settings of flags, such as the
// group, as properties too.
func ParseConsumer(given map[string]plan.Given, lenient bool) (Consumer, []string, error) {
	in, warnings, err := resolve("consumer", given, lenient)
	s := Consumer{in}
	if err := errors.Join(err, s.applyRules()); err != nil {
		return Consumer{}, warnings, err
	}
	return s, warnings, nil
}

// IsConsumerProperty reports whether Kafka's consumer has the property. Security properties count, as they do for
// IsProducerProperty.
func IsConsumerProperty(name string) bool { return has("consumer", name) }

// NextGen reports whether the broker assigns the partitions.
func (s Consumer) NextGen() bool { return s.Value("group.protocol") == nextGen }

// Shared reports whether the group is a share group.
func (s Consumer) Shared() bool { return s.Value("group.protocol") == shared }

// ReadCommitted reports whether records of open and aborted transactions are left out.
func (s Consumer) ReadCommitted() bool { return s.Value("isolation.level") == "read_committed" }

// CheckByDefault turns check.crcs on, unless it is given.
func (s Consumer) CheckByDefault() {
	if !s.isGiven("check.crcs") {
		s.derive("check.crcs", "true", "On, as Kafka's default: --engine wire has time for it.")
	}
}

// From returns the start of reading where a group has no committed offset. It is the given one, or that of auto.offset.reset if
// the given one is the earliest. Its duration counts back from now, as in Java. With refuse, a partition without a committed
// offset is an error.
func (s Consumer) From(given plan.From, now time.Time) (from plan.From, refuse bool) {
	reset := s.Value("auto.offset.reset")
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
	if s.Int("max.partition.fetch.bytes") > s.Int("fetch.max.bytes") && !s.isGiven("fetch.max.bytes") { // kt's own is lower than Kafka's
		s.derive("fetch.max.bytes", s.Value("max.partition.fetch.bytes"), "Raised to max.partition.fetch.bytes.")
	}
	errs := []error{s.settleProtocol()}
	if s.Value("group.id") != "" && s.Value("group.protocol") == classic && s.Int(beat) >= s.Int(session) { // without a group Java accepts them too
		errs = append(errs, fmt.Errorf("%s: must be less than %s", s.cite(beat), s.cite(session)))
	}
	switch {
	case s.Value("group.id") != "" || !s.Bool("enable.auto.commit"):
	case s.isGiven(commit):
		errs = append(errs, fmt.Errorf("%s needs group.id", s.cite(commit)))
	default:
		s.derive(commit, "false", "Off without group.id, as in Java.")
	}
	return errors.Join(errs...)
}

// settleProtocol refuses properties that the group's protocol leaves to the other side, as Java does.
func (s Consumer) settleProtocol() error {
	const remote = "group.remote.assignor"
	if s.Value("group.protocol") == classic {
		if s.Value(remote) != "" {
			return fmt.Errorf("%s needs group.protocol=%s, not %s", s.cite(remote), nextGen, s.cite("group.protocol"))
		}
		return nil
	}
	names, why := []string{"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}, "the broker decides"
	if s.Shared() { // those that Java's share consumer refuses
		names, why = append(names, remote, "group.instance.id", "isolation.level", "auto.offset.reset", "enable.auto.commit"), "it has no meaning in a share group"
		if !s.isGiven("max.poll.records") {
			s.derive("max.poll.records", "500", "Kafka's default, in a share group.")
		}
		if !s.isGiven("client.id") {
			s.derive("client.id", plan.ShareClient, "With the number of the consumer, as Kafka's own test of share groups calls itself.")
		}
		if s.isGiven("max.partition.fetch.bytes") && !s.isGiven("fetch.max.bytes") {
			s.derive("fetch.max.bytes", s.Value("max.partition.fetch.bytes"), "As max.partition.fetch.bytes: the broker divides a fetch of a share group by itself.")
		}
	}
	var problems []error
	for _, name := range names {
		if s.isGiven(name) {
			problems = append(problems, fmt.Errorf("%s cannot be set with %s: %s", s.cite(name), s.cite("group.protocol"), why))
			continue
		}
		s.derive(name, "", fmt.Sprintf("Not used: with group.protocol=%s %s.", s.Value("group.protocol"), why))
	}
	return errors.Join(problems...)
}
