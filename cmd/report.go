package cmd

import (
	"fmt"
	"os"
	"time"

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
		return writeReport(env, args[0], flags.Output, report.Options{Theme: env.theme(flags.Look), Width: env.width()})
	}
	return c
}

func writeReport(env *Env, path, format string, o report.Options) error {
	if err := notADirectory(path); err != nil {
		return usageError(err)
	}
	f, err := merge.Open(path)
	if err != nil {
		return usageError(err)
	}
	defer f.Close()
	res, err := merge.Read(f, f.Size)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	return report.Formats[format](env.Stdout, res, o)
}

// notADirectory returns an error where a run file is wanted and a directory is named: it says which
// file may be meant.
func notADirectory(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil // what is wrong then is found by reading it
	}
	files, err := merge.FilesIn(path)
	if err != nil {
		return fmt.Errorf("%w: name a run file", err)
	}
	newest, at := "", time.Time{}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(at) {
			newest, at = name, info.ModTime()
		}
	}
	return fmt.Errorf("%s: it is a directory: name a run file, as %s, or merge all of them with: kt collect %s", path, config.Quoted(newest), config.Quoted(path))
}
