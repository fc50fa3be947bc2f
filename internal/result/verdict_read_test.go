package result

import (
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// readEvidence is what ten seconds of reading leave behind, 1,000 records each.
type readEvidence struct {
	target     float64 // records a second; 0: unlimited
	read       int64   // a second; 0: 1,000
	seconds    int     // 0: ten
	waiting    int64   // records with which each second but the last ends
	wait, held float64 // shares of the readers' time
	unshared   float64 // in rebalances
	fetching   float64 // of the time, at one of the brokers
	throttle   float64
	processing time.Duration
	consumers  int // 0: one
	cores      float64
	host       float64
	failed     string
}

// none is no records at all.
const none = -1

func (e readEvidence) fold() *Fold {
	h := readHeader(plan.Consume, e.target)
	h.Plan.Read.Consumers, h.Plan.Read.Processing = max(1, e.consumers), plan.Duration(e.processing)
	readers := time.Duration(max(1, e.consumers))
	part := func(share float64) time.Duration {
		return time.Duration(share * float64(readers*time.Second)).Round(time.Microsecond)
	}
	if e.seconds == 0 {
		e.seconds = 10
	}
	switch e.read {
	case 0:
		e.read = 1000
	case none:
		e.read = 0
	}
	f := NewFold(h)
	before := int64(0)
	for i := range e.seconds {
		start := time.Duration(i) * time.Second
		waiting := e.waiting
		if i == e.seconds-1 {
			waiting = 0
		}
		w := stats.Window{Start: start, End: start + time.Second, Read: stats.Read{
			Consumed: e.read, FirstRead: start, LastRead: start + time.Second, ConsumerLag: waiting - before,
			ReadTime: readers * time.Second, ReadWait: part(e.wait), ReadHeld: part(e.held),
			Rebalances: 1, RebalanceTime: part(e.unshared),
		}, Brokers: map[int32]stats.Broker{2: {Fetch: stats.Traffic{Requests: 10, Throttle: part(e.throttle)}}}}
		b := w.Brokers[2]
		b.Fetch.Latency.RecordN(part(e.fetching)/10, 10)
		w.Brokers[2] = b
		before = waiting
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second, Cores: 4, HostCores: 8, ProcessCPU: e.cores, HostCPU: e.host})
	}
	t := Trailer{Ended: Completed, Reading: ReadAll}
	if e.failed != "" {
		t.Reading, t.ReadError = ReadFailed, e.failed
	}
	f.Finish(t)
	return f
}

