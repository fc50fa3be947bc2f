package javaconf

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupProperties returns the consumer's rows that matter only when it reads in a
// group.
func groupProperties() []property[Consumer] {
	return slices.Concat(membershipProperties(), assignmentProperties(), commitProperties())
}

// membershipProperties returns the rows of the membership of a group.
func membershipProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Group that shares the partitions among its members and keeps their offsets.
			name: "group.id", preset: "", check: checkGroupID,
			client: "ConsumerGroup",
			apply:  func(s Consumer) []kgo.Opt { return []kgo.Opt{kgo.ConsumerGroup(s.Group())} },
		}, {
			// Name under which a member that comes back gets its partitions again.
			name: "group.instance.id", preset: "", check: checkInstanceID,
			client: "InstanceID", // kt sets it for each member
		}, {
			// Time without a heartbeat after which a member is taken for dead.
			name: "session.timeout.ms", preset: "45000", check: millis(100, math.MaxInt32), // franz-go accepts no less than 100 ms
			client: "SessionTimeout", apply: applyMembership,
		}, {
			// Time between two heartbeats of a member.
			name: "heartbeat.interval.ms", preset: "3000", check: millis(1, math.MaxInt32),
			client: "HeartbeatInterval",
		}, {
			// Time a member may take between two polls, and to give partitions up.
			name: "max.poll.interval.ms", preset: "300000", check: millis(100, math.MaxInt32), // franz-go accepts no less than 100 ms
			note:   "franz-go applies it to rebalances only, and does not watch the time between two polls.",
			client: "RebalanceTimeout",
			apply: func(s Consumer) []kgo.Opt {
				return []kgo.Opt{kgo.RebalanceTimeout(s.duration("max.poll.interval.ms"))}
			},
		},
	}
}

// assignmentProperties returns the rows that decide which member gets which partition.
func assignmentProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Whether the members assign the partitions (classic) or the broker does (consumer).
			name: "group.protocol", preset: classic, check: inLowerCase(oneOf(classic, nextGen)),
			note:   "franz-go silently goes back to classic where a broker does not offer consumer, which Kafka does from 4.0 on.",
			client: "ServerSideBalancer", apply: applyProtocol,
		}, {
			// Ways to assign partitions, of which the first that all members know is used.
			name: "partition.assignment.strategy", preset: assignorPackage + "RangeAssignor," + assignorPackage + "CooperativeStickyAssignor",
			check:  checkAssignors,
			note:   "franz-go does not look at client.rack here; Java does where racks differ in the partitions they have.",
			client: "Balancers", apply: applyAssignors,
		}, {
			// How the broker assigns partitions, uniform or range; empty is its own choice, with group.protocol=consumer only.
			name: "group.remote.assignor", preset: "", check: checkRemoteAssignor,
			note:   "franz-go always names one: uniform, which is Kafka's own choice too.",
			client: "Balancers",
		},
	}
}

// commitProperties returns the rows that decide when offsets are committed.
func commitProperties() []property[Consumer] {
	return []property[Consumer]{
		{
			// Whether offsets are committed in the background.
			name: "enable.auto.commit", preset: "true", check: boolean,
			client: "DisableAutoCommit", apply: applyAutoCommit,
		}, {
			// Time between two commits in the background.
			name: "auto.commit.interval.ms", preset: "5000", check: millis(100, math.MaxInt32), // franz-go accepts no less than 100 ms
			note:   "franz-go commits on this clock, Java at the first poll after it.",
			client: "AutoCommitInterval",
			apply: func(s Consumer) []kgo.Opt {
				return []kgo.Opt{kgo.AutoCommitInterval(s.AutoCommitInterval())}
			},
		},
	}
}

// Group protocols.
const (
	classic = "classic"
	nextGen = "consumer"
)

// applyMembership leaves franz-go's own times with group.protocol=consumer, where
// the broker says how often it wants a heartbeat.
func applyMembership(s Consumer) []kgo.Opt {
	if s.NextGen() {
		return nil
	}
	return []kgo.Opt{
		kgo.SessionTimeout(s.duration("session.timeout.ms")),
		kgo.HeartbeatInterval(s.duration("heartbeat.interval.ms")),
	}
}

func applyProtocol(s Consumer) []kgo.Opt {
	if s.Protocol() == classic {
		return nil
	}
	return []kgo.Opt{kgo.ServerSideBalancer()}
}

// applyAssignors also says which assignor the broker shall use: franz-go asks for
// uniform if its first balancer is the sticky one, and for range if it is that.
func applyAssignors(s Consumer) []kgo.Opt {
	if s.NextGen() {
		if s.value("group.remote.assignor") == "range" {
			return []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}
		}
		return []kgo.Opt{kgo.Balancers(kgo.StickyBalancer())}
	}
	var balancers []kgo.GroupBalancer
	for class := range strings.SplitSeq(s.value("partition.assignment.strategy"), ",") {
		balancers = append(balancers, balancer(strings.TrimPrefix(class, assignorPackage)))
	}
	return []kgo.Opt{kgo.Balancers(balancers...)}
}

func applyAutoCommit(s Consumer) []kgo.Opt {
	if s.AutoCommit() {
		return nil
	}
	return []kgo.Opt{kgo.DisableAutoCommit()}
}

// assignorPackage is where Java keeps the assignors that Kafka ships.
const assignorPackage = "org.apache.kafka.clients.consumer."

// balancer returns franz-go's counterpart of an assignor, nil if it has none.
func balancer(assignor string) kgo.GroupBalancer {
	switch assignor {
	case "RangeAssignor":
		return kgo.RangeBalancer()
	case "RoundRobinAssignor":
		return kgo.RoundRobinBalancer()
	case "StickyAssignor":
		return kgo.StickyBalancer()
	case "CooperativeStickyAssignor":
		return kgo.CooperativeStickyBalancer()
	}
	return nil
}

// checkAssignors accepts a list of the assignors Kafka ships, by full or short
// name.
func checkAssignors(value string) (string, error) {
	var classes []string
	for name := range strings.SplitSeq(value, ",") {
		short := strings.TrimPrefix(strings.TrimSpace(name), assignorPackage)
		if balancer(short) == nil {
			return "", errors.New("must be a list of RangeAssignor, RoundRobinAssignor, StickyAssignor and CooperativeStickyAssignor")
		}
		if class := assignorPackage + short; !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return strings.Join(classes, ","), nil
}

func checkRemoteAssignor(value string) (string, error) {
	switch v := strings.TrimSpace(value); v {
	case "", "uniform", "range":
		return v, nil
	}
	return "", errors.New("must be uniform or range; franz-go knows no other assignor of brokers")
}

func checkGroupID(value string) (string, error) {
	if strings.TrimSpace(value) == "" {
		return "", errors.New("must not be empty")
	}
	return textOf(1, math.MaxInt16)(value) // a length prefix on the wire
}

// instanceIDMax is Kafka's limit.
const instanceIDMax = 249

var instanceID = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// checkInstanceID is as strict as Java, which treats the name like a topic's.
func checkInstanceID(value string) (string, error) {
	if !instanceID.MatchString(value) || value == "." || value == ".." || len(value) > instanceIDMax {
		return "", fmt.Errorf("must be 1 to %d letters, digits, dots, dashes or underscores", instanceIDMax)
	}
	return value, nil
}
