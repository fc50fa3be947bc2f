package result

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// records returns the records of a phase by outcome. Without one they are unknown if the run file was cut off.
func (f *Fold) records(w *stats.Window) Records {
	r := recordsOf(w)
	if f.trailer.Ended == CutOff {
		r.Offered = max(r.Offered, r.Acknowledged+r.Failed) // an outcome may be written a second before its record
		r.Unknown = r.Offered - r.Acknowledged - r.Failed
	}
	return r
}

func recordsOf(w *stats.Window) Records {
	return Records{Offered: w.Offered, Acknowledged: w.Acknowledged, Failed: w.Failed, Unknown: w.Unknown, Unsent: w.Unsent, Consumed: w.Consumed}
}

// errorsOf returns a copy of counts by error code, never nil.
func errorsOf(counts map[string]int64) Errors {
	e := make(Errors, len(counts))
	maps.Copy(e, counts)
	return e
}

// few is the largest number of records or polls that are counted with one more interval.
const few = 500

// spanOf returns the time over which rates are taken: an outage at the end counts, and n records take n intervals.
func spanOf(w *stats.Window) time.Duration {
	return max(0, max(w.LastAck, w.LastDue+IntervalOf(w))-w.FirstDue)
}

// IntervalOf returns the mean time between two records that are due, if they are few. Otherwise it returns 0.
func IntervalOf(w *stats.Window) time.Duration {
	n := w.Offered + w.Unsent
	if n < 2 || n > few {
		return 0
	}
	return (w.LastDue - w.FirstDue) / time.Duration(n-1)
}

func throughputOf(w *stats.Window) Throughput {
	seconds := spanOf(w).Seconds()
	t := Throughput{
		Bytes: w.Bytes, FirstDueSeconds: w.FirstDue.Seconds(), Seconds: seconds,
		RecordsPerSecond: verdict.Per(float64(w.Acknowledged), seconds), MiBPerSecond: verdict.Per(float64(w.Bytes)/mib, seconds),
	}
	if w.Offered > 1 { // n records at equal intervals take n-1 intervals
		t.OfferedRecordsPerSecond = verdict.Per(float64(w.Offered-1), (w.LastSent - w.FirstDue).Seconds())
	}
	return t
}

// Written returns the rate of acknowledged records. It reports false if less than a second was measured: one record more
// or less would make another rate.
func (r *Result) Written() (Rate, bool) {
	t := &r.Throughput
	return Rate{t.RecordsPerSecond, t.MiBPerSecond * mib}, !r.Plan.ReadsOnly() && t.Seconds >= verdict.Shortest.Seconds()
}

// Read returns the rate of records read, likewise. Without a record it is 0 over the whole run.
func (r *Result) Read() (Rate, bool) {
	f := cmp.Or(r.Fetch, new(Fetch))
	seconds := f.Seconds
	if r.Records.Consumed == 0 {
		seconds = r.ElapsedSeconds
	}
	return Rate{f.RecordsPerSecond, f.MiBPerSecond * mib}, r.Fetch != nil && seconds >= verdict.Shortest.Seconds()
}

// Quoted returns the rate that the run is quoted by: Read of a run that only reads, else Written.
func (r *Result) Quoted() (Rate, bool) {
	if r.Plan.ReadsOnly() {
		return r.Read()
	}
	return r.Written()
}

// Fetch has the figures of reading. Its rates are from the first record read to the last, without the time before the first.
type Fetch struct {
	RecordsPerSecond       float64 `json:"records_per_second,omitempty"` // 0: less than a second has no rate
	MiBPerSecond           float64 `json:"mib_per_second,omitempty"`
	TargetRecordsPerSecond float64 `json:"target_records_per_second,omitempty"` // of a run that only reads, as those of Throughput
	AskedRecordsPerSecond  float64 `json:"asked_records_per_second,omitempty"`

	Bytes            int64   `json:"bytes"`              // of keys and values
	FirstReadSeconds float64 `json:"first_read_seconds"` // from the start of the run
	Seconds          float64 `json:"seconds"`            // from then to the last record

	Polls          int64   `json:"polls"` // that brought records
	PollRecords    float64 `json:"poll_records_mean"`
	Requests       int64   `json:"requests"` // to all brokers
	FailedRequests int64   `json:"failed_requests"`
	RequestRecords float64 `json:"request_records_mean"`        // of those that were answered
	RequestBytes   float64 `json:"request_bytes_mean"`          // as sent, compressed
	Latency        Latency `json:"request_latency_us,omitzero"` // a request waits at the broker for records
	Errors         Errors  `json:"errors"`                      // of partitions, by code

	WaitShare  float64 `json:"wait_share"`                  // of the readers' time, in which they waited for records
	HeldShare  float64 `json:"held_share"`                  // in which a rate or a processing time held them back
	BusyShare  float64 `json:"busy_share,omitempty"`        // of the time of their threads, in which they worked on records
	Overtaken  int64   `json:"overtaken_records,omitempty"` // that were done before an earlier one of their key, where keys were looked at
	Commits    int64   `json:"commits"`
	Deleted    int64   `json:"deleted_records,omitempty"`  // before they were read; also in the warm-up
	Withheld   int64   `json:"withheld_records,omitempty"` // behind open transactions, that reading did not get to
	CommitMean int64   `json:"commit_mean_us"`

	Share *ShareGroup `json:"share_group,omitempty"`
}

