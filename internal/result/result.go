package result

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// Result is the document of a finished run. Every field has its unit in its name; latencies are
// in microseconds, MiB are 1,048,576 bytes as Kafka's own tools count them. Figures are of the
// measured part of the run, without its warm-up.
//
// A field with the tag "of" is only in the document of a run of that kind: "writing", "reading",
// writing at a "rate", or writing in "transactions".
type Result struct {
	Header
	Trailer

	// Loads are those of a workload, in the order of its file. The whole then has sums of their counts and rates, and no latency.
	Loads    []LoadResult `json:"loads,omitempty"`
	Suffered string       `json:"suffered,omitempty"` // the load that fared worst; "": each was carried as it was asked for

	// NotAddedUp is why a merged result has rows of processes and hosts only, and zeros and empty lists for the whole: the
	// processes made different loads. "": they are added up.
	NotAddedUp string `json:"not_added_up,omitempty"`

	Notice  string          `json:"notice,omitempty"` // to be read before any figure
	Valid   bool            `json:"valid"`
	Invalid []string        `json:"invalid_reasons"`
	BoundBy verdict.Verdict `json:"bound_by"`
	Doubts  []Doubt         `json:"doubts,omitempty"` // in the order of doubts.yaml

	Limits []Limit `json:"limits,omitempty"` // what the run had to keep, judged; in their order

	Stability     *Stability `json:"stability,omitempty"`            // nil: less than 30 s was measured
	TargetReached *float64   `json:"target_reached_share,omitempty"` // nil: the run did not miss its target
	CeilingShare  *float64   `json:"ceiling_share,omitempty"`        // the rate over Header.Ceiling; nil: that is not known
	OwnDelayShare *float64   `json:"own_delay_share,omitempty"`      // the median of own send delay over that of HeadlineLatency; nil: there is no rate, or no latency

	Records    Records    `json:"records"`
	Errors     Errors     `json:"errors" of:"writing"`
	Throughput Throughput `json:"throughput" of:"writing"`
	Latency    Latencies  `json:"latency_us"`
	Headline   string     `json:"headline"` // which figure to quote: "response", "throughput" or "end_to_end"
	Note       string     `json:"headline_note"`

	// Of a run that reads.
	Fetch       *Fetch       `json:"fetch,omitempty"`
	JoinMS      int64        `json:"join_ms,omitempty"` // longest, from the start of a reader to its first partitions
	Rebalances  *Rebalances  `json:"rebalances,omitempty"`
	ConsumerLag *ConsumerLag `json:"consumer_lag,omitempty"`

	Outage        *Outage           `json:"outage,omitempty"`
	Events        []Event           `json:"events,omitempty"`          // the first and the last ones of each kind, at most stats.MostOfKind
	EventsLeftOut Errors            `json:"events_left_out,omitempty"` // how many others there were, by kind
	Said          map[string]string `json:"-"`                         // what a broker said with an error code, the first time

	Warmup     *Warmup        `json:"warmup,omitempty"`
	Stages     []StageRow     `json:"stages,omitempty"`
	Batches    Batches        `json:"batches" of:"writing"`
	Replay     *Likeness      `json:"replay,omitempty"` // nil: the load was not captured
	Client     ClientUse      `json:"client"`
	Skew       *Skew          `json:"skew,omitempty"` // nil: keys are evenly distributed, and there is one topic
	Partitions []PartitionRow `json:"partitions"`     // none if the rows are of topics
	Brokers    []BrokerRow    `json:"brokers"`

	// Of a run with several topics: the busiest ones, the busiest first, and how many others there are.
	Topics        []TopicRow `json:"topics,omitempty"`
	TopicsLeftOut int        `json:"topics_left_out,omitempty"`

	Series     []Point      `json:"series"`
	Heat       []HeatColumn `json:"-"` // the latencies over time, of a report in pictures
	Histograms Histograms   `json:"histograms"`

	Start *Start `json:"start,omitempty"` // nil: the run file has none

	// Of a merged result.
	Overlap   *Overlap     `json:"overlap,omitempty"`
	Hosts     []HostRow    `json:"hosts,omitempty"`
	Processes []ProcessRow `json:"processes,omitempty"`
	RunFiles  []MergedFile `json:"run_files,omitempty"`
	Apart     *Apart       `json:"apart,omitempty"` // nil: every part counts

	whole *metric.Figures // nil: the result is from a page
}

