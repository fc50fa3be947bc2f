//go:build !race

package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// cluster is a queue with a capacity that varies: noise that lasts (AR(1)), and a stall of 0.4 s every
// 30 s. Its p99 rises with its use u, as 1+50u/(1-u).
type cluster struct {
	capacity float64 // records a second
	idle     float64 // p99 in µs without a load
	offers   float64 // the most that kt offers it; 0: any rate
	chance   *rand.Rand
}

// holds is the rate that the cluster carries for long.
func (c *cluster) holds() float64 { return c.capacity * (1 - 0.4/30) }

// trial offers a rate for some seconds, and lets the search judge it.
func (c *cluster) trial(search *Search, s Step) Trial {
	noise, waiting, carried, phase := 0.0, 0.0, 0.0, c.chance.Float64()*30
	rate := s.Rate
	if rate == 0 {
		rate = math.Inf(1)
	}
	l := LoadFigures{Measures: make(Measures[float64]), Valid: true, Limit: verdict.None}
	if c.offers > 0 && rate > c.offers {
		rate, l.Limit, l.Valid = c.offers, verdict.ClientCPU, s.Rate == 0
	}
	var at, backlogs []float64
	seconds := int(s.Time.Std() / time.Second)
	for i := range seconds {
		noise = 0.7*noise + c.chance.NormFloat64()*0.01
		can := c.capacity * (1 + noise)
		if math.Mod(float64(i)+phase, 30) < 1 {
			can *= 0.6
		}
		done := math.Min(can, waiting+rate)
		carried += done
		if s.Rate > 0 {
			waiting += rate - done
		}
		at, backlogs = append(at, float64(i)), append(backlogs, waiting)
	}
	l.Measures[metric.Rate] = carried / float64(seconds)
	l.Backlog = backlog(at, backlogs)
	use := math.Min(rate/c.holds(), 0.999)
	l.Measures[metric.P99] = c.idle * (1 + 50*use/(1-use)) * (1 + c.chance.NormFloat64()*0.02*math.Sqrt(1/float64(seconds)))
	keep(search, &l)
	return search.judge(s, []LoadFigures{l})
}

// keep judges what a search has to keep by the figures of a load.
func keep(search *Search, l *LoadFigures) {
	for _, e := range search.SLO {
		v := l.Measures[Metric(e.Metric.Name)]
		l.SLO = append(l.SLO, result.Limit{Expression: e.String(), Value: &v, Unit: e.Metric.Unit, Held: e.Holds(v)})
	}
}

// slo returns an expression.
func slo(t *testing.T, text string) metric.Expr {
	t.Helper()
	return must.Have(metric.Parse(text))(t)
}

// trials makes a whole search.
func (c *cluster) trials(search *Search) (done []Trial) {
	for {
		next, over := search.Next(done)
		if over {
			return done
		}
		done = append(done, c.trial(search, next))
	}
}

func TestTheHighestRateThatHoldsIsFound(t *testing.T) {
	const searches = 200
	for name, tc := range must.Rows[map[string]struct {
		SLO   string
		Share float64 // the truth, of the rate that the cluster carries
	}](t, "find") {
		t.Run(name, func(t *testing.T) {
			search := DefaultSearch()
			if tc.SLO != "" {
				search.SLO = []metric.Expr{slo(t, tc.SLO)}
			}
			near, most := 0, 0
			for seed := range uint64(searches) {
				c := &cluster{capacity: 50_000 + 1000*float64(seed), idle: 2000, chance: rand.New(rand.NewPCG(seed, 1))}
				done := c.trials(&search)
				most = max(most, len(done))
				peak := search.Peak(done)
				must.Hold(t, peak.Confirmations >= 1 && peak.Low < peak.High && !peak.ClientBound, "seed %d: %+v", seed, peak)
				if math.Abs(peak.RecordsPerSecond/(tc.Share*c.holds())-1) <= 0.02 {
					near++
				}
			}
			t.Logf("%d of %d within 2 %%, at most %d runs", near, searches, most)
			must.True(t, near >= searches*95/100, "%d of %d searches are within 2 %% of the truth", near, searches)
			must.True(t, most <= 30, "a search took %d runs", most)
		})
	}
}

