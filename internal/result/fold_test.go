package result

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
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

func TestKtSaysHowMuchOfTheMedianIsItsOwnDelay(t *testing.T) {
	for _, c := range []struct {
		name          string
		target        float64
		own, response int64 // medians, in microseconds
		want          string
	}{
		{"a burst waits for half of its length", 20_000, 500, 1400, "kt's own delay is 500µs of 1.40ms (p50)"},
		{"a twentieth is not worth a word", 20_000, 50, 1000, ""},
		{"nothing is due at an unlimited rate", 0, 500, 1400, ""},
		{"nothing was acknowledged", 20_000, 500, 0, ""},
	} {
		r := Result{Throughput: Throughput{TargetRecordsPerSecond: c.target}, Latency: Latencies{
			OwnSendDelay: Latency{Count: 1, P50: Micros(c.own)}, Response: Latency{Count: 1, P50: Micros(c.response)},
		}}
		r.OwnDelayShare = r.ownDelayShare()
		must.Match(t, c.want, r.OwnDelay(), "%s", c.name)
	}
}

// verifying returns the limits of a round trip with a verdict.
func verifying(v *ledger.Verdict, limits ...string) []Limit {
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Roundtrip, Verify: true}, Limits: limits})
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: v})
	return f.Result().Limits
}

func TestAFindingHasAValueOnlyIfEveryRecordWasChecked(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name        string
		V           ledger.Verdict
		Limit       string
		Held, Known bool
	}](t, "verify") {
		l := verifying(&tc.V, tc.Limit)[0]
		if l.Held != tc.Held || (l.Value != nil) != tc.Known || tc.Known == strings.HasPrefix(l.Note, "not known: ") {
			t.Errorf("%s: %s: %+v", tc.Name, tc.Limit, l)
		}
	}
}

func TestWhatWasNotCheckedIsNamedWithItsNumber(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		V    ledger.Verdict
		Want string
	}](t, "verify") {
		if got := NotChecked(&tc.V); !strings.Contains(got, tc.Want) || (got == "") != tc.V.Complete() {
			t.Errorf("%+v: %q, want %q", tc.V, got, tc.Want)
		}
	}
}

// failing is a run of seconds in which some records are acknowledged in a millisecond, and others fail.
func failing(read bool, acknowledged, failed int64, conditions ...string) *Fold {
	h := header(0)
	h.Plan.Producers, h.Plan.Load.Rate = 1, plan.Rate{PerSecond: 1000}
	if read {
		h.Plan.Read.Consumers = 1
	}
	h.Limits = []string{"p99<5s", "p50>0ms", "max!=1s", "mean<5s", "p99<5s over 1s", "p99>0ms over 1s", "service.p99<5s"}
	rec := stats.NewRecorder()
	rec.Read = read
	f := NewFold(h)
	f.AbortOn(conditions)
	for s := range 3 {
		at := time.Duration(s) * time.Second
		rec.Sent(stats.Measured, acknowledged+failed, at, at+time.Second, 0, true)
		rec.Acknowledged(stats.Measured, acknowledged, 0, 100, time.Millisecond, time.Millisecond, at+time.Second)
		for range acknowledged {
			if read {
				rec.EndToEnd(stats.Measured, 2*time.Millisecond)
			}
		}
		if failed > 0 {
			rec.Failed(stats.Measured, failed, "NOT_LEADER_OR_FOLLOWER")
		}
		rec.Window(stats.Measured).ShardTime = time.Second
		f.AddWindow(rec.Take(new(stats.Phases), at, at+time.Second)[stats.Measured])
	}
	return f
}

