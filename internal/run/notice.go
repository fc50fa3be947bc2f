package run

// Notice is a message of a run while it goes on.
type Notice struct {
	Kind  NoticeKind
	Text  string // a sentence for people; of CommandOutput the line as it is
	Path  string // of LedgerWritten
	Count int64  // of RateChosen: records a second; of ReadingAgain: partitions
}

// NoticeKind is a kind of notice.
type NoticeKind int

// The kinds of notices.
const (
	BrokerUnreached NoticeKind = iota // an address does not answer, while another does
	RateChosen                        // the plan has no rate, and the system needs one
	TopicCreated
	TopicKept     // what existed before the run is not deleted
	FileFailed    // the run file cannot be written any more, and the run goes on
	ReadingAgain  // logs were cut off below what was read
	LogsUnknown   // the logs of some partitions cannot be read, so their records are unchecked
	LedgerWritten // and where
	HostsChosen   // for a run on many hosts
	HostTrouble   // a problem of a host, or of a run on many hosts
	CommandOutput // a line that a command beside the load has written
	LogDirNews    // of a log directory of a broker, as in its event
	LogDirUnknown // no broker says how large its disks are
	StoreUnread   // a store of certificates has changed and cannot be read; the run goes on with what was read before
	StartFound    // the offsets at the time from which on is read
	BatchLimited  // the topic takes smaller batches than the settings make
	MetricsFailed // metrics were not sent, and the run goes on
)

// Warning reports whether the notice is of something that is not as it was asked for.
func (k NoticeKind) Warning() bool {
	switch k {
	case BrokerUnreached, TopicKept, FileFailed, LogsUnknown, HostTrouble, StoreUnread, MetricsFailed:
		return true
	}
	return false
}
