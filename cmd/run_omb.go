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
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/workload"
)

// runOMB makes workloads of OpenMessaging Benchmark, each with each driver, one after the other. All are checked before the first begins.
func runOMB(ctx context.Context, env *Env, flags *config.Workload, files []string) (last *finding, err error) {
	shared := flags.Shared()
	var set []string
	for _, s := range flags.Set {
		set = append(set, s.Name+"="+strings.Join(s.Values, ","))
	}
	flags.Set = slices.DeleteFunc(flags.Set, func(s config.Assignment) bool {
		of, _, _ := strings.Cut(s.Name, ".")
		return of == "workload" || of == "driver"
	})
	pairs, err := workload.ReadOMB(flags.Drivers, files, workload.OMBOptions{
		Set: set, Kafka: load.Clients(),
		Given: func(flag string) bool {
			return slices.ContainsFunc(shared, func(a config.Assignment) bool { return a.Name == flag })
		},
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
	for _, text := range flags.Limits {
		slo, err := metric.Parse(text)
		if err != nil {
			return nil, usageError(fmt.Errorf("--limit %w", err))
		}
		search.SLO = append(search.SLO, slo)
	}
	s, err := study.NewFind(changed.Loads[0], search, plan.Duration(5*time.Second))
	if err != nil {
		return nil, usageError(err)
	}
	if _, err := b.Load(s.Loads[0]); err != nil {
		return nil, usageError((&load.Workload{Workload: changed}).Placed(changed.Loads[0].Name, err))
	}
	return func() (f *finding, err error) {
		err = env.interruptible(ctx, func(ctx context.Context) error {
			f, err = startStudy(ctx, env, flags.Written, s, b, flags.DryRun, flags.Yes)
			return err
		})
		return f, err
	}, nil
}
