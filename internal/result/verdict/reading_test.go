package verdict

import (
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/stats"
)

// reads returns the evidence of ten seconds of reading 1,000 records a second, with a
// change. Readers keep up and there is consumer lag all the time.
func reads(target float64, change func(*Evidence, *Readers)) Evidence {
	kept := true
	r := Readers{Only: true, Seconds: 10, RecordsPerSecond: 1000, LagThere: 1, Lag: Lag{KeptUp: &kept}}
	e := Evidence{Target: target, Measured: 10 * time.Second, Consumed: 10_000, CoresAvailable: 4, HostCores: 8, Read: &r}
	change(&e, &r)
	return e
}

func TestTheVerdictOnReadingNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range []struct {
		name    string
		in      Evidence
		want    Limit
		valid   bool
		numbers []string
	}{
		{"it could not go on", reads(0, func(_ *Evidence, r *Readers) { r.Failed, r.Error = true, "TOPIC_AUTHORIZATION_FAILED" }), ReadFailed, true, []string{"TOPIC_AUTHORIZATION_FAILED"}},
		{"so for no known reason", reads(0, func(_ *Evidence, r *Readers) { r.Failed = true }), ReadFailed, true, []string{"not known"}},
		{"no rights", reads(0, func(e *Evidence, r *Readers) {
			e.Consumed, r.Denied, r.Error, r.Idle, r.Lag.Left = 0, true, "6 ACCESS_REFUSED", 5*time.Second, 7000
		}), ReadFailed, true, []string{"6 ACCESS_REFUSED"}},
		{"no rights any more", reads(0, func(_ *Evidence, r *Readers) {
			r.Denied, r.Error, r.Idle, r.Lag.Left = true, "6 ACCESS_REFUSED", 5*time.Second, 7000
		}), ReadFailed, true, nil},
		{"no rights for a while", reads(1000, func(_ *Evidence, r *Readers) { r.Denied, r.Error = true, "6 ACCESS_REFUSED" }), None, true, nil},
		{"nothing was read", reads(0, func(e *Evidence, _ *Readers) { e.Consumed = 0 }), Unknown, true, nil},
		{"no connection was to be had", reads(0, func(e *Evidence, _ *Readers) { e.Consumed, e.FailedConnects = 0, 287 }), Unknown, true, []string{"287 connections", "max.connections.per.ip"}},
		{"so while records wait", reads(0, func(e *Evidence, r *Readers) { e.FailedConnects, r.Idle, r.Lag.Left = 287, 5*time.Second, 7000 }), Stalled, true, []string{"7,000 wait", "max.connections.per.ip"}},
		{"too short", reads(0, func(_ *Evidence, r *Readers) { r.Seconds = 0.99 }), Unknown, true, []string{"990ms"}},
		{"given up although records wait", reads(0, func(_ *Evidence, r *Readers) { r.Idle, r.Lag.Left = 5*time.Second, 7000 }), Stalled, true, []string{"5.0 s", "7,000 wait", "0.00 of 4"}},
		{"so while a broker is gone", reads(0, func(_ *Evidence, r *Readers) {
			r.Idle, r.Lag.Left, r.IdleCause = 5*time.Second, 1, "broker 2 is gone"
		}), Stalled, true, []string{"1 waits", "broker 2"}},
		{"a stall of a second at a rate", reads(1000, func(e *Evidence, _ *Readers) { e.Stall.Gap = stats.Gap{Length: 1200 * time.Millisecond} }), Stalled, true, []string{"1.20s"}},
		{"no CPU left", reads(0, func(e *Evidence, r *Readers) { e.CPUCores, r.Waiting, r.Fetching = 3.6, 1, 1 }), ClientCPU, true, []string{"3.60 of 4"}},
		{"no CPU left for the rate that was asked for", reads(2000, func(e *Evidence, _ *Readers) { e.CPUCores = 3.8 }), ClientCPU, false, []string{"3.80 of 4"}},
		{"a quota", reads(0, func(e *Evidence, r *Readers) { e.Throttled, r.Waiting, r.Fetching = 0.2, 1, 1 }), Throttle, true, []string{"20 %"}},
		{"a rate that was kept", reads(1000, func(_ *Evidence, r *Readers) { r.Held = 0.9 }), None, true, []string{"1,000 records/s", "1,000/s"}},
		{"so with all of the CPU", reads(1000, func(e *Evidence, _ *Readers) { e.CPUCores = 4 }), None, true, nil},
		{"a rate that was not kept for lack of records", reads(2000, func(_ *Evidence, r *Readers) { r.Waiting, r.LagThere = 0.8, 0 }), None, true, []string{"80 %"}},
		{"readers that wait for what is written", reads(0, func(_ *Evidence, r *Readers) { r.Waiting, r.Fetching, r.LagThere = 0.9, 1, 0.02 }), None, true, []string{"90 %", "2 %"}},
		{"readers that take their time, and keep up", reads(0, func(_ *Evidence, r *Readers) { r.Held, r.Processing, r.LagThere = 0.9, time.Millisecond, 0 }), None, true, nil},
		{"nobody knows whether they keep up", reads(0, func(_ *Evidence, r *Readers) { r.Waiting, r.LagThere, r.Lag.KeptUp = 0.9, 0, nil }), Reader, true, nil},
		{"rebalances", reads(0, func(_ *Evidence, r *Readers) { r.Unassigned, r.Rebalances, r.Waiting = 0.15, 10, 1 }), Rebalances, true, []string{"15 %", "10 rebalances"}},
		{"the processing time", reads(0, func(_ *Evidence, r *Readers) { r.Held, r.Processing = 0.8, time.Millisecond }), Processing, true, []string{"1ms", "80 %"}},
		{"another process on this machine", reads(0, func(e *Evidence, r *Readers) { e.CPUCores, e.HostCPUCores, r.Waiting, r.Fetching = 1, 7.7, 0.5, 1 }), HostCPU, true, []string{"96 %", "1.00 of 4"}},
		{"brokers that give too little", reads(0, func(_ *Evidence, r *Readers) { r.Waiting, r.Fetching = 0.1, 0.5 }), Fetches, true, []string{"10 %", "100 %", "50 %"}},
		{"a client that is busy with what it has", reads(0, func(_ *Evidence, r *Readers) { r.Waiting, r.Fetching = 0.05, 1 }), Reader, true, []string{"5 %"}},
		{"a client that does not ask", reads(0, func(_ *Evidence, r *Readers) { r.Waiting, r.Fetching = 0.5, 0.3 }), Reader, true, []string{"30 %"}},
	} {
		t.Run(tc.name, func(t *testing.T) { judged(t, tc.in, tc.want, tc.valid, tc.numbers...) })
	}
}

