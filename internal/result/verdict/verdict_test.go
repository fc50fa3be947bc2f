package verdict

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/stats"
)

// with returns the evidence of ten seconds at a rate that was kept, or at an unlimited one,
// with a change.
func with(target float64, change func(*Evidence)) Evidence {
	e := Evidence{
		Target: target, Measured: 10 * time.Second, Offered: 10_000, Acknowledged: 10_000, OfferedPerSecond: 1000, AcknowledgedPerSecond: 1000,
		ResponseP99: 50 * time.Millisecond, CoresAvailable: 4, HostCores: 8, Senders: true,
	}
	change(&e)
	return e
}

// judged checks the limit, numbers in the sentence, and whether the run is valid.
func judged(t *testing.T, e Evidence, limit Limit, valid bool, numbers ...string) {
	t.Helper()
	got := e.Verdict()
	must.Match(t, limit, got.Limit, "limited by (%s)", got.Evidence)
	for _, n := range numbers {
		if !strings.Contains(got.Evidence, n) {
			t.Errorf("the evidence is %q, want %q in it", got.Evidence, n)
		}
	}
	if reasons := e.Invalid(); reasons == nil || (len(reasons) == 0) != valid {
		t.Errorf("the reasons to be not valid are %q, want some: %t", reasons, !valid)
	}
}

func TestTheVerdictNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		in      Evidence
		want    Limit
		valid   bool
		numbers []string
	}{
		{"a target that was kept", with(1000, func(e *Evidence) { e.CPUCores = 1.5 }), None, true, []string{"1,000 records/s", "1,000/s", "1.50 of 4"}},
		{"also with everything full on the way", with(1000, func(e *Evidence) {
			e.OfferedPerSecond, e.HostCPUCores, e.BufferFull, e.InFlight = 995, 8, 0.9, 0.9
		}), None, true, []string{"995/s"}},
		{"and with kt all but out of CPU", with(1000, func(e *Evidence) { e.CPUCores = 3.9 }), None, true, []string{"3.90 of 4"}},
		{"as much as the host can offer, whatever waits", with(0, func(e *Evidence) {
			e.Ceiling, e.BufferFull, e.InFlight = 1050, 0.9, 0.9
		}), Ceiling, true, []string{"1,000 records/s", "95 %"}},
		{"less than it can offer", with(0, func(e *Evidence) {
			e.Ceiling, e.BufferFull, e.InFlight = 1100, 0.9, 0.9
		}), BrokerAcks, true, nil},
		{"a little more than was measured", with(0, func(e *Evidence) { e.Ceiling, e.BufferFull, e.InFlight = 920, 0.9, 0.9 }), Ceiling, true, nil},
		{"so much more that the ceiling was measured too low", with(0, func(e *Evidence) {
			e.Ceiling, e.BufferFull, e.InFlight = 900, 0.9, 0.9
		}), BrokerAcks, true, nil},
		{"a target that was kept at the ceiling", with(1000, func(e *Evidence) { e.Ceiling = 1000 }), None, true, nil},
		{"less than a second", with(0, func(e *Evidence) { e.Measured, e.CPUCores = 900*time.Millisecond, 4 }), Unknown, true, []string{"1 s"}},
		{"nothing was acknowledged", with(0, func(e *Evidence) { e.Acknowledged = 0 }), Unknown, true, nil},
		{"records that were not acknowledged, whatever else", with(0, func(e *Evidence) {
			e.Unknown, e.CPUCores, e.BufferFull, e.WorstError = 100, 4, 0.5, "TIMEOUT"
		}), Failures, true, []string{"1.0 %", "TIMEOUT", "50 %"}},
		{"fewer of them than show", with(0, func(e *Evidence) { e.Failed = 99 }), Client, true, nil},
		{"a stall beside them", with(1000, func(e *Evidence) {
			e.Failed, e.Stall.Gap = 5000, stats.Gap{From: 5 * time.Second, Length: 4 * time.Second}
		}), Failures, true, []string{"50.0 %", "4.00s", "5.00s"}},
		{"a stall beside them that has a cause", with(1000, func(e *Evidence) {
			e.Failed, e.Stall.Gap, e.Stall.Cause = 5000, stats.Gap{From: 5 * time.Second, Length: 4 * time.Second}, "at 4.90s an alarm"
		}), Failures, true, []string{"from 5.00s on (at 4.90s an alarm)"}},
		{"a stall beside a few records that may not be written", with(1000, func(e *Evidence) {
			e.Failed, e.WorstError, e.Stall.Gap = 9, "ACCESS_REFUSED (no rights)", stats.Gap{From: 5 * time.Second, Length: 4 * time.Second}
		}), Failures, true, []string{"ACCESS_REFUSED (no rights)", "4.00s"}},
		{"a stall beside a few other errors", with(1000, func(e *Evidence) {
			e.Failed, e.WorstError, e.Stall.Gap = 9, "NOT_LEADER_OR_FOLLOWER", stats.Gap{From: 5 * time.Second, Length: 4 * time.Second}
		}), Stalled, true, []string{"4.00s"}},
		{"an unlimited rate with no CPU left", with(0, func(e *Evidence) {
			e.CPUCores, e.HostCPUCores, e.BufferFull, e.InFlight, e.Throttled = 3.6, 8, 1, 1, 1
		}), ClientCPU, true, []string{"3.60 of 4"}},
		{"a target that was missed with no CPU left", with(1000, func(e *Evidence) { e.OfferedPerSecond, e.CPUCores = 900, 3.7 }), ClientCPU, false, []string{"3.70 of 4"}},
		{"kt late with nothing in its way", with(1000, func(e *Evidence) {
			e.OwnSendDelayP99, e.CPUCores, e.HostCPUCores = 8*time.Millisecond, 2, 7.9
		}), Schedule, false, []string{"8ms", "5ms", "2.00 of 4", "99 %"}},
		{"records that time out by a quota", with(1000, func(e *Evidence) { e.Throttled, e.Failed, e.WorstError = 0.9, 5000, "client:DELIVERY_TIMEOUT" }), Throttle, true, []string{"90 %", "50.0 %"}},
		{"messages that Pulsar holds back for too long", with(1000, func(e *Evidence) { e.Throttled, e.Failed, e.WorstError = 0.9, 5000, "TimeoutError" }), Throttle, true, []string{"90 %", "50.0 %"}},
		{"messages that full queues of RabbitMQ refuse", with(1000, func(e *Evidence) { e.Throttled, e.Quota, e.Failed, e.WorstError = 0.2, "x-max-length=5", 5000, "NACK" }), Throttle, true, []string{"20 %", "x-max-length=5", "50.0 %"}},
		{"messages that an alarm of RabbitMQ holds back for too long", with(1000, func(e *Evidence) { e.Throttled, e.Failed, e.WorstError = 0.2, 5000, "client:connection blocked" }), Throttle, true, []string{"20 %"}},
		{"messages that time out beside a short quota", with(1000, func(e *Evidence) { e.Throttled, e.Failed, e.WorstError = 0.2, 5000, "TimeoutError" }), Failures, true, []string{"TimeoutError"}},
		{"messages that RabbitMQ refuses for another reason", with(1000, func(e *Evidence) { e.Failed, e.WorstError = 5000, "NACK" }), Failures, true, []string{"NACK"}},
		{"records that a broker refuses beside a quota", with(1000, func(e *Evidence) { e.Throttled, e.Failed, e.WorstError = 0.9, 5000, "INVALID_RECORD (no key)" }), Failures, true, []string{"INVALID_RECORD (no key)"}},
		{"requests that ended without an answer", with(1000, func(e *Evidence) { e.Failed, e.Unanswered, e.WorstError = 5000, 3, "client:NETWORK" }), Failures, true, []string{"3 requests", "socket.request.max.bytes", "max.connections.per.ip"}},
		{"a pause of kt that looks like a stall", with(1000, func(e *Evidence) {
			e.Paused, e.Stall.Gap = 3*time.Second, stats.Gap{From: 5 * time.Second, Length: 3 * time.Second}
		}), Schedule, false, []string{"kt itself stood still for 3.0 s"}},
		{"a pause of kt at an unlimited rate", with(0, func(e *Evidence) { e.Paused = 3 * time.Second }), Schedule, false, nil},
		{"a pause of kt while it reads", with(0, func(e *Evidence) { e.Paused, e.Read = 3*time.Second, &Readers{Only: true} }), Schedule, false, nil},
		{"the CPU limit of a container", with(0, func(e *Evidence) {
			e.CPUCores, e.CoresAvailable, e.CPUStopped, e.BufferFull, e.InFlight = 0.2, 0.3, 0.6, 1, 1
		}), ClientCPU, true, []string{"0.20 of 0.3 cores", "60 %"}},
		{"the CPU limit of a container makes kt late", with(1000, func(e *Evidence) { e.CPUStopped, e.OwnSendDelayP99 = 0.2, 80*time.Millisecond }), ClientCPU, false, nil},
		{"other members in a round trip", with(1000, func(e *Evidence) { e.Read = &Readers{Others: "group g has other members"} }), Members, true, []string{"group g"}},
		{"other members have all partitions", with(0, func(e *Evidence) { e.Read = &Readers{Only: true, Others: "group g has other members"} }), Members, true, []string{"group g"}},
		{"a throttled reader that is given up", with(0, func(e *Evidence) {
			e.Throttled, e.Read = 0.9, &Readers{Only: true, Idle: 10 * time.Second, Lag: Lag{Left: 9}}
		}), Throttle, true, []string{"90 %"}},
		{"a quota", with(0, func(e *Evidence) { e.Throttled, e.HostCPUCores, e.BufferFull, e.InFlight = 0.2, 8, 1, 1 }), Throttle, true, []string{"20 %"}},
		{"a quota that the target was kept in spite of", with(1000, func(e *Evidence) { e.Throttled = 0.05 }), Throttle, true, []string{"5 %"}},
		{"a quota too small to show", with(1000, func(e *Evidence) { e.Throttled = 0.04 }), None, true, nil},
		{"one record at a time", with(0, func(e *Evidence) { e.OneAtATime = true }), None, true, nil},
		{"a machine that others keep busy", with(0, func(e *Evidence) {
			e.CPUCores, e.HostCPUCores, e.BufferFull, e.InFlight = 1, 7.6, 1, 1
		}), HostCPU, true, []string{"95 %", "1.00 of 4", "100 %"}},
		{"brokers that do not answer fast enough", with(0, func(e *Evidence) {
			e.CPUCores, e.HostCPUCores, e.BufferFull, e.InFlight = 2, 4, 0.1, 0.5
		}), BrokerAcks, true, []string{"10 %", "50 %", "2.00 of 4"}},
		{"so at a target", with(1000, func(e *Evidence) {
			e.OfferedPerSecond, e.Unsent, e.BufferFull, e.InFlight = 500, 5000, 0.8, 0.9
		}), BrokerAcks, true, []string{"80 %", "90 %"}},
		{"acks=0 and full connections", with(0, func(e *Evidence) { e.NoAcks, e.BufferFull = true, 0.9 }), Sockets, true, []string{"90 %"}},
		{"a buffer that is full with requests to spare", with(0, func(e *Evidence) { e.BufferFull, e.InFlight = 0.9, 0.4 }), Client, true, []string{"90 %", "40 %", "0.00 of 4"}},
		{"requests in flight and a buffer to spare", with(0, func(e *Evidence) { e.BufferFull, e.InFlight = 0.05, 1 }), Client, true, []string{"5 %", "100 %"}},
		{"parts that are apart", with(1000, func(e *Evidence) { e.Parts = &Parts{Count: 2, NoOverlap: "apart"} }), Unknown, true, []string{"apart"}},
		{"a part that is not valid", with(1000, func(e *Evidence) { e.Parts = &Parts{Count: 2, Invalid: []string{"vm7/1: late"}} }), Schedule, false, []string{"vm7/1"}},
	} {
		t.Run(tc.name, func(t *testing.T) { judged(t, tc.in, tc.want, tc.valid, tc.numbers...) })
	}
}

