package inference_test

import (
	"math"
	"slices"
	"testing"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

var fewSettings = []inference.Setting{{Levels: 5, Ordered: true}, {Levels: 3}, {Levels: 2}}

func TestAScreeningHasLevelsEvenly(t *testing.T) {
	runs := inference.Screening(fewSettings, 18, 1)
	must.Match(t, runs, inference.Screening(fewSettings, 18, 1), "the same seed")
	pairs := make(map[[3]int]int) // two settings as a number, and their levels
	for _, at := range runs {
		for i := range at {
			for j := range i {
				pairs[[3]int{10*i + j, at[i], at[j]}]++
			}
		}
	}
	for pair, n := range pairs {
		want := map[int]int{10: 2, 20: 3, 21: 3}[pair[0]]
		must.True(t, n >= want-1 && n <= want+1, "%v stands in %d runs, and not about %d", pair, n, want)
	}
	must.True(t, len(pairs) == 9+6+6, "%d pairs of levels are tried", len(pairs))
}

func TestASurfaceTellsTheBest(t *testing.T) {
	value := func(at []int) float64 { // level 4 of the first setting fails, but the highest value is beside it
		if at[0] == 4 {
			return -3
		}
		return 0.1*float64(at[0]) + 0.2*float64(at[1]%2)
	}
	nothing := func([]int) bool { return false }
	show := func(slack func(at []int) []float64) *inference.Surface {
		var samples []inference.Sample
		for _, at := range append(inference.Screening(fewSettings, 18, 1), []int{3, 0, 0}, []int{3, 1, 1}) {
			samples = append(samples, inference.Sample{At: at, Value: value(at), Slack: slack(at)})
		}
		samples = append(samples, inference.Sample{At: []int{4, 0, 0}, Value: math.Inf(-1)}) // which has no slack
		return inference.NewSurface(fewSettings, samples)
	}
	s := show(func([]int) []float64 { return []float64{1} })
	best := s.Best(nothing)
	must.Match(t, []int{3, 1}, best[:2], "the best")
	gain, deviation := s.Gain([]int{3, 1, 0}, []int{0, 0, 0})
	back, same := s.Gain([]int{0, 0, 0}, []int{3, 1, 0})
	near(t, "gain", gain, 0.5, 0.1)
	near(t, "of both", gain+back, 0, 1e-9)
	must.True(t, deviation > 0 && math.Abs(deviation-same) < 1e-9, "deviations %v and %v", deviation, same)
	must.True(t, s.Holds([]int{4, 1, 0}) < 0.5 && s.Holds([]int{2, 1, 0}) > 0.9, "what fails together: %v, %v", s.Holds([]int{4, 1, 0}), s.Holds([]int{2, 1, 0}))
	left := func(at []int) bool { return at[1] == 1 }
	must.Match(t, 3, s.Best(left)[0], "the best without the second setting")
	must.True(t, !left(s.Best(left)), "what cannot be had is best")
	for _, at := range s.Next(best, 3, 0, left) {
		must.True(t, !left(at) && !slices.Equal(at, best), "%v is next", at)
	}
	must.Match(t, [][]int(nil), s.Next(best, 3, 10, nothing), "what is worth a thousand times more")

	s = show(func(at []int) []float64 { return []float64{0.4 - 0.25*float64(at[0])} })
	must.Match(t, []int{1, 1}, s.Best(nothing)[:2], "the best within a limit that the third level breaks")
}
