package verdict

import (
	"cmp"
	"strings"
)

// Verdict is the limit of a run, and the numbers that show it.
type Verdict struct {
	Limit    Limit  `json:"limit"`
	Evidence string `json:"evidence"` // one sentence with its numbers
}

// Limit is the resource that limited a run.
type Limit string

// String returns the limit in the words of screens and summaries.
func (l Limit) String() string {
	name, where, many := strings.Cut(string(l), " on ") // of one of many hosts
	name = cmp.Or(shown[Limit(name)], name)
	if many {
		name += " on " + where
	}
	return name
}

// shown are the words for limits that are not their names.
var shown = map[Limit]string{None: "none reached", Schedule: "kt could not keep its schedule", BrokerAcks: "slow acknowledgements"}

// The limits that kt can tell apart from its own host.
const (
	None       Limit = "none"                // the load was carried as it was asked for
	Unknown    Limit = "not known"           // too little was measured
	ClientCPU  Limit = "client CPU"          // kt's process had no CPU left
	HostCPU    Limit = "host CPU"            // this machine had no CPU left, and other processes used it
	Ceiling    Limit = "this host's ceiling" // as kt calibrate found it: no brokers would get more from here
	Schedule   Limit = "kt's schedule"       // kt sent late although nothing held it up
	Failures   Limit = "failed records"      // so many that other figures mean little
	Stalled    Limit = "a stall"             // the brokers acknowledged nothing, or gave nothing to read, for seconds
	Sockets    Limit = "broker connections"  // acks=0, and the connections took no more
	Throttle   Limit = "broker throttle"     // a quota
	BrokerAcks Limit = "broker acks"         // the buffer was full, and as many requests in flight as allowed
	Client     Limit = "this producer"       // CPU and requests to spare: one client does no more

	ReadFailed Limit = "failed reading"      // it could not go on
	Consumers  Limit = "the consumers"       // the producers write more than the consumers read
	Members    Limit = "other members"       // of the group, that have partitions
	Rebalances Limit = "rebalances"          // readers had no partitions
	Processing Limit = "the processing time" // that was asked for
	Fetches    Limit = "broker fetches"      // readers waited for records although some were there
	Reader     Limit = "this consumer"       // CPU to spare, and the brokers were faster: one client does no more
)

// next is what to do about each limit, as docs/troubleshooting.md has it. For None there is nothing to do.
var next = map[Limit]string{
	ClientCPU:  "use larger batches (--batch-size, --linger), more hosts (--on), or a larger machine",
	HostCPU:    "stop what else runs on this machine, or use other hosts (--on)",
	Ceiling:    "use more hosts (--on) or a larger machine",
	Schedule:   "lower --rate, add --producers, free CPU on this host, or use more hosts (--on)",
	Failures:   "look up the errors by their codes, and read the brokers' logs",
	Stalled:    "read the timeline, and the brokers' logs of that time",
	Sockets:    "add --producers for more connections, or look at the network and the brokers' load",
	Throttle:   "raise the quota (kafka-configs --describe --entity-type clients), or lower --rate",
	BrokerAcks: "look at the brokers' disks, network and CPU; more partitions or larger batches may help",
	Client:     "add --producers",
	ReadFailed: "mend what the error says, and read again",
	Consumers:  "add --consumers, up to the number of partitions",
	Members:    "stop the other members of the group, or read with another --group",
	Rebalances: "find out why members join and leave; a longer run has a smaller share of them",
	Processing: "add --consumers, or shorten --processing-time",
	Fetches:    "look at the brokers' disks and network; larger fetches may help",
	Reader:     "add --consumers, up to the number of partitions",
}

// Next returns what to do about a limit in a short sentence; "": there is nothing to do, or it is not known.
func (l Limit) Next() string {
	name, _, _ := strings.Cut(string(l), " on ") // of one of many hosts
	return next[Limit(name)]
}
