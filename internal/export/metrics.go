package export

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

// kind is the kind of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// family is one metric of a run: all its series. It has either numbers or times.
type family struct {
	name   string // as Prometheus has it
	kind   kind
	unit   string // by the Unified Code for Units of Measure, as OpenTelemetry has it; "": none
	help   string
	labels []string                       // beside run_id
	of     func(p *plan.Plan) bool        // reports whether runs of the plan have it; nil: all have
	number func(t *totals, put putNumber) // of a counter or a gauge
	times  func(t *totals, put putTimes)  // of a histogram
}

// putNumber and putTimes take one series of a metric: its value, and the values of its labels in their order.
type (
	putNumber func(v float64, labels ...string)
	putTimes  func(h *stats.Histogram, labels ...string)
)

// perSecond is the unit of a rate of records.
const perSecond = "{record}/s"

// The labels of metrics.
const (
	runLabel     = "run_id"
	phaseLabel   = "phase"
	codeLabel    = "code"
	brokerLabel  = "broker"
	requestLabel = "request"
	latencyLabel = "latency"
	stageLabel   = "stage"
)

var noWarmup plan.Warmup

// writes and reads report whether a plan has records written and read. paced reports whether their times are given.
func writes(p *plan.Plan) bool  { return p.Writes() }
func reads(p *plan.Plan) bool   { return p.Reads() }
func paced(p *plan.Plan) bool   { return p.Writes() && !p.Load.Rate.IsUnlimited() }
func commits(p *plan.Plan) bool { return p.Load.Transaction > 0 }

// metrics returns all metrics, in the order of the documentation.
func metrics() []family {
	var all []family
	for _, some := range [][]family{ofTheRun(), ofRecords(), ofLatency(), ofReading(), ofBrokers(), ofTheClient()} {
		all = append(all, some...)
	}
	return all
}

func ofTheRun() []family {
	return []family{
		{
			name: "kt_run_info", kind: gauge, help: "What the run is: always 1.",
			labels: []string{"command", "topic", "engine", "acks", "kt_version"},
			number: func(t *totals, put putNumber) {
				h := t.header
				put(1, string(h.Plan.Command), cmp.Or(h.Plan.Topic.Name, h.Plan.Read.Include), cmp.Or(string(h.Plan.Engine), string(plan.Client)), acks(h), h.KTVersion)
			},
		},
		{
			name: "kt_run_stage", kind: gauge, help: "1 for the stage in which the run is, 0 for the others.",
			labels: []string{stageLabel},
			number: func(t *totals, put putNumber) {
				for i, name := range stages {
					put(oneIf(t.newest.Stage == result.Gathering+result.Stage(i)), name)
				}
			},
		},
		{
			name: "kt_run_elapsed_seconds", kind: gauge, unit: "s", help: "Time since the load began, up to the newest whole second.",
			number: func(t *totals, put putNumber) { put(t.newest.At.Seconds()) },
		},
		{
			name: "kt_target_records_per_second", kind: gauge, unit: perSecond, help: "Target rate of now. There is none at an unlimited rate.",
			number: func(t *totals, put putNumber) {
				if t.newest.Target > 0 || len(t.newest.Targets) > 1 { // with stages, 0 is a pause
					put(t.newest.Target)
				}
			},
		},
	}
}

// stages are the names of the stages of a run, from result.Gathering on.
var stages = []string{"gathering", "preparing", "warming_up", "running", "draining", "finished"}

func ofRecords() []family {
	return []family{
		count("kt_records_offered_total", "{record}", "Records handed to the client.", writes, func(w *stats.Window) int64 { return w.Offered }),
		count("kt_records_acknowledged_total", "{record}", "Records that a broker acknowledged.", writes, func(w *stats.Window) int64 { return w.Acknowledged }),
		counts("kt_records_failed_total", "{record}", "Records that failed, by Kafka's error code.", writes,
			func(w *stats.Window) map[string]int64 { return w.Errors }),
		count("kt_records_unknown_total", "{record}", "Records that were sent and not answered by the end of the run.", writes,
			func(w *stats.Window) int64 { return w.Unknown }),
		count("kt_records_unsent_total", "{record}", "Records that were due by the end of the run and never handed to the client.", writes,
			func(w *stats.Window) int64 { return w.Unsent }),
		count("kt_acknowledged_bytes_total", "By", "Bytes of the keys and values of acknowledged records.", writes, func(w *stats.Window) int64 { return w.Bytes }),
		{
			name: "kt_oldest_record_age_seconds", kind: gauge, unit: "s", help: "Age of the oldest record without an outcome, since it was due.", of: writes,
			number: func(t *totals, put putNumber) { put(t.newest.Second.Counts.Oldest.Seconds()) },
		},
	}
}

