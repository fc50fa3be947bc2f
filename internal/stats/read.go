package stats

import "time"

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

	Fetches     int64            `json:"fetches,omitempty"`      // polls that brought records
	FetchErrors map[string]int64 `json:"fetch_errors,omitempty"` // by Kafka error code

	JoinTime      time.Duration `json:"join_time_ns,omitempty" add:"highest"` // longest, from the start of a reader to its first partitions
	Rebalances    int64         `json:"rebalances,omitempty"`                 // after that
	RebalanceTime time.Duration `json:"rebalance_time_ns,omitempty"`
	RebalanceMax  time.Duration `json:"rebalance_max_ns,omitempty" add:"highest"`
	Commits       int64         `json:"commits,omitempty"`
	CommitTime    time.Duration `json:"commit_time_ns,omitempty"`
}

// Refused returns the number of fetches of one partition that brokers refused.
func (r *Read) Refused() int64 { return total(r.FetchErrors) }

// ConsumedPerSecond returns the records read over the window's length; 0 for an empty
// window.
func (w *Window) ConsumedPerSecond() float64 { return perSecond(w.Consumed, w.End-w.Start) }

// Consumed counts records that came from one partition in one poll, at the time
// since the start of the run.
func (r *Recorder) Consumed(phase int, partition int32, records, bytes int, at time.Duration) {
	w := &r.cur[phase]
	if w.Consumed == 0 {
		w.FirstRead = at
	}
	w.LastRead = max(w.LastRead, at)
	w.Consumed += int64(records)
	w.ConsumedBytes += int64(bytes)
	if partition < 0 {
		return
	}
	p := r.partition(phase, partition)
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

// Rebalanced counts a rebalance after the first, and how long it took.
func (r *Recorder) Rebalanced(phase int, d time.Duration) {
	w := &r.cur[phase]
	w.Rebalances++
	w.RebalanceTime += d
	w.RebalanceMax = max(w.RebalanceMax, d)
}
