package study

import (
	"cmp"
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

// figures are those of one load in several runs.
type figures []*LoadFigures

// of returns the figures of a load of the runs of a cell.
func (c *CellDoc) of(load int) (all figures) {
	for i := range c.Runs {
		all = append(all, &c.Runs[i].Loads[load])
	}
	return all
}

// values returns a metric in each run that has it; none if it failed in one.
func (fs figures) values(m Metric) (values []float64) {
	for _, f := range fs {
		if slices.Contains(f.FailedMetrics, m) {
			return nil
		}
		if f.Has(m) {
			values = append(values, f.Of(m))
		}
	}
	return values
}

// bound returns how many of the runs kt or its host limited, and how many are not valid.
func (fs figures) bound() (client, invalid int) {
	for _, f := range fs {
		if ofClient(f.Limit) {
			client++
		}
		if !f.Valid {
			invalid++
		}
	}
	return client, invalid
}

// faults sums up the effects of faults.
func (fs figures) faults() Faults {
	of := func(read func(*LoadFigures) *int64) Spread {
		var values []float64
		for _, f := range fs {
			if v := read(f); v != nil {
				values = append(values, float64(*v))
			}
		}
		return spread(values)
	}
	outage := func(f *LoadFigures) *result.Outage { return cmp.Or(f.Outage, new(result.Outage)) }
	return Faults{
		Failed:        of(func(f *LoadFigures) *int64 { return &f.Failed }),
		Lost:          of(func(f *LoadFigures) *int64 { return f.Lost }),
		Unchecked:     of(func(f *LoadFigures) *int64 { return f.Unchecked }),
		Gap:           of(func(f *LoadFigures) *int64 { return outage(f).LongestGapMS }),
		Recovered:     of(func(f *LoadFigures) *int64 { return outage(f).RecoveredMS }),
		InSync:        of(func(f *LoadFigures) *int64 { return outage(f).InSyncMS }),
		FailedMetrics: fs.failed(),
	}
}

// failed returns a sentence for each latency that failed in one of the runs. It is compared with no other: the
// rest of the runs would look better than all of them.
func (fs figures) failed() (sentences []string) {
	failed := make(map[Metric]int)
	for _, f := range fs {
		for _, m := range f.FailedMetrics {
			failed[m]++
		}
	}
	for _, m := range slices.Sorted(maps.Keys(failed)) {
		sentences = append(sentences, fmt.Sprintf("%s: failed in %d of %s", m, failed[m], theme.Plural(len(fs), "run", "runs")))
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