func TestTheVerdictOnReadingNamesTheLimitAndItsNumbers(t *testing.T) {
	const much = 50_000
	for _, tc := range []struct {
		name     string
		in       readEvidence
		want     Limit
		evidence []string // each in the sentence
		valid    bool
	}{
		{"it could not go on", readEvidence{waiting: much, failed: "TOPIC_AUTHORIZATION_FAILED: orders"}, LimitReadFailed, []string{"could not go on: TOPIC_AUTHORIZATION_FAILED"}, true},
		{"nothing was read", readEvidence{read: none, wait: 1}, LimitUnknown, []string{"too little"}, true},
		{"no CPU left", readEvidence{waiting: much, cores: 3.6, wait: 1, fetching: 1}, LimitClientCPU, []string{"3.60 of 4 cores", "read from more hosts"}, true},
		{"no CPU left for the rate that was asked for", readEvidence{target: 2000, waiting: much, cores: 3.8}, LimitClientCPU, []string{"3.80 of 4 cores"}, false},
		{"a quota", readEvidence{waiting: much, throttle: 0.2, wait: 1, fetching: 1}, LimitThrottle, []string{"20 % of the time"}, true},
		{"a rate that was kept", readEvidence{target: 1000, waiting: much, held: 0.9}, LimitNone, []string{"target of 1,000 records/s was kept", "1,000/s read"}, true},
		{"so with all of the CPU", readEvidence{target: 1000, waiting: much, cores: 4}, LimitNone, []string{"was kept"}, true},
		{"a rate that was not kept for lack of records", readEvidence{target: 2000, wait: 0.8}, LimitNone, []string{"kept up", "80 % of the time"}, true},
		{"readers that wait for what is written", readEvidence{wait: 0.9, fetching: 1}, LimitNone, []string{"kept up with what was written", "waited for records 90 %", "there was consumer lag 0 %"}, true},
		{"readers that take their time, and keep up", readEvidence{held: 0.9, processing: time.Millisecond}, LimitNone, []string{"kept up"}, true},
		{"less waits than is read in a second", readEvidence{waiting: 1000, wait: 0.5}, LimitNone, []string{"kept up"}, true},
		{"rebalances", readEvidence{waiting: much, unshared: 0.15, wait: 1}, LimitRebalances, []string{"no partitions for 15 %", "10 rebalances"}, true},
		{"the processing time", readEvidence{waiting: much, held: 0.8, processing: time.Millisecond}, LimitProcessing, []string{"1ms for each record", "80 % of the readers' time"}, true},
		{"another on this machine", readEvidence{waiting: much, wait: 0.5, fetching: 1, cores: 1, host: 7.8}, LimitHostCPU, []string{"97 % busy", "1.00 of 4 cores"}, true},
		{"brokers that give too little", readEvidence{waiting: much, wait: 0.1, fetching: 0.5, cores: 1}, LimitFetches, []string{"waited for records 10 %", "there was consumer lag 100 %", "busiest broker 50 %", "page cache or disk"}, true},
		{"a client that is busy with what it has", readEvidence{waiting: much, wait: 0.05, fetching: 1, cores: 1}, LimitReader, []string{"more --consumers"}, true},
		{"a client that does not ask", readEvidence{waiting: much, wait: 0.5, fetching: 0.3, cores: 1}, LimitReader, []string{"busiest broker 30 %"}, true},
		{"readers without partitions do not wait for records", readEvidence{waiting: much, consumers: 12, wait: 0.52, fetching: 1}, LimitReader, []string{"waited for records 4 %"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := tc.in.fold()
			r := f.Result()
			if r.BoundBy.Limit != tc.want {
				t.Fatalf("bound by %q (%s), want %q", r.BoundBy.Limit, r.BoundBy.Evidence, tc.want)
			}
			for _, want := range tc.evidence {
				if !strings.Contains(r.BoundBy.Evidence, want) {
					t.Errorf("the evidence is %q, want %q in it", r.BoundBy.Evidence, want)
				}
			}
			if r.Valid != tc.valid || r.Valid != (len(r.Invalid) == 0) || r.Invalid == nil {
				t.Errorf("valid is %t with reasons %q", r.Valid, r.Invalid)
			}
			if v := f.Verdict(); v != r.BoundBy {
				t.Errorf("Verdict is %v, that of the result %v", v, r.BoundBy)
			}
		})
	}
}

// roundtripOf is a run of ten seconds that writes what ok does and reads so much.
func roundtripOf(target float64, change func(*Header, *stats.Window)) *Fold {
	h := readHeader(plan.Roundtrip, target)
	const length = 10 * time.Second
	w := stats.Window{
		Offered: 1000, Acknowledged: 1000, LastSent: time.Second, LastAck: time.Second, ShardTime: time.Second,
		Read: stats.Read{Consumed: 1000, LastRead: time.Second, ReadTime: time.Second},
	}
	change(&h, &w)
	f := NewFold(h)
	for i := range 10 {
		s := w
		s.Start = time.Duration(i) * time.Second
		s.End = s.Start + time.Second
		s.FirstDue, s.FirstRead = s.Start, s.Start
		s.LastSent, s.LastAck, s.LastRead = s.End, s.End, s.End
		f.AddWindow(s)
	}
	f.AddSample(host.Sample{At: length, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: 1, HostCPU: 2})
	f.Finish(Trailer{Ended: Completed, Reading: ReadAll})
	return f
}