// OneLoad returns an error if the result is of processes that made different loads: it has no figures of the whole.
func (r *Result) OneLoad() error {
	if len(r.Loads) > 0 {
		return errors.New("it is a workload, whose loads have figures of their own: kt report shows them")
	}
	if r.NotAddedUp == "" {
		return nil
	}
	return fmt.Errorf("the processes made different loads, which are not added up (%s)", theme.Clean(r.NotAddedUp))
}

// Records accounts for every record: offered = acknowledged + failed + unknown.
type Records struct {
	Offered      int64 `json:"offered" of:"writing"`
	Acknowledged int64 `json:"acknowledged" of:"writing"`
	Failed       int64 `json:"failed" of:"writing"`
	Unknown      int64 `json:"unknown" of:"writing"` // sent, not answered by the end
	Unsent       int64 `json:"unsent" of:"writing"`  // due by the end, never handed to the client; not part of offered
	Consumed     int64 `json:"consumed" of:"reading"`

	SentOnly bool  `json:"sent_only,omitempty"`  // acks=0: acknowledged counts what was sent, and no broker acknowledged any
	NotInLog int64 `json:"not_in_log,omitempty"` // acknowledged and not written, with the warm-up, by LogEnds
}

// Errors returns how many records were not acknowledged.
func (r *Records) Errors() int64 { return r.Failed + r.Unknown + r.Unsent }

// Errors counts failed records by Kafka error code, or something else by its name.
type Errors map[string]int64

// Codes returns the codes, that of most errors first.
func (e Errors) Codes() []string {
	return slices.SortedFunc(maps.Keys(e), func(a, b string) int { return cmp.Or(cmp.Compare(e[b], e[a]), cmp.Compare(a, b)) })
}

// List returns the number of all, and that of each code: "12 more: 9 a, 3 b"; "" without any.
func (e Errors) List() string {
	var all int64
	var each []string
	for _, code := range e.Codes() {
		all, each = all+e[code], append(each, theme.Count(e[code])+" "+strings.ReplaceAll(code, "_", " "))
	}
	if all == 0 {
		return ""
	}
	return theme.Count(all) + " more: " + strings.Join(each, ", ")
}

// Worst returns the code of most errors, "" without any. A lack of rights comes first, because others follow from it.
func (e Errors) Worst() string {
	codes := append(e.Codes(), "")
	return codes[max(0, slices.IndexFunc(codes, verdict.Denied))]
}

// Throughput has the rates of acknowledged records: from the due time of the first record to the
// last acknowledgement, or to the due time of the last record if that is later.
type Throughput struct {
	RecordsPerSecond        float64 `json:"records_per_second"`
	MiBPerSecond            float64 `json:"mib_per_second"`
	OfferedRecordsPerSecond float64 `json:"offered_records_per_second"`          // handed to the client, over the time it took to hand them over
	TargetRecordsPerSecond  float64 `json:"target_records_per_second,omitempty"` // 0: unlimited

	// AskedRecordsPerSecond is the target of all parts of a merged run, if some do not count.
	// TargetRecordsPerSecond is then the target of the others.
	AskedRecordsPerSecond float64 `json:"asked_records_per_second,omitempty"`

	Bytes           int64   `json:"bytes"`             // of keys and values, acknowledged
	FirstDueSeconds float64 `json:"first_due_seconds"` // from the start of the run
	Seconds         float64 `json:"seconds"`           // of the time over which rates are
}