func ofLatency() []family {
	return []family{
		latency("kt_response_seconds", "Time from when a record was due until it was acknowledged. Records that never were are in kt_records_failed_total, kt_records_unknown_total and kt_records_unsent_total.", writes,
			func(w *stats.Window) *stats.Histogram { return &w.Response }),
		latency("kt_service_seconds", "Time from when a record was handed to the client until it was acknowledged.", writes,
			func(w *stats.Window) *stats.Histogram { return &w.Service }),
		latency("kt_send_delay_seconds", "Time from when a record was due until it was handed to the client.", paced,
			func(w *stats.Window) *stats.Histogram { return &w.SendDelay }),
		latency("kt_end_to_end_seconds", "Time from when a record was due until it was read, of records with kt's stamp.", reads,
			func(w *stats.Window) *stats.Histogram { return &w.EndToEnd }),
		{
			name: "kt_latency_out_of_range_total", kind: counter, unit: "{record}", help: "Records whose latency is below 0 or above an hour. No histogram has them.",
			labels: []string{phaseLabel, latencyLabel},
			number: func(t *totals, put putNumber) {
				t.each(func(phase string, w *stats.Window) {
					p := &t.header.Plan
					if writes(p) {
						put(float64(w.Response.OutOfRange()), phase, "response")
						put(float64(w.Service.OutOfRange()), phase, "service")
					}
					if paced(p) {
						put(float64(w.SendDelay.OutOfRange()), phase, "send_delay")
					}
					if reads(p) {
						put(float64(w.EndToEnd.OutOfRange()), phase, "end_to_end")
					}
				})
			},
		},
	}
}

func ofReading() []family {
	return []family{
		count("kt_records_consumed_total", "{record}", "Records read.", reads, func(w *stats.Window) int64 { return w.Consumed }),
		count("kt_consumed_bytes_total", "By", "Bytes of the keys and values of records read.", reads, func(w *stats.Window) int64 { return w.ConsumedBytes }),
		{
			name: "kt_consumer_lag_records", kind: gauge, unit: "{record}", help: "Records that wait to be read. There is none until it is known.", of: reads,
			number: func(t *totals, put putNumber) {
				if lag := t.newest.ConsumerLag; lag.Known {
					put(float64(lag.Records))
				}
			},
		},
		counts("kt_fetch_errors_total", "{error}", "Fetches of a partition that a broker refused, by Kafka's error code.", reads,
			func(w *stats.Window) map[string]int64 { return w.FetchErrors }),
		count("kt_rebalances_total", "{rebalance}", "Rebalances of the group after the first.", reads, func(w *stats.Window) int64 { return w.Rebalances }),
	}
}

func ofBrokers() []family {
	return []family{
		broker("kt_broker_requests_total", "{request}", "Requests to a broker: produce or fetch.", func(t *stats.Traffic) float64 { return float64(t.Requests) }),
		broker("kt_broker_requests_failed_total", "{request}", "Requests to a broker that ended without an answer.",
			func(t *stats.Traffic) float64 { return float64(t.Failed) }),
		broker("kt_broker_records_total", "{record}", "Records in the requests to a broker.", func(t *stats.Traffic) float64 { return float64(t.Records) }),
		broker("kt_broker_batches_total", "{batch}", "Record batches in the requests to a broker.", func(t *stats.Traffic) float64 { return float64(t.Batches) }),
		broker("kt_broker_batch_bytes_total", "By", "Bytes of record batches as sent, after compression.",
			func(t *stats.Traffic) float64 { return float64(t.WireBytes) }),
		broker("kt_broker_throttle_seconds_total", "s", "Time for which a broker asked to wait with requests.",
			func(t *stats.Traffic) float64 { return t.Throttle.Seconds() }),
		{
			name: "kt_broker_request_seconds", kind: histogram, unit: "s",
			help:   "Time from when a request was queued for writing until its answer was read. A fetch waits for records in it.",
			labels: []string{phaseLabel, brokerLabel, requestLabel},
			times: func(t *totals, put putTimes) {
				t.eachBroker(func(phase, id, request string, of *stats.Traffic) { put(&of.Latency, phase, id, request) })
			},
		},
	}
}

