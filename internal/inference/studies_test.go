package inference_test

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"github.com/kt-bench/kt/internal/inference"
	"github.com/kt-bench/kt/internal/must"
)

var trials = flag.Int("trials", 100, "simulated studies of each number in the table of TestStudies")

// welch reports whether a group is told from the best one when each has its own noise alone, with a correction for all pairs.
func welch(groups [][]float64) bool {
	best, smallest := 0, 1.0
	samples := make([]stats.Sample, len(groups))
	for i, g := range groups {
		for _, v := range g {
			samples[i].Xs = append(samples[i].Xs, math.Log(v))
		}
		if inference.Median(g, alpha).Value > inference.Median(groups[best], alpha).Value {
			best = i
		}
	}
	for i := range groups {
		if r, err := stats.TwoSampleWelchTTest(samples[best], samples[i], stats.LocationDiffers); i != best && err == nil {
			smallest = min(smallest, r.P)
		}
	}
	return smallest*float64(len(groups)*(len(groups)-1)/2) <= alpha
}

// noises are how repeats differ in the simulated studies: the standard deviation in a cell, and the share of runs that lose 30 %.
var noises = []struct {
	name     string
	spread   func(i, cells int) float64
	outliers float64
}{
	{"2 % in each", func(int, int) float64 { return 0.02 }, 0},
	{"from 1 to 5 %", func(i, cells int) float64 { return 0.01 * math.Pow(5, float64(i)/float64(cells-1)) }, 0},
	{"2 %, of one cell 10 %", func(i, cells int) float64 { return map[bool]float64{true: 0.1, false: 0.02}[i == cells-1] }, 0},
	{"2 %, and one run of ten loses 30 %", func(int, int) float64 { return 0.02 }, 0.1},
}

// TestStudies writes the table of docs/studies.md: the shares of studies that tell a value from the best one, with the noise of each
// cell alone and as it is now, without an effect and when one cell is 10 % better.
func TestStudies(t *testing.T) {
	s := seeded(13)
	var table strings.Builder
	for _, cells := range []int{2, 3, 4, 9} {
		for kind, noise := range noises {
			var columns [4][]string // without and with an effect, before and now
			for _, n := range []int{2, 3, 5} {
				for effect, better := range []float64{1, 1.1} {
					var before, now int
					for range *trials {
						groups := make([][]float64, cells)
						for i := range groups {
							level := map[bool]float64{true: better, false: 1}[i == 0]
							groups[i] = s.runs(n, level, noise.spread(i, cells))
							for j := range groups[i] {
								if s.Float64() < noise.outliers {
									groups[i][j] *= 0.7
								}
							}
						}
						_, standings := must.Both(alikeBest(groups, inference.Highest, alpha))(t)
						for _, st := range standings {
							if !st.Alike {
								now++
								break
							}
						}
						if welch(groups) {
							before++
						}
					}
					for i, count := range []int{before, now} {
						columns[2*effect+i] = append(columns[2*effect+i], fmt.Sprintf("%.0f", 100*float64(count)/float64(*trials)))
					}
					if told := float64(now) / float64(*trials); effect == 0 && told > alpha+tolerance(alpha, *trials) {
						t.Errorf("%d cells of %d runs, %s: %v of the studies name a difference, and there is none", cells, n, noise.name, told)
					} else if effect == 1 && kind == 0 && cells > 2 && now < before {
						t.Errorf("%d cells of %d runs, %s: %d of %d see an effect, and %d do by their own noise", cells, n, noise.name, now, *trials, before)
					}
				}
			}
			fmt.Fprintf(&table, "| %d | %s |", cells, noise.name)
			for _, c := range columns {
				fmt.Fprintf(&table, " %s |", strings.Join(c, ", "))
			}
			table.WriteString("\n")
		}
	}
	t.Log("\n" + table.String())
}
