package probe

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// parallel runs write in all directories at once.
func (r *runner) parallel(ctx context.Context) (*Parallel, error) {
	out := &Parallel{Shared: sharedDisks(r.places)}
	results := make([]Result, len(r.places))
	errs := make([]error, len(r.places))
	var group sync.WaitGroup
	for i, p := range r.places {
		group.Go(func() { results[i], errs[i] = r.write(ctx, p) })
	}
	group.Wait()
	var alone float64
	for i, p := range r.places {
		out.MiBPerSecond = append(out.MiBPerSecond, results[i].MiBPerSecond)
		out.Sum += results[i].MiBPerSecond
		was := p.found(testWrite)
		out.AloneMiBPerSecond = append(out.AloneMiBPerSecond, was)
		alone += was
	}
	if err := errors.Join(errs...); err != nil {
		return out, err
	}
	if alone > 0 {
		out.Efficiency = out.Sum / alone
		out.Findings = []Finding{parallelScale.judge(100 * out.Efficiency)}
		out.Grade = worstFinding(out.Findings)
	}
	return out, nil
}

// found is the rate that a test found in this directory; 0: it did not run.
func (d *Directory) found(test string) float64 {
	for _, r := range d.Results {
		if r.Test == test {
			return r.MiBPerSecond
		}
	}
	return 0
}

// sharedDisks are those that more than one directory is on.
func sharedDisks(places []*place) []string {
	uses := make(map[string]int)
	var shared []string
	for _, p := range places {
		for _, d := range p.Disks {
			if uses[d.Name]++; uses[d.Name] == 2 {
				shared = append(shared, d.Name)
			}
		}
	}
	slices.Sort(shared)
	return shared
}
