package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/theme"
)

// sharesOf returns shares of what went on beside the load of a run, by what they are. One of nothing is not finite, and not known.
func sharesOf(r *result.Result) map[string]float64 {
	c, written := &r.Client, r.Records.Offered
	shares := map[string]float64{
		"CPUs of kt's host that others used":                         (c.HostCPUCores - c.CPUCores) / c.HostCores,
		"periods in which the CPU limit of its container stopped kt": c.CPUStoppedShare,
	}
	for i := range r.Hosts {
		if b := r.Hosts[i].Busy; b != nil {
			shares["CPUs of "+r.Hosts[i].Host+" that its hypervisor gave to others (steal)"] = b.StealShare
		}
	}
	if r.Warmup != nil {
		written += r.Warmup.Records.Offered
	}
	if r.LogEnds != nil && c.Transactions == 0 { // whose markers are in the log too
		shares["records that others wrote to the topic, for each of kt's"] = max(0, float64(r.LogEnds.After-r.LogEnds.Before)/float64(written)-1)
	}
	return shares
}

// confounders returns a sentence for each thing but the load that differs between two sides, and may be the reason for a difference of
// their metrics: the order of the runs, other runs on the same host, the load of other programs, and the environment.
func confounders(a, b *Side, differ []Difference) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	x, y := a.began(), b.began()
	if m, n := len(x)-1, len(y)-1; m > 0 && n > 0 && (x[m] < y[0] || y[n] < x[0]) {
		add("the sides did not take turns: all runs of A began from %s to %s, and those of B from %s to %s UTC", x[0], x[m], y[0], y[n])
	}
	runs, pairs, last := slices.Concat(a.runs, b.runs), 0, ""
	for i, x := range runs {
		for _, y := range runs[:i] {
			if x.facts["host.hostname"] == y.facts["host.hostname"] && x.figures.from.Before(y.figures.to) && y.figures.from.Before(x.figures.to) {
				pairs, last = pairs+1, y.figures.File+" and "+x.figures.File
			}
		}
	}
	if pairs > 0 {
		add("%s of runs went on at one time on one host, as %s", theme.Plural(pairs, "pair", "pairs"), last)
	}
	shares := make(map[string]float64)
	for i := range runs {
		maps.Copy(shares, runs[i].shares)
	}
	for _, what := range slices.Sorted(maps.Keys(shares)) {
		if x, y := a.share(what), b.share(what); x.N*y.N > 0 && math.Abs(x.Median-y.Median) >= 0.05 { // less is noise
			add("%s: %s in A, and %s in B", what, theme.Percent(x.Median), theme.Percent(y.Median))
		}
	}
	for _, d := range differ {
		if of, _, _ := strings.Cut(d.What, "."); slices.Contains([]string{"kt", "host", "clock", "cluster", tuned}, of) {
			add("%s: %s in A, and %s in B", d.What, cmp.Or(strings.Join(d.A, ", "), "none"), cmp.Or(strings.Join(d.B, ", "), "none"))
		}
	}
	return all
}

// began returns when the runs of a side began, sorted.
func (s *Side) began() (times []string) {
	for i := range s.runs {
		times = append(times, s.runs[i].figures.from.UTC().Format("2006-01-02 15:04:05.000"))
	}
	slices.Sort(times)
	return times
}

// share returns a share over the runs where it is known.
func (s *Side) share(what string) Spread {
	var values []float64
	for i := range s.runs {
		if v, ok := s.runs[i].shares[what]; ok && Share(v).IsKnown() {
			values = append(values, v)
		}
	}
	return spread(values)
}
