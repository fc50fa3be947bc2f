//go:build !race

package study

import (
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/must"
	"github.com/kt-bench/kt/internal/result/metric"
)

func TestTheWordsOfATrial(t *testing.T) {
	for _, tc := range []struct {
		metric  Metric
		verdict Change
		shift   Share
		want    Change
	}{
		{metric.Rate, Better, 0.1, Raised},
		{metric.P99, Better, -0.1, Lowered},
		{metric.Roughness, Lesser, 0.5, Rougher},
		{metric.Roughness, Better, -0.5, Steadier},
		{metric.Rate, Same, 0.01, Unchanged},
		{metric.Roughness, TooFew, 0.5, Unchanged},
	} {
		must.Match(t, tc.want, changeOf(&Compared{Metric: tc.metric, Verdict: tc.verdict, Shift: tc.shift}), "%s %s", tc.metric, tc.verdict)
	}
}

// A throughput that never varies is measured, and one that nothing came of is lower.
func TestATrialOfFlatAndOfDeadRuns(t *testing.T) {
	side := func(throughput float64) *Side {
		s := new(Side)
		for range 6 {
			s.runs = append(s.runs, &LoadFigures{Measures: Measures[float64]{metric.Rate: throughput, metric.Roughness: 0}})
		}
		return s
	}
	for _, tc := range []struct {
		from, to float64
		want     Change
		says     string
	}{
		{1000, 1000, Unchanged, "rate is unchanged"}, {1000, 0, Lowered, "rate is lower: -100% (-100% to -100%)"}, {0, 1000, Raised, "rate is higher than nothing"},
	} {
		list, err := effects(side(tc.from), side(tc.to), 0.03, 0.05)
		if err != nil || len(list) != 2 || list[0].Verdict != tc.want || !strings.Contains(list[0].Sentence, tc.says) || list[1].Verdict != Unchanged || !list[1].Clear {
			t.Errorf("%+v: %v, %+v", tc, err, list)
		}
	}
}

func TestATrialSaysWhatFailed(t *testing.T) {
	d := &TrialDoc{Changed: SideDoc{Name: "linger=20ms", Runs: 5, FailedMetrics: []string{"p99: failed in 2 of 5 runs"}}, Effects: []Effect{{}}}
	if text := d.sentence(); !strings.Contains(text, "; with it p99: failed in 2 of 5 runs") || strings.Contains(text, "without it") {
		t.Errorf("%q", text)
	}
}
