package inference

import "math/rand/v2"

// Screening returns a number of settings in which each level that is tried stands nearly as often as the others, and nearly as often
// beside each level of every other setting, so that effects of single settings do not hide each other and pairs show. Of an ordered
// setting the least, the middle and the highest level are tried, of others all.
//
// Source: nearly orthogonal arrays by exchanges that lower the sum of squared pair counts, as J2-optimality of Xu (Technometrics 44
// (2002) 356–368).
func Screening(settings []Setting, runs int, seed uint64) [][]int {
	chance := rand.New(rand.NewPCG(seed, uint64(runs)))
	columns := make([][]int, len(settings))
	for i, s := range settings {
		levels := []int{0, s.Levels / 2, s.Levels - 1}
		if !s.Ordered || s.Levels < 3 {
			levels = levels[:0]
			for level := range s.Levels {
				levels = append(levels, level)
			}
		}
		for run := range runs {
			columns[i] = append(columns[i], levels[run%len(levels)])
		}
		chance.Shuffle(runs, func(a, b int) { columns[i][a], columns[i][b] = columns[i][b], columns[i][a] })
	}
	uneven := func(i int) (sum int) {
		for j := range columns {
			counts := make(map[[2]int]int)
			for run := 0; run < runs && i != j; run++ {
				counts[[2]int{columns[i][run], columns[j][run]}]++
			}
			for _, n := range counts {
				sum += n * n
			}
		}
		return sum
	}
	for range 3 {
		for i, column := range columns {
			least := uneven(i)
			for a := range runs {
				for b := a + 1; b < runs; b++ {
					column[a], column[b] = column[b], column[a]
					if now := uneven(i); now < least {
						least = now
					} else {
						column[a], column[b] = column[b], column[a]
					}
				}
			}
		}
	}
	all := make([][]int, runs)
	for run := range runs {
		for i := range columns {
			all[run] = append(all[run], columns[i][run])
		}
	}
	return all
}