func TestReadersThatDoNotKeepUpAreTheLimitOfARoundtrip(t *testing.T) {
	behind := func(change func(*Evidence, *Readers)) func(*Evidence) {
		return func(e *Evidence) {
			kept := false
			e.Read = &Readers{Lag: Lag{Records: 2000, Slope: 200, Appended: 350, KeptUp: &kept}}
			change(e, e.Read)
		}
	}
	for _, tc := range []struct {
		name    string
		in      Evidence
		want    Limit
		numbers []string
	}{
		{"at a rate", with(1000, behind(func(*Evidence, *Readers) {})), Consumers, []string{"200 records/s", "2,000", "350/s", "150/s"}},
		{"for the processing time", with(1000, behind(func(_ *Evidence, r *Readers) { r.Processing, r.ProcessingHeld = time.Millisecond, 0.9 })), Consumers, []string{"1ms", "90 %"}},
		{"at an unlimited rate", with(0, behind(func(e *Evidence, _ *Readers) { e.BufferFull = 1 })), Consumers, []string{"100 %"}},
		{"a quota comes first", with(0, behind(func(e *Evidence, _ *Readers) { e.Throttled = 0.06 })), Throttle, []string{"6 %"}},
		{"records that failed come first", with(0, behind(func(e *Evidence, _ *Readers) { e.Failed = 500 })), Failures, []string{"5.0 %"}},
		{"reading that could not go on comes first", with(1000, behind(func(_ *Evidence, r *Readers) { r.Failed = true })), ReadFailed, nil},
	} {
		t.Run(tc.name, func(t *testing.T) { judged(t, tc.in, tc.want, true, tc.numbers...) })
	}
}
