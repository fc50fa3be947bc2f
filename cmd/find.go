package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/study"
)

func newFind(env *Env) *cobra.Command {
	return command[*config.Find]{flags: config.NewFind, run: findPeak, signals: true}.of(env, &cobra.Command{
		Use:   "find [flags] -- produce|consume|roundtrip|run FLAGS",
		Short: "Find the highest rate that holds, and the latency below it",

		SuggestFor: []string{"peak", "search", "max"},
		Args:       cobra.ArbitraryArgs,
		ValidArgs:  append(config.LoadCommands(), string(plan.Workload)),
	})
}

func findPeak(ctx context.Context, env *Env, flags *config.Find, args []string) (*finding, error) {
	l, err := loadOf(args)
	if err != nil {
		return nil, usageError(err)
	}
	search := study.DefaultSearch()
	search.Trial, search.Precision, search.Ladder = plan.Duration(flags.Trial), flags.Precision, flags.Ladder
	s, err := findOf(l, search, "slo", flags.SLO, flags.Rest)
	if err != nil {
		return nil, usageError(err)
	}
	share(s, flags.Tags, flags.Accept)
	b := load.NewRunner(env.maker())
	if err := without(ctx, flags, s, b); err != nil {
		return nil, err
	}
	return startStudy(ctx, env, flags.Written, s, b, flags.DryRun, false) // --yes is a flag of the load
}

// without makes a search one that is made again while a broker is stopped, if that is asked for.
func without(ctx context.Context, flags *config.Find, s *study.Study, b *load.Runner) error {
	stop, start := strings.TrimSpace(flags.Exec), strings.TrimSpace(flags.Undo)
	switch {
	case flags.Without == "" && stop+start == "":
		return nil
	case flags.Without == "":
		return usageError(errors.New("--exec, --undo: they stop a broker and bring it back for a second search: add --without broker (commands beside each trial are flags of the load, behind --)"))
	case stop == "" || start == "":
		return usageError(errors.New("--without broker: give the command that stops one, and the one that brings it back: --exec 'scripts/kafka stop 3' --undo 'scripts/kafka start 3'"))
	}
	plans, err := b.Plans(s.Loads[0])
	if err != nil {
		return usageError(err)
	}
	if slices.ContainsFunc(plans, func(p plan.Plan) bool { return p.Embedded() || p.System() != plan.Kafka }) {
		return usageError(errors.New("--without broker: it is of Kafka's brokers, and none are named: add --bootstrap-server"))
	}
	brokers, err := b.BrokerCount(ctx, s.Loads[0])
	if err != nil {
		return err
	}
	s.AddWithout(study.Without{Stop: stop, Start: start})
	if err := s.Parts[1].LeaveReplicas(brokers, plans); err != nil {
		return usageError(err)
	}
	return nil
}

// findOf returns the search of the highest rate of a load that keeps the limits of a flag.
func findOf(l study.Load, search study.Search, flag string, limits []string, rest time.Duration) (*study.Study, error) {
	var errs []error
	for _, text := range limits {
		if l.IsWorkload() { // each load keeps its own
			l.Flags = append(l.Flags, study.Flag{Name: "limit", Value: text})
			continue
		}
		slo, err := metric.Parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--%s %w", flag, err))
		}
		search.SLO = append(search.SLO, slo)
	}
	s, err := study.NewFind(l, search, plan.Duration(rest))
	return s, errors.Join(append(errs, err)...)
}

// share gives every run of a study these tags and accepted doubts, if there are some.
func share(s *study.Study, tags, accepted []string) {
	if len(tags) > 0 {
		s.Share("tag", strings.Join(tags, ","), true)
	}
	if len(accepted) > 0 {
		s.Share("accept", strings.Join(accepted, ","), true)
	}
}

// loadOf returns the load that stands behind the flags of a command.
func loadOf(args []string) (study.Load, error) {
	command, flags, file, err := config.LoadArgs(args)
	l := study.Load{Command: string(command)}
	if err == nil && file != "" {
		l, err = readWorkload(file)
	}
	give(&l, flags)
	return l, err
}

// judgeFind returns the error of a search that is over and has found no rate that holds.
func judgeFind(d *study.Document) error {
	what := map[bool]string{false: "rate", true: "scale"}[d.Study.Find.Scale]
	switch {
	case !d.Over || d.Peak.RecordsPerSecond > 0:
		return nil
	case d.Peak.ClientBound:
		return &exitError{exitNotValid, fmt.Errorf("no %s was found that holds, because kt was the limit at the lowest one", what)}
	}
	return fmt.Errorf("no %s was found that holds", what)
}

func newTrial(env *Env) *cobra.Command {
	var set *pflag.FlagSet
	return command[*config.Trial]{
		flags: func(s *pflag.FlagSet) *config.Trial { set = s; return config.NewTrial(s) },
		run: func(ctx context.Context, env *Env, flags *config.Trial, args []string) (*finding, error) {
			s, err := trialOf(flags, args, set.ArgsLenAtDash())
			if err != nil {
				return nil, usageError(err)
			}
			return startStudy(ctx, env, flags.Written, s, load.NewRunner(env.maker()), flags.DryRun, false) // --yes is a flag of the load
		},
		signals: true,
	}.of(env, &cobra.Command{
		Use:   "trial CHANGE... [flags] -- COMMAND FLAGS",
		Short: "Tell whether a change helps: runs without it and with it take turns",

		SuggestFor:        []string{"try", "experiment", "ab"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	})
}

// trialOf returns the trial of a command line. dash is the number of arguments before --, -1 without one.
func trialOf(flags *config.Trial, args []string, dash int) (*study.Study, error) {
	if dash < 0 {
		return nil, errors.New("no load is given: write it behind --, as in kt trial linger=20ms -- produce --acks all")
	}
	l, err := loadOf(args[dash:])
	if err != nil {
		return nil, err
	}
	var changes []study.Flag
	var errs []error
	for _, text := range args[:dash] {
		change, err := study.ParseChange(text)
		changes, errs, l.Typed = append(changes, change), append(errs, err), append(l.Typed, change)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s, err := study.NewTrial(l, changes, flags.Repeats, flags.Delta)
	if err != nil {
		return nil, err
	}
	s.Rest, s.Discard = plan.Duration(flags.Rest), flags.Discard
	if flags.RunTime > 0 {
		s.LimitTo(flags.RunTime)
	}
	share(s, flags.Tags, flags.Accept)
	return s, nil
}

func newOptimize(env *Env) *cobra.Command {
	return command[*config.Optimize]{flags: config.NewOptimize, run: optimize, signals: true}.of(env, &cobra.Command{
		Use:   "optimize --for METRIC [flags] -- COMMAND FLAGS",
		Short: "Find the best settings of a load that keep its limits, and prove them",

		SuggestFor: []string{"optimise", "best", "autotune", "tuning"},
		Args:       cobra.ArbitraryArgs,
		ValidArgs:  append(config.LoadCommands(), string(plan.Workload)),
	})
}

func optimize(ctx context.Context, env *Env, flags *config.Optimize, args []string) (*finding, error) {
	l, err := loadOf(args)
	if err != nil {
		return nil, usageError(err)
	}
	b := load.NewRunner(env.maker())
	s, err := b.Optimum(ctx, l, flags)
	if err != nil {
		return nil, usageError(err)
	}
	share(s, flags.Tags, flags.Accept)
	return startStudy(ctx, env, flags.Written, s, b, flags.DryRun, false) // --yes is a flag of the load
}
