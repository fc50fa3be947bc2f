package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
)

// runOMB makes workloads of OpenMessaging Benchmark, each with each driver, one after the other. All are checked before the first begins.
func runOMB(ctx context.Context, env *Env, flags *config.Workload, files []string) (last *finding, err error) {
	pairs, err := workload.ReadOMB(flags.Drivers, files, workload.OMBOptions{Set: flags.Set, Shared: flags.Shared(), Kafka: load.Clients()})
	flags.Set = slices.DeleteFunc(flags.Set, func(s config.Assignment) bool {
		of, _, _ := strings.Cut(s.Name, ".")
		return of == "workload" || of == "driver"
	})
	switch {
	case len(pairs) > 1 && (flags.ResultFile != "" || flags.HTML != ""):
		err = fmt.Errorf("--result, --html: these files make %d workloads, each with a run file and a page of its own: leave it out (kt report RUN --html FILE)", len(pairs))
	case len(pairs) > 1 && slices.Contains([]string{"yaml", "junit", "html"}, flags.Output):
		err = fmt.Errorf("--output %s: these files make %d workloads, each with a document of its own: leave it out (kt report RUN --output %[1]s)", flags.Output, len(pairs))
	}
	if err != nil {
		return nil, usageError(err)
	}
	said := make(map[string]bool)
	prepared := make([]func() (*finding, error), len(pairs))
	for i := range pairs {
		w := &pairs[i]
		for _, text := range w.Notices {
			if !said[text] && !flags.Quiet {
				env.say("%s", text)
			}
			said[text] = true
		}
		if prepared[i], err = omb(ctx, env, flags, w); err != nil {
			return nil, err
		}
	}
	for i, one := range prepared {
		if len(pairs) > 1 {
			env.say("workload %d of %d: %s", i+1, len(pairs), pairs[i].Name)
		}
		f, wrong := one()
		if rank := []int{exitOK, exitNotMet, exitNotValid, exitFailed, exitUsage, exitLost}; slices.Index(rank, exitCode(wrong)) > slices.Index(rank, exitCode(err)) || exitCode(wrong) > exitLost {
			err = wrong
		}
		if i == len(pairs)-1 || exitCode(wrong) > exitLost { // a signal ends all
			return f, err
		}
		if f == nil {
			env.say("%v", wrong)
			continue
		}
		if wrong := f.write(env, flags.Written); wrong != nil {
			return nil, wrong
		}
	}
	return nil, err
}

// omb returns what makes a checked workload.
func omb(ctx context.Context, env *Env, flags *config.Workload, w *workload.OMB) (func() (*finding, error), error) {
	l := w.Load
	if l.Command, l.File = string(plan.Workload), w.Name; !w.Find {
		return prepareWorkload(ctx, env, flags, l)
	}
	b := load.NewRunner(env.maker())
	give(&l, flags.Assigned())
	changed, _, err := b.Changed(l)
	if err != nil {
		return nil, usageError(err)
	}
	search := study.DefaultSearch()
	if flags.RunTime > 0 {
		search.Trial = plan.Duration(flags.RunTime)
	}
	s, err := findOf(changed.Loads[0], search, "limit", flags.Limits, 5*time.Second)
	if err == nil {
		_, err = b.Load(s.Loads[0])
		err = changed.Placed(changed.Loads[0].Name, err)
	}
	if err != nil {
		return nil, usageError(err)
	}
	return func() (f *finding, err error) {
		err = env.interruptible(ctx, func(ctx context.Context) error {
			f, err = startStudy(ctx, env, flags.Written, s, b, flags.DryRun, flags.Yes)
			return err
		})
		return f, err
	}, nil
}
