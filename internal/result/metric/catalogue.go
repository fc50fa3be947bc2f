package metric

import (
	"slices"
	"strconv"

	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/stats"
)

// all is the catalogue, in the order in which metrics are shown.
var all = slices.Concat(ofTheRun, ofWriting, ofReading, ofVerification, ofBrokers, ofTheClient)

var ofTheRun = []Metric{
	{
		Export: "kt_run_info", About: "what the run is: always 1", Labels: []string{"command", "topic", "engine", "acks", "kt_version"},
		each: func(f *Figures, put putSeries) { put(Value{Number: 1}, f.Now.Info...) },
	},
	{
		Export: "kt_run_stage", About: "1 for the stage in which the run is, 0 for the others", Labels: []string{"stage"},
		each: func(f *Figures, put putSeries) {
			for i, name := range f.Now.Stages {
				put(Value{Number: map[bool]float64{true: 1}[i == f.Now.Stage]}, name)
			}
		},
	},
	now("kt_run_elapsed_seconds", Time, "time since the load began, up to the newest whole second", nothing, func(n *Now) float64 { return micros(n.At) }),
	{
		Export: "kt_target_records_per_second", Unit: RecordsRate, About: "target rate of now; there is none at an unlimited rate",
		value: func(f *Figures) (float64, bool) { return f.Now.Target, f.Now.HasTarget },
	},
	headline,
	rate(Rate, RecordsRate, "records acknowledged a second; of a run that only reads, read", nothing, func(f *Figures) float64 { return pick(f, f.Records, f.ReadRecords) }),
	rate("read-rate", RecordsRate, "records read a second", reading, func(f *Figures) float64 { return f.ReadRecords }),
	rate(Throughput, BytesRate, "bytes of keys and values acknowledged a second; of a run that only reads, read", nothing, func(f *Figures) float64 { return pick(f, f.Bytes, f.ReadBytes) }),
	{
		Name: Roughness, Kind: Share, Unit: Ratio, About: "variation of the rate: the coefficient of variation of its means over 5 s; known from 30 s on", AtEnd: true, Floor: 0.001,
		value: func(f *Figures) (float64, bool) { return known(f.Roughness) },
	},
}

var ofWriting = []Metric{
	{
		Name: "errors", Kind: Count, Unit: Records, About: "records that were not acknowledged: failed, unknown and unsent, or that are not in the log all the same", Needs: writing, Floor: 1,
		value: func(f *Figures) (float64, bool) {
			return float64(f.Window.Failed + f.Window.Unknown + f.Window.Unsent + f.NotInLog), true
		},
	},
	count("offered", "kt_records_offered_total", Records, "records handed to the client", writing, func(w *stats.Window) int64 { return w.Offered }).better(),
	count("acknowledged", "kt_records_acknowledged_total", Records, "records that a broker acknowledged", writing, func(w *stats.Window) int64 { return w.Acknowledged }).better(),
	codes("failed", "kt_records_failed_total", Records, "records that failed, by Kafka's error code", writing,
		func(w *stats.Window) int64 { return w.Failed }, func(w *stats.Window) map[string]int64 { return w.Errors }),
	count("unknown", "kt_records_unknown_total", Records, "records that were sent and not answered by the end of the run", writing, func(w *stats.Window) int64 { return w.Unknown }),
	count("unsent", "kt_records_unsent_total", Records, "records that were due by the end of the run and never handed to the client", writing, func(w *stats.Window) int64 { return w.Unsent }),
	count("", "kt_acknowledged_bytes_total", Bytes, "bytes of the keys and values of acknowledged records", writing, func(w *stats.Window) int64 { return w.Bytes }),
	{
		Name: "outage", Kind: Longest, Unit: Time, About: "longest time in which records waited and none was acknowledged", Needs: writing, Floor: 1000,
		value: func(f *Figures) (float64, bool) { return micros(f.Window.Outage.Length), true },
	},
	now("kt_oldest_record_age_seconds", Time, "age of the oldest record without an outcome, since it was due", writing, func(n *Now) float64 { return micros(n.Oldest) }),
	latency("response", "kt_response_seconds", "time from when a record was due until it was acknowledged", writing, func(w *stats.Window) *stats.Histogram { return &w.Response }),
	latency("service", "kt_service_seconds", "time from when a record was handed to the client until it was acknowledged", writing, func(w *stats.Window) *stats.Histogram { return &w.Service }),
	latency(sendDelay, "kt_send_delay_seconds", "time from when a record was due until it was handed to the client", paced, func(w *stats.Window) *stats.Histogram { return &w.SendDelay }),
	{
		Name: "batch-fill", Export: "kt_batch_fill_ratio", Kind: Share, Unit: Ratio, About: "share of batch.size that a record batch takes as it is sent", Needs: writing, HigherIsBetter: true, phased: true,
		histogram: func(f *Figures) *stats.Histogram { return &f.Window.BatchFill },
	},
	count("transactions", "kt_transactions_committed_total", Transactions, "transactions committed", committing, func(w *stats.Window) int64 { return w.Transactions }).better(),
	count("aborted", "kt_transactions_aborted_total", Transactions, "transactions that could not be committed", committing, func(w *stats.Window) int64 { return w.Aborted }),
}

