package study

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// Faults are the effects of faults on the runs of a cell. A spread has the runs with that effect alone.
type Faults struct {
	Failed        Spread   `json:"failed_records,omitzero"`    // and unknown ones; of all runs
	Lost          Spread   `json:"lost_records,omitzero"`      // acknowledged and gone; of runs that verified
	Unchecked     Spread   `json:"unchecked_records,omitzero"` // acknowledged, and not known whether gone; of runs that verified
	Gap           Spread   `json:"longest_gap_ms,omitzero"`    // records waited and none was acknowledged
	Recovered     Spread   `json:"rate_recovered_ms,omitzero"` // since the fault
	InSync        Spread   `json:"in_sync_ms,omitzero"`        // since the fault
	FailedMetrics []string `json:"failed_metrics,omitempty"`   // latencies that the cell has not, each as "p99: failed in 2 of 5 runs"
}

// FaultFigures are the effects of faults on one load of a run.
type FaultFigures struct {
	Failed        int64          `json:"failed_records"`              // and unknown ones
	Lost          *int64         `json:"lost_records,omitempty"`      // nil: not verified, or none is known while not all were checked
	Unchecked     *int64         `json:"unchecked_records,omitempty"` // nil: not verified
	Outage        *result.Outage `json:"outage,omitempty"`
	FailedMetrics []Metric       `json:"failed_metrics,omitempty"` // latencies that fall among records that were not served, and CPU of a run in which too many were not
}

// faultsOf returns the effects of faults in a result.
func faultsOf(r *result.Result) FaultFigures {
	f := FaultFigures{Failed: r.Records.Failed + r.Records.Unknown, Outage: r.Outage}
	if r.Verify != nil && !r.Verify.OfAnotherRun {
		unchecked := r.Verify.Unchecked + r.Verify.Undecided
		f.Unchecked = &unchecked
		if r.Verify.Lost > 0 || r.Verify.Complete() {
			f.Lost = &r.Verify.Lost
		}
	}
	return f
}

// faults sums up a load over the runs of a cell.
func (c *CellDoc) faults(load int) Faults {
	var failed, lost, unchecked, gaps, recovered, inSync []float64
	add := func(to *[]float64, ms *int64) {
		if ms != nil {
			*to = append(*to, float64(*ms))
		}
	}
	for i := range c.Runs {
		f := &c.Runs[i].Loads[load].FaultFigures
		add(&failed, &f.Failed)
		add(&lost, f.Lost)
		add(&unchecked, f.Unchecked)
		if o := f.Outage; o != nil {
			add(&gaps, o.LongestGapMS)
			add(&recovered, o.RecoveredMS)
			add(&inSync, o.InSyncMS)
		}
	}
	metrics := failedMetrics(len(c.Runs), func(i int) *LoadFigures { return &c.Runs[i].Loads[load] })
	return Faults{spread(failed), spread(lost), spread(unchecked), spread(gaps), spread(recovered), spread(inSync), metrics}
}

// failedMetrics returns a sentence for each latency that failed in one of some runs. It is compared with no other: the
// rest of the runs would look better than all of them.
func failedMetrics(runs int, figures func(i int) *LoadFigures) (sentences []string) {
	failed := make(map[Metric]int)
	for i := range runs {
		for _, m := range figures(i).FailedMetrics {
			failed[m]++
		}
	}
	for _, m := range slices.Sorted(maps.Keys(failed)) {
		sentences = append(sentences, fmt.Sprintf("%s: failed in %d of %s", m, failed[m], theme.Plural(float64(runs), "run", "runs")))
	}
	return sentences
}

// Faulty reports whether a fault was seen, or records failed or were lost.
func (d *Document) Faulty() bool {
	for i := range d.Cells {
		for _, r := range d.Cells[i].Runs {
			for _, l := range r.Loads {
				if l.Failed > 0 || l.Lost != nil && *l.Lost > 0 || l.Unchecked != nil && *l.Unchecked > 0 || l.Outage != nil && l.Outage.BeganWith != "" {
					return true
				}
			}
		}
	}
	return false
}
