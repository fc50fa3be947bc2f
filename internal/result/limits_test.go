package result

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/ledger"
	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/must/canned"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

// even returns a second of a load of 1,000 records, each with a latency. change may change it; it may be nil.
func even(second int, latency time.Duration, change func(w *stats.Window)) stats.Window {
	at := time.Duration(second) * time.Second
	w := stats.Window{
		Start: at, End: at + time.Second, Offered: 1000, Acknowledged: 1000, Bytes: 100_000,
		FirstDue: at, LastDue: at + 999*time.Millisecond, LastSent: at + 999*time.Millisecond, LastAck: at + time.Second, ShardTime: time.Second,
	}
	w.Response.RecordN(latency, 1000)
	if change != nil {
		change(&w)
	}
	return w
}

// limited returns the limits of a run of such seconds.
func limited(limits []string, windows ...stats.Window) []Limit {
	h := header(1000)
	h.Limits = limits
	f := NewFold(h)
	for _, w := range windows {
		f.AddWindow(w)
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result().Limits
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func TestALimitIsJudgedByTheFiguresOfTheResult(t *testing.T) {
	h := readHeader(plan.Roundtrip, 100)
	for _, m := range metric.Metrics() {
		one := map[metric.Unit]string{metric.Time: "1us", metric.BytesRate: "1B/s"}[m.Unit]
		if one == "" {
			one = "1"
		}
		h.Limits = append(h.Limits, m.Name+"<"+one)
	}
	f := NewFold(h)
	for _, e := range canned.Read(3, 12) {
		if w := e.Window; w != nil && w.Consumed > 0 {
			w.Deliveries, w.Work = map[string]int64{"1": w.Consumed - w.Consumed/10, "2": w.Consumed / 10}, w.ReadTime/4
			w.AckTime.Record(time.Millisecond)
		}
		e.To(f)
	}
	f.Finish(Trailer{Ended: Completed, ReadEnd: ReadAll, Verify: &ledger.Verdict{Lost: 1, Duplicated: 2, Reordered: 3, Corrupted: 4}})
	r := f.Result()
	us := func(n Micros) float64 { return float64(n) }
	e, w := r.Latency.EndToEnd, &r.Records
	want := map[string]float64{
		"p50": us(e.P50), "p90": us(e.P90), "p95": us(e.P95), "p99": us(e.P99), "p99.9": us(e.P999), "p99.99": us(e.P9999), "max": us(e.Max), "mean": us(e.Mean),
		"end-to-end.p99": us(e.P99), "response.p99": us(r.Latency.Response.P99), "response.mean": us(r.Latency.Response.Mean),
		"service.p99.9": us(r.Latency.Service.P999), "send-delay.max": us(r.Latency.SendDelay.Max),
		"rate": r.Throughput.RecordsPerSecond, "read-rate": r.Fetch.RecordsPerSecond, "throughput": r.Throughput.MiBPerSecond * mib,
		"errors": float64(w.Errors()), "failed": float64(w.Failed), "unknown": float64(w.Unknown),
		"lost": 1, "duplicated": 2, "reordered": 3, "corrupted": 4, "consumer-lag": float64(r.ConsumerLag.Max), "cpu": r.Client.CPUCores,
		"redelivered": 0.1, "busy": r.Fetch.BusyShare, "acknowledgement.p99": 1000,
	}
	for i, m := range metric.Metrics() {
		l := r.Limits[i]
		v, known := want[m.Name]
		if failed := l.Value == nil && l.Note != "" && strings.HasPrefix(m.Name, "response."); failed && (!known || v == float64(Failed)) && !l.Held {
			delete(want, m.Name) // records of the canned run failed, so it has no such percentile
			continue
		}
		if m.Kind == metric.Share && !known { // the run is too short for its roughness, and its batches have no size to fill
			continue
		}
		if l.Value == nil || known && math.Abs(*l.Value-v) > 1e-9*v {
			t.Errorf("%s is %+v, and in the result %g", m.Name, l, v)
		}
		delete(want, m.Name)
		if m.Name == "outage" && math.Floor(*l.Value/1000) != float64(*r.Outage.LongestGapMS) {
			t.Errorf("outage is %g µs, and in the result %d ms", *l.Value, *r.Outage.LongestGapMS)
		}
	}
	must.True(t, len(want) == 0, "there are no metrics %v", want)
}

func TestAReplayedRunIsJudgedAsTheLiveOne(t *testing.T) {
	h := header(100)
	h.Limits = []string{"p99<20ms", "errors==0", "p99<50ms over 2s for 60%", "outage<1s"}
	events, end := canned.Written(7, 30), Trailer{Ended: Completed, ElapsedSeconds: 30}
	live := NewFold(h)
	for _, e := range events {
		e.To(live)
	}
	live.Finish(end)
	file := runFile(t, h, events, end)
	replayed := must.Have(Replay(bytes.NewReader(file), nil))(t)
	want := live.Result().Limits
	if diff := cmp.Diff(want, replayed.Result().Limits); diff != "" || len(want) != 4 {
		t.Errorf("limits (-live +replayed):\n%s", diff)
	}
	other := must.Have(Replay(bytes.NewReader(file), nil, "failed<1000"))(t)
	if got := other.Result().Limits; len(got) != 1 || !got[0].Held || got[0].Expression != "failed<1000" {
		t.Errorf("judged anew: %+v", got)
	}
}

// staged is the fold of a load with these stages, of which an ideal client offers what shape leaves of each second.
func staged(t *testing.T, stages string, arrivals plan.Arrivals, shape func(*stats.Window)) Result {
	t.Helper()
	rate := must.Have(plan.ParseTarget(stages))(t)
	bounds := rate.Bounds()
	length := bounds[len(bounds)-1]
	f := NewFold(Header{Plan: plan.Plan{
		Command: plan.Produce, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(length), Arrivals: arrivals},
	}})
	for _, w := range follow(rate.Schedule(rate.PerSecond), 1, int(length/time.Second)) {
		if shape != nil {
			shape(&w)
		}
		f.AddWindow(w)
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result()
}

func TestAStageThatMissedItsTargetSaysHowMuchItReached(t *testing.T) {
	for name, tc := range map[string]struct {
		arrivals plan.Arrivals
		second   time.Duration
		keeps    float64 // of the records of that second
		want     []float64
	}{
		"all are kept":               {plan.Uniform, 0, 1, []float64{0, 0, 0}},
		"one was cut a little late":  {plan.Uniform, 2 * time.Second, 0.98, []float64{0, 0, 0}},
		"a ramp lacks half a second": {plan.Uniform, 3 * time.Second, 0.5, []float64{0, 0.6875, 0}},
		"so does one at random":      {plan.Poisson, 3 * time.Second, 0.5, []float64{0, 0.6875, 0}},
		"the last one":               {plan.Uniform, 4 * time.Second, 0.25, []float64{0, 0, 0.25}},
	} {
		r := staged(t, "1000@2s,500..1500@2s,100@1s", tc.arrivals, func(w *stats.Window) {
			if w.Start == tc.second {
				w.Offered = int64(tc.keeps * float64(w.Offered))
			}
		})
		for i, row := range r.Stages {
			reached := 0.0
			if row.TargetReached != nil {
				reached = *row.TargetReached
			}
			if math.Abs(reached-tc.want[i]) > 0.001 {
				t.Errorf("%s: stage %d reached %v of its target, want %v (0: kept)", name, i+1, reached, tc.want[i])
			}
		}
	}
}

func TestRecordsOfTheNextStageAreNoLatenessOfThisOne(t *testing.T) {
	r := staged(t, "100@2s,1000000@2s", plan.Uniform, func(w *stats.Window) {
		if w.End == 2*time.Second { // it was cut a little late
			w.Offered += 3000
			w.LastDue += 3 * time.Millisecond
			w.LastSent += 3 * time.Millisecond
		}
	})
	for i, row := range r.Stages {
		if !row.Valid || row.TargetReached != nil {
			t.Errorf("stage %d: valid %t, %v of the target; %v", i+1, row.Valid, row.TargetReached, row.Invalid)
		}
	}
}

func TestRowsOfStagesAddUpToTheLoad(t *testing.T) {
	r := staged(t, "1000@2s,500..1500@2s,100@1s", plan.Uniform, nil)
	var sum Records
	for i, target := range []float64{1000, 1000, 100} {
		row := r.Stages[i]
		sum.Offered += row.Records.Offered
		sum.Acknowledged += row.Records.Acknowledged
		if math.Abs(row.TargetRecordsPerSecond-target) > 1e-6 || math.Abs(row.RecordsPerSecond/target-1) > 0.02 || row.MeasuredSeconds <= 0 {
			t.Errorf("stage %d: %v/s of %v/s in %v s, want about %v/s", i+1, row.RecordsPerSecond, row.TargetRecordsPerSecond, row.MeasuredSeconds, target)
		}
	}
	must.Match(t, r.Records, sum, "stages have, the load")
}

func TestTheSnapshotHasTheTargetOfTheStageOfItsSecond(t *testing.T) {
	rate := must.Have(plan.ParseTarget("100@2s,400@2s"))(t)
	f := NewFold(Header{Plan: plan.Plan{Command: plan.Produce, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(4 * time.Second)}}})
	want := []float64{100, 100, 400, 400}
	for i, w := range follow(rate.Schedule(rate.PerSecond), 1, 4) {
		f.AddWindow(w)
		if s := f.Snapshot(); s.Target != want[i] || s.Targets.Rate(0) != 100 || s.Targets.Rate(3*time.Second) != 400 {
			t.Errorf("second %d: target %v, want %v", i, s.Target, want[i])
		}
	}
}

func TestTheStagesOfTheWireEngineKeepItsOwnBound(t *testing.T) {
	rate := must.Have(plan.ParseTarget("1000@2s,500@2s"))(t)
	for engine, valid := range map[plan.Engine]bool{plan.Client: true, plan.Wire: false} {
		f := NewFold(Header{Plan: plan.Plan{
			Command: plan.Produce, Engine: engine, Producers: 1, Load: plan.Load{Rate: rate, Duration: plan.Duration(4 * time.Second)},
		}})
		for _, w := range follow(rate.Schedule(rate.PerSecond), 1, 4) {
			w.OwnSendDelay.RecordN(3*time.Millisecond, w.Offered)
			f.AddWindow(w)
		}
		f.Finish(Trailer{Ended: Completed})
		stages := f.Result().Stages
		must.Hold(t, len(stages) == 2, "%d stages, want 2", len(stages))
		for i, row := range stages {
			must.Match(t, row.Valid, valid, "stage %d, 3ms late with the %s engine: valid; %v", i+1, engine, row.Invalid)
		}
	}
}

// A pause is no stall, no missed target and no broken limit, and nothing else of a run suffers from it.
func TestNothingIsJudgedInAPauseUnlessARecordFailsInIt(t *testing.T) {
	for failed, want := range map[int64]struct {
		stretches, held int64
		aborted         bool
	}{0: {6, 6, false}, 7: {7, 6, true}} {
		rate := must.Have(plan.ParseTarget("1000@3s,0@3s,1000@3s,0@1s"))(t)
		h := header(0)
		h.Plan.Load.Rate, h.Plan.Load.Duration = rate, plan.Duration(10*time.Second)
		h.Limits = []string{"rate>=900 over 1s"}
		f := NewFold(h)
		f.AbortOn([]string{"rate<100"})
		for i, w := range follow(rate.Schedule(rate.PerSecond), 1, 10) {
			switch i {
			case 4:
				w.Failed = failed
			case 9:
				w.ShardTime = 0
			}
			w.Response.RecordN(time.Millisecond, w.Acknowledged)
			f.AddWindow(w)
		}
		f.Finish(Trailer{Ended: Completed, SendingSeconds: 10})
		r := f.Result()
		if l := r.Limits[0]; l.Stretches != want.stretches || l.StretchesHeld != want.held || (f.Broken() != "") != want.aborted {
			t.Errorf("with %d failed, the limit is %+v and the condition %q; want %+v", failed, l, f.Broken(), want)
		}
		pause := r.Stages[1]
		if !pause.Valid || pause.TargetReached != nil || pause.MeasuredSeconds != 3 || pause.TargetRecordsPerSecond != 0 || !r.Valid || failed == 0 && r.BoundBy.Limit != verdict.None {
			t.Errorf("with %d failed, the pause is %+v, the run %v, bound by %s: %s", failed, pause, r.Invalid, r.BoundBy.Limit, r.BoundBy.Evidence)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}

// steadied returns the stability of a run whose rate at each second is that of rate.
func steadied(h Header, seconds int, rate func(s int) float64) *Stability {
	f, rng := NewFold(h), rand.New(rand.NewPCG(1, 2))
	for s := range seconds {
		n := int64(rate(s) * (1 + 0.01*rng.NormFloat64()))
		w := stats.Window{
			Start: time.Duration(s) * time.Second, End: time.Duration(s+1) * time.Second, Offered: n, Acknowledged: n,
			FirstDue: time.Duration(s) * time.Second, LastSent: time.Duration(s+1) * time.Second, LastAck: time.Duration(s+1) * time.Second,
		}
		w.Warmup = w.End <= h.Plan.Load.Warmup.Duration.Std()
		f.AddWindow(w)
		f.AddSample(host.Sample{At: w.End, Interval: time.Second})
	}
	f.Finish(Trailer{Ended: Completed})
	return f.Result().Stability
}

func TestAResultSaysWhetherItsRateWasSteady(t *testing.T) {
	const n = 1e5
	warm := header(0)
	warm.Plan.Load.Warmup.Duration = plan.Duration(10 * time.Second)
	staged := header(0)
	staged.Plan.Load.Rate, _ = plan.ParseTarget("100k@30s,200k@30s")
	paused := header(0)
	paused.Plan.Load.Rate, _ = plan.ParseTarget("100k@30s,0@15s,100k@30s")
	step := func(at int, before, after float64) func(int) float64 {
		return func(s int) float64 {
			if s < at {
				return before
			}
			return after
		}
	}
	for _, tc := range []struct {
		name    string
		header  Header
		seconds int
		rate    func(int) float64
		want    inference.Label
		warmup  float64 // about
	}{
		{"even", header(0), 60, step(0, n, n), inference.Flat, 0},
		{"slow at first", header(0), 120, step(20, n/2, n), inference.WarmUp, 20},
		{"slow at first, after a warm-up", warm, 120, step(30, n/2, n), inference.WarmUp, 30},
		{"slower later", header(0), 120, step(60, n, 0.8*n), inference.Slowdown, 60},
		{"rising to the end", header(0), 60, func(s int) float64 { return n * (1 + float64(s)/60) }, inference.None, 0},
		{"as its stages tell", staged, 60, step(30, n, 2*n), inference.Flat, 0},
		{"with a pause between two stages", paused, 75, func(s int) float64 { return paused.Plan.Schedule().Rate(time.Duration(s) * time.Second) }, inference.Flat, 0},
		{"three hours of even rate", header(0), 3 * 3600, step(0, n, n), inference.Flat, 0},
		{"three hours with a slow first one", header(0), 3 * 3600, step(3600, n/2, n), inference.WarmUp, 3600},
	} {
		s := steadied(tc.header, tc.seconds, tc.rate)
		if s == nil || s.Label != tc.want || math.Abs(s.WarmupSeconds-tc.warmup) > 5 {
			t.Errorf("%s: %+v, want %s after %v s", tc.name, s, tc.want, tc.warmup)
		}
	}
	if s := steadied(paused, 75, func(s int) float64 { return paused.Plan.Schedule().Rate(time.Duration(s) * time.Second) }); s == nil || s.MeansSeconds != 5 {
		t.Errorf("with a pause: %+v, want means of 5 s", s)
	}
	if s := steadied(header(0), 20, step(0, n, n)); s != nil {
		t.Errorf("20 s have the stability %+v", s)
	}
}

func TestTheMeansOfALongRunAreOfItsPoints(t *testing.T) {
	for seconds, want := range map[int]float64{60: 5, 3600: 5, 3601: 10, 4*3600 - 100: 20, 24 * 3600: 160} {
		if s := steadied(header(0), seconds, func(int) float64 { return 1e5 }); s == nil || s.MeansSeconds != want {
			t.Errorf("%d s: %+v, want means of %v s", seconds, s, want)
		}
	}
}
