package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/theme"
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
	r := &runner{o: o, t: t, tree: tree, show: show, places: plan.Directories}
	report := &Report{Schema: Schema, Started: time.Now().UTC(), Mode: o.Mode, Tests: o.Tests, Machine: readMachine(tree)}
	report.Machine.CgroupIO = limitsOn(r.places, report.Machine.CgroupIO)
	each, once := len(o.Tests), 0
	if slices.Contains(o.Tests, testDD) { // a step for each row
		each += len(o.Blocks)*len(o.Direct) - 1
	}
	if slices.Contains(o.Tests, testParallel) {
		each, once = each-1, 1
	}
	r.steps = each*len(r.places) + once
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

// found returns the first such result of the directory; without one, the zero Result.
func (d *Directory) found(is func(*Result) bool) Result {
	for i := range d.Results {
		if is(&d.Results[i]) {
			return d.Results[i]
		}
	}
	return Result{}
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

// parallel runs write in all directories at once.
func (r *runner) parallel(ctx context.Context) (*Parallel, error) {
	out := new(Parallel)
	uses := make(map[string]int) // of each disk, by directories
	for _, p := range r.places {
		for _, d := range p.Disks {
			if uses[d.Name]++; uses[d.Name] == 2 {
				out.Shared = append(out.Shared, d.Name)
			}
		}
	}
	slices.Sort(out.Shared)
	results := make([]Result, len(r.places))
	errs := make([]error, len(r.places))
	var group sync.WaitGroup
	for i, p := range r.places {
		group.Go(func() { results[i], errs[i] = r.write(ctx, p) })
	}
	group.Wait()
	var alone float64
	for i, p := range r.places {
		was := p.found(func(r *Result) bool { return r.Test == testWrite }).MiBPerSecond
		out.MiBPerSecond, out.AloneMiBPerSecond = append(out.MiBPerSecond, results[i].MiBPerSecond), append(out.AloneMiBPerSecond, was)
		out.Sum, alone = out.Sum+results[i].MiBPerSecond, alone+was
	}
	if err := errors.Join(errs...); err != nil || alone == 0 {
		return out, err
	}
	out.Efficiency = out.Sum / alone
	out.Findings = []Finding{judge("parallel", 100*out.Efficiency)}
	out.Grade = worstFinding(out.Findings)
	return out, nil
}

// near is how close to a known limit a rate must be for the limit to be named.
const near = 0.1

// rated is a figure that a limit may have held down.
type rated struct {
	limit string  // as io.max calls it: "wbps", "wiops", "rbps", "riops"
	value float64 // bytes or operations a second
}

// limited are the figures of a result that a limit of a group or a cloud would hold down.
func (r *Result) limited() []rated {
	operations := 0.0
	if r.Seconds > 0 {
		operations = float64(r.Operations) / r.Seconds
	}
	switch {
	case r.Test == testWrite:
		return []rated{{"wbps", r.MiBPerSecond * mib}, {"wiops", operations}}
	case r.Append != nil && r.Append.Limited:
		return []rated{{"wbps", r.Append.SustainedMiBPerSecond * mib}}
	case r.Test == testRead, r.Test == partReadInterleaved:
		return []rated{{"rbps", r.MiBPerSecond * mib}, {"riops", operations}}
	}
	return nil
}

// nameLimit says which limit a figure was at, as far as one is known; "": none. The lines of cgroup are those of io.max: the number of
// a device, then its limits, "8:0 rbps=max wbps=1048576". numbers are those of the device and of the disks below, as "8:0".
func nameLimit(f rated, cgroup []string, numbers []string, disks []Disk) string {
	for _, line := range cgroup {
		words := strings.Fields(line)
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, f.limit+"=") })
		if i < 1 || !slices.Contains(numbers, words[0]) {
			continue
		}
		limit, _ := strconv.ParseFloat(words[i][len(f.limit)+1:], 64) // 0 of "max"
		if limit <= 0 || math.Abs(f.value/limit-1) > near {
			continue
		}
		text := theme.Amount(limit/mib) + " MiB/s"
		if strings.HasSuffix(f.limit, "iops") {
			text = theme.Amount(limit) + " operations a second"
		}
		return fmt.Sprintf("this is the limit of kt's control group, %s (%s)", text, line)
	}
	if f.limit == "wbps" && slices.ContainsFunc(disks, func(d Disk) bool { return strings.Contains(d.Model, "Elastic Block Store") }) {
		for rate, what := range map[float64]string{125: "an EBS gp3 volume at its base rate", 250: "an EBS gp2 volume of 334 GiB or more"} {
			if math.Abs(f.value/mib/rate-1) <= near/2 {
				return fmt.Sprintf("this is the limit of %s, %.0f MiB/s", what, rate)
			}
		}
	}
	return ""
}

// limitsOn are the lines of io.max that are about a device which is probed.
func limitsOn(places []*place, lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		number, _, _ := strings.Cut(line, " ")
		return !slices.ContainsFunc(places, func(p *place) bool { return slices.Contains(p.numbers, number) })
	})
}