// ShareGroup has the figures of the members of a share group. Each delivery of a record counts.
type ShareGroup struct {
	Acquired    int64   `json:"acquired"` // delivered to the members
	Accepted    int64   `json:"accepted"`
	Released    int64   `json:"released"`                    // to be delivered again
	Rejected    int64   `json:"rejected"`                    // and so archived
	Archived    int64   `json:"archived"`                    // nobody accepted them, and nobody gets them any more: rejected, or released too often
	Unconfirmed int64   `json:"unconfirmed"`                 // delivered, and the brokers did not confirm what the member did with them
	Failed      int64   `json:"failed_acknowledgements"`     // of Unconfirmed: the brokers refused it; Errors has the codes
	Redelivered int64   `json:"redelivered"`                 // of Acquired: not for the first time
	Deliveries  Errors  `json:"deliveries"`                  // of Acquired: by how often a record was delivered by then
	AckTime     Latency `json:"acknowledgement_us,omitzero"` // delivered → the broker has confirmed the acknowledgement; with the processing time
	Unfinished  int64   `json:"unfinished,omitempty"`        // of Released: a consumer worked on them when the run ended
	Untouched   int64   `json:"untouched,omitempty"`         // not in Acquired: they were given back when the run ended, before a consumer got them
	MostHeld    int64   `json:"held_records_max"`            // that one member had of the brokers and had not acknowledged
	MostLocks   int64   `json:"locked_records_max"`          // of a partition: Environment.Share has how many there are

	Members     Errors `json:"members"`      // of Acquired: by the number of the consumer
	MemberBytes Errors `json:"member_bytes"` // of their keys and values
}

func shareGroupOf(w *stats.Window) ShareGroup {
	s := ShareGroup{
		Acquired: w.Consumed, Accepted: w.Accepted, Released: w.Released, Rejected: w.Rejected, Archived: w.Archived, Failed: w.AckFailed,
		Unconfirmed: max(0, w.Consumed-w.Accepted-w.Released-w.Rejected), Deliveries: errorsOf(w.Deliveries), AckTime: LatencyOf(&w.AckTime),
		MostHeld: w.Held, MostLocks: w.Locks, Unfinished: w.Unfinished, Untouched: w.Untouched,
		Members: errorsOf(w.Members), MemberBytes: errorsOf(w.MemberBytes),
	}
	s.Redelivered = w.Redelivered()
	return s
}

// fetch returns the figures of reading of the measured part.
func (f *Fold) fetch() *Fetch {
	w := &f.total[stats.Measured]
	_, all := w.Traffic()
	answered := float64(all.Requests - all.Failed)
	r := &Fetch{
		Bytes: w.ConsumedBytes, Polls: w.Fetches, PollRecords: verdict.Per(float64(w.Consumed), float64(w.Fetches)), Errors: errorsOf(w.FetchErrors),
		Requests: all.Requests, FailedRequests: all.Failed, Latency: LatencyOf(&all.Latency),
		RequestRecords: verdict.Per(float64(all.Records), answered), RequestBytes: verdict.Per(float64(all.WireBytes), answered),
		WaitShare: share(w.ReadWait, w.ReadTime), HeldShare: share(w.ReadHeld, w.ReadTime),
		BusyShare: share(w.Work, w.ReadTime*time.Duration(f.header.Plan.Read.Workers())), Overtaken: w.Overtaken,
		Commits: w.Commits, CommitMean: (w.CommitTime / time.Duration(max(1, w.Commits))).Microseconds(),
	}
	r.Share = optional(shareGroupOf(w), f.header.Plan.Read.Share != nil)
	if w.Consumed > 0 {
		r.FirstReadSeconds = w.FirstRead.Seconds()
		r.Seconds = readingTime(w).Seconds() // 0: one poll brought all
	}
	seconds := r.Seconds
	if o := f.together.Overlap; o != nil {
		w, seconds = o, o.Seconds()
		r.FirstReadSeconds, r.Seconds = o.Start.Seconds(), seconds
	} else if seconds > 0 && f.together.Count == 0 {
		seconds = readSpan(w).Seconds()
	}
	r.RecordsPerSecond, r.MiBPerSecond = verdict.Per(float64(w.Consumed), seconds), verdict.Per(float64(w.ConsumedBytes)/mib, seconds)
	return r
}

