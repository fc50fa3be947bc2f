package result

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func TestTheEvidenceIsWhatTheWindowsShow(t *testing.T) {
	h := header(100)
	h.Plan.Engine = plan.Wire
	h.Plan.Load.Arrivals, h.Config = plan.Poisson, []Setting{{Name: "acks", Value: "0"}}
	const length = 10 * time.Second
	w := stats.Window{
		End: length, Offered: 1001, Acknowledged: 900, Failed: 30, Unknown: 20, Unsent: 7, Errors: map[string]int64{"B": 10, "A": 10, "C": 1},
		LastDue: length, LastSent: length, LastAck: length, ShardTime: length, BufferFull: 4 * time.Second, ConnTime: 20 * time.Second, InFlightUse: 15 * time.Second,
		Outage:  stats.Gap{From: time.Second, Length: 3 * time.Second},
		Brokers: map[int32]stats.Broker{1: {Traffic: stats.Traffic{Throttle: time.Second}}, 2: {Traffic: stats.Traffic{Throttle: 2 * time.Second}}},
	}
	w.OwnSendDelay.RecordN(4*time.Millisecond, 10)
	w.Response.RecordN(64*time.Millisecond, 10)
	f := NewFold(h)
	f.AddWindow(w)
	f.AddSample(host.Sample{At: length, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: 2, HostCPU: 6})
	want := verdict.Evidence{
		Target: 100, Poisson: true, NoAcks: true, Wire: true, Measured: length, Offered: 1001, Acknowledged: 900, Failed: 30, Unknown: 20, Unsent: 7,
		OfferedPerSecond: 100, AcknowledgedPerSecond: 90, Waiting: 51, WorstError: "A",
		OwnSendDelayP99: w.OwnSendDelay.ValueAtQuantile(0.99), ResponseP99: w.Response.ValueAtQuantile(0.99),
		CPUCores: 2, CoresAvailable: 4, HostCPUCores: 6, HostCores: 8, Senders: true, BufferFull: 0.4, InFlight: 0.75, Throttled: 0.3,
		Stall: verdict.Stall{Gap: w.Outage},
	}
	must.Match(t, want, f.evidence(), "evidence")
}

func TestTheEvidenceOfReadingIsOfTheTimeInWhichItReads(t *testing.T) {
	const consumers = 12 // of 6 partitions: half of the readers have none
	h := readHeader(plan.Consume, 0)
	h.Plan.Read.Consumers, h.Plan.Read.Processing = consumers, plan.Duration(time.Millisecond)
	f := NewFold(h)
	for i := range 10 {
		start := time.Duration(i) * time.Second
		w := stats.Window{Start: start, End: start + time.Second, Read: stats.Read{
			Consumed: 1000, FirstRead: start, LastRead: start + time.Second,
			ReadTime: consumers * time.Second, ReadWait: 9 * time.Second, ReadHeld: 3 * time.Second, Rebalances: 1, RebalanceTime: 1200 * time.Millisecond,
		}, Brokers: map[int32]stats.Broker{2: {Fetch: stats.Traffic{Requests: 10, Throttle: 600 * time.Millisecond}}}}
		b := w.Brokers[2]
		b.Fetch.Latency.RecordN(300*time.Millisecond, 10)
		w.Brokers[2] = b
		switch i {
		case 0:
			w.ConsumerLag = 50_000
		case 9:
			w.ConsumerLag = -50_000
		}
		f.AddWindow(w)
	}
	f.Finish(Trailer{ReadEnd: ReadFailed, ReadError: "gone"})
	e := f.evidence()
	if e.Throttled != 0.05 || e.Consumed != 10_000 || e.Read == nil {
		t.Fatalf("evidence %+v", e)
	}
	want := verdict.Readers{
		Only: true, Failed: true, Error: "gone", Seconds: 10, RecordsPerSecond: 1000, Rebalances: 10, Processing: time.Millisecond, ProcessingHeld: 0.25,
		LagThere: 1, Waiting: 0.5, Held: 0.25, Unassigned: 0.1, Fetching: 0.25, Lag: e.Read.Lag,
	}
	if diff := cmp.Diff(want, *e.Read, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func TestAnOutageAtTheEndLowersTheThroughput(t *testing.T) {
	f := NewFold(header(1000))
	f.AddWindow(stats.Window{
		End: 10 * time.Second, Offered: 10_000, Acknowledged: 2000, Unknown: 8000,
		LastAck: 2 * time.Second, LastDue: 10 * time.Second, LastSent: 10 * time.Second, ShardTime: 10 * time.Second,
	})
	must.Match(t, 200, f.Result().Throughput.RecordsPerSecond, "records/s")
}

func TestReadingThatIsGivenUpAlthoughRecordsWaitIsAStall(t *testing.T) {
	broker := at(3.4, stats.BrokerGone)
	broker.Text = "broker 2 does not answer"
	for _, tc := range []struct {
		name    string
		reading string
		left    int64
		events  []stats.Event
		want    verdict.Limit
		told    string
	}{
		{"nobody knows why", ReadIdle, 7000, nil, verdict.Stalled, "5.0 s although 7,000 wait"},
		{"a broker is gone", ReadIdle, 1, []stats.Event{broker}, verdict.Stalled, "at 3.40s broker 2 does not answer"},
		{"nothing waits", ReadIdle, 0, []stats.Event{broker}, verdict.None, ""},
		{"reading ended for another reason", ReadCount, 7000, []stats.Event{broker}, verdict.None, ""},
	} {
		f := NewFold(readHeader(plan.Consume, 1000))
		for i := range 8 {
			start := time.Duration(i) * time.Second
			w := stats.Window{Start: start, End: start + time.Second, Read: stats.Read{ReadTime: time.Second}}
			if i < 3 {
				w.Consumed, w.FirstRead, w.LastRead = 1000, start, w.End
			}
			if i == 0 {
				w.ConsumerLag = tc.left
			}
			if i == 5 {
				w.Events = tc.events
			}
			f.AddWindow(w)
		}
		f.Finish(Trailer{Ended: Completed, ElapsedSeconds: 8, ReadEnd: tc.reading})
		if v := f.Verdict(); v.Limit != tc.want || !strings.Contains(v.Evidence, tc.told) {
			t.Errorf("%s: bound by %q (%s), want %q with %q", tc.name, v.Limit, v.Evidence, tc.want, tc.told)
		}
	}
}