func TestSearchesThatEndEarly(t *testing.T) {
	for name, tc := range must.Rows[map[string]struct {
		Capacity, Idle, Offers float64
		SLO                    string
		Ladder                 []float64
		Most                   int // trials
		Want                   PeakRate
	}](t, "find") {
		search := DefaultSearch()
		if search.Ladder = tc.Ladder; tc.SLO != "" {
			search.SLO = []metric.Expr{slo(t, tc.SLO)}
		}
		done := (&cluster{tc.Capacity, tc.Idle, tc.Offers, rand.New(rand.NewPCG(7, 1))}).trials(&search)
		got, near := search.Peak(done), func(x, y float64) bool { return x == y || math.Abs(x/y-1) < 0.05 }
		if len(done) > tc.Most || !near(got.RecordsPerSecond, tc.Want.RecordsPerSecond) || !near(got.Low, tc.Want.Low) || !near(got.High, tc.Want.High) || got.ClientBound != tc.Want.ClientBound || got.Confirmations != tc.Want.Confirmations {
			t.Errorf("%s: %+v after %d trials", name, got, len(done))
		}
	}
}

func TestATrialIsJudged(t *testing.T) {
	step := Step{Kind: Halve, Rate: 1000, Time: DefaultSearch().Trial}
	steady := &Backlog{Seconds: 29, AtEnd: 10}
	search := Search{SLO: []metric.Expr{slo(t, "p99<50ms")}}
	for name, tc := range map[string]struct {
		change func(l *LoadFigures)
		want   Outcome
		reason string
	}{
		"all is well":          {func(*LoadFigures) {}, Passed, ""},
		"the rate is missed":   {func(l *LoadFigures) { l.Measures[metric.Rate] = 950 }, Failed, "95% of the rate"},
		"the backlog grows":    {func(l *LoadFigures) { l.Backlog = &Backlog{29, 12, 360} }, Failed, "grows by 12 records a second"},
		"too much waits":       {func(l *LoadFigures) { l.Backlog = &Backlog{29, 0, 700} }, Failed, "700 records waited"},
		"records fail":         {func(l *LoadFigures) { l.Failed = 1 }, Failed, "1 record failed"},
		"an SLO is broken":     {func(l *LoadFigures) { l.Measures[metric.P99] = 61_000 }, Failed, "p99<50ms: it was 61.0ms"},
		"kt was late":          {func(l *LoadFigures) { l.Valid, l.Limit = false, verdict.Schedule }, Invalid, "schedule"},
		"kt had no CPU":        {func(l *LoadFigures) { l.Measures[metric.Rate], l.Limit = 900, verdict.ClientCPU }, Invalid, "client CPU"},
		"the host had no CPU":  {func(l *LoadFigures) { l.Measures[metric.Rate], l.Limit = 900, verdict.HostCPU }, Invalid, "host CPU"},
		"a quota":              {func(l *LoadFigures) { l.Measures[metric.Rate], l.Limit = 900, verdict.Throttle }, Invalid, "throttle"},
		"a quota that allowed": {func(l *LoadFigures) { l.Limit = verdict.Throttle }, Passed, ""},
		"the topic ended":      {func(l *LoadFigures) { l.Backlog = &Backlog{Seconds: 3} }, Invalid, "too little was measured"},
	} {
		l := LoadFigures{Measures: make(Measures[float64]), Valid: true, Limit: verdict.None, Backlog: steady}
		l.Measures[metric.Rate], l.Measures[metric.P99] = 999, 20_000
		tc.change(&l)
		keep(&search, &l)
		got := search.judge(step, []LoadFigures{l})
		if got.Outcome != tc.want || !strings.Contains(strings.Join(got.Reasons, "; "), tc.reason) || (len(got.Reasons) == 0) != (tc.want == Passed) {
			t.Errorf("%s: %s, %q", name, got.Outcome, got.Reasons)
		}
	}
}

// A workload begins at scale 1, without a burst, and its peak has the records a second that were reached there.
func TestTheScaleOfAWorkloadIsSearched(t *testing.T) {
	for _, peak := range []float64{0.03, 0.7, 1.7, 12} {
		s := DefaultSearch()
		s.Scale = true
		var done []Trial
		for step, over := s.Next(done); !over; step, over = s.Next(done) {
			outcome := map[bool]Outcome{true: Passed, false: Failed}[step.Rate <= peak]
			done = append(done, Trial{Step: step, Outcome: outcome, Achieved: 5000 * math.Min(step.Rate, peak)})
		}
		must.Match(t, Step{Bracket, 1, s.Trial}, done[0].Step, "the first")
		p := s.Peak(done)
		must.True(t, p.Scale <= peak && p.Scale >= peak*0.98 && math.Abs(p.RecordsPerSecond-5000*p.Scale) < 1e-6, "%v: %+v", peak, p)
	}
	s := DefaultSearch()
	s.Scale = true
	_, over := s.Next([]Trial{{Step: Step{Bracket, 1, s.Trial}, Outcome: Failed}, {Step: Step{Bracket, 0.001, s.Trial}, Outcome: Failed}})
	must.True(t, over, "no scale holds")
}

