package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/secret"
)

// Main runs kt and returns its exit code.
func Main(env Env) int {
	if !env.StdoutTTY {
		env.Stdout = &product{Writer: env.Stdout, env: &env}
	}
	secret.LearnFrom(slices.Concat(env.Args, env.Environ)...)
	root := newRoot(&env)
	if len(env.Args) > 0 && strings.HasPrefix(env.Args[0], cobra.ShellCompRequestCmd) {
		unquoteUsages(root)
	}
	args, err := config.ExpandLists(env.allHelp())
	if limited := addressSpace(host.AddressLimit()); limited != nil {
		err = limited
	} else if err == nil {
		root.SetArgs(args)
		refuseOtherShells(root)
		err = root.ExecuteContext(context.Background())
	} else {
		err = usageError(err)
	}
	if err != nil {
		env.sayError(err)
	}
	return exitCode(err)
}

// allHelp returns the arguments with --help for --help-all, which asks the help for every flag.
func (e *Env) allHelp() []string {
	args := slices.Clone(e.Args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--help-all" {
			args[i], e.helpAll = "--help", true
		}
	}
	if e.helpAll && args[0] == "help" {
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--help" })
	}
	return args
}

func newRoot(env *Env) *cobra.Command {
	root := describe(&cobra.Command{
		Use:               "kt",
		Short:             "Load-test Apache Kafka, and tune its machines",
		Version:           buildVersion().String(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
		Args:              noArgs,
		RunE:              func(c *cobra.Command, _ []string) error { return writeHelp(env.Stdout, c, env.width(), env.helpAll) },
	})
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetVersionTemplate("kt {{.Version}}\n")
	root.SetHelpCommand(newHelp(env))
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		_ = writeHelp(env.Stdout, c, env.width(), env.helpAll) // there is nobody left to tell
	})
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newProduce(env), newConsume(env), newRoundtrip(env), newStudy(env), newFind(env), newTrial(env), newCompare(env), newDoctor(env), newTune(env), newProbe(env), newWatch(env), newCalibrate(env), newSink(env), newReport(env), newRuns(env), newCollect(env), newAgent(env), newPeers(env), newKeygen(env), newConfig(env), newProfiles(env), newPart(env), newVersion(env))
	root.AddCommand(helpTopics()...)
	return root
}

// refuseOtherShells makes kt completion refuse a name that is no shell's, which cobra
// answers with the help and exit code 0.
func refuseOtherShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args = noArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}
