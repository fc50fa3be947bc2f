package study

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// answered returns the answer to the best of a factor with the values 1, 2, …, of which each has some runs.
func answered(t *testing.T, by Metric, values ...[]float64) Answer {
	t.Helper()
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Ask: []Question{{Best: "partitions", By: by}}}}
	for i, runs := range values {
		c := CellDoc{At: map[string]string{"partitions": strconv.Itoa(i + 1)}}
		for _, v := range runs {
			figures := LoadFigures{Measures: make(Measures[float64]), Limit: verdict.BrokerAcks}
			figures.Measures[by] = v
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{figures}})
		}
		c.conclude(1)
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	return d.Answers[0]
}

func valuesOf(worse []Worse) (all []string) {
	for _, w := range worse {
		all = append(all, w.Value)
	}
	return all
}

func TestAnAnswerNamesTheBestAndWhatCannotBeToldFromIt(t *testing.T) {
	high, near, low := []float64{1000, 1010, 990, 1005, 995}, []float64{1004, 985, 990, 980, 1000}, []float64{500, 505, 495, 498, 502}
	noisy := []float64{950, 960, 100, 940, 955} // one run went wrong
	for _, tc := range []struct {
		name                string
		by                  Metric
		values              [][]float64
		best                string
		like, unsure, worse []string
	}{
		{"one is best", metric.Rate, [][]float64{low, high}, "2", []string{"2"}, nil, []string{"1"}},
		{"two are alike", metric.Rate, [][]float64{low, high, near}, "2", []string{"2", "3"}, nil, []string{"1"}},
		{"noise is not called alike", metric.Rate, [][]float64{low, high, noisy}, "2", []string{"2", "3"}, []string{"3"}, []string{"1"}},
		{"a latency is best when low", metric.P99, [][]float64{low, high}, "1", []string{"1"}, nil, []string{"2"}},
		{"a value without runs", metric.Rate, [][]float64{high, nil}, "1", []string{"1"}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := answered(t, tc.by, tc.values...)
			if a.Best != tc.best || !slices.Equal(a.LikeBest, tc.like) || !slices.Equal(valuesOf(a.Unsure), tc.unsure) || !slices.Equal(valuesOf(a.Worse), tc.worse) {
				t.Errorf("%+v", a)
			}
			for _, w := range slices.Concat(a.Unsure, a.Worse) {
				if w.Low > w.By || w.High < w.By {
					t.Errorf("%+v: the interval does not hold the value", w)
				}
			}
		})
	}
}

func TestAnAnswerWithoutADifferenceTellsTheRepeats(t *testing.T) {
	a := answered(t, metric.Rate, []float64{100, 140, 60}, []float64{130, 90, 110})
	if len(a.Worse) > 0 || a.Repeats < 4 {
		t.Errorf("%+v: it takes more than the 3 repeats that were made", a)
	}
}

// A run that got nothing through takes no answer from the others.
func TestDeadRunsLeaveTheOthersTheirAnswer(t *testing.T) {
	high, low := []float64{1000, 1010, 990}, []float64{500, 505, 495}
	a := answered(t, metric.Rate, high, low, []float64{0, 0, 0})
	if a.Best != "1" || !slices.Equal(valuesOf(a.Worse), []string{"2"}) || !strings.Contains(a.Sentence, "nothing got through at 3") {
		t.Errorf("%+v", a)
	}
	if a := answered(t, metric.Rate, high, low, []float64{0, 700, 710}); a.Best != "1" || !slices.Contains(valuesOf(a.Worse), "2") {
		t.Errorf("%+v", a)
	}
}

// boundCells are cells of producers with two runs each, all limited by the client.
func boundCells(ask Question, values map[string]float64) *Document {
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Ask: []Question{ask}, Factors: []Factor{{Name: "producers"}}}}
	for _, n := range slices.SortedFunc(maps.Keys(values), func(a, b string) int { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x - y }) {
		c := CellDoc{At: map[string]string{"producers": n}}
		for i := range 3 {
			figures := LoadFigures{Measures: make(Measures[float64]), Limit: verdict.HostCPU}
			figures.Measures[ask.By] = values[n] * (1 + 0.001*float64(i))
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{figures}})
		}
		c.conclude(1)
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	return d
}

func TestWhatKtLimitedNeverWinsSilently(t *testing.T) {
	falling := map[string]float64{"1": 1000, "2": 900, "4": 700, "8": 450, "16": 260, "32": 140}
	for _, q := range []Question{{Best: "producers", By: metric.P99}, {Best: "producers", By: metric.Rate}, {Scaling: "producers", By: metric.Rate}} {
		a := boundCells(q, falling).Answers[0]
		if len(a.Unknown) != len(falling) || !strings.Contains(a.Sentence, "kt or its host was the limit at every value") {
			t.Errorf("%+v: %+v", q, a)
		}
	}
}

