package result

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/stats"
)

// evidenceOf is what a run of ten seconds leaves behind.
type evidenceOf struct {
	target       float64 // records a second; 0: unlimited
	offered      int64
	acked        int64
	unsent       int64
	poisson      bool
	seconds      float64       // 0: ten
	ownSendDelay time.Duration // of every record
	sendDelay    time.Duration // of the records that back-pressure held up
	response     time.Duration // of every record; 0: 50 ms
	cores        float64       // used by kt, of 4
	host         float64       // used on the machine, of 8
	full         float64       // share of time
	inFlight     float64
	throttle     float64
}

func (e evidenceOf) fold() *Fold {
	h := header(e.target)
	if e.poisson {
		h.Plan.Load.Arrivals = plan.Poisson
	}
	if e.seconds == 0 {
		e.seconds = 10
	}
	if e.response == 0 {
		e.response = 50 * time.Millisecond
	}
	length := time.Duration(e.seconds * float64(time.Second))
	part := func(share float64, of time.Duration) time.Duration { return time.Duration(share * float64(of)) }
	w := stats.Window{
		End: length, Offered: e.offered, Acknowledged: e.acked, Unknown: e.offered - e.acked, Unsent: e.unsent,
		LastSent: length, LastAck: length, ShardTime: length, BufferFull: part(e.full, length),
		ConnTime: 3 * length, InFlightUse: part(e.inFlight, 3*length),
		Brokers: map[int32]stats.Broker{1: {Traffic: stats.Traffic{Throttle: part(e.throttle, length) / 2}}, 2: {Traffic: stats.Traffic{Throttle: part(e.throttle, length) / 2}}},
	}
	w.OwnSendDelay.RecordN(e.ownSendDelay, 100)
	w.SendDelay.RecordN(e.ownSendDelay, 100)
	if e.sendDelay > 0 {
		w.SendDelay.RecordN(e.sendDelay, 100)
	}
	w.Response.RecordN(e.response, 100)
	f := NewFold(h)
	f.AddWindow(w)
	f.AddSample(host.Sample{At: length, Interval: length, Cores: 4, HostCores: 8, ProcessCPU: e.cores, HostCPU: e.host})
	f.Finish(Trailer{Ended: Completed})
	return f
}

func TestTheVerdictNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in       evidenceOf
		want     Limit
		evidence []string // each in the sentence
		valid    bool
	}{
		{
			"a target that was kept had no limit",
			evidenceOf{target: 1000, offered: 10_000, acked: 10_000, cores: 1.5},
			LimitNone,
			[]string{"target of 1,000 records/s was kept", "1,000/s offered", "1.50 of 4 cores"},
			true,
		},
		{
			"also with everything full on the way",
			evidenceOf{target: 1000, offered: 9950, acked: 9950, cores: 1.5, host: 8, full: 0.9, inFlight: 0.9},
			LimitNone,
			[]string{"995/s offered"},
			true,
		},
		{
			"and with kt all but out of CPU",
			evidenceOf{target: 1000, offered: 10_000, acked: 10_000, cores: 3.9},
			LimitNone,
			[]string{"3.90 of 4 cores"},
			true,
		},
		{
			"less than a second tells nothing",
			evidenceOf{offered: 10_000, acked: 10_000, cores: 4, seconds: 0.9},
			LimitUnknown,
			[]string{"too short: less than 1 s was measured"},
			true,
		},
		{
			"records that were not acknowledged, whatever else",
			evidenceOf{offered: 10_000, acked: 9_900, cores: 4, full: 0.5},
			LimitFailures,
			[]string{"1.0 % of the records were not acknowledged", "acknowledgements 50 %"},
			true,
		},
		{
			"an unlimited rate with no CPU left",
			evidenceOf{offered: 10_000, acked: 10_000, cores: 3.6, host: 8, full: 1, inFlight: 1, throttle: 1},
			LimitClientCPU,
			[]string{"3.60 of 4 cores"},
			true,
		},
		{
			"a target that was missed with no CPU left",
			evidenceOf{target: 1000, offered: 9000, acked: 9000, cores: 3.7},
			LimitClientCPU,
			[]string{"3.70 of 4 cores"},
			false,
		},
		{
			"kt late with nothing in its way",
			evidenceOf{target: 1000, offered: 10_000, acked: 10_000, ownSendDelay: 8 * time.Millisecond, cores: 2, host: 7.9},
			LimitSchedule,
			[]string{"more than 8ms late", "bound: 5ms", "2.00 of 4 cores", "99 % busy"},
			false,
		},
		{
			"a quota",
			evidenceOf{offered: 10_000, acked: 10_000, throttle: 0.2, host: 8, full: 1, inFlight: 1},
			LimitThrottle,
			[]string{"20 % of the time"},
			true,
		},
		{
			"a quota that the target was kept in spite of",
			evidenceOf{target: 1000, offered: 10_000, acked: 10_000, throttle: 0.05},
			LimitThrottle,
			[]string{"5 % of the time"},
			true,
		},
		{
			"a quota too small to show",
			evidenceOf{target: 1000, offered: 10_000, acked: 10_000, throttle: 0.04},
			LimitNone,
			[]string{"was kept"},
			true,
		},
		{
			"a machine that others keep busy",
			evidenceOf{offered: 10_000, acked: 10_000, cores: 1, host: 7.6, full: 1, inFlight: 1},
			LimitHostCPU,
			[]string{"95 % busy", "1.00 of 4 cores", "acknowledgements 100 %", "100 % of the requests"},
			true,
		},
		{
			"brokers that do not answer fast enough",
			evidenceOf{offered: 10_000, acked: 10_000, cores: 2, host: 4, full: 0.1, inFlight: 0.5},
			LimitBrokerAcks,
			[]string{"acknowledgements 10 %", "50 % of the requests", "2.00 of 4 cores"},
			true,
		},
		{
			"so at a target",
			evidenceOf{target: 1000, offered: 5000, acked: 5000, unsent: 5000, full: 0.8, inFlight: 0.9},
			LimitBrokerAcks,
			[]string{"acknowledgements 80 %", "90 % of the requests"},
			true,
		},
		{
			"a buffer that is full with requests to spare",
			evidenceOf{offered: 10_000, acked: 10_000, full: 0.9, inFlight: 0.4},
			LimitClient,
			[]string{"acknowledgements 90 %", "40 % of the requests", "0.00 of 4 cores", "more --producers"},
			true,
		},
		{
			"requests in flight and a buffer to spare",
			evidenceOf{offered: 10_000, acked: 10_000, full: 0.05, inFlight: 1},
			LimitClient,
			[]string{"acknowledgements 5 %", "100 % of the requests"},
			true,
		},
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
			if r.Valid != tc.valid || r.Valid != (len(r.Invalid) == 0) {
				t.Errorf("valid is %t with reasons %q", r.Valid, r.Invalid)
			}
			if v := f.Verdict(); v != r.BoundBy {
				t.Errorf("Verdict is %v, that of the result %v", v, r.BoundBy)
			}
		})
	}
}

func TestARunIsValidWhenKtKeptItsOwnSchedule(t *testing.T) {
	ok := evidenceOf{target: 1000, offered: 10_000, acked: 10_000}
	with := func(change func(*evidenceOf)) evidenceOf { e := ok; change(&e); return e }
	for _, tc := range []struct {
		name string
		in   evidenceOf
		want string // in the reason; "": valid
	}{
		{"on time", ok, ""},
		{"late by the bound", with(func(e *evidenceOf) { e.ownSendDelay = sendDelayFloor }), ""},
		{"late by more", with(func(e *evidenceOf) { e.ownSendDelay = sendDelayFloor + 100*time.Microsecond }), "more than 5.1ms late (bound: 5ms)"},
		{
			"late by more, where that is little of what was measured",
			with(func(e *evidenceOf) { e.ownSendDelay, e.response = 9*time.Millisecond, 100*time.Millisecond }), "",
		},
		{
			"late by more than a tenth of what was measured",
			with(func(e *evidenceOf) { e.ownSendDelay, e.response = 12*time.Millisecond, 100*time.Millisecond }), "more than 12ms late (bound: 10ms",
		},
		{"late only because the brokers held kt up", with(func(e *evidenceOf) { e.sendDelay, e.response = time.Minute, time.Minute }), ""},
		{"half the load left unsent, because the brokers held kt up", with(func(e *evidenceOf) { e.offered, e.unsent, e.full = 5000, 5000, 1 }), ""},
		{
			"short of CPU and short of the target", with(func(e *evidenceOf) { e.offered, e.acked, e.cores = 5000, 5000, 3.6 }),
			"3.60 of 4 cores and handed over 500 of 1,000 records/s",
		},
		{"short of CPU alone", with(func(e *evidenceOf) { e.cores = 4 }), ""},
		{"short of CPU, with much unsent at the end", with(func(e *evidenceOf) { e.cores, e.unsent = 4, 200 }), "4.00 of 4 cores"},
		{"an unlimited rate has no schedule to miss", with(func(e *evidenceOf) { e.target, e.ownSendDelay, e.cores = 0, time.Minute, 4 }), ""},
		{"nothing was offered", with(func(e *evidenceOf) { e.offered, e.acked, e.unsent, e.ownSendDelay = 0, 0, 10_000, time.Minute }), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.in.fold().Result()
			if r.Valid != (tc.want == "") || !strings.Contains(strings.Join(r.Invalid, "\n"), tc.want) {
				t.Errorf("valid is %t for %q, want %q", r.Valid, r.Invalid, tc.want)
			}
			if r.Invalid == nil {
				t.Error("the reasons are null in JSON, not an empty list")
			}
		})
	}
}