func TestARunIsValidWhenKtKeptItsOwnSchedule(t *testing.T) {
	for _, tc := range []struct {
		name   string
		in     Evidence
		number string // in the reason; "": valid
	}{
		{"late by the bound", with(1000, func(e *Evidence) { e.OwnSendDelayP99 = sendDelayFloor }), ""},
		{"late by more, of few", with(1000, func(e *Evidence) { e.OwnSendDelayP99, e.Offered = sendDelayFloor+100*time.Microsecond, 5 }), "1 of 5 records 5.1ms late"},
		{"late by more", with(1000, func(e *Evidence) { e.OwnSendDelayP99 = sendDelayFloor + 100*time.Microsecond }), "5.1ms"},
		{"late by more, and little of the response", with(1000, func(e *Evidence) { e.OwnSendDelayP99, e.ResponseP99 = 9*time.Millisecond, 100*time.Millisecond }), ""},
		{"the wire engine late by its own bound", with(1000, func(e *Evidence) { e.Wire, e.ResponseP99, e.OwnSendDelayP99 = true, 0, wireDelay }), ""},
		{"the wire engine late by more", with(1000, func(e *Evidence) { e.Wire, e.ResponseP99, e.OwnSendDelayP99 = true, 0, 2100*time.Microsecond }), "2ms"},
		{"the wire engine late, whatever the response", with(1000, func(e *Evidence) { e.Wire, e.ResponseP99, e.OwnSendDelayP99 = true, time.Second, 2100*time.Microsecond }), "2ms"},
		{"late by more than a tenth of the response", with(1000, func(e *Evidence) { e.OwnSendDelayP99, e.ResponseP99 = 12*time.Millisecond, 100*time.Millisecond }), "10ms"},
		{"half the load unsent, because the brokers held kt up", with(1000, func(e *Evidence) { e.OfferedPerSecond, e.Unsent, e.BufferFull = 500, 5000, 1 }), ""},
		{"half the load unsent, and nothing held kt up", with(1000, func(e *Evidence) { e.OfferedPerSecond, e.BufferFull = 500, 0.09 }), "9 %"},
		{"short of CPU and of the target", with(1000, func(e *Evidence) { e.OfferedPerSecond, e.CPUCores = 500, 3.6 }), "500 of 1,000"},
		{"short of CPU alone", with(1000, func(e *Evidence) { e.CPUCores = 4 }), ""},
		{"short of CPU, with much unsent at the end", with(1000, func(e *Evidence) { e.CPUCores, e.Unsent = 4, 200 }), "4.00 of 4"},
		{"an unlimited rate has no schedule to miss", with(0, func(e *Evidence) { e.OwnSendDelayP99, e.CPUCores = time.Minute, 4 }), ""},
		{"nothing was offered", with(1000, func(e *Evidence) { e.Offered, e.Unsent, e.OwnSendDelayP99 = 0, 10_000, time.Minute }), ""},
	} {
		reasons := tc.in.Invalid()
		if reasons == nil || (len(reasons) == 0) != (tc.number == "") || !strings.Contains(strings.Join(reasons, "\n"), tc.number) {
			t.Errorf("%s: the reasons are %q, want %q in them", tc.name, reasons, tc.number)
		}
	}
}

