package probe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
)

// Run checks and then probes, directory by directory. It tells show how it goes;
// show is never called by two at a time, and must not block. show may be nil.
//
// When the context ends, or a test fails, the report holds what was found by then
// and the error says why there is no more. Nothing is left in the directories in
// any case.
func Run(ctx context.Context, o Options, show func(Progress)) (*Report, error) {
	plan, err := Check(o)
	if err != nil {
		return nil, err
	}
	return run(ctx, o, plan, host.System(), show)
}

// runner is a probe under way.
type runner struct {
	o      Options
	t      timing
	tree   host.FS
	places []*place
	steps  int

	mu   sync.Mutex // guards what follows, and the calls of show
	show func(Progress)
	step int
}

func run(ctx context.Context, o Options, plan Plan, tree host.FS, show func(Progress)) (*Report, error) {
	o, t, err := o.resolved()
	if err != nil {
		return nil, err
	}
	r := &runner{o: o, t: t, tree: tree, show: show}
	report := &Report{Schema: Schema, Started: time.Now().UTC(), Mode: o.Mode, Tests: o.Tests, Machine: readMachine(tree)}
	for _, d := range plan.Directories {
		p, err := readPlace(tree, d)
		if err != nil {
			return nil, err
		}
		r.places = append(r.places, p)
	}
	report.Machine.CgroupIO = limitsOn(r.places, report.Machine.CgroupIO)
	r.steps = r.countSteps()
	for _, p := range r.places {
		if err = r.probe(ctx, p); err != nil {
			break
		}
	}
	if err == nil && slices.Contains(o.Tests, testParallel) {
		r.begin()
		report.Parallel, err = r.parallel(ctx)
	}
	r.finish(report)
	report.Interrupted = err != nil
	return report, err
}

// finish grades what was found, and puts it into the report.
func (r *runner) finish(report *Report) {
	report.Machine.PressureAfter = pressure(r.tree)
	report.Seconds = time.Since(report.Started).Seconds()
	for _, p := range r.places {
		p.judge()
		for i := range p.Results {
			r := &p.Results[i]
			for _, f := range r.limited() {
				if named := nameLimit(f, report.Machine.CgroupIO, p.numbers, p.Disks); named != "" {
					r.Notes = append(r.Notes, named)
				}
			}
		}
		report.Directories = append(report.Directories, p.Directory)
		report.Grade = worst(report.Grade, p.Grade)
	}
	if report.Parallel != nil {
		report.Grade = worst(report.Grade, report.Parallel.Grade)
	}
}

// probe runs the tests of one directory, and keeps what they found also when one of them fails.
func (r *runner) probe(ctx context.Context, p *place) error {
	for _, t := range allTests {
		if t.run == nil || !slices.Contains(r.o.Tests, t.name) {
			continue
		}
		r.begin()
		results, err := t.run(r, ctx, p)
		p.Results = append(p.Results, slices.DeleteFunc(results, func(one Result) bool { return err != nil && one.Operations == 0 })...)
		if err != nil {
			return err
		}
	}
	if !slices.Contains(r.o.Tests, testDD) {
		return nil
	}
	for _, block := range r.o.Blocks {
		for _, direct := range r.o.Direct {
			r.begin()
			row, err := r.dd(ctx, p, block, direct)
			if row.Count > 0 {
				p.DD = append(p.DD, row)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sustained is what append found; where that is nothing, what its calls wrote, of
// which memory took a part.
func (d *Directory) sustained() float64 {
	for _, r := range d.Results {
		if r.Append != nil {
			return cmp.Or(r.Append.SustainedMiBPerSecond, r.MiBPerSecond)
		}
	}
	return 0
}

// countSteps is how often begin will be called.
func (r *runner) countSteps() int {
	each, once := len(r.o.Tests), 0
	if slices.Contains(r.o.Tests, testDD) { // a step for each row
		each += len(r.o.Blocks)*len(r.o.Direct) - 1
	}
	if slices.Contains(r.o.Tests, testParallel) {
		each, once = each-1, 1
	}
	return each*len(r.places) + once
}

// begin counts a step of the progress.
func (r *runner) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step++
}

// showProgress shows how a trial goes.
func (r *runner) showProgress(p *place, t trial, from, to reading) {
	if r.show == nil {
		return
	}
	now := second(from, to)
	out := Progress{
		Dir: p.Path, Test: t.test, Steps: r.steps, Elapsed: max(to.at, 0), Duration: t.duration,
		MiBPerSecond: now.Rate, Device: -1, Preparing: t.quiet || to.at < 0,
	}
	if t.quiet {
		out.Duration = 0
	}
	if now.Device != nil {
		out.Device = *now.Device
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	out.Step = r.step
	r.show(out)
}