func TestAPercentileAmongFailuresIsNoNumber(t *testing.T) {
	if theme.Duration(Failed.Duration()) != "failed" || metric.Failed != float64(Failed) || theme.Duration(stats.HighestTrackableValue) == "failed" {
		t.Fatalf("it is written as %q", theme.Duration(Failed.Duration()))
	}
	for _, read := range []bool{false, true} {
		f := failing(read, 30, 70)
		r := f.Result()
		_, l := r.HeadlineLatency()
		if l.Count != 90 || l.Unserved != 210 || l.P50 != Failed || l.P99 != Failed || l.Max != Failed || l.Mean == Failed || r.Series[1].P50 != Failed {
			t.Errorf("read %v: %+v, series %+v", read, l, r.Series[1])
		}
		if s := r.Latency.Service; s.Unserved != 0 || s.P99 != 1000 {
			t.Errorf("service counts what was acknowledged: %+v", s)
		}
		text, err := json.Marshal(l)
		if err != nil || !strings.Contains(string(text), `"unserved":210,`) || !strings.Contains(string(text), `"p50":null,`) {
			t.Errorf("%s, %v", text, err)
		}
		var back Latency
		if err := json.Unmarshal(text, &back); err != nil || back != l {
			t.Errorf("%+v reads as %+v, %v", l, back, err)
		}
		for i, held := range []bool{false, false, false, true, false, false, true} {
			if limit := r.Limits[i]; limit.Held != held || (limit.Value != nil) != held || held == strings.HasPrefix(limit.Note, "failed") {
				t.Errorf("read %v: %+v, want held %v", read, limit, held)
			}
		}
		for condition, want := range map[string]string{"p99>1h": "failed", "max>5s": "failed", "p99>5s over 1s": "failed", "p99<5s": "", "mean>5s": ""} {
			f := failing(read, 30, 70, condition)
			if got := f.Broken(); (got != "") != (want != "") || !strings.Contains(got, want) {
				t.Errorf("read %v: %s is %q", read, condition, got)
			}
		}
	}
	f := failing(false, 300, 0, "p99>1s")
	if r := f.Result(); r.Latency.Response.P99 != 1000 || !r.Limits[0].Held || f.Broken() != "" {
		t.Errorf("without a failure: %+v", r.Limits)
	}
	f = failing(true, 0, 10)
	if r := f.Result(); r.Latency.EndToEnd != nil || r.Latency.Response.P50 != Failed || r.Latency.Response.Mean != Failed || r.Limits[0].Held {
		t.Errorf("nothing was acknowledged: %+v, %+v", r.Latency, r.Limits)
	}
}

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
	h.Plan.Read.Consumers, h.Plan.Read.Processing = consumers, plan.FixedWork(time.Millisecond)
	f := NewFold(h)
	for i := range 10 {
		start := time.Duration(i) * time.Second
		w := stats.Window{Start: start, End: start + time.Second, Read: stats.Read{
			Consumed: 1000, FirstRead: start, LastRead: start + time.Second,
			ReadTime: consumers * time.Second, ReadWait: 9 * time.Second, ReadHeld: 3 * time.Second, Work: 2 * time.Second, Rebalances: 1, RebalanceTime: 1200 * time.Millisecond,
			Share: stats.Share{Held: 500, Locks: 1900},
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
	must.Hold(t, e.Throttled == 0.05 && e.Consumed == 10_000 && e.Read != nil, "evidence %+v", e)
	want := verdict.Readers{
		Only: true, Failed: true, Error: "gone", Seconds: 10, RecordsPerSecond: 1000, Rebalances: 10, Processing: time.Millisecond, Busy: 1.0 / 3, Assigned: 6,
		LagThere: 1, Waiting: 0.5, Held: 0.5, Unassigned: 0.1, Fetching: 0.25, Lag: e.Read.Lag,
	}
	if diff := cmp.Diff(want, *e.Read, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	f.header.Plan.Read.Share, f.header.Environment.Share = &plan.ShareGroup{}, &ShareLimits{Locks: 2000}
	want.Waiting, want.Busy, want.Held, want.Assigned = 0.75, 1.0/6, 0.25, 0 // each of them can have records
	want.Locks = verdict.RecordLocks{Limit: 2000, Partitions: 6, Used: 1900, Held: 500, Consumers: consumers, Threads: 1, Working: 2}
	if diff := cmp.Diff(want, *f.evidence().Read, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
		t.Errorf("evidence of a share group (-want +got):\n%s", diff)
	}
}

func TestAcknowledgementsThatWaitForAFetchAreTold(t *testing.T) {
	for _, tc := range []struct {
		took, wait, work, want time.Duration
	}{
		{505 * time.Millisecond, 500 * time.Millisecond, 100 * time.Microsecond, 500 * time.Millisecond},
		{103 * time.Millisecond, 500 * time.Millisecond, 5 * time.Millisecond, 0},   // a poll's work
		{505 * time.Millisecond, 500 * time.Millisecond, 400 * time.Millisecond, 0}, // a record's
		{105 * time.Millisecond, 50 * time.Millisecond, 100 * time.Microsecond, 0},  // a poll's work, and a fetch
		{505 * time.Millisecond, 0, 100 * time.Microsecond, 0},                      // not known
	} {
		h := readHeader(plan.Consume, 0)
		h.Plan.Read.Processing, h.Environment.Share = plan.FixedWork(tc.work), &ShareLimits{Locks: 2000}
		h.ConsumerConfig = []Setting{{Name: "fetch.max.wait.ms", Value: strconv.FormatInt(tc.wait.Milliseconds(), 10)}}
		w := new(stats.Window)
		w.AckTime.RecordN(tc.took, 100)
		must.Match(t, tc.want, NewFold(h).recordLocks(w, 1).Behind, "%+v", tc)
	}
}

func TestWhatWouldKeepUpIsSaidWhereLagGrows(t *testing.T) {
	for _, tc := range []struct {
		partitions int
		slope      float64
		want       string
	}{
		{3, 400, "2 threads"}, // 3 consumers have no partition: more of them would not help
		{0, 400, ""},          // of a share group: all 6 work
		{2, 10, ""},           // within the tolerance
		{2, -400, ""},
	} {
		e := keepsUp(&plan.Read{Consumers: 6, Processing: plan.FixedWork(5 * time.Millisecond)}, tc.partitions, &verdict.Lag{Appended: 1000, Slope: tc.slope})
		must.Match(t, tc.want, e, "%+v", tc)
	}
}

func TestLagFromBeforeTheFirstRecordDoesNotGrow(t *testing.T) {
	joining := []readSecond{{Left: 0}, {Left: 100_000}, {Left: 300_000}} // the topic is filled while the consumers join
	for _, tc := range []struct {
		name string
		then []readSecond
		want string
	}{
		{"nothing is written after it", []readSecond{{Read: 190, Left: 299_810}, {Read: 190, Left: 299_620}, {Read: 190, Left: 299_430}}, ""},
		{"more is written than is read", []readSecond{{Read: 190, Left: 300_570}, {Read: 190, Left: 301_140}, {Read: 190, Left: 301_710}}, "5 threads or 4 more consumers"},
		{"no record comes", []readSecond{{Left: 300_000}, {Left: 300_000}}, ""},
	} {
		f := readSeconds(1, append(joining, tc.then...)...)
		f.header.Plan.Read.Processing = plan.FixedWork(5 * time.Millisecond)
		read := f.evidence().Read
		must.Match(t, tc.want, read.Keeps, "%s", tc.name)
		must.Match(t, tc.name == "no record comes", read.Joining, "%s: nobody has joined", tc.name)
	}
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
