package result

import (
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// Fetch has the figures of reading. Its rates are from the first record read to the last, without the
// time before the first.
type Fetch struct {
	RecordsPerSecond float64 `json:"records_per_second,omitempty"` // 0: less than a second has no rate
	MiBPerSecond     float64 `json:"mib_per_second,omitempty"`

	// Of a run that only reads, as those of Throughput.
	TargetRecordsPerSecond float64 `json:"target_records_per_second,omitempty"`
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

	WaitShare  float64 `json:"wait_share"` // of the readers' time, in which they waited for records
	HeldShare  float64 `json:"held_share"` // in which a rate or a processing time held them back
	Commits    int64   `json:"commits"`
	Deleted    int64   `json:"deleted_records,omitempty"`  // before they were read; also in the warm-up
	Withheld   int64   `json:"withheld_records,omitempty"` // behind open transactions, that reading did not get to
	CommitMean int64   `json:"commit_mean_us"`
}

func fetchOf(w *stats.Window) *Fetch {
	_, all := w.Traffic()
	answered := float64(all.Requests - all.Failed)
	f := &Fetch{
		Bytes: w.ConsumedBytes, Polls: w.Fetches, PollRecords: per(float64(w.Consumed), float64(w.Fetches)), Errors: errorsOf(w.FetchErrors),
		Requests: all.Requests, FailedRequests: all.Failed, Latency: LatencyOf(&all.Latency),
		RequestRecords: per(float64(all.Records), answered), RequestBytes: per(float64(all.WireBytes), answered),
		WaitShare: share(w.ReadWait, w.ReadTime), HeldShare: share(w.ReadHeld, w.ReadTime),
		Commits: w.Commits, CommitMean: (w.CommitTime / time.Duration(max(1, w.Commits))).Microseconds(),
	}
	if w.Consumed > 0 {
		f.FirstReadSeconds = w.FirstRead.Seconds()
		f.Seconds = readingTime(w).Seconds() // 0: one poll brought all
	}
	f.RecordsPerSecond, f.MiBPerSecond = per(float64(w.Consumed), f.Seconds), per(float64(w.ConsumedBytes)/mib, f.Seconds)
	return f
}

// readSpan returns the time over which the rate of reading is taken. That of a round trip begins when the first record is due. A
// few polls count with one more interval, so that n polls take n.
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

// readingTime returns the time from the first record that was read to the last. A quota that holds the readers back for longer, after a
// burst, is part of reading: without it the rate would be that of the burst.
func readingTime(w *stats.Window) time.Duration {
	_, held := throttled(w)
	return max(0, w.LastRead-w.FirstRead, time.Duration(held*float64(w.End-w.FirstRead)))
}

// Rebalances counts rebalances after the readers had their first partitions. Times of different readers
// are added up.
type Rebalances struct {
	Count     int64 `json:"count"`
	TotalMS   int64 `json:"total_ms"`
	LongestMS int64 `json:"longest_ms"`
}

func rebalancesOf(w *stats.Window) *Rebalances {
	return &Rebalances{Count: w.Rebalances, TotalMS: w.RebalanceTime.Milliseconds(), LongestMS: w.RebalanceMax.Milliseconds()}
}

// Gap is the longest time in which records waited and no broker acknowledged any.
type Gap struct {
	FromSeconds float64 `json:"from_seconds"` // from the start of the run
	LengthMS    int64   `json:"length_ms"`
}

// gapOf returns a gap of the document, nil if it has no length.
func gapOf(g stats.Gap) *Gap {
	if g.Length <= 0 {
		return nil
	}
	return &Gap{FromSeconds: g.From.Seconds(), LengthMS: g.Length.Milliseconds()}
}
