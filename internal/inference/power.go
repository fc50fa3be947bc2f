package inference

import (
	"math"

	"github.com/aclements/go-moremath/stats"
)

const (
	// Power is the probability with which an effect that counts as detectable is seen.
	Power = 0.8

	// efficiency is the number of runs a t-test would need for each run of
	// Mann-Whitney's test under normal noise: 3/π (Lehmann, Nonparametrics, 1975, 2.4).
	efficiency = 3 / math.Pi

	// exactRuns is the number of runs a side from which the normal approximation is good.
	exactRuns = 20
)

// Spread returns the noise between runs of the same settings: the standard deviation of
// logarithms within the groups, which is close to their coefficient of variation. It
// returns 0 if no group has two runs.
func Spread(groups ...[]float64) (float64, error) {
	var sum, df float64
	for _, g := range groups {
		l, err := logs(g, false)
		if err != nil {
			return 0, err
		}
		if len(l) > 1 {
			sum += stats.Variance(l) * float64(len(l)-1)
			df += float64(len(l) - 1)
		}
	}
	if df == 0 {
		return 0, nil
	}
	return math.Sqrt(sum / df), nil
}

// Detectable returns the smallest relative effect that MannWhitney of n1 and n2 runs with
// that spread shows with 80 % power: 0.05 is a rise by 5 %. It returns 0 if none can be
// shown with so few runs, or the spread is not known.
//
// Source: the t-test's power for a sample smaller by Mann-Whitney's efficiency, as G*Power
// calculates it (Faul et al., Behavior Research Methods 39 (2007) 175–191). The size is
// that of the exact test, which is much below alpha when there are few runs.
func Detectable(spread float64, n1, n2 int, alpha float64) float64 {
	c, size := critical(n1, n2, alpha)
	if c == 0 || spread <= 0 {
		return 0
	}
	df := float64(n1+n2)*efficiency - 2
	t := quantile(1-size/2, df) + quantile(Power, df)
	return min(math.MaxFloat64, math.Expm1(t*spread*math.Sqrt((1/float64(n1)+1/float64(n2))/efficiency)))
}

// Repeats returns how many runs a side MannWhitney needs to show a relative effect with
// 80 % power. It returns 0 if the effect or the spread is not positive.
//
// Source: as Detectable; from 20 runs on the normal approximation (Noether, Journal of
// the American Statistical Association 82 (1987) 645–647).
func Repeats(spread, effect, alpha float64) int {
	if spread <= 0 || effect <= 0 {
		return 0
	}
	z := stats.StdNormal.InvCDF(1-alpha/2) + stats.StdNormal.InvCDF(Power)
	needed := int(math.Ceil(min(2*math.Pow(z*spread/math.Log1p(effect), 2)/efficiency, math.MaxInt32)))
	for n := max(needed, 2); n <= exactRuns; n++ { // the exact test never needs fewer
		if seen := Detectable(spread, n, n, alpha); seen > 0 && seen <= effect {
			return n
		}
	}
	return max(needed, exactRuns+1)
}

// RepeatsOfBest returns how many runs of each of some groups [Fit.Best] needs to tell one from the best with 80 % power. It
// returns 0 if the effect or the spread is not positive, or if a thousand are too few.
func RepeatsOfBest(spread, effect float64, groups int, alpha float64) int {
	pairs := float64(groups * (groups - 1) / 2)
	p := 1 - alpha/(4*pairs) // two sides, two tests
	for n := 2; n <= 1000 && spread > 0 && effect > 0; n++ {
		df := float64(groups * (n - 1))
		if (quantile(p, df)+quantile(Power, df))*spread*math.Sqrt(2/float64(n)) <= math.Log1p(effect) {
			return n
		}
	}
	return 0
}