// readSpan returns the time over which the rate of reading is taken: n polls take n intervals, if they are few.
func readSpan(w *stats.Window) time.Duration {
	span := readingTime(w)
	switch n := time.Duration(w.Fetches); {
	case w.Offered > 0 && w.FirstDue < w.FirstRead:
		return w.LastRead - w.FirstDue
	case n > 1 && n <= few && span == w.LastRead-w.FirstRead:
		return span * n / (n - 1)
	}
	return span
}

// readingTime returns the time from the first record that was read to the last, or for which a quota then held the readers back.
func readingTime(w *stats.Window) time.Duration {
	_, held := throttled(w)
	return max(0, w.LastRead-w.FirstRead, time.Duration(held*float64(w.End-w.FirstRead)))
}

// Rebalances counts rebalances after the readers had their first partitions. Times of different readers are added up.
type Rebalances struct {
	Count     int64 `json:"count"`
	TotalMS   int64 `json:"total_ms"`
	LongestMS int64 `json:"longest_ms"`
}

func rebalancesOf(w *stats.Window) Rebalances {
	return Rebalances{Count: w.Rebalances, TotalMS: w.RebalanceTime.Milliseconds(), LongestMS: w.RebalanceMax.Milliseconds()}
}

// Gap is the longest time in which records waited and no broker acknowledged any.
type Gap struct {
	FromSeconds float64 `json:"from_seconds"` // from the start of the run
	LengthMS    int64   `json:"length_ms"`
}

// gapOf returns a gap of the document, nil if it has no length.
func gapOf(g stats.Gap) *Gap {
	return optional(Gap{FromSeconds: g.From.Seconds(), LengthMS: g.Length.Milliseconds()}, g.Length > 0)
}

// optional returns a pointer to a value, nil unless there is one.
func optional[T any](v T, is bool) *T {
	if is {
		return &v
	}
	return nil
}

// partitions returns a row for each partition with counts, or with consumer lag since the warm-up; none if rows are of topics.
func (f *Fold) partitions(w *stats.Window) []PartitionRow {
	e, warmup := &f.header.Environment, &f.total[stats.Warmup]
	rows := []PartitionRow{}
	if e.ByTopic {
		return rows
	}
	ids := slices.Concat(w.PartitionIDs(), warmup.PartitionIDs())
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		p, known := w.Partitions[id]
		before := warmup.Partitions[id]
		if !known && before.ConsumerLag == 0 && before.Deleted == 0 {
			continue
		}
		topic, number := e.Place(id)
		level := f.consumerLag.partitions[id]
		row := PartitionRow{ID: number, Leader: -1, RowFigures: f.rowFigures(&p, &before), ConsumerLagSlope: level.fit.slope()}
		if len(e.Topics) > 0 {
			row.Topic = topic.Name
		}
		if leader, ok := topic.Leaders[number]; ok {
			row.Leader = leader
		}
		rows = append(rows, row)
	}
	return rows
}

// busiestPartition returns the share of the partition with the most records, below 0: it is not known.
func (r *Result) busiestPartition() float64 {
	var most, all int64
	for i := range r.Partitions {
		n := r.Partitions[i].carried(&r.Plan)
		most, all = max(most, n), all+n
	}
	if all == 0 { // or rows are of whole topics
		return -1
	}
	return float64(most) / float64(all)
}

// skew returns nil unless keys have a Zipf law or there are several topics.
func (r *Result) skew(w *stats.Window) *Skew {
	hot, partition := r.Plan.Payload.ZipfKeys() != nil, r.busiestPartition()
	key := optional(verdict.Per(float64(w.BusiestKey), float64(w.Acknowledged)), hot && w.Acknowledged > 0)
	s := Skew{BusiestKey: key, BusiestPartition: optional(partition, partition >= 0)}
	return optional(s, s != Skew{} && (hot || len(r.Environment.Topics) > 1))
}

