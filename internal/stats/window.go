package stats

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// Window has the counters and histograms of a run from Start to End. It is immutable once it has left its
// maker. Start and End are offsets from the start of the run. All but the last End are whole
// seconds, so that the windows of many hosts line up.
//
// A record belongs to the window in which its outcome became known, and to the phase in which it was due.
type Window struct {
	Start  time.Duration `json:"start_ns" add:"start"`
	End    time.Duration `json:"end_ns" add:"end"`
	Warmup bool          `json:"warmup,omitempty"` // of records that are not measured

	// Offered is the number of records handed to the client. Once a run has
	// drained, Offered = Acknowledged + Failed + Unknown.
	Offered      int64 `json:"offered"`
	Acknowledged int64 `json:"acknowledged"`
	Failed       int64 `json:"failed,omitempty"`
	Unknown      int64 `json:"unknown,omitempty"` // sent, and never answered by the end
	Unsent       int64 `json:"unsent,omitempty"`  // due by the end, and never handed to the client
	Bytes        int64 `json:"bytes"`             // key and value bytes of the acknowledged records

	FirstDue time.Duration `json:"first_due_ns" add:"first Offered"`      // of the records offered in it; meaningless when Offered is 0
	LastDue  time.Duration `json:"last_due_ns" add:"last Offered Unsent"` // of the records offered or unsent
	LastSent time.Duration `json:"last_sent_ns" add:"last Offered"`
	LastAck  time.Duration `json:"last_ack_ns" add:"last Acknowledged"`

	// Errors counts the failed records by Kafka error code, "client:…" where
	// the client gave up by itself.
	Errors map[string]int64 `json:"errors,omitempty"`

	SendDelay    Histogram `json:"send_delay"`     // due → handed to the client
	OwnSendDelay Histogram `json:"own_send_delay"` // the same, of records that no back-pressure held up
	Service      Histogram `json:"service"`        // handed to the client → acknowledged
	Response     Histogram `json:"response"`       // due → acknowledged; a record that never was ranks above all

	// BatchFill is the share of batch.size that batches take as they are sent, of which a second stands for the whole.
	BatchFill Histogram `json:"batch_fill,omitzero"`

	// ShardTime is the sum of the shards' running time, and BufferFull the part of
	// it in which senders waited for room.
	ShardTime   time.Duration `json:"shard_time_ns,omitempty"`
	BufferFull  time.Duration `json:"buffer_full_ns,omitempty"`   // senders held up because buffer.memory was full
	InFlightUse time.Duration `json:"in_flight_use_ns,omitempty"` // time of all requests, over the number allowed in flight
	ConnTime    time.Duration `json:"conn_time_ns,omitempty"`     // running time of the connections: InFlightUse is a share of it

	Counters

	// Outage is the longest time in which records waited and no broker acknowledged any.
	Outage Gap `json:"outage,omitzero"`

	// Oldest is the age at End, since it was due, of the oldest record of any phase without an outcome;
	// 0: there is none. A merged window has the highest age.
	Oldest time.Duration `json:"oldest_ns,omitempty" add:"level"`

	// OpSpan is the longest time in which records fell due that were handed over together. All of them count with the
	// latency of the first.
	OpSpan time.Duration `json:"op_span_ns,omitempty" add:"level"`

	Read

	Partitions map[int32]Partition `json:"partitions,omitempty"`
	Brokers    map[int32]Broker    `json:"brokers,omitempty"`
	Events     []Event             `json:"events,omitempty"` // in the order of their times, at most MostOfKind of each kind

	// EventsLeftOut counts events that are not in Events, by kind.
	EventsLeftOut map[string]int64 `json:"events_left_out,omitempty"`
}

// Counters are the counts of a window that are not of records.
type Counters struct {
	Transactions int64 `json:"transactions,omitempty"` // committed
	Aborted      int64 `json:"aborted,omitempty"`      // transactions that could not be committed
	BusiestKey   int64 `json:"busiest_key,omitempty"`  // acknowledged records with the key that is most frequent by its Zipf law

	FailedConnects int64 `json:"failed_connects,omitempty"` // attempts to connect to a broker that failed
	PausedNS       int64 `json:"paused_ns,omitempty"`       // time for which kt itself stood still

	Deleted    int64 `json:"deleted,omitempty"`              // records that were deleted before they were read
	Withheld   int64 `json:"withheld,omitempty"`             // records behind open transactions, that reading did not get to
	LagUnknown int64 `json:"consumer_lag_unknown,omitempty"` // sources that do not know the consumer lag at the end of the window
}

