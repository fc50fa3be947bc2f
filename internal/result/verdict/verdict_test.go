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
		must.True(t, missed == tc.Missed && math.Abs(share-tc.Rate/tc.Target) <= 1e-12, "%s: missed is %t with a share of %v", tc.Name, missed, share)
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
	text := strings.Join(strings.Fields(string(must.Have(os.ReadFile("../../../docs/limits.md"))(t))), " ")
	values := map[string]time.Duration{"FLOOR": sendDelayFloor / time.Millisecond, "WIRE": wireDelay / time.Millisecond, "SPREAD": PoissonSpread}
	for name, d := range map[string]time.Duration{"STALL": stallShows, "AT-RATE": StallAtRate, "SHORTEST": Shortest, "WAITING": waitingShows} {
		values[name] = d / time.Second
	}
	var replaced []string
	for name, v := range values {
		replaced = append(replaced, "{"+name+"}", fmt.Sprint(int(v)))
	}
	for name, share := range map[string]float64{
		"late": sendDelayShare, "cpu": cpuSaturated, "kept": rateKept, "rest": 1 - rateKept, "failures": failuresShow, "buffer": bufferShows, "throttle": throttleShows,
		"host": HostSaturated, "inflight": inFlightShows, "lag": lagThere, "wait": waitShows, "rebalance": rebalanceShows, "held": heldShows, "fetch": fetchShows,
	} {
		replaced = append(replaced, "{"+name+"}", fmt.Sprintf("%.4g %%", 100*share))
	}
	for _, quoted := range must.Rows[[]string](t, "verdict") {
		must.Has(t, "docs/limits.md", text, strings.NewReplacer(replaced...).Replace(quoted))
	}
}