func TestATargetIsKeptToOnePercent(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name                  string
		Rate                  float64
		Target                float64
		Offered, Unsent       int64
		Poisson, Kept, Missed bool
	}](t, "verdict") {
		e := Evidence{Target: tc.Target, OfferedPerSecond: tc.Rate, AcknowledgedPerSecond: tc.Rate, Offered: tc.Offered, Unsent: tc.Unsent, Poisson: tc.Poisson}
		must.Match(t, tc.Kept, e.kept(), "%s: kept is at %.1f/s of %.0f", tc.Name, tc.Rate, tc.Target)
		share, missed := e.Missed(Client)
		if missed != tc.Missed || math.Abs(share-tc.Rate/tc.Target) > 1e-12 {
			t.Errorf("%s: missed is %t with a share of %v", tc.Name, missed, share)
		}
		if _, missed := e.Missed(None); missed {
			t.Errorf("%s: a target without a limit was missed", tc.Name)
		}
	}
}

func TestATargetIsCarriedIfLittleWaitsForItsAcknowledgement(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name            string
		Target, Waiting float64
		Offered         int64
		Processes       int // 0: not merged
		NoAcks          bool
		Want            Limit
		Numbers         []string
	}](t, "verdict") {
		t.Run(tc.Name, func(t *testing.T) {
			e := Evidence{
				Target: tc.Target, OfferedPerSecond: tc.Target, Offered: tc.Offered, Acknowledged: tc.Offered - int64(tc.Waiting),
				Waiting: tc.Waiting, Measured: time.Minute, NoAcks: tc.NoAcks,
			}
			if tc.Processes > 0 {
				e.Parts = &Parts{Count: tc.Processes}
			}
			judged(t, e, tc.Want, true, tc.Numbers...)
		})
	}
	e := with(1, func(e *Evidence) { e.Waiting = 20_000 })
	ended := e.Verdict()
	e.Sending = true
	if now := e.Verdict(); now.Limit != ended.Limit || now.Evidence == ended.Evidence {
		t.Errorf("while sending goes on the verdict is %q, as when it has ended", now.Evidence)
	}
}

func TestAStallIsLongerWhereNothingIsDue(t *testing.T) {
	for _, tc := range []struct {
		target float64
		length time.Duration
		cause  string
		stall  bool
	}{
		{1000, 999 * time.Millisecond, "", false},
		{1000, time.Second, "", true},
		{0, 1999 * time.Millisecond, "", false},
		{0, 2 * time.Second, "broker 2 is gone", true},
	} {
		e := with(tc.target, func(e *Evidence) {
			e.Stall = Stall{stats.Gap{From: 3960 * time.Millisecond, Length: tc.length}, tc.cause}
		})
		v := e.Verdict()
		if stall := v.Limit == Stalled; stall != tc.stall || stall && !strings.Contains(v.Evidence, "3.96s") || !strings.Contains(v.Evidence, tc.cause) {
			t.Errorf("%v without an acknowledgement at %.0f/s: limited by %q: %s", tc.length, tc.target, v.Limit, v.Evidence)
		}
	}
}
