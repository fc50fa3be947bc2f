package merge

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/verdict"
	"github.com/kt-bench/kt/internal/stats"
)

func TestStagesOfPartsAddUpAtTheTimesAtWhichTheyWere(t *testing.T) {
	rate := must.Have(plan.ParseTarget("100@4s,300@4s"))(t)
	part := func(name string, late time.Duration) []byte {
		p := header(100).Plan
		p.Load.Rate, p.Load.Records, p.Load.Duration = rate, 0, plan.Duration(8*time.Second)
		events := slices.Concat(steady(0, 4, 100), steady(4, 8, 300))
		for i, at := range []time.Duration{0, 4 * time.Second} {
			w := events[4*i].Window
			w.Events = []stats.Event{{At: at, Kind: stats.StageBegan, Broker: -1, To: -1, Text: rate.String()}}
		}
		return partFile{run: "r", host: name, process: 1, alone: true, late: late, plan: p, events: events, trailer: trailerOf(8)}.bytes(t)
	}
	for _, tc := range []struct {
		name    string
		late    time.Duration
		targets []float64
		whole   float64   // target over the overlap
		begin   []float64 // of stages
	}{
		{"at one time", 0, []float64{200, 600}, 400, []float64{0, 4}},
		{"a little apart", 400 * time.Millisecond, []float64{200, 600}, 400, []float64{0, 4}},
		{"two seconds apart", 2 * time.Second, []float64{100, 200, 400, 600, 300}, (2*200 + 2*400 + 2*600) / 6., []float64{0, 2, 4, 6}},
	} {
		r := merged(t, part("a", 0), part("b", tc.late))
		if got := r.Throughput.TargetRecordsPerSecond; math.Abs(got/tc.whole-1) > 1e-3 || r.BoundBy.Limit != verdict.None || !r.Valid || r.TargetReached != nil || r.Throughput.AskedRecordsPerSecond != 0 {
			t.Errorf("%s: the target is %v, want %v; bound by %+v, %q", tc.name, got, tc.whole, r.BoundBy, r.Invalid)
		}
		if len(r.Stages) != len(tc.targets) {
			t.Errorf("%s: %d stages, want %d", tc.name, len(r.Stages), len(tc.targets))
			continue
		}
		for i, s := range r.Stages {
			if math.Abs(s.TargetRecordsPerSecond/tc.targets[i]-1) > 1e-3 || math.Abs(s.OfferedRecordsPerSecond/tc.targets[i]-1) > 0.02 || !s.Valid || s.TargetReached != nil {
				t.Errorf("%s: stage %d is %+v, want %v/s", tc.name, i+1, s, tc.targets[i])
			}
		}
		var begin []float64
		for _, e := range r.Events {
			begin = append(begin, e.AtSeconds)
		}
		must.Match(t, tc.begin, begin, "%s: stages begin at", tc.name)
	}
}
