package study

import (
	"slices"

	"github.com/kt-bench/kt/internal/inference"
)

const (
	// growth is the share of its rate by which the backlog of a load that holds may grow, and
	// residue the traffic in seconds that may wait in the end.
	growth  = 0.005
	residue = 0.5

	// lastSeconds is the end of a run in which the residue is looked at.
	lastSeconds = 10
)

// holds reports whether the backlog of a load does not grow. backlogs are the records that wait at the
// end of each second, and rate is the target in records a second.
func holds(backlogs []float64, rate float64) bool {
	if len(backlogs) == 0 {
		return false
	}
	seconds := make([]float64, len(backlogs))
	for i := range seconds {
		seconds[i] = float64(i)
	}
	last := slices.Sorted(slices.Values(backlogs[max(0, len(backlogs)-lastSeconds):]))
	return inference.TheilSen(seconds, backlogs, alpha).Value <= growth*rate && last[len(last)/2] < residue*rate
}
