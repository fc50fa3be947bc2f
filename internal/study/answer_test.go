//go:build !race

package study

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/result/verdict"
)

// asked returns the answer to a question about the values 1, 2, … (or those of names) of a factor, of which each has some runs. A
// value below 0 is a latency that failed.
func asked(t *testing.T, q Question, limit verdict.Limit, names []string, values ...[]float64) Answer {
	t.Helper()
	d := &Document{GridDoc: new(GridDoc), Study: &Study{Ask: []Question{q}, Factors: []Factor{{Name: q.Factor()}}}}
	for i, runs := range values {
		name := strconv.Itoa(i + 1)
		if names != nil {
			name = names[i]
		}
		c := CellDoc{At: map[string]string{q.Factor(): name}}
		for _, v := range runs {
			l := LoadFigures{Measures: make(Measures[float64]), Limit: limit}
			if l.Measures[q.By] = max(v, 0); v < 0 {
				l.FailedMetrics = []Metric{q.By}
			}
			c.Runs = append(c.Runs, RunDoc{Loads: []LoadFigures{l}})
		}
		c.conclude(1)
		d.Cells = append(d.Cells, c)
	}
	d.answer()
	return d.Answers[0]
}

func answered(t *testing.T, by Metric, values ...[]float64) Answer {
	t.Helper()
	return asked(t, Question{Best: "partitions", By: by}, verdict.BrokerAcks, nil, values...)
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
	failed := []float64{-1, -1, -1}
	for _, tc := range []struct {
		name                string
		by                  Metric
		values              [][]float64
		best                string
		like, unsure, worse []string
		says                string
	}{
		{"one is best", metric.Rate, [][]float64{low, high}, "2", []string{"2"}, nil, []string{"1"}, ""},
		{"two are alike", metric.Rate, [][]float64{low, high, near}, "2", []string{"2", "3"}, nil, []string{"1"}, ""},
		{"noise is not called alike", metric.Rate, [][]float64{low, high, noisy}, "2", []string{"2", "3"}, []string{"3"}, []string{"1"}, ""},
		{"a latency is best when low", metric.P99, [][]float64{low, high}, "1", []string{"1"}, nil, []string{"2"}, ""},
		{"a value without runs", metric.Rate, [][]float64{high, nil}, "1", []string{"1"}, nil, nil, "alone was measured"},
		{"two repeats tell a large difference", metric.Rate, [][]float64{{140_000, 183_000}, {540_000, 548_700}}, "2", []string{"2"}, nil, []string{"1"}, ""},
		{"one run of each value is no noise", metric.Rate, [][]float64{{100}, {200}, {150}}, "2", []string{"1", "2", "3"}, []string{"1", "3"}, nil, "one run of each"},
		{"dead runs leave the others their answer", metric.Rate, [][]float64{high, low, {0, 0, 0}}, "1", []string{"1"}, nil, []string{"2"}, "nothing got through at 3"},
		{"a dead run is named", metric.Rate, [][]float64{{0, 100, 101}, {50, 0, 51}, {0, 0, 0}}, "1", []string{"1"}, nil, []string{"2"}, "; nothing got through at 1 (1 of 3 runs), 2 (1 of 3 runs) and 3"},
		{"a latency that failed is no low one", metric.P99, [][]float64{failed, high, low}, "3", []string{"3"}, nil, []string{"2"}, "; p99 failed at 1"},
		{"latencies failed everywhere", metric.P99, [][]float64{failed, failed, failed}, "", nil, nil, nil, "; p99 failed at 1, 2 and 3"},
		{"of a roughness of nothing there is no percentage", metric.Roughness, [][]float64{{0.0001, 0.0002, 0.0003}, {0.2, 0.21, 0.22}}, "1", []string{"1"}, nil, []string{"2"}, "best, 2 is higher"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := answered(t, tc.by, tc.values...)
			if a.Best != tc.best || !slices.Equal(valuesOf(a.Unsure), tc.unsure) || !slices.Equal(valuesOf(a.Worse), tc.worse) || !strings.Contains(a.Sentence, tc.says) {
				t.Errorf("%+v", a)
			}
			if len(tc.like) < 3 && !slices.Equal(a.LikeBest, tc.like) && len(a.LikeBest)+len(tc.like) > 0 {
				t.Errorf("like the best are %q", a.LikeBest)
			}
			for _, w := range slices.Concat(a.Unsure, a.Worse) {
				if w.Low > w.By || w.High < w.By {
					t.Errorf("%+v: the interval does not hold the value", w)
				}
			}
		})
	}
	if a := answered(t, metric.Rate, []float64{100, 140, 60}, []float64{130, 90, 110}); len(a.Worse) > 0 || a.Repeats < 4 {
		t.Errorf("%+v: it takes more than the 3 repeats that were made", a)
	}
}

// What kt limited never wins silently, and a rate that falls is not said to grow.
func TestAScalingFactor(t *testing.T) {
	names := []string{"1", "2", "4", "8", "16", "32"}
	of := func(rates ...float64) (values [][]float64) {
		for _, v := range rates {
			values = append(values, []float64{v, v * 1.001, v * 1.002})
		}
		return values
	}
	falling, growing := of(1000, 400, 150, 60, 25, 11), of(100, 199, 390, 760, 1450, 2600)
	for _, q := range []Question{{Best: "producers", By: metric.P99}, {Best: "producers", By: metric.Rate}, {Scaling: "producers", By: metric.Rate}} {
		if a := asked(t, q, verdict.HostCPU, names, falling...); len(a.Unknown) != len(names) || !strings.Contains(a.Sentence, "kt or its host was the limit at every value") {
			t.Errorf("%+v: %+v", q, a)
		}
	}
	for word, values := range map[string][][]float64{"falls": falling, "grows": growing} {
		if a := asked(t, Question{Scaling: "producers", By: metric.Rate}, verdict.BrokerAcks, names, values...); a.Peak != nil || !strings.Contains(a.Sentence, "rate "+word) {
			t.Errorf("%s: %+v", word, a)
		}
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
	if a := &d.Answers[0]; a.Best != "url=b" || len(d.Along(a)) != 2 || a.Worse[0].Value != "url=a linger=5ms" {
		t.Errorf("%+v with the bars %+v", a, d.Along(a))
	}
}