// Latencies are the distributions of the run.
type Latencies struct {
	Response     Latency `json:"response,omitzero" of:"writing"`    // due → acknowledged
	Service      Latency `json:"service,omitzero" of:"writing"`     // handed to the client → acknowledged
	SendDelay    Latency `json:"send_delay,omitzero" of:"rate"`     // due → handed to the client
	OwnSendDelay Latency `json:"own_send_delay,omitzero" of:"rate"` // of the records that no back-pressure held up: kt's own lateness

	EndToEnd *Latency `json:"end_to_end,omitempty"` // due → polled, of the records that carry kt's stamp; nil: none did
}

// Micros is a latency in microseconds. In JSON, null is that of a record that was not served.
type Micros int64

// Failed is the latency of a record that was not served, and of a percentile among such records.
const Failed = Micros(stats.Never / time.Microsecond)

// Duration returns stats.Never if the latency is Failed.
func (m Micros) Duration() time.Duration { return time.Duration(m) * time.Microsecond }

// MarshalJSON writes a number, or null.
func (m Micros) MarshalJSON() ([]byte, error) { return nullable(m, Failed) }

func nullable[N ~int64](n, null N) ([]byte, error) {
	if n == null {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON reads a number, or null.
func (m *Micros) UnmarshalJSON(text []byte) error {
	*m = Failed
	return json.Unmarshal(text, (*int64)(m)) // null leaves it
}

// Latency is one distribution in microseconds. A percentile that falls among the records that were not served is Failed.
type Latency struct {
	Count      int64  `json:"count"`              // records that were served
	Unserved   int64  `json:"unserved,omitempty"` // failed, unknown or unsent: they rank above all others, and are not in the mean
	Mean       Micros `json:"mean"`
	Min        Micros `json:"min"`
	P50        Micros `json:"p50"`
	P90        Micros `json:"p90"`
	P95        Micros `json:"p95"`
	P99        Micros `json:"p99"`
	P999       Micros `json:"p999"`
	P9999      Micros `json:"p9999"`
	Max        Micros `json:"max"`
	OutOfRange int64  `json:"out_of_range"` // more than an hour, or below 0; in no other figure here
}

// Ranked returns the number of records that percentiles rank. 0: nothing was measured.
func (l *Latency) Ranked() int64 { return l.Count + l.Unserved }

// EndToEndOf returns the end-to-end latency, nil when no record has one.
func EndToEndOf(h *stats.Histogram) *Latency {
	l := LatencyOf(h)
	return optional(l, l.Count+l.OutOfRange > 0)
}

// LatencyOf returns the figures of a distribution.
func LatencyOf(h *stats.Histogram) Latency {
	us := func(d time.Duration) Micros { return Micros(d.Microseconds()) }
	return Latency{
		Count: h.Count(), Unserved: h.Ranked() - h.Count(), Mean: us(h.Mean()), Min: us(h.Min()), Max: us(h.Max()),
		P50: us(h.ValueAtQuantile(0.5)), P90: us(h.ValueAtQuantile(0.9)), P95: us(h.ValueAtQuantile(0.95)),
		P99: us(h.ValueAtQuantile(0.99)), P999: us(h.ValueAtQuantile(0.999)), P9999: us(h.ValueAtQuantile(0.9999)),
		OutOfRange: h.OutOfRange(),
	}
}

// Warmup has the figures of the warm-up.
type Warmup struct {
	Records  Records `json:"records"`
	Bytes    int64   `json:"bytes" of:"writing"`
	Response Latency `json:"response_us,omitzero" of:"writing"`
	Errors   Errors  `json:"errors" of:"writing"`

	FirstDueSeconds float64            `json:"first_due_seconds" of:"writing"`
	Histogram       stats.Distribution `json:"response_histogram,omitzero" of:"writing"`

	ConsumedBytes int64       `json:"consumed_bytes,omitempty"`
	Rebalances    *Rebalances `json:"rebalances,omitempty"`
	EndToEnd      *Latency    `json:"end_to_end_us,omitempty"`
}

// Batches has means of the record batches that brokers received.
type Batches struct {
	Count            int64   `json:"count"`
	RecordsMean      float64 `json:"records_mean"`
	BytesMean        float64 `json:"bytes_mean"`            // before compression
	CompressionRatio float64 `json:"compression_ratio"`     // bytes before over after; 1: none
	CompressedShare  float64 `json:"compressed_share"`      // bytes after over before, as Kafka's compression-rate-avg
	SpanMax          int64   `json:"span_max_us,omitempty"` // longest time in which records fell due that count with the latency of one
}

// ClientUse is kt's own use of the machine and of its client.
type ClientUse struct {
	CPUSeconds           float64 `json:"cpu_seconds"`                               // user and system, of the sampled time
	CPUSecondsPerMillion float64 `json:"cpu_seconds_per_million_records,omitempty"` // acknowledged; of a run that only reads, read; 0: kt used too little to tell
	CPUCores             float64 `json:"cpu_cores_mean"`
	CoresAvailable       float64 `json:"cores_available"`
	HostCPUCores         float64 `json:"host_cpu_cores_mean"`
	HostCores            float64 `json:"host_cores"`
	PeakResidentBytes    int64   `json:"peak_resident_bytes"`
	GCCPUCores           float64 `json:"gc_cpu_cores_mean"`
	CPUStoppedShare      float64 `json:"cpu_stopped_share,omitempty"` // of the periods of a CPU limit
	GCPauseMaxUS         int64   `json:"gc_pause_max_us"`
	BufferFullShare      float64 `json:"buffer_full_share" of:"writing"` // of the senders' time, 0 to 1
	InFlightShare        float64 `json:"in_flight_share" of:"writing"`   // mean part of the requests allowed in flight that were, 0 to 1
	NetSentMiBPerSecond  float64 `json:"net_sent_mib_per_second"`
	Transactions         int64   `json:"transactions" of:"transactions"`         // committed
	Aborted              int64   `json:"aborted_transactions" of:"transactions"` // their records were acknowledged, and are not to be read
	FailedConnects       int64   `json:"failed_connects"`                        // attempts to connect to a broker that failed
}

// Skew is how much the busiest key and the busiest partition had of all records, 0 to 1; nil: not known.
type Skew struct {
	BusiestKey       *float64 `json:"busiest_key_share,omitempty"`       // of acknowledged records: the key that is most frequent by its Zipf law
	BusiestPartition *float64 `json:"busiest_partition_share,omitempty"` // of acknowledged records; of a run that only reads, of those read
}

// PartitionRow has the figures of one partition.
type PartitionRow struct {
	Topic  string `json:"topic,omitempty"` // when the run has several
	ID     int32  `json:"id"`              // its number in the topic
	Leader int32  `json:"leader_id"`

	RowFigures

	ConsumerLagSlope float64 `json:"consumer_lag_slope_per_second,omitempty"` // as that of the whole ConsumerLag
}

// TopicRow has the figures of all partitions of one topic.
type TopicRow struct {
	Topic             string  `json:"topic"`
	Partitions        int     `json:"partitions"`         // when the run began
	ReplicationFactor int     `json:"replication_factor"` // 0: not known
	Share             float64 `json:"share"`              // of the records of all topics: acknowledged ones; of a run that only reads, those read

	RowFigures
}

// RowFigures are the figures of a partition or a topic.
type RowFigures struct {
	Records int64   `json:"records" of:"writing"`
	MiB     float64 `json:"mib" of:"writing"`

	// RecordsPerSecond is nil in a merged result: the counts of a partition in the overlap are not known.
	RecordsPerSecond *float64 `json:"records_per_second,omitempty" of:"writing"`

	ServiceMeanUS int64 `json:"service_mean_us" of:"writing"`
	ServiceP99US  int64 `json:"service_p99_us,omitempty" of:"writing"` // up to a quarter above the exact one; 0: not known
	ServiceMaxUS  int64 `json:"service_max_us" of:"writing"`

	Consumed    int64   `json:"consumed,omitempty"`
	ConsumedMiB float64 `json:"consumed_mib,omitempty"`
	ConsumerLag Lag     `json:"consumer_lag,omitempty"`    // records that wait to be read at the end
	Deleted     int64   `json:"deleted_records,omitempty"` // before they were read

	LongestGap *Gap `json:"longest_gap,omitempty"`
}

// BrokerRow has the figures of one broker.
type BrokerRow struct {
	ID             int32  `json:"id"`
	Addr           string `json:"address"`
	BrokerRequests `of:"writing"`

	Fetch *BrokerRequests `json:"fetch,omitempty"`
}

// BrokerRequests has the figures of requests of one kind to one broker.
type BrokerRequests struct {
	Requests   int64   `json:"requests"`
	Failed     int64   `json:"failed_requests"`
	Records    int64   `json:"records"`
	MiB        float64 `json:"mib"` // as sent, compressed
	Latency    Latency `json:"request_latency_us,omitzero"`
	ThrottleMS int64   `json:"throttle_ms"`
}

// Point is one step of the series. Latencies are of the records with their outcome in it; 0: there
// are none; Failed: the percentile falls among records that were not served. Steps of a long run are longer than a second: counts are sums, and latencies the
// worst of their seconds.
type Point struct {
	StartSeconds float64 `json:"start_seconds"`
	Seconds      float64 `json:"seconds"`
	Warmup       bool    `json:"warmup"`
	Acknowledged int64   `json:"acknowledged" of:"writing"`
	Failed       int64   `json:"failed" of:"writing"`
	Bytes        int64   `json:"bytes" of:"writing"`
	P50          Micros  `json:"response_p50_us,omitempty"`
	P90          Micros  `json:"response_p90_us,omitempty"`
	P99          Micros  `json:"response_p99_us,omitempty"`
	P999         Micros  `json:"response_p999_us,omitempty"`
	Max          Micros  `json:"response_max_us,omitempty"`
	SendDelayP99 int64   `json:"send_delay_p99_us,omitempty" of:"rate"`
	CPUCores     float64 `json:"cpu_cores,omitempty"`

	Consumed      int64  `json:"consumed,omitempty"`
	ConsumedBytes int64  `json:"consumed_bytes,omitempty"`
	ConsumerLag   Lag    `json:"consumer_lag,omitempty"` // at the end of the step
	EndToEndP50   Micros `json:"end_to_end_p50_us,omitempty"`
	EndToEndP90   Micros `json:"end_to_end_p90_us,omitempty"`
	EndToEndP99   Micros `json:"end_to_end_p99_us,omitempty"`
	EndToEndP999  Micros `json:"end_to_end_p999_us,omitempty"`
	EndToEndMax   Micros `json:"end_to_end_max_us,omitempty"`
	Events        int64  `json:"events,omitempty"`
	Oldest        int64  `json:"oldest_us,omitempty" of:"writing"` // age of the oldest record without an outcome, at the end of the step
	Accepted      int64  `json:"accepted_records,omitempty"`       // of a share group, as are the next two
	Redelivered   int64  `json:"redelivered_records,omitempty"`    // of Consumed
	Locks         int64  `json:"locked_records_max,omitempty"`     // of the partition with most

	// In snapshots only.
	Refused   int64 `json:"-"` // fetches of one partition
	Throttled bool  `json:"-"` // some broker asked to wait
}

// End returns when the step ended, in seconds since the start of the run.
func (p *Point) End() float64 { return p.StartSeconds + p.Seconds }

// Histograms are the distributions themselves, so that results can be merged.
type Histograms struct {
	Response  stats.Distribution `json:"response,omitzero" of:"writing"`
	Service   stats.Distribution `json:"service,omitzero" of:"writing"`
	SendDelay stats.Distribution `json:"send_delay,omitzero" of:"rate"`
	EndToEnd  stats.Distribution `json:"end_to_end,omitzero"`
}

func distribution(h stats.Histogram) stats.Distribution { return stats.Distribution{Histogram: h} }
