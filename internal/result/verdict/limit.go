package verdict

// Verdict is the limit of a run, and the numbers that show it.
type Verdict struct {
	Limit    Limit  `json:"limit"`
	Evidence string `json:"evidence"` // one sentence with its numbers
}

// Limit is the resource that limited a run.
type Limit string

// String returns the limit in the words of screens and summaries.
func (l Limit) String() string {
	if l == None {
		return "none reached"
	}
	return string(l)
}

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