var ofReading = []Metric{
	count("consumed", "kt_records_consumed_total", Records, "records read", reading, func(w *stats.Window) int64 { return w.Consumed }).better(),
	count("", "kt_consumed_bytes_total", Bytes, "bytes of the keys and values of records read", reading, func(w *stats.Window) int64 { return w.ConsumedBytes }),
	latency("end-to-end", "kt_end_to_end_seconds", "time from when a record was due until it was read, of records with kt's stamp", reading, func(w *stats.Window) *stats.Histogram { return &w.EndToEnd }),
	{
		Name: ConsumerLag, Export: "kt_consumer_lag_records", Kind: Level, Unit: Records, About: "records that wait to be read; of a run and of a stretch, the most at the end of a second", Needs: reading, Floor: 1,
		value: func(f *Figures) (float64, bool) { return known(float64(f.ConsumerLag)) },
	},
	codes("fetch-errors", "kt_fetch_errors_total", Fetches, "fetches of a partition that a broker refused, by Kafka's error code", reading,
		func(w *stats.Window) int64 { return w.Refused() }, func(w *stats.Window) map[string]int64 { return w.FetchErrors }),
	count("rebalances", "kt_rebalances_total", Rebalances, "rebalances of the group after the first", reading, func(w *stats.Window) int64 { return w.Rebalances }),
}

var ofVerification = []Metric{
	verified("lost", "acknowledged records that are not in the log", func(v *ledger.Verdict) int64 { return v.Lost }),
	verified("duplicated", "records read more than once", func(v *ledger.Verdict) int64 { return v.Duplicated }),
	verified("reordered", "records read behind a later one", func(v *ledger.Verdict) int64 { return v.Reordered }),
	verified("corrupted", "records whose contents changed", func(v *ledger.Verdict) int64 { return v.Corrupted }),
}

var ofBrokers = []Metric{
	broker("kt_broker_requests_total", Requests, "requests to a broker: produce or fetch", func(t *stats.Traffic) int64 { return t.Requests }),
	broker("kt_broker_requests_failed_total", Requests, "requests to a broker that ended without an answer", func(t *stats.Traffic) int64 { return t.Failed }),
	broker("kt_broker_records_total", Records, "records in the requests to a broker", func(t *stats.Traffic) int64 { return t.Records }),
	broker("kt_broker_batches_total", Batches, "record batches in the requests to a broker", func(t *stats.Traffic) int64 { return t.Batches }),
	broker("kt_broker_batch_bytes_total", Bytes, "bytes of record batches as sent, after compression", func(t *stats.Traffic) int64 { return t.WireBytes }),
	broker("kt_broker_throttle_seconds_total", Time, "time for which a broker asked to wait with requests", func(t *stats.Traffic) int64 { return t.Throttle.Microseconds() }),
	{
		Export: "kt_broker_request_seconds", Kind: Latency, Unit: Time, About: "time from when a request was queued for writing until its answer was read; a fetch waits for records in it", Labels: brokerLabels, phased: true,
		each: func(f *Figures, put putSeries) {
			eachBroker(f, func(t *stats.Traffic, labels ...string) { put(Value{Times: &t.Latency}, labels...) })
		},
	},
}

var ofTheClient = []Metric{
	{
		Export: "kt_latency_out_of_range_total", Kind: Count, Unit: Records, About: "records whose latency is below 0 or above an hour; no histogram has them", Labels: []string{"latency"}, phased: true,
		each: func(f *Figures, put putSeries) {
			for _, m := range slices.Concat(ofWriting, ofReading) {
				if m.histogram != nil && m.Unit == Time && m.Lacks(f.Plan) == "" {
					put(Value{Number: float64(m.histogram(f).OutOfRange())}, underscored(m.Name))
				}
			}
		},
	},
	count("failed-connects", "kt_connects_failed_total", Connects, "attempts to connect to a broker that failed", nothing, func(w *stats.Window) int64 { return w.FailedConnects }),
	now("kt_requests_in_flight", Requests, "produce requests without an answer", writing, func(n *Now) float64 { return float64(n.InFlight) }),
	now("kt_buffered_bytes", Bytes, "bytes of records that wait for acknowledgements", writing, func(n *Now) float64 { return float64(n.Buffered) }),
	{
		Name: CPU, Export: "kt_cpu_cores", Kind: Level, Unit: Cores, About: "CPU that kt itself used, in cores: its mean, and while a run goes on that of the newest second", AtEnd: true,
		value: func(f *Figures) (float64, bool) { return f.Cores, f.Cores > 0 || f.Now != nil },
	},
	now("kt_cpu_cores_available", Cores, "cores that kt may use", nothing, func(n *Now) float64 { return n.Sample.Cores }),
	now("kt_host_cpu_cores", Cores, "CPU use of the machine in the newest second, in cores, kt included", nothing, func(n *Now) float64 { return n.Sample.HostCPU }),
	now("kt_host_cores", Cores, "logical CPUs of the machine", nothing, func(n *Now) float64 { return n.Sample.HostCores }),
	now("kt_resident_memory_bytes", Bytes, "resident memory of kt", nothing, func(n *Now) float64 { return float64(n.Sample.RSS) }),
}

