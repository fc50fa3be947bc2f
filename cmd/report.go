package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
)

func newReport(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "report [FILE...]",
		Short: "Read a run file or a page and write its result",

		SuggestFor: []string{"result", "results", "show"},
		Long: `Read a run file (.ktr), a collection of several, or a page (.html) that kt wrote, and write its result in any format.
Without FILE kt takes your newest run. Several files make one page, with --output html. A run that was killed is read up to its last
second. kt report does not judge a run: its exit code is never 4 or 5.`,
		Example: `  kt report ~/.local/state/kt/runs/20261121-121025-produce-orders.ktr
  kt report run.ktr --output json | jq .bound_by
  kt report run.ktr --output csv > series.csv
  kt report run.ktr --output html > page.html
  kt report before.ktr after.ktr --output html > both.html
  kt report run.ktr --play --speed 10`,
		ValidArgsFunction: env.completeRunFiles,
	}
	flags := config.NewReport(c.Flags())
	completions(c, map[string][]string{"output": config.ReportOutputs})
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := flags.Load(env.configSystem(), suggest.Nearest); err != nil {
			return usageError(err)
		}
		if err := env.checkOutput(flags.Output); err != nil {
			return usageError(err)
		}
		if len(args) > 1 {
			return env.reportSeveral(args, flags)
		}
		path, err := env.runFile(args)
		if err != nil {
			return usageError(err)
		}
		f, err := openRun(path)
		if err != nil {
			return usageError(err)
		}
		defer f.Close()
		if flags.Play {
			return env.interruptible(c.Context(), func(ctx context.Context) error { return playRun(ctx, env, f, path, flags) })
		}
		return writeReport(env, f, path, flags)
	}
	return c
}

// reportSeveral writes a page of several runs.
func (e *Env) reportSeveral(paths []string, flags *config.Report) error {
	switch {
	case flags.Output != html || flags.Play || flags.HTML != "":
		return usageError(fmt.Errorf("%d files: kt report shows several runs as one page only: give --output html > page.html. "+
			"To tell their differences from noise: kt compare A B; to merge the files of one run: kt collect", len(paths)))
	case len(paths) > page.MaxRuns:
		return usageError(fmt.Errorf("%d files: a page shows %d runs at most: name fewer, or compare two sets of runs with kt compare", len(paths), page.MaxRuns))
	}
	var runs []result.Result
	var errs []error
	for _, path := range paths {
		r, err := readRun(path)
		runs, errs = append(runs, r), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return usageError(err)
	}
	return page.Several(e.Stdout, runs, paths)
}

// readRun returns the result of a file.
func readRun(path string) (result.Result, error) {
	f, err := openRun(path)
	if err != nil {
		return result.Result{}, err
	}
	defer f.Close()
	r, err := merge.Read(f, f.Size)
	if err != nil {
		return result.Result{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func openRun(path string) (*merge.File, error) {
	if err := notADirectory(path); err != nil {
		return nil, err
	}
	return merge.Open(path)
}

func writeReport(env *Env, f *merge.File, path string, flags *config.Report) error {
	res, err := merge.Read(f, f.Size)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	file, err := newPageFile(env, flags.HTML, false)
	if err != nil {
		return usageError(err)
	}
	defer file.discard()
	o := env.reportOptions(flags.Look, flags.Verbose)
	return errors.Join(format(flags.Output)(env.Stdout, res, o), file.write(res, o))
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
	return fmt.Errorf("%s: it is a directory: name a run file, as %s, or merge all of them with: kt collect %s", path, theme.Quoted(newestFirst(files)[0]), theme.Quoted(path))
}

// runFile returns the run file that is named, or else the newest one of the state folder.
func (e *Env) runFile(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	files := e.runFiles()
	if len(files) == 0 {
		return "", errors.New("no run file is kept here yet: name one, or make a run with kt produce")
	}
	e.say("run file %s", files[0])
	return files[0], nil
}

// runFiles returns the run files of the state folder, the newest first.
func (e *Env) runFiles() []string {
	files, _ := merge.FilesIn(filepath.Join(e.stateDir(), "runs")) // a folder that cannot be read has none
	return newestFirst(files)
}

// newestFirst sorts files by the time of their last change.
func newestFirst(files []string) []string {
	changed := make(map[string]time.Time, len(files))
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			changed[name] = info.ModTime()
		}
	}
	slices.SortStableFunc(files, func(a, b string) int { return changed[b].Compare(changed[a]) })
	return files
}