func TestARoundtripIsJudgedByItsProducersAndByWhetherItsReadersKeepUp(t *testing.T) {
	behind := func(w *stats.Window) { w.ConsumerLag = 200; w.Consumed = 150 }
	for _, tc := range []struct {
		name     string
		target   float64
		change   func(*Header, *stats.Window)
		want     Limit
		evidence string
	}{
		{"all kept up", 1000, func(*Header, *stats.Window) {}, LimitNone, "target of 1,000 records/s was kept"},
		{"the readers did not", 1000, func(_ *Header, w *stats.Window) { behind(w) }, LimitConsumers, "grew by 200 records/s to 2,000: 350/s were written and 150/s read"},
		{
			"for the processing time", 1000, func(h *Header, w *stats.Window) {
				behind(w)
				h.Plan.Read.Processing, w.ReadHeld = plan.Duration(time.Millisecond), 900*time.Millisecond
			}, LimitConsumers, "processing time of 1ms for each record took 90 %",
		},
		{"at an unlimited rate", 0, func(_ *Header, w *stats.Window) { behind(w); w.BufferFull = time.Second }, LimitConsumers, "senders waited for acknowledgements 100 %"},
		{"a quota on reading", 0, func(_ *Header, w *stats.Window) {
			behind(w)
			w.Brokers = map[int32]stats.Broker{1: {Fetch: stats.Traffic{Requests: 1, Throttle: 60 * time.Millisecond}}}
		}, LimitThrottle, "6 % of the time"},
		{"records that failed come first", 0, func(_ *Header, w *stats.Window) { behind(w); w.Offered += 50; w.Failed = 50 }, LimitFailures, "not acknowledged"},
		{"one record at a time", 0, func(h *Header, _ *stats.Window) { h.Plan.Load.OneAtATime = true }, LimitNone, "one record was in flight at a time"},
	} {
		r := roundtripOf(tc.target, tc.change).Result()
		if r.BoundBy.Limit != tc.want || !strings.Contains(r.BoundBy.Evidence, tc.evidence) || !r.Valid {
			t.Errorf("%s: bound by %q (%s), valid %t %q; want %q with %q", tc.name, r.BoundBy.Limit, r.BoundBy.Evidence, r.Valid, r.Invalid, tc.want, tc.evidence)
		}
	}
	f := roundtripOf(1000, func(*Header, *stats.Window) {})
	f.Finish(Trailer{Ended: Completed, Reading: ReadFailed})
	if v := f.Verdict(); v.Limit != LimitReadFailed || !strings.Contains(v.Evidence, "not known") {
		t.Errorf("reading that could not go on: bound by %q (%s)", v.Limit, v.Evidence)
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
		want    Limit
		told    string
	}{
		{"nobody knows why", ReadIdle, 7000, nil, LimitStall, "no record came for the last 5.0 s although 7,000 wait; kt used"},
		{"a broker is gone", ReadIdle, 1, []stats.Event{broker}, LimitStall, "although 1 waits: at 3.4 s broker 2 does not answer, see the timeline"},
		{"nothing waits", ReadIdle, 0, []stats.Event{broker}, LimitNone, "target of 1,000 records/s was kept"},
		{"reading ended for another reason", ReadCount, 7000, []stats.Event{broker}, LimitNone, "target of 1,000 records/s was kept"},
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
		f.Finish(Trailer{Ended: Completed, ElapsedSeconds: 8, Reading: tc.reading})
		if v := f.Verdict(); v.Limit != tc.want || !strings.Contains(v.Evidence, tc.told) {
			t.Errorf("%s: bound by %q (%s), want %q with %q", tc.name, v.Limit, v.Evidence, tc.want, tc.told)
		}
	}
}
