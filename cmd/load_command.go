package cmd

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

// newLoad completes a command that makes a load.
func newLoad(env *Env, define func(*pflag.FlagSet) *config.Flags, c *cobra.Command) *cobra.Command {
	shipped := profiles.Of(c.Name())
	names := config.ProfileNames(shipped)
	var flags *config.Flags
	var asked config.Run
	settings := func(env *Env) (config.Run, error) {
		sys := env.configSystem()
		sys.Profiles = shipped
		return flags.Load(sys)
	}
	command[none]{
		flags: func(set *pflag.FlagSet) none { flags = define(set); return none{} },
		load: func(env *Env, _ none, _ []string) (err error) {
			asked, err = settings(env)
			for _, w := range asked.Warnings {
				env.line(w)
			}
			return err
		},
		values: map[string][]string{"output": config.Outputs, "profile": names, "run": nil},
		run: func(ctx context.Context, env *Env, _ none, _ []string) (*finding, error) {
			return nil, runLoad(ctx, env, &asked)
		},
	}.of(env, c)
	for flag, names := range env.found(func(env *Env) (plan.Plan, config.Security) {
		r, _ := settings(env)
		return r.Plan, r.Security
	}) {
		lookUp(c, flag, names)
	}
	return c
}