func ofTheClient() []family {
	return []family{
		count("kt_transactions_committed_total", "{transaction}", "Transactions committed.", commits, func(w *stats.Window) int64 { return w.Transactions }),
		count("kt_transactions_aborted_total", "{transaction}", "Transactions that could not be committed.", commits,
			func(w *stats.Window) int64 { return w.Aborted }),
		count("kt_connects_failed_total", "{connect}", "Attempts to connect to a broker that failed.", nil, func(w *stats.Window) int64 { return w.FailedConnects }),
		now("kt_requests_in_flight", "{request}", "Produce requests without an answer.", writes, func(s *result.Snapshot) float64 { return float64(s.InFlight) }),
		now("kt_buffered_bytes", "By", "Bytes of records that wait for acknowledgements.", writes, func(s *result.Snapshot) float64 { return float64(s.Buffered) }),
		now("kt_cpu_cores", "{cpu}", "CPU use of kt in the newest second, in cores.", nil, func(s *result.Snapshot) float64 { return s.Sample.ProcessCPU }),
		now("kt_cpu_cores_available", "{cpu}", "Cores that kt may use.", nil, func(s *result.Snapshot) float64 { return s.Sample.Cores }),
		now("kt_host_cpu_cores", "{cpu}", "CPU use of the machine in the newest second, in cores, kt included.", nil,
			func(s *result.Snapshot) float64 { return s.Sample.HostCPU }),
		now("kt_host_cores", "{cpu}", "Logical CPUs of the machine.", nil, func(s *result.Snapshot) float64 { return s.Sample.HostCores }),
		now("kt_resident_memory_bytes", "By", "Resident memory of kt.", nil, func(s *result.Snapshot) float64 { return float64(s.Sample.RSS) }),
	}
}

// count is a counter of a window.
func count(name, unit, help string, of func(*plan.Plan) bool, value func(*stats.Window) int64) family {
	return family{name: name, kind: counter, unit: unit, help: help, of: of, labels: []string{phaseLabel}, number: func(t *totals, put putNumber) {
		t.each(func(phase string, w *stats.Window) { put(float64(value(w)), phase) })
	}}
}

// counts is a counter by error code.
func counts(name, unit, help string, of func(*plan.Plan) bool, value func(*stats.Window) map[string]int64) family {
	return family{name: name, kind: counter, unit: unit, help: help, of: of, labels: []string{phaseLabel, codeLabel}, number: func(t *totals, put putNumber) {
		t.each(func(phase string, w *stats.Window) {
			for code, n := range value(w) {
				put(float64(n), phase, code)
			}
		})
	}}
}

// latency is a histogram of a window.
func latency(name, help string, of func(*plan.Plan) bool, value func(*stats.Window) *stats.Histogram) family {
	return family{name: name, kind: histogram, unit: "s", help: help, of: of, labels: []string{phaseLabel}, times: func(t *totals, put putTimes) {
		t.each(func(phase string, w *stats.Window) { put(value(w), phase) })
	}}
}

// broker is a counter of the requests to each broker.
func broker(name, unit, help string, value func(*stats.Traffic) float64) family {
	return family{
		name: name, kind: counter, unit: unit, help: help,
		labels: []string{phaseLabel, brokerLabel, requestLabel}, number: func(t *totals, put putNumber) {
			t.eachBroker(func(phase, id, request string, of *stats.Traffic) { put(value(of), phase, id, request) })
		},
	}
}

// now is a gauge of the newest second.
func now(name, unit, help string, of func(*plan.Plan) bool, value func(*result.Snapshot) float64) family {
	return family{name: name, kind: gauge, unit: unit, help: help, of: of, number: func(t *totals, put putNumber) { put(value(&t.newest)) }}
}

// eachBroker calls f for the traffic of each kind with each broker that was asked.
func (t *totals) eachBroker(f func(phase, id, request string, of *stats.Traffic)) {
	t.each(func(phase string, w *stats.Window) {
		for _, id := range w.BrokerIDs() {
			b, name := w.Brokers[id], strconv.Itoa(int(id))
			if writes(&t.header.Plan) {
				f(phase, name, "produce", &b.Traffic)
			}
			if reads(&t.header.Plan) {
				f(phase, name, "fetch", &b.Fetch)
			}
		}
	})
}

// acks returns the acks of the producers, "" without any.
func acks(h *result.Header) string {
	for _, s := range h.Config {
		if s.Name == "acks" {
			return s.Value
		}
	}
	return ""
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// labelValue returns a text of names, files and brokers as the value of a label.
func labelValue(s string) string { return theme.Clean(strings.ToValidUTF8(s, "\uFFFD")) }

// schema is the resolution of the exponential histograms: 2^schema buckets for each doubling, each 9% wider than the one
// before. It is that of Prometheus' clients, and the scale of OpenTelemetry.
const schema = 3

// bounds are the upper bounds of the classic histograms.
var bounds = classicBounds()

func classicBounds() (all []time.Duration) {
	for d := 100 * time.Microsecond; d < 100*time.Second; d *= 10 {
		all = append(all, d, 2*d, 5*d)
	}
	return append(all, 100*time.Second)
}