func TestATargetIsKeptToOnePercent(t *testing.T) {
	for _, tc := range []struct {
		name string
		in   evidenceOf
		kept bool
	}{
		{"all of it", evidenceOf{target: 1000, offered: 10_001}, true},
		{"one percent less", evidenceOf{target: 1000, offered: 9901}, true},
		{"more than one percent less", evidenceOf{target: 1000, offered: 9890}, false},
		{"all of it, and one percent that was due too", evidenceOf{target: 1000, offered: 10_001, unsent: 100}, true},
		{"all of it, and more that was due too", evidenceOf{target: 1000, offered: 10_001, unsent: 102}, false},
		{"four percent less by chance of few records", evidenceOf{target: 1000, offered: 9601, poisson: true}, true},
		{"more than chance explains", evidenceOf{target: 1000, offered: 9501, poisson: true}, false},
		{"more than chance explains of many records", evidenceOf{target: 1e6, offered: 9_850_001, poisson: true}, false},
	} {
		e := tc.in.fold().evidence()
		if got := e.kept(); got != tc.kept {
			t.Errorf("%s: kept is %t at %.1f/s of %.0f", tc.name, got, e.rate, e.target)
		}
	}
}

func TestTheLongestGapIsAStall(t *testing.T) {
	for _, tc := range []struct {
		name      string
		rate      float64
		gap, more time.Duration // both are told, one after the other
		want      string        // "": no stall
	}{
		{"less than a second at a rate", 1000, 999 * time.Millisecond, 0, ""},
		{"a second", 1000, time.Second, 0, "nothing was acknowledged for 1.00s, from 3.96s on, although"},
		{"a broker that stood still for 2 s", 1000, 1960 * time.Millisecond, 0, "nothing was acknowledged for 1.96s, from 3.96s on, although"},
		{"one that goes on", 1000, 1040 * time.Millisecond, 2720 * time.Millisecond, "nothing was acknowledged for 2.72s, from 3.96s on, although"},
		{"a shorter one after it", 1000, 2720 * time.Millisecond, time.Second, "nothing was acknowledged for 2.72s, from 3.96s on, although"},
		{"where nothing is due", 0, 1960 * time.Millisecond, 0, ""},
		{"where nothing is due, longer", 0, 2 * time.Second, 0, "nothing was acknowledged for 2.00s, from 3.96s on, although"},
	} {
		f := NewFold(header(tc.rate))
		for i := range 12 {
			at := time.Duration(i) * time.Second
			w := stats.Window{
				Start: at, End: at + time.Second, Offered: 1000, Acknowledged: 1000, ShardTime: time.Second,
				LastDue: at + time.Second, LastSent: at + time.Second, LastAck: at + time.Second,
			}
			switch i { // each second has acknowledgements: what counts is the time between two of them
			case 5:
				w.Outage = stats.Gap{From: 3960 * time.Millisecond, Length: tc.gap}
			case 6:
				w.Outage = stats.Gap{From: 3960 * time.Millisecond, Length: tc.more}
			}
			f.AddWindow(w)
		}
		v := f.Verdict()
		if stall := v.Limit == LimitStall; stall != (tc.want != "") || !strings.HasPrefix(v.Evidence, tc.want) {
			t.Errorf("%s: bound by %q: %s; want %q", tc.name, v.Limit, v.Evidence, tc.want)
		}
		if r := f.Result(); *r.Outage.LongestGapMS != max(tc.gap, tc.more).Milliseconds() {
			t.Errorf("%s: the longest gap is %d ms", tc.name, *r.Outage.LongestGapMS)
		}
	}
}

