package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/suggest"
)

func newReport(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Read a run file and write its result",

		SuggestFor: []string{"result", "results", "show"},
		Long: `Read a run file (.ktr), or a collection of several, and write its result again, in any
format. A run that was killed is read up to its last second.`,
		Example: `  kt report ~/.local/state/kt/runs/20261121-121025-produce-orders.ktr
  kt report run.ktr --output json | jq .bound_by
  kt report run.ktr --output csv > series.csv`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError(fmt.Errorf("kt report takes one run file (see: kt report --help)"))
			}
			return nil
		},
	}
	flags := config.NewReport(c.Flags())
	completions(c, map[string][]string{"output": config.ReportOutputs})
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := flags.Load(env.configSystem(), suggest.Nearest); err != nil {
			return usageError(err)
		}
		return writeReport(env, args[0], flags.Output, report.Options{Theme: env.theme(flags.NoColor, flags.ASCII), Width: env.width()})
	}
	return c
}

func writeReport(env *Env, path, format string, o report.Options) error {
	if err := notADirectory(path); err != nil {
		return usageError(err)
	}
	f, err := openRun(path)
	if err != nil {
		return usageError(err)
	}
	defer f.close()
	res, err := merge.Read(f, f.size)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	return report.Formats[format](env.Stdout, res, o)
}
