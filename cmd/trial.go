package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/study"
)

func newTrial(env *Env) *cobra.Command {
	var set *pflag.FlagSet
	return command[*config.Trial]{
		flags: func(s *pflag.FlagSet) *config.Trial { set = s; return config.NewTrial(s) },
		run: func(ctx context.Context, env *Env, flags *config.Trial, args []string) (*finding, error) {
			s, err := trialOf(flags, args, set.ArgsLenAtDash())
			if err != nil {
				return nil, usageError(err)
			}
			return startStudy(ctx, env, flags.Written(), s, load.NewRunner(env.maker()), flags.DryRun, false) // --yes is a flag of the load
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
	share(s, flags.Tags)
	return s, nil
}