// Partition counts the records of one partition, acknowledged and read. Its key is its number. With several
// topics, numbers count on from one topic to the next, in the order of their names. With Recorder.Row, it counts
// those of all partitions with one key.
type Partition struct {
	Records    int64         `json:"records"`
	Bytes      int64         `json:"bytes"`
	ServiceSum time.Duration `json:"service_sum_ns" add:"bounded"` // of all records: the mean is ServiceSum / Records
	ServiceMax time.Duration `json:"service_max_ns" add:"highest"`
	Service    Buckets       `json:"service,omitzero"`
	Outage     Gap           `json:"outage,omitzero"` // as the Window's, of one producer

	Consumed      int64 `json:"consumed,omitempty"`
	ConsumedBytes int64 `json:"consumed_bytes,omitempty"`
	ConsumerLag   int64 `json:"consumer_lag,omitempty" add:"change"` // as the Window's
	Deleted       int64 `json:"deleted,omitempty"`                   // as the Window's
}

// Broker counts produce requests to one broker, and fetches from it.
type Broker struct {
	Traffic
	Fetch Traffic `json:"fetch,omitzero"`
}

// Traffic counts requests of one kind.
type Traffic struct {
	Requests  int64         `json:"requests"`
	Failed    int64         `json:"failed,omitempty"` // requests that ended without an answer
	Batches   int64         `json:"batches,omitempty"`
	Records   int64         `json:"records,omitempty"`
	Bytes     int64         `json:"bytes,omitempty"`      // record batches before compression
	WireBytes int64         `json:"wire_bytes,omitempty"` // record batches as sent
	Throttle  time.Duration `json:"throttle_ns,omitempty"`
	Latency   Histogram     `json:"latency"` // request queued for writing → answer read; a fetch waits for records in it
}

// IsZero reports whether there were no requests.
func (t Traffic) IsZero() bool { return trafficFields.empty(unsafe.Pointer(&t), false) }

// Merge returns the sum of windows. It is associative and commutative, and the zero Window is its identity. The result
// spans all of them, and is warm-up only when all but zero ones are. It shares memory with a single one.
func Merge(windows ...Window) Window {
	if len(windows) == 1 {
		return windows[0]
	}
	var sum Window
	for i := range windows {
		sum.Add(&windows[i])
	}
	return sum
}

// IsZero reports whether the window holds nothing at all and has no place in time.
func (w *Window) IsZero() bool { return windowFields.empty(unsafe.Pointer(w), true) }

// Empty reports whether nothing was recorded and no time was spent.
func (w *Window) Empty() bool { return windowFields.empty(unsafe.Pointer(w), false) }

// Seconds returns the length of the window.
func (w *Window) Seconds() float64 { return (w.End - w.Start).Seconds() }

// RecordsPerSecond returns the acknowledged records over the window's length; 0 for
// an empty window.
func (w *Window) RecordsPerSecond() float64 { return perSecond(w.Acknowledged, w.End-w.Start) }

