package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/suggest"
)

func newReport(env *Env) *cobra.Command {
	format, noColor, ascii := "text", false, false
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Read a run file and write its result",
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
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(config.ReportOutputs, format) {
				hint := ""
				if n := suggest.Nearest(format, config.ReportOutputs); n != "" {
					hint = fmt.Sprintf("; did you mean %s?", n)
				}
				return usageError(fmt.Errorf("--output %q: it must be one of %s%s", format, strings.Join(config.ReportOutputs, ", "), hint))
			}
			return writeReport(env, args[0], format, report.Options{Theme: env.theme(noColor || env.Getenv("NO_COLOR") != "", ascii)})
		},
	}
	c.Flags().StringVarP(&format, "output", "o", format, strings.Join(config.ReportOutputs, ", "))
	c.Flags().BoolVar(&noColor, "no-color", false, "no colours; NO_COLOR does the same")
	c.Flags().BoolVar(&ascii, "ascii", false, "only ASCII")
	completions(c, map[string][]string{"output": config.ReportOutputs})
	return c
}

func writeReport(env *Env, path, format string, o report.Options) error {
	f, err := os.Open(path)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, cause(err)))
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, cause(err)))
	}
	res, err := result.Read(f, info.Size())
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	return report.Formats[format](env.Stdout, res, o)
}