// headline is the latency that a run is quoted by. It has no name of its own: its quantiles are p50, p99 and so on.
var headline = Metric{
	Kind: Latency, Unit: Time, About: "headline latency: end to end of a run that reads, else response",
	histogram: func(f *Figures) *stats.Histogram { return f.Window.Headline(f.Plan.Reads()) },
}

// count is a number of a window that windows add up.
func count(name, export string, unit Unit, about string, needs Need, of func(w *stats.Window) int64) Metric {
	return Metric{
		Name: name, Export: export, Kind: Count, Unit: unit, About: about, Needs: needs, Floor: 1, phased: true,
		value: func(f *Figures) (float64, bool) { return float64(of(f.Window)), true },
	}
}

// codes is a count that is exported by error code.
func codes(name, export string, unit Unit, about string, needs Need, of func(w *stats.Window) int64, by func(w *stats.Window) map[string]int64) Metric {
	m := count(name, export, unit, about, needs, of)
	m.Labels = []string{"code"}
	m.each = func(f *Figures, put putSeries) {
		for code, n := range by(f.Window) {
			put(Value{Number: float64(n)}, code)
		}
	}
	return m
}

// better returns the metric as one of which more is better.
func (m Metric) better() Metric {
	m.HigherIsBetter, m.Floor = true, 0
	return m
}

// latency is a histogram of times in a window.
func latency(name, export, about string, needs Need, of func(w *stats.Window) *stats.Histogram) Metric {
	return Metric{Name: name, Export: export, Kind: Latency, Unit: Time, About: about, Needs: needs, phased: true, histogram: func(f *Figures) *stats.Histogram { return of(f.Window) }}
}

// rate is an amount a second; below 0 it is not known.
func rate(name string, unit Unit, about string, needs Need, of func(f *Figures) float64) Metric {
	return Metric{Name: name, Kind: PerSecond, Unit: unit, About: about, Needs: needs, HigherIsBetter: true, value: func(f *Figures) (float64, bool) { return known(of(f)) }}
}

// verified is a count of what --verify finds.
func verified(name, about string, of func(v *ledger.Verdict) int64) Metric {
	return Metric{
		Name: name, Kind: Count, Unit: Records, About: about + ", with --verify; not known unless every record was checked", AtEnd: true, Needs: verifying, Floor: 1, verified: true,
		value: func(f *Figures) (float64, bool) {
			if f.Verify == nil || f.Verify.OfAnotherRun {
				return 0, false
			}
			n := of(f.Verify)
			return float64(n), n > 0 || f.Verify.Complete()
		},
	}
}

// now is a level that only a run that goes on has.
func now(export string, unit Unit, about string, needs Need, of func(n *Now) float64) Metric {
	return Metric{Export: export, Kind: Level, Unit: unit, About: about, Needs: needs, value: func(f *Figures) (float64, bool) { return of(f.Now), true }}
}

var brokerLabels = []string{"broker", "request"}

// broker is a count of the requests to each broker.
func broker(export string, unit Unit, about string, of func(t *stats.Traffic) int64) Metric {
	return Metric{
		Export: export, Kind: Count, Unit: unit, About: about, Labels: brokerLabels, phased: true,
		each: func(f *Figures, put putSeries) {
			eachBroker(f, func(t *stats.Traffic, labels ...string) { put(Value{Number: float64(of(t))}, labels...) })
		},
	}
}

// eachBroker calls use for the traffic of each kind with each broker that was asked.
func eachBroker(f *Figures, use func(t *stats.Traffic, labels ...string)) {
	for _, id := range f.Window.BrokerIDs() {
		b, name := f.Window.Brokers[id], strconv.Itoa(int(id))
		if f.Plan.Writes() {
			use(&b.Traffic, name, "produce")
		}
		if f.Plan.Reads() {
			use(&b.Fetch, name, "fetch")
		}
	}
}