func TestAStallIsNamedBesideWhatIsGraver(t *testing.T) {
	f := NewFold(header(1000))
	f.AddWindow(stats.Window{
		End: 10 * time.Second, Offered: 10_000, Acknowledged: 5000, Failed: 5000, Errors: map[string]int64{"client:DELIVERY_TIMEOUT": 5000},
		LastAck: 5 * time.Second, LastDue: 10 * time.Second, LastSent: 10 * time.Second, ShardTime: 10 * time.Second,
		Outage: stats.Gap{From: 5 * time.Second, Length: 4 * time.Second},
	})
	const want = "most of them client:DELIVERY_TIMEOUT; nothing was acknowledged for 4.00s, from 5.00s on"
	if v := f.Verdict(); v.Limit != LimitFailures || !strings.Contains(v.Evidence, want) {
		t.Errorf("bound by %q: %s; want %q in it", v.Limit, v.Evidence, want)
	}
}

func TestAGapCountsFromTheFirstMeasuredRecord(t *testing.T) {
	f := NewFold(header(1000))
	f.AddWindow(stats.Window{End: 2 * time.Second, Warmup: true, Offered: 2000, Acknowledged: 500, Outage: stats.Gap{From: 500 * time.Millisecond, Length: 1500 * time.Millisecond}})
	f.AddWindow(stats.Window{
		Start: 2 * time.Second, End: 3 * time.Second, Offered: 1000, FirstDue: 2 * time.Second, LastSent: 3 * time.Second,
		Outage: stats.Gap{From: 500 * time.Millisecond, Length: 2200 * time.Millisecond},
	})
	if o := f.Result().Outage; *o.LongestGapMS != 700 || *o.LongestGapFromSeconds != 2 {
		t.Errorf("the gap is of %d ms from %v s on, want 700 ms from 2 s on", *o.LongestGapMS, *o.LongestGapFromSeconds)
	}
}

func TestAnOutageAtTheEndLowersTheThroughput(t *testing.T) {
	f := NewFold(header(1000))
	f.AddWindow(stats.Window{
		End: 10 * time.Second, Offered: 10_000, Acknowledged: 2000, Unknown: 8000,
		LastAck: 2 * time.Second, LastDue: 10 * time.Second, LastSent: 10 * time.Second, ShardTime: 10 * time.Second,
	})
	if got := f.Result().Throughput.RecordsPerSecond; got != 200 {
		t.Errorf("%.0f records/s, want the 200 that were acknowledged over all of the time", got)
	}
}

func TestWithoutAcksAFullBufferIsTheConnections(t *testing.T) {
	h := header(0)
	h.Config = []Setting{{Name: "acks", Value: "0"}}
	f := NewFold(h)
	f.AddWindow(stats.Window{
		End: 10 * time.Second, Offered: 1000, Acknowledged: 1000, LastAck: 10 * time.Second, LastSent: 10 * time.Second,
		ShardTime: 10 * time.Second, BufferFull: 9 * time.Second, ConnTime: 10 * time.Second,
	})
	if v := f.Verdict(); v.Limit != LimitSockets || !strings.Contains(v.Evidence, "90 %") {
		t.Errorf("bound by %q: %s", v.Limit, v.Evidence)
	}
}

func TestAMissedTargetIsToldWithItsShare(t *testing.T) {
	for _, tc := range []struct {
		name           string
		offered, acked int64
		seconds        int
		share          float64 // 0: it is not missed
	}{
		{"kept", 10_000, 10_000, 10, 0},
		{"kept, and the last are acknowledged late", 10_000, 9950, 10, 0},
		{"half of it was offered", 5000, 5000, 10, 0.5},
		{"all was offered, and half acknowledged", 10_000, 5000, 10, 0.5},
		{"too short to tell", 400, 400, 0, 0},
	} {
		f := NewFold(header(1000))
		end := max(time.Duration(tc.seconds)*time.Second, 800*time.Millisecond)
		f.AddWindow(stats.Window{
			End: end, Offered: tc.offered, Acknowledged: tc.acked, LastDue: end, LastSent: end, LastAck: end, ShardTime: end, BufferFull: end / 2,
		})
		switch r := f.Result(); {
		case (r.TargetReached != nil) != (tc.share > 0):
			t.Errorf("%s: the share is %v, bound by %+v", tc.name, r.TargetReached, r.BoundBy)
		case r.TargetReached != nil && math.Abs(*r.TargetReached-tc.share) > 1e-3:
			t.Errorf("%s: the share is %v, want %v", tc.name, *r.TargetReached, tc.share)
		}
	}
}