func TestARateThatFallsIsNotSaidToGrow(t *testing.T) {
	falling := map[string]float64{"1": 1000, "2": 400, "4": 150, "8": 60, "16": 25, "32": 11}
	growing := map[string]float64{"1": 100, "2": 199, "4": 390, "8": 760, "16": 1450, "32": 2600}
	for word, values := range map[string]map[string]float64{"falls": falling, "grows": growing} {
		if a := boundCells(Question{Scaling: "producers", By: metric.Rate}, values).Answers[0]; a.Peak != nil || !strings.Contains(a.Sentence, "rate "+word) {
			t.Errorf("%s: %+v", word, a)
		}
	}
}

func TestOneRunOfEachValueIsNotCalledNoise(t *testing.T) {
	a := answered(t, metric.Rate, []float64{100}, []float64{200}, []float64{150})
	if a.Best != "2" || len(a.Worse) > 0 || strings.Contains(a.Sentence, "differ too much") || !strings.Contains(a.Sentence, "one run of each") {
		t.Errorf("%+v", a)
	}
}

// A run that got nothing through has no logarithm: the others of its cell count, in their own blocks, and the answer names it.
func TestARunThatGotNothingThroughIsNamed(t *testing.T) {
	a := answered(t, metric.Rate, []float64{0, 100, 101}, []float64{50, 0, 51}, []float64{0, 0, 0})
	if a.Best != "1" || len(a.Worse) != 1 || !strings.HasSuffix(a.Sentence, "; nothing got through at 1 (1 of 3 runs), 2 (1 of 3 runs) and 3") {
		t.Errorf("%+v", a)
	}
}

// A latency that failed is no low one, and no value that was not measured.
func TestAnAnswerNamesWhereALatencyFailed(t *testing.T) {
	for failed, want := range map[int]string{1: "partitions=2 is best", 2: "nothing was measured of p99"} {
		d := &Document{GridDoc: new(GridDoc), Study: &Study{Ask: []Question{{Best: "partitions", By: metric.P99}}}}
		for i := range 3 {
			c := CellDoc{At: map[string]string{"partitions": strconv.Itoa(i + 1)}}
			for n := range 5 {
				l := LoadFigures{Measures: make(Measures[float64])}
				if l.Measures[metric.P99] = float64(1000*(i+1) + n); i == 0 || failed == 2 {
					l.Measures[metric.P99], l.FailedMetrics = 0, []Metric{metric.P99}
				}
				c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{l}})
			}
			c.conclude(1)
			d.Cells = append(d.Cells, c)
		}
		d.answer()
		a := &d.Answers[0]
		suffix := map[int]string{1: "; p99 failed at 1", 2: "; p99 failed at 1, 2 and 3"}[failed]
		if !strings.HasPrefix(a.Sentence, want) || !strings.HasSuffix(a.Sentence, suffix) || a.Best == "1" {
			t.Errorf("%+v, want %q%s", a, want, suffix)
		}
	}
}

// A roughness of nothing has no share, so no percentage is told beside it.
func TestNothingIsSaidInPercentOfARoughnessOfNothing(t *testing.T) {
	a := answered(t, metric.Roughness, []float64{0.0001, 0.0002, 0.0003}, []float64{0.2, 0.21, 0.22})
	if a.Sentence != "partitions=1 is best, 2 is higher" {
		t.Errorf("%+v", a)
	}
}

// Two repeats of each of two values are enough for a large difference, whatever the noise of one of them.
func TestTwoRepeatsTellALargeDifference(t *testing.T) {
	a := answered(t, metric.Rate, []float64{140_000, 183_000}, []float64{540_000, 548_700})
	if a.Best != "2" || len(a.Worse) != 1 {
		t.Errorf("%+v", a)
	}
}

// In pairs a value of a factor is never alone, so the whole cell is named, and each has its bar.
func TestInPairsAnAnswerNamesWholeCells(t *testing.T) {
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Pair: true, Factors: []Factor{{Name: "url"}, {Name: "linger"}}, Ask: []Question{{Best: "url", By: metric.Rate}}}}
	for i, url := range []string{"a", "b"} {
		c := CellDoc{At: map[string]string{"url": url, "linger": []string{"5ms", Default}[i]}}
		for n := range 5 {
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{{Limit: verdict.BrokerAcks, Measures: Measures[float64]{metric.Rate: float64(1000*(i+1) + n)}}}})
		}
		c.conclude(1)
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	if a := &d.Answers[0]; !strings.HasPrefix(a.Sentence, "url=b is best") || len(d.Along(a)) != 2 || a.Worse[0].Value != "url=a linger=5ms" {
		t.Errorf("%+v with the bars %+v", a, d.Along(a))
	}
}
