package result

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
)

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
		f.AddWindow(rec.Take(new(stats.Phases), stats.Measured, at, at+time.Second, time.Second)[stats.Measured])
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
