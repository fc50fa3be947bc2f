package result

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func TestAnEmptyRunIsAllZeros(t *testing.T) {
	f := NewFold(header(1000))
	f.Finish(Trailer{Ended: Completed})
	r := f.Result()
	must.Match(t, Latencies{}, r.Latency, "latency")
	must.Match(t, Throughput{TargetRecordsPerSecond: 1000}, r.Throughput, "throughput")
	must.Match(t, ClientUse{}, r.Client, "client")
	if r.Records != (Records{}) || r.Warmup != nil || !r.Valid || r.BoundBy.Limit != verdict.Unknown {
		t.Errorf("records %v, warm-up %v, valid %t, bound by %v", r.Records, r.Warmup, r.Valid, r.BoundBy)
	}
	text := marshal(t, r)
	for _, list := range []string{"invalid_reasons", "partitions", "brokers", "series"} {
		must.Has(t, "the document", text, "\n \""+list+"\": []")
	}
}

func TestThroughputIsFromTheFirstDueTimeToTheLastAcknowledgement(t *testing.T) {
	f := NewFold(header(0))
	f.AddWindow(stats.Window{
		Start: 2 * time.Second, End: 3 * time.Second, Offered: 3, Acknowledged: 2, Bytes: 3 << 20,
		FirstDue: 2500 * time.Millisecond, LastSent: 2900 * time.Millisecond, LastAck: 2999 * time.Millisecond,
	})
	f.AddWindow(stats.Window{
		Start: 3 * time.Second, End: 4 * time.Second, Offered: 2, Acknowledged: 3, Bytes: 6 << 20,
		FirstDue: 3 * time.Second, LastSent: 3500 * time.Millisecond, LastAck: 4 * time.Second,
	})
	want := Throughput{
		RecordsPerSecond: 5 / 1.5, MiBPerSecond: 9 / 1.5, OfferedRecordsPerSecond: 4, // 5 records are 4 intervals, in 1 s
		Bytes: 9 << 20, FirstDueSeconds: 2.5, Seconds: 1.5,
	}
	if diff := cmp.Diff(want, f.Result().Throughput, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("throughput (-want +got):\n%s", diff)
	}
}

func TestTheWarmupIsReportedApart(t *testing.T) {
	f := NewFold(header(100))
	warm := stats.Window{End: time.Second, Warmup: true, Offered: 10, Acknowledged: 9, Failed: 1, Bytes: 90, FirstDue: 1, LastAck: time.Second, Errors: map[string]int64{"COLD": 1}}
	warm.Response.Record(time.Second)
	late := stats.Window{Start: time.Second, End: 2 * time.Second, Warmup: true, Unknown: 0, Offered: 1, Acknowledged: 1, Bytes: 10, FirstDue: 999 * time.Millisecond, LastAck: 2 * time.Second}
	late.Response.Record(time.Second)
	measured := stats.Window{Start: time.Second, End: 2 * time.Second, Offered: 5, Acknowledged: 5, Bytes: 50, FirstDue: time.Second, LastAck: 1500 * time.Millisecond}
	measured.Response.Record(time.Millisecond)
	f.AddWindow(warm)
	f.AddSample(host.Sample{At: time.Second, Interval: time.Second, Cores: 4, ProcessCPU: 4, RSS: 1 << 40})
	f.AddWindow(late)
	f.AddWindow(measured)
	f.AddSample(host.Sample{At: 2 * time.Second, Interval: time.Second, Cores: 4, ProcessCPU: 1, RSS: 5})
	f.Finish(Trailer{Ended: Completed})
	r := f.Result()
	if r.Records.Offered != 5 || r.Latency.Response.Max != 1000 || len(r.Errors) != 0 || r.Throughput.RecordsPerSecond != 10 {
		t.Errorf("the measured part holds some of the warm-up: %+v, %+v, %v, %+v", r.Records, r.Latency.Response, r.Errors, r.Throughput)
	}
	if r.Client.CPUCores != 1 || r.Client.PeakResidentBytes != 5 {
		t.Errorf("kt's own use holds that of the warm-up: %+v", r.Client)
	}
	w := r.Warmup
	if w == nil || w.Records.Offered != 11 || w.Bytes != 100 || w.Response.Max != 1_000_000 || w.Errors["COLD"] != 1 || w.Histogram.Count() != 2 || w.FirstDueSeconds != 1e-9 {
		t.Errorf("the warm-up is %+v", w)
	}
	var points []bool
	for _, p := range r.Series {
		points = append(points, p.Warmup)
	}
	must.Match(t, []bool{true, false}, points, "points that are warm-up")
}

