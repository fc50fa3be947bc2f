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

		SuggestFor: []string{"try", "experiment", "ab"},
		Long: `Make runs without a change and with it in turns, and tell what it does to the throughput,
to the latency at a --rate, and to the stability: lower, unchanged or higher; rougher,
unchanged or steadier. COMMAND is produce, consume or roundtrip. A change is a flag of
the load (linger=20ms), a setting of the topic (topic.flush.messages=1), a dynamic setting
of the brokers (broker.num.io.threads=16), a kernel setting of this host if the brokers
run on it (sysctl.vm.swappiness=1), or what kt tune proposes (tune.vm.swappiness). Old
values are put back. Several changes are tried together. Stability takes runs of 30 s
and more.

A trial is kept like a study: kt study resume goes on with it, kt study report writes it
again.`,
		Example: `  kt trial linger=20ms -- produce --bootstrap-server kafka-1:9092
  kt trial acks=all --repeats 8 --run-time 1m -- produce --rate 50k
  kt trial broker.num.io.threads=16 -- produce --bootstrap-server kafka-1:9092
  sudo kt trial sysctl.vm.swappiness=1 -- produce --duration 2m
  kt trial compression=zstd --output json -- roundtrip | jq .effects`,
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
