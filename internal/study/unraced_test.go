//go:build !race

package study

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// This test computes for long, and is of one goroutine: the race detector would find nothing.
// A search finds the best whatever the cluster does beside it: runs get slower from one to the next, the cluster is
// faster after a while, or single runs are slow.
func TestTheBestValueIsAmongThoseThatASearchCannotTellFromIt(t *testing.T) {
	const searches = 60
	for name, change := range map[string]func(run int, chance *rand.Rand) float64{
		"nothing changes":         func(int, *rand.Rand) float64 { return 1 },
		"each run is slower":      func(run int, _ *rand.Rand) float64 { return math.Pow(0.997, float64(run)) },
		"a step after 25 runs":    func(run int, _ *rand.Rand) float64 { return 1 + 0.2*float64(min(run/25, 1)) },
		"one run in 20 is halved": func(_ int, chance *rand.Rand) float64 { return 1 - 0.5*math.Floor(chance.Float64()+0.05) },
	} {
		for fine, step := range map[string]float64{"": 1, "2": 2} {
			t.Run(name+", fine "+fine, func(t *testing.T) {
				missed, octaves := 0, 0.0
				for seed := range uint64(searches) {
					chance := rand.New(rand.NewPCG(seed, 1))
					truth := math.Exp2(chance.Float64() * 6)
					s := partitions(Span{"1", "64", fine})
					s.Seed = seed
					d, _ := searching(t, s, func(turn Turn) float64 {
						n := float64(amount(turn.Cell.values()["partitions"]))
						return curve(truth, n) * change(turn.Number, chance) * math.Exp(0.02*chance.NormFloat64())
					})
					var like []float64
					for _, v := range d.Answers[0].LikeBest {
						like = append(like, float64(amount(v)))
					}
					if truth < slices.Min(like)-step || truth > slices.Max(like)+step {
						missed++
					}
					octaves += math.Log2(slices.Max(like)/slices.Min(like)) / searches
				}
				if octaves > 1.25 && !strings.Contains(name, "halved") {
					t.Errorf("the values that cannot be told from the best span %.2f octaves in the mean: that says little", octaves)
				}
				if missed > searches*5/100 {
					t.Errorf("%d of %d searches miss the best", missed, searches)
				}
			})
		}
	}
}
