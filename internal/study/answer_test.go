package study

import (
	"slices"
	"strconv"
	"testing"

	"github.com/kt-bench/kt/internal/result/verdict"
)

// answered returns the answer to the best of a factor with the values 1, 2, …, of which each has some runs.
func answered(t *testing.T, by Metric, values ...[]float64) Answer {
	t.Helper()
	d := &Document{Study: &Study{Ask: []Question{{Best: "partitions", By: by}}}}
	for i, runs := range values {
		c := CellDoc{At: map[string]string{"partitions": strconv.Itoa(i + 1)}}
		for _, v := range runs {
			figures := LoadFigures{Limit: verdict.BrokerAcks}
			*figures.Of(by) = v
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
		{"one is best", Throughput, [][]float64{low, high}, "2", []string{"2"}, nil, []string{"1"}},
		{"two are alike", Throughput, [][]float64{low, high, near}, "2", []string{"2", "3"}, nil, []string{"1"}},
		{"noise is not called alike", Throughput, [][]float64{low, high, noisy}, "2", []string{"2", "3"}, []string{"3"}, []string{"1"}},
		{"a latency is best when low", P99, [][]float64{low, high}, "1", []string{"1"}, nil, []string{"2"}},
		{"a value without runs", Throughput, [][]float64{high, nil}, "1", []string{"1"}, nil, nil},
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
	a := answered(t, Throughput, []float64{100, 140, 60}, []float64{130, 90, 110})
	if len(a.Worse) > 0 || a.Repeats < 4 {
		t.Errorf("%+v: it takes more than the 3 repeats that were made", a)
	}
}