// carried returns how many records a partition or a topic had: acknowledged ones; of a run that only reads, those read.
func (x *RowFigures) carried(p *plan.Plan) int64 {
	if p.ReadsOnly() {
		return x.Consumed
	}
	return x.Records
}

// rowFigures returns the figures of a row of the measured part. before is that of the warm-up, of which consumer lag remains.
func (f *Fold) rowFigures(p, before *stats.Partition) RowFigures {
	return RowFigures{
		Records: p.Records, MiB: float64(p.Bytes) / mib,
		ServiceMeanUS: (p.ServiceSum / time.Duration(max(1, p.Records))).Microseconds(),
		ServiceP99US:  p.Service.ValueAtQuantile(0.99, p.ServiceMax).Microseconds(),
		ServiceMaxUS:  p.ServiceMax.Microseconds(),
		Consumed:      p.Consumed, ConsumedMiB: float64(p.ConsumedBytes) / mib,
		ConsumerLag: lagOf(p.ConsumerLag+before.ConsumerLag, f.consumerLag.lag == NotKnown), LongestGap: gapOf(p.Outage), Deleted: p.Deleted + before.Deleted,
		RecordsPerSecond: optional(verdict.Per(float64(p.Records), spanOf(&f.total[stats.Measured]).Seconds()), f.together.Count == 0),
	}
}

// maxTopicRows is the largest number of topics that have a row.
const maxTopicRows = 1000

// topics returns the rows of the topics of several, the busiest first, and how many others there are.
func (f *Fold) topics() (rows []TopicRow, leftOut int) {
	e := &f.header.Environment
	if len(e.Topics) < 2 || f.lean {
		return nil, 0
	}
	w, warmup := stats.Window{Partitions: f.total[stats.Measured].Partitions}, stats.Window{Partitions: f.total[stats.Warmup].Partitions}
	w.FoldPartitions(e.rowTopic())
	warmup.FoldPartitions(e.rowTopic())
	var all int64
	for i := range int32(len(e.Topics) + 1) {
		p, seen := w.Partitions[i]
		if !seen && int(i) == len(e.Topics) { // no partition was added
			continue
		}
		t, before := e.topic(i), warmup.Partitions[i]
		row := TopicRow{Topic: t.Name, Partitions: t.Partitions, ReplicationFactor: t.ReplicationFactor, RowFigures: f.rowFigures(&p, &before)}
		rows, all = append(rows, row), all+row.carried(&f.header.Plan)
	}
	for i := range rows {
		rows[i].Share = verdict.Per(float64(rows[i].carried(&f.header.Plan)), float64(all))
	}
	slices.SortStableFunc(rows, func(a, b TopicRow) int { return cmp.Compare(b.Share, a.Share) })
	leftOut = max(0, len(rows)-maxTopicRows)
	return rows[:len(rows)-leftOut], leftOut
}

// brokers returns a row for each broker that was asked.
func (f *Fold) brokers(w *stats.Window) []BrokerRow {
	rows := []BrokerRow{}
	for _, id := range w.BrokerIDs() {
		b := w.Brokers[id]
		fetch := optional(requestsOf(&b.Fetch), !b.Fetch.IsZero())
		rows = append(rows, BrokerRow{id, f.now.broker(id).Addr, requestsOf(&b.Traffic), fetch})
	}
	return rows
}

func requestsOf(t *stats.Traffic) BrokerRequests {
	return BrokerRequests{
		Requests: t.Requests, Failed: t.Failed, Records: t.Records, MiB: float64(t.WireBytes) / mib, Latency: LatencyOf(&t.Latency), ThrottleMS: t.Throttle.Milliseconds(),
	}
}

// batchesOf returns the record batches that requests carried.
func batchesOf(t *stats.Traffic) Batches {
	n, bytes, sent := float64(t.Batches), float64(t.Bytes), float64(t.WireBytes)
	return Batches{
		Count: t.Batches, RecordsMean: verdict.Per(float64(t.Records), n), BytesMean: verdict.Per(bytes, n),
		CompressionRatio: verdict.Per(bytes, sent), CompressedShare: verdict.Per(sent, bytes),
	}
}

// costShows is the least use of cores at which CPU time is a cost of the records: without a load, kt takes a quarter of a core and more.
const costShows = 1.0

// share returns a part of a whole, at most 1.
func share(part, whole time.Duration) float64 {
	if whole <= 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}
