package verdict

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

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

// given returns an evidence with what a row says of it.
func given(t *testing.T, e Evidence, row yaml.Node) Evidence {
	t.Helper()
	must.Set(t, row, &e)
	return e
}

// judged checks the limit, numbers in the sentence, and whether the run is valid.
func judged(t *testing.T, e Evidence, limit Limit, valid bool, numbers ...string) {
	t.Helper()
	got := e.Verdict()
	must.Match(t, limit, got.Limit, "limited by (%s)", got.Evidence)
	must.Has(t, "the evidence", got.Evidence, numbers...)
	if reasons := e.Invalid(); reasons == nil || (len(reasons) == 0) != valid {
		t.Errorf("the reasons to be not valid are %q, want some: %t", reasons, !valid)
	}
}

func TestTheVerdictNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		In      yaml.Node
		Want    Limit
		Valid   bool
		Numbers []string
	}](t, "verdict") {
		t.Run(tc.Name, func(t *testing.T) {
			judged(t, given(t, with(0, func(*Evidence) {}), tc.In), tc.Want, tc.Valid, tc.Numbers...)
		})
	}
}

func TestARunIsValidWhenKtKeptItsOwnSchedule(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name   string
		In     yaml.Node
		Number string // in the reason; "": valid
	}](t, "verdict") {
		e := given(t, with(0, func(*Evidence) {}), tc.In)
		reasons := e.Invalid()
		if reasons == nil || (len(reasons) == 0) != (tc.Number == "") || !strings.Contains(strings.Join(reasons, "\n"), tc.Number) {
			t.Errorf("%s: the reasons are %q, want %q in them", tc.Name, reasons, tc.Number)
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

// reads returns the evidence of ten seconds of reading 1,000 records a second: readers keep up, and there is consumer lag all the time.
func reads() Evidence {
	return Evidence{
		Measured: 10 * time.Second, Consumed: 10_000, CoresAvailable: 4, HostCores: 8,
		Read: &Readers{Only: true, Seconds: 10, RecordsPerSecond: 1000, LagThere: 1, Lag: Lag{KeptUp: new(true)}},
	}
}

func TestTheVerdictOnReadingNamesTheLimitAndItsNumbers(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		In      yaml.Node
		Want    Limit
		Valid   bool
		Numbers []string
	}](t, "reading") {
		t.Run(tc.Name, func(t *testing.T) { judged(t, given(t, reads(), tc.In), tc.Want, tc.Valid, tc.Numbers...) })
	}
}

func TestReadersThatDoNotKeepUpAreTheLimitOfARoundtrip(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		Name    string
		In      yaml.Node
		Want    Limit
		Numbers []string
	}](t, "reading") {
		base := with(0, func(*Evidence) {})
		base.Read = &Readers{Lag: Lag{Records: 2000, Slope: 200, Appended: 350, KeptUp: new(false)}}
		t.Run(tc.Name, func(t *testing.T) { judged(t, given(t, base, tc.In), tc.Want, true, tc.Numbers...) })
	}
}

func TestThePageQuotesTheThresholds(t *testing.T) {
	page := must.Have(os.ReadFile("../../../docs/limits.md"))(t)
	text := strings.Join(strings.Fields(string(page)), " ")
	percent := func(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
	must.Has(t, "docs/limits.md", text,
		fmt.Sprintf("the **bound**: %d ms, or %s of the p99 of response if that is more, and always %d ms with `--engine wire`", sendDelayFloor.Milliseconds(), percent(sendDelayShare), wireDelay.Milliseconds()),
		"kt used at least "+percent(cpuSaturated)+" of the cores that it may use",
		"when at least "+percent(rateKept)+" of the rate was offered, and no more than "+percent(1-rateKept)+" of the records offered was left unsent",
		fmt.Sprintf("another %d standard deviations", PoissonSpread),
		fmt.Sprintf("| `%s` | at least %s of the records offered were not acknowledged", Failures, percent(failuresShow)),
		fmt.Sprintf("| `%s` | nothing was acknowledged for at least %d s, at a fixed rate for at least %d s", Stalled, int(stallShows/time.Second), int(StallAtRate/time.Second)),
		fmt.Sprintf("| `%s` | `acks=0`, and senders waited at least %s", Sockets, percent(bufferShows)),
		fmt.Sprintf("| `%s` | less than %d s was measured", Unknown, int(Shortest/time.Second)),
		fmt.Sprintf("| `%s` | kt used at least %s of its cores", ClientCPU, percent(cpuSaturated)),
		fmt.Sprintf("| `%s` | the run is not valid", Schedule),
		fmt.Sprintf("| `%s` | brokers asked kt to wait for at least %s", Throttle, percent(throttleShows)),
		fmt.Sprintf("| `%s` | the target was kept, and at most %s of what was offered, %.0f s of the target, or one record a process waited to be acknowledged when sending ended",
			string(None), percent(1-rateKept), waitingShows.Seconds()),
		fmt.Sprintf("| `%s` | the target was kept, and more than that waited | | `%s` | the same with `acks=0`", BrokerAcks, Sockets),
		fmt.Sprintf("| `%s` | at least %s of this machine's CPUs", HostCPU, percent(HostSaturated)),
		fmt.Sprintf("| `%s` | senders waited for acknowledgements at least %s of the time, with at least %s of the requests allowed in flight in use",
			BrokerAcks, percent(bufferShows), percent(inFlightShows)),
		fmt.Sprintf("| `%s` | none of these", Client),
		fmt.Sprintf("| `%s` | reading could not go on", ReadFailed),
		fmt.Sprintf("| `%s` | one record at a time", string(None)),
		fmt.Sprintf("| `%s` | the readers did not keep up with the writers", Consumers),
		fmt.Sprintf("| `%s` | the target was kept: at least %s of the rate was read", string(None), percent(rateKept)),
		fmt.Sprintf("| `%s` | the readers kept up with the writers: less than %s of the time there was consumer lag", string(None), percent(lagThere)),
		fmt.Sprintf("and they waited or were held back at least %s of the time", percent(waitShows)),
		fmt.Sprintf("| `%s` | readers had no partitions for at least %s", Rebalances, percent(rebalanceShows)),
		fmt.Sprintf("| `%s` | `--processing-time` and `--rate` took at least %s", Processing, percent(heldShows)),
		fmt.Sprintf("| `%s` | readers waited for records at least %s of the time, with a fetch at the busiest broker at least %s of the time",
			Fetches, percent(waitShows), percent(fetchShows)),
		fmt.Sprintf("| `%s` | none of these: one client", Reader),
		fmt.Sprintf("| `%s` | reading ended because no record came for `--timeout`", Stalled),
		fmt.Sprintf("| `%s` | it took less than %.0f s from the first record to the last", Unknown, Shortest.Seconds()),
	)
}
