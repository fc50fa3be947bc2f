package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/profiles"
)

// everyFlag is a part of the help of every command that makes a load.
const everyFlag = `An environment
variable (KT_BOOTSTRAP_SERVER for --bootstrap-server) or the configuration file can
set every flag.`

// newLoad completes a command that makes a load.
func newLoad(env *Env, define func(*pflag.FlagSet) *config.Flags, c *cobra.Command) *cobra.Command {
	shipped := profiles.Of(c.Name())
	names := config.ProfileNames(shipped)
	c.Long += "\n\nProfiles: " + strings.Join(names, ", ")
	var flags *config.Flags
	var asked config.Run
	settings := func(env *Env) (config.Run, error) {
		sys := env.configSystem()
		sys.Profiles = shipped
		return flags.Load(sys, load.Clients())
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
