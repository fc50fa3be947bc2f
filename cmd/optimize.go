package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
)

func newOptimize(env *Env) *cobra.Command {
	return command[*config.Optimize]{flags: config.NewOptimize, run: optimize, signals: true}.of(env, &cobra.Command{
		Use:   "optimize --for METRIC -- COMMAND FLAGS",
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
	share(s, flags.Tags)
	return startStudy(ctx, env, flags.Written, s, b, flags.DryRun, false) // --yes is a flag of the load
}