// Each load is judged at its own target. What one of them makes invalid says nothing of the others.
func TestEveryLoadOfAWorkloadHasToHold(t *testing.T) {
	load := func(name string, target, rate float64, change func(*LoadFigures)) LoadFigures {
		l := LoadFigures{Load: name, Target: target, Valid: true, Limit: verdict.None, Measures: Measures[float64]{metric.Rate: rate}, Backlog: &Backlog{Seconds: 29}}
		if change != nil {
			change(&l)
		}
		return l
	}
	for _, tc := range []struct {
		orders, tail LoadFigures
		outcome      Outcome
		load         string
		reasons      []string
	}{
		{load("orders", 1000, 1000, nil), load("tail", 0, 1000, nil), Passed, "", []string{}},
		{load("orders", 1000, 900, nil), load("tail", 0, 900, nil), Failed, "orders", []string{"orders: 90% of the rate was reached"}},
		{load("orders", 1000, 1000, nil), load("tail", 0, 900, func(l *LoadFigures) { l.behind = true }), Failed, "tail", []string{"tail: its readers fell behind"}},
		{load("orders", 1000, 1000, nil), load("tail", 500, 500, func(l *LoadFigures) {
			l.SLO = []result.Limit{{Expression: "p99<1ms", Note: "too slow"}}
		}), Failed, "tail", []string{"tail: p99<1ms: too slow"}},
		{
			load("orders", 1000, 900, nil), load("tail", 0, 900, func(l *LoadFigures) { l.Valid, l.Limit, l.Evidence = false, verdict.Schedule, "late" }), Invalid, "orders",
			[]string{"orders: 90% of the rate was reached", "tail: " + verdict.Schedule.String() + ": late"},
		},
		{load("orders", 1000, 1000, func(l *LoadFigures) { l.Backlog = nil }), load("tail", 0, 1000, func(l *LoadFigures) { l.aborted = "errors>0" }), Failed, "tail", []string{"tail: ended by errors>0"}},
	} {
		s := DefaultSearch()
		s.Scale = true
		got := s.judge(Step{Bracket, 1, s.Trial}, []LoadFigures{load("", 0, 2000, nil), tc.orders, tc.tail})
		must.Match(t, tc.outcome, got.Outcome, "%v", tc.reasons)
		must.Match(t, tc.load, got.Load, "%v", tc.reasons)
		must.Match(t, tc.reasons, got.Reasons, "reasons")
	}
}

func TestTheKneeIsBeforeTheP99Doubles(t *testing.T) {
	for _, tc := range must.Rows[[]struct {
		P99  []float64
		Knee int // -1: none
	}](t, "find") {
		var curve []*CurvePoint
		for _, v := range tc.P99 {
			curve = append(curve, &CurvePoint{Measures: Measures[float64]{metric.P99: v}})
		}
		markKnee(curve)
		must.Match(t, tc.Knee, slices.IndexFunc(curve, func(c *CurvePoint) bool { return c.Knee }), "%v: knee at", tc.P99)
	}
}

// A throughput that never varies is measured, and one that nothing came of is lower.
func TestATrialOfFlatAndOfDeadRuns(t *testing.T) {
	side := func(throughput, rough float64) *Side {
		s := new(Side)
		for range 6 {
			s.loads = append(s.loads, &LoadFigures{Measures: Measures[float64]{metric.Rate: throughput, metric.Roughness: rough}})
		}
		return s
	}
	for _, tc := range []struct {
		from, to, fromRough, toRough float64
		want, wantRough              Change
		says                         string
	}{
		{1000, 1000, 0, 0, Unchanged, Unchanged, "rate is unchanged within 3%"},
		{1000, 0, 0.5, 0.1, Lowered, Steadier, "rate is 100% lower (-100% to -100%)"},
		{0, 1000, 0.1, 0.5, Raised, Rougher, "rate is more than nothing: higher"},
	} {
		list, err := (&Proposal{Delta: 0.03}).effects(nil, side(tc.from, tc.fromRough), side(tc.to, tc.toRough), func(int) figures { return side(tc.from, tc.fromRough).loads }, 0.05)
		must.Hold(t, err == nil && len(list) == 2, "%v, %+v", err, list)
		must.True(t, list[0].Verdict == tc.want && list[0].Sentence == tc.says && list[1].Verdict == tc.wantRough && list[1].Clear, "%+v: %+v", tc, list)
	}
}

func TestATrialSaysWhatFailed(t *testing.T) {
	d := &TrialDoc{Changed: Side{Name: "linger=20ms", Runs: 5, FailedMetrics: []string{"p99: failed in 2 of 5 runs"}}, Effects: []Compared{{}}}
	if text := say("trial", d); !strings.Contains(text, "; with it p99: failed in 2 of 5 runs") || strings.Contains(text, "without it") {
		t.Errorf("%q", text)
	}
}
