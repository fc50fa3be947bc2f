package merge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result"
)

// loads returns the names of the loads of a workload, in the order of its file; none: the files are of one load.
func (s *Set) loads() (names []string) {
	files := s.inOrder()
	slices.SortStableFunc(files, func(a, b *runFile) int { return a.part.Process - b.part.Process })
	for _, one := range files {
		if name := one.part.Load; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// workload merges the files of each load by itself, and joins the results.
func (s *Set) workload(ctx context.Context, names []string) (r result.Result, err error) {
	var all []result.LoadResult
	var parts []*Set
	var plans []*plan.Plan
	for _, name := range names {
		l := NewSet()
		for id, one := range s.runFiles {
			switch {
			case one.part.Load == name, one.watched(): // a machine carries all loads
				l.runFiles[id] = one
			case one.part.Load == "":
				return r, fmt.Errorf("%s: it is of no load of the workload, and the others are of %s", one.name, few(names, ", "))
			}
		}
		own := slices.DeleteFunc(l.inOrder(), (*runFile).watched)
		parts, plans = append(parts, l), append(plans, &own[0].header.Plan)
	}
	limits, err := result.LimitsOf(s.limits, names, plans)
	if err != nil {
		return r, err
	}
	for i, name := range names {
		parts[i].limits = limits[i]
		of, err := parts[i].section(ctx)
		if err != nil {
			return r, fmt.Errorf("load %s: %w", name, err)
		}
		all = append(all, result.LoadResult{Name: name, Result: of})
	}
	m := newMerge(s.inOrder())
	r.Header = m.header(s.inOrder())
	r.Plan.Command, r.NotAddedUp, r.Part.Asked = plan.Workload, m.different(), nil
	r.Notice, r.RunFiles = strings.Join(r.Notices(), "; "), m.listRunFiles()
	r.JoinLoads(all)
	for i := range all { // a machine that is only watched is of the whole
		l := &all[i].Result
		carries := func(h result.HostRow) bool { return h.Processes > 0 }
		r.Hosts = slices.DeleteFunc(slices.Clone(l.Hosts), carries)
		l.Hosts = slices.DeleteFunc(l.Hosts, func(h result.HostRow) bool { return !carries(h) })
	}
	targets := true // of some loads alone a target would say nothing
	for i := range all {
		l := &all[i]
		addNumbers(&r.Records, &l.Records)
		if l.Plan.Writes() {
			addNumbers(&r.Throughput, &l.Throughput)
			targets = targets && l.Throughput.TargetRecordsPerSecond > 0
		}
		if f := l.Fetch; f != nil {
			r.Fetch = cmp.Or(r.Fetch, &result.Fetch{Errors: result.Errors{}, Seconds: r.ElapsedSeconds})
			r.Fetch.RecordsPerSecond, r.Fetch.MiBPerSecond, r.Fetch.Bytes = r.Fetch.RecordsPerSecond+f.RecordsPerSecond, r.Fetch.MiBPerSecond+f.MiBPerSecond, r.Fetch.Bytes+f.Bytes
		}
	}
	if r.Throughput.Seconds, r.Throughput.FirstDueSeconds = r.SendingSeconds, 0; !targets {
		r.Throughput.TargetRecordsPerSecond = 0
	}
	return r, nil
}

// section returns the result of one load: of one complete file that of the file by itself, else what its files give together.
func (s *Set) section(ctx context.Context) (result.Result, error) {
	if files := s.inOrder(); len(files) == 1 && files[0].corrupt == nil {
		return Read(files[0].r, files[0].size, s.limits...)
	}
	return s.load(ctx)
}