// BytesPerSecond returns the acknowledged bytes over the window's length; 0 for an
// empty window.
func (w *Window) BytesPerSecond() float64 { return perSecond(w.Bytes, w.End-w.Start) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Add merges o into w, which only its owner may call. Unlike Merge it copies no histogram of w.
func (w *Window) Add(o *Window) {
	if o.IsZero() {
		return
	}
	if w.IsZero() {
		w.Start, w.End, w.Warmup = o.Start, o.End, o.Warmup
	}
	windowFields.add(unsafe.Pointer(w), unsafe.Pointer(o))
	w.Events = mergeEvents(w.Events, o.Events, &w.EventsLeftOut)
}

// FoldPartitions adds up the rows of partitions that share a key by row; nil: each has its own.
func (w *Window) FoldPartitions(row func(partition int32) int32) {
	if row == nil || len(w.Partitions) == 0 {
		return
	}
	folded := make(map[int32]Partition)
	for number, p := range w.Partitions {
		sum := folded[row(number)]
		partitionFields.add(unsafe.Pointer(&sum), unsafe.Pointer(&p))
		folded[row(number)] = sum
	}
	w.Partitions = folded
}

// PartitionIDs returns the partitions with counts, in order.
func (w *Window) PartitionIDs() []int32 { return slices.Sorted(maps.Keys(w.Partitions)) }

// BrokerIDs returns the brokers that were asked, in order.
func (w *Window) BrokerIDs() []int32 { return slices.Sorted(maps.Keys(w.Brokers)) }

// Shift moves all times in the window by d, which only its owner may do. Times must not become negative: in
// a merge, a negative time would lose against the 0 of a window in which nothing was sent.
func (w *Window) Shift(d time.Duration) {
	if d == 0 || w.IsZero() {
		return
	}
	windowFields.each(unsafe.Pointer(w), true, func(f *field, base unsafe.Pointer) {
		counted := func(count uintptr) bool { return *(*int64)(unsafe.Add(base, count)) > 0 }
		switch {
		case f.kind == start || f.kind == end || slices.ContainsFunc(f.of, counted):
			*at[time.Duration](base, f) += d
		case f.kind == gap && at[Gap](base, f).Length > 0:
			at[Gap](base, f).From += d
		}
	})
	for i := range w.Events {
		w.Events[i].At += d
	}
}

// Headline returns the latency to quote: end to end if records are read, else the response time.
func (w *Window) Headline(reads bool) *Histogram {
	if reads {
		return &w.EndToEnd
	}
	return &w.Response
}

// Counts returns the counts and times of a window: without histograms, partitions and
// events. It shares no memory with w.
func (w *Window) Counts() Window {
	c := *w
	c.Partitions, c.Events, c.EventsLeftOut = nil, nil, nil
	c.Brokers, c.Errors, c.FetchErrors, c.Deliveries = maps.Clone(w.Brokers), maps.Clone(w.Errors), maps.Clone(w.FetchErrors), maps.Clone(w.Deliveries)
	c.Members, c.MemberBytes = maps.Clone(w.Members), maps.Clone(w.MemberBytes)
	windowFields.each(unsafe.Pointer(&c), true, func(f *field, base unsafe.Pointer) {
		if f.kind == histogram {
			*at[Histogram](base, f) = Histogram{}
		}
	})
	return c
}

// Traffic returns the produce requests and the fetches of all brokers together.
func (w *Window) Traffic() (produced, fetched Traffic) {
	for _, b := range w.Brokers {
		trafficFields.add(unsafe.Pointer(&produced), unsafe.Pointer(&b.Traffic))
		trafficFields.add(unsafe.Pointer(&fetched), unsafe.Pointer(&b.Fetch))
	}
	return produced, fetched
}

// Read is the part of a Window about reading.
type Read struct {
	Consumed      int64         `json:"consumed,omitempty"`                           // records polled
	ConsumedBytes int64         `json:"consumed_bytes,omitempty"`                     // of their keys and values
	FirstRead     time.Duration `json:"first_read_ns,omitempty" add:"first Consumed"` // meaningless when Consumed is 0
	LastRead      time.Duration `json:"last_read_ns,omitempty" add:"last Consumed"`

	// EndToEnd is due → polled, of records with kt's stamp that were due in the run.
	EndToEnd Histogram `json:"end_to_end,omitzero"`

	// ConsumerLag is the change of consumer lag in the window, in records. The sum of all windows since
	// the start is the consumer lag.
	ConsumerLag int64 `json:"consumer_lag,omitempty" add:"change"`

	ReadTime time.Duration `json:"read_time_ns,omitempty"` // running time of the readers
	ReadWait time.Duration `json:"read_wait_ns,omitempty"` // part of it in which they waited for records
	ReadHeld time.Duration `json:"read_held_ns,omitempty"` // part of it in which a rate or a processing time held them back

	Work      time.Duration `json:"work_ns,omitempty"`   // that consumers had with the records of it, of all their threads
	Overtaken int64         `json:"overtaken,omitempty"` // records that were done before an earlier one of their key

	Fetches     int64            `json:"fetches,omitempty"`      // polls that brought records
	FetchErrors map[string]int64 `json:"fetch_errors,omitempty"` // by Kafka error code

	JoinTime      time.Duration `json:"join_time_ns,omitempty" add:"highest"` // longest, from the start of a reader to its first partitions
	Rebalances    int64         `json:"rebalances,omitempty"`                 // after that
	RebalanceTime time.Duration `json:"rebalance_time_ns,omitempty"`
	RebalanceMax  time.Duration `json:"rebalance_max_ns,omitempty" add:"highest"`
	Commits       int64         `json:"commits,omitempty"`
	CommitTime    time.Duration `json:"commit_time_ns,omitempty"`

	Share
}

// Share is the part of a Window about the acknowledgements of a share group. Records that it delivered are Consumed, and those
// whose acknowledgement failed are FetchErrors too.
type Share struct {
	Accepted  int64 `json:"accepted,omitempty"`
	Released  int64 `json:"released,omitempty"`   // to be delivered again
	Rejected  int64 `json:"rejected,omitempty"`   // and so archived
	Archived  int64 `json:"archived,omitempty"`   // released for the last time that a record may be delivered
	AckFailed int64 `json:"ack_failed,omitempty"` // records that brokers did not take the acknowledgement of: they come again

	Unfinished int64 `json:"unfinished,omitempty"` // of Released: a consumer worked on them when the run ended
	Untouched  int64 `json:"untouched,omitempty"`  // delivered to a client, and given back when the run ended, before its consumer got them

	Deliveries map[string]int64 `json:"deliveries,omitempty"` // records delivered, by how often each was then
	AckTime    Histogram        `json:"ack_time,omitzero"`    // delivered → the broker has confirmed the acknowledgement

	Members     map[string]int64 `json:"members,omitempty"`      // records delivered, by the number of the consumer: "1" is the first
	MemberBytes map[string]int64 `json:"member_bytes,omitempty"` // of their keys and values

	Held  int64 `json:"held,omitempty" add:"level"`         // most records that one member had of the brokers and had not acknowledged
	Locks int64 `json:"record_locks,omitempty" add:"level"` // locks that are used of the partition with most, as kt knows them
}

// Redelivered returns the number of records that a share group did not deliver for the first time.
func (r *Read) Redelivered() int64 { return total(r.Deliveries) - r.Deliveries["1"] }

// Settled returns the number of deliveries to members of a share group whose acknowledgement has an answer.
func (s *Share) Settled() int64 { return s.Accepted + s.Released + s.Rejected + s.AckFailed }

// Refused returns the number of fetches of one partition that brokers refused.
func (r *Read) Refused() int64 { return total(r.FetchErrors) }

// ConsumedPerSecond returns the records read over the window's length; 0 for an empty
// window.
func (w *Window) ConsumedPerSecond() float64 { return perSecond(w.Consumed, w.End-w.Start) }

// Consumed counts records that came from one partition in one poll, at the time
// since the start of the run.
func (r *Recorder) Consumed(phase int, partition int32, records, bytes int, at time.Duration) {
	w := &r.cur[phase]
	if w.Consumed == 0 || at < w.FirstRead {
		w.FirstRead = at
	}
	w.LastRead = max(w.LastRead, at)
	w.Consumed += int64(records)
	w.ConsumedBytes += int64(bytes)
	if partition < 0 {
		return
	}
	p := r.partition(phase, r.row(partition))
	p.Consumed += int64(records)
	p.ConsumedBytes += int64(bytes)
}

// EndToEnd counts the time from when a record was due to its poll.
func (r *Recorder) EndToEnd(phase int, d time.Duration) {
	r.repeats[phase].endToEnd.record(&r.cur[phase].EndToEnd, d, 1)
}

// FetchFailed counts a fetch of one partition that a broker refused, by error code.
func (r *Recorder) FetchFailed(phase int, code string) {
	made(&r.cur[phase].FetchErrors)[code]++
}

// Delivered counts n records of a share group that were delivered the times-th time.
func (r *Recorder) Delivered(phase int, times int32, n int) {
	if n > 0 {
		made(&r.cur[phase].Deliveries)[strconv.Itoa(int(times))] += int64(n)
	}
}

// GotBy counts records of a share group that one of its members got, by the number of the consumer.
func (r *Recorder) GotBy(phase int, member string, records, bytes int) {
	w := &r.cur[phase]
	made(&w.Members)[member] += int64(records)
	made(&w.MemberBytes)[member] += int64(bytes)
}

// Rebalanced counts a rebalance after the first, and how long it took.
func (r *Recorder) Rebalanced(phase int, d time.Duration) {
	w := &r.cur[phase]
	w.Rebalances++
	w.RebalanceTime += d
	w.RebalanceMax = max(w.RebalanceMax, d)
}