func TestRowsOfPartitionsAndBrokers(t *testing.T) {
	f := NewFold(header(0))
	w := stats.Window{
		End: 2 * time.Second, Offered: 6, Acknowledged: 6, FirstDue: 0, LastAck: 2 * time.Second,
		Partitions: map[int32]stats.Partition{
			9: {Records: 2, Bytes: 1 << 20, ServiceSum: 5 * time.Millisecond, ServiceMax: 4 * time.Millisecond},
			0: {Records: 4, Bytes: 2 << 20, ServiceSum: 4 * time.Millisecond, ServiceMax: time.Millisecond},
		},
		Brokers: map[int32]stats.Broker{
			7: {Traffic: stats.Traffic{Requests: 1, Failed: 1}},
			1: {Traffic: stats.Traffic{Requests: 3, Batches: 2, Records: 6, Bytes: 600, WireBytes: 150, Throttle: 1500 * time.Millisecond}},
		},
	}
	f.AddWindow(w)
	r := f.Result()
	partitions := []PartitionRow{
		{ID: 0, Leader: 1, Records: 4, MiB: 2, RecordsPerSecond: new(2.0), ServiceMeanUS: 1000, ServiceMaxUS: 1000},
		{ID: 9, Leader: -1, Records: 2, MiB: 1, RecordsPerSecond: new(1.0), ServiceMeanUS: 2500, ServiceMaxUS: 4000}, // not in the header
	}
	must.Match(t, partitions, r.Partitions, "partitions")
	brokers := []BrokerRow{
		{ID: 1, Addr: "a:9092", Requests: 3, Records: 6, MiB: 150.0 / (1 << 20), ThrottleMS: 1500},
		{ID: 7, Requests: 1, Failed: 1},
	}
	must.Match(t, brokers, r.Brokers, "brokers")
	must.Match(t, Batches{Count: 2, RecordsMean: 3, BytesMean: 300, CompressionRatio: 4, CompressedShare: 0.25}, r.Batches, "batches")
}

func TestOwnUseIsWeightedByTheLengthOfTheIntervals(t *testing.T) {
	f := NewFold(header(0))
	f.AddWindow(stats.Window{
		End: 4 * time.Second, Offered: 2_000_000, Acknowledged: 2_000_000, LastAck: 4 * time.Second, Counters: stats.Counters{Transactions: 3},
		ShardTime: 4 * time.Second, BufferFull: time.Second, ConnTime: 8 * time.Second, InFlightUse: 16 * time.Second,
	})
	f.AddSample(host.Sample{At: time.Second, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: 4, HostCPU: 6, GCCPU: 0.4, RSS: 9, GCPauseMax: 1500, NetSent: 1 << 20})
	f.AddSample(host.Sample{At: 4 * time.Second, Interval: 3 * time.Second, Cores: 4, HostCores: 8, ProcessCPU: 2, HostCPU: 2, GCCPU: 0, RSS: 7, GCPauseMax: 3999, NetSent: 3 << 20})
	want := ClientUse{
		CPUSeconds: 10, CPUSecondsPerMillion: 5, CPUCores: 2.5, CoresAvailable: 4, HostCPUCores: 3, HostCores: 8,
		PeakResidentBytes: 9, GCCPUCores: 0.1, GCPauseMaxUS: 3, BufferFullShare: 0.25,
		InFlightShare:       1, // never more than all of the time
		NetSentMiBPerSecond: 1, Transactions: 3,
	}
	if diff := cmp.Diff(want, f.Result().Client, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
}

func TestTheDocumentReadsBackAsItWasWritten(t *testing.T) {
	f := NewFold(header(100))
	for _, e := range canned.Written(4, 6) {
		e.To(f)
	}
	f.Finish(Trailer{Ended: Interrupted, ElapsedSeconds: 6})
	text := marshal(t, f.Result())
	var back Result
	must.Do(t, json.Unmarshal([]byte(text), &back))
	must.Match(t, text, marshal(t, back), "it differs")
}

// What kt takes about nothing is no cost of records: at a low rate it would be all of it.
func TestOnlyABusyClientTellsWhatARecordCosts(t *testing.T) {
	for _, tc := range []struct{ cores, want float64 }{{0.42, 0}, {0.99, 0}, {1, 250}, {2, 500}} {
		f := NewFold(header(4000))
		f.AddWindow(stats.Window{End: time.Second, Offered: 4000, Acknowledged: 4000, LastSent: time.Second, LastAck: time.Second, ShardTime: time.Second})
		f.AddSample(host.Sample{At: time.Second, Interval: time.Second, Cores: 4, ProcessCPU: tc.cores})
		if c := f.Result().Client; c.CPUSecondsPerMillion != tc.want || c.CPUCores != tc.cores {
			t.Errorf("%v cores: %v s per million, want %v", tc.cores, c.CPUSecondsPerMillion, tc.want)
		}
	}
}
