package cmd

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/theme"
)

func newRuns(env *Env) *cobra.Command {
	list := func(c *cobra.Command) *cobra.Command {
		command[*config.Runs]{
			flags: config.NewRuns, values: map[string][]string{"since": nil}, run: listRuns,
		}.of(env, c)
		lookUp(c, "tag", func(context.Context, *pflag.FlagSet) []string { return env.tags() })
		return c
	}
	c := list(&cobra.Command{
		Use:   "runs",
		Short: "List the runs that kt keeps, show one again, remove old ones",

		SuggestFor: []string{"history", "list", "log", "ls"},
	})
	c.AddCommand(
		list(&cobra.Command{Use: "list", Short: "List the runs, as kt runs does"}), newRunsShow(env), newRunsRemove(env),
		command[none]{run: openPage}.of(env, &cobra.Command{
			Use:   "open [RUN]",
			Short: "Make the page of a run and show it in the browser",
			Long: `Make the HTML page of a run in the cache folder, write its path, and show it in the
browser if there is a desktop. Without RUN kt takes your newest run.`,
			Example:           `  kt runs open last~1`,
			Args:              oneFile,
			ValidArgsFunction: env.completeRunFiles,
		}),
		command[*config.Prune]{flags: config.NewPrune, run: pruneRuns, signals: true}.of(env, &cobra.Command{
			Use:   "prune",
			Short: "Remove old runs",
			Long: `Remove runs that are older than --older and not among the newest --keep, with their
ledgers and pages. Runs with a tag stay, unless --tagged is given. A run at work stays.
kt shows the runs, and asks.`,
			Example: `  kt runs prune --dry-run
  kt runs prune --keep 50 --older 30d --yes`,
		}),
	)
	return c
}

// listRuns writes the runs that the flags choose.
func listRuns(_ context.Context, env *Env, flags *config.Runs, _ []string) (*finding, error) {
	all, err := env.runsFolder().Runs()
	if err != nil {
		return nil, err
	}
	filter := history.Filter{Tags: flags.Tags, Command: plan.Command(flags.Command), Topic: flags.Topic, Valid: flags.Valid}
	if flags.Since > 0 {
		filter.Since = env.Now().Add(-flags.Since)
	}
	runs := filter.Choose(all)
	if flags.Output != "text" {
		list := report.NewRuns(runs)
		return found(report.RunsDoc(list), list), nil
	}
	switch {
	case len(all) == 0:
		env.say("no run is kept here yet: make one with kt produce")
		return nil, nil
	case len(runs) == 0:
		env.say("none of %s fits; kt runs lists them all", theme.Plural(len(all), "run", "runs"))
		return nil, nil
	}
	more, last := len(runs)-flags.Rows, ""
	if flags.Rows > 0 && more > 0 {
		runs, last = runs[:flags.Rows], theme.Plural(more, "older run is", "older runs are")+" not shown: kt runs --rows 0"
	}
	f := found(report.RunsDoc(report.NewRuns(runs)), nil)
	f.last = last
	return f, nil
}

// tags returns the tags of all runs.
func (e *Env) tags() (tags []string) {
	runs, _ := e.runsFolder().Runs() // a folder that cannot be read has none
	for i := range runs {
		tags = append(tags, runs[i].Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// newRunsShow returns kt report under another name.
func newRunsShow(env *Env) *cobra.Command {
	c := newReport(env)
	c.Use, c.Short, c.SuggestFor = "show [RUN...]", "Write the result of a run, as kt report does", nil
	c.Long = "Write the result of a run that kt keeps, as kt report does. RUN is last, last~1 (the one before), or the beginning of a name that kt runs lists. " +
		"Without RUN kt takes your newest run. Several runs make one page, with --html or --output html."
	c.Example = `  kt runs show last~1
  kt runs show last --output json | jq .bound_by`
	return c
}

func newRunsRemove(env *Env) *cobra.Command {
	return command[*config.Prune]{
		flags: config.NewRemove,
		run: func(ctx context.Context, env *Env, flags *config.Prune, args []string) (*finding, error) {
			paths, err := env.keptRuns(args)
			if err != nil {
				return nil, usageError(err)
			}
			for _, path := range paths {
				if !flags.Yes && env.StdinTTY { // to be asked
					env.say("%s", runName(path))
				}
			}
			return nil, removeRuns(ctx, env, paths, flags.Yes)
		},
		signals: true,
	}.of(env, &cobra.Command{
		Use:     "rm RUN...",
		Short:   "Remove runs, with their ledgers and pages",
		Example: `  kt runs rm last`,

		SuggestFor: []string{"remove", "delete"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(errors.New("name the runs to remove, as in kt runs rm last; kt runs lists them"))
			}
			return nil
		},
		ValidArgsFunction: env.completeKept,
	})
}

// keptRuns returns the files of runs that are kept, each once.
func (e *Env) keptRuns(names []string) (paths []string, err error) {
	files := e.runFiles()
	for _, name := range names {
		path, unknown := e.runsFolder().FindKept(files, name)
		err = errors.Join(err, unknown)
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

func pruneRuns(ctx context.Context, env *Env, flags *config.Prune, _ []string) (*finding, error) {
	all, err := env.runsFolder().Runs()
	if err != nil {
		return nil, err
	}
	keep := history.Keep{Newest: flags.Keep, Since: env.Now().Add(-flags.Older), Tagged: !flags.Tagged}
	old := keep.Old(all)
	if len(old) == 0 {
		age := theme.Duration(flags.Older)
		if days := flags.Older / (24 * time.Hour); days > 0 && flags.Older == days*24*time.Hour {
			age = theme.Plural(int64(days), "day", "days")
		}
		env.say("nothing to remove: each of %s is younger than %s, among the newest %d, tagged, unreadable or at work",
			theme.Plural(len(all), "run", "runs"), age, flags.Keep)
		return nil, nil
	}
	var paths []string
	for i := range old {
		paths = append(paths, old[i].Path)
	}
	if err := env.document("text", config.Look{}, report.RunsDoc(report.NewRuns(old)), nil); err != nil {
		return nil, err
	}
	if flags.DryRun {
		env.say("would remove %s", amount(paths))
		return nil, nil
	}
	return nil, removeRuns(ctx, env, paths, flags.Yes)
}

// amount returns how many runs there are, and their bytes.
func amount(paths []string) string {
	var bytes int64
	for _, path := range paths {
		bytes += history.Size(path)
	}
	return fmt.Sprintf("%s (%s)", theme.Plural(len(paths), "run", "runs"), theme.Bytes(bytes))
}

// removeRuns asks, unless yes is given, and removes runs.
func removeRuns(ctx context.Context, env *Env, paths []string, yes bool) error {
	all := amount(paths)
	if !yes && !env.StdinTTY {
		return usageError(errNobodyToAsk)
	}
	if !yes {
		switch sure, err := env.confirm(ctx, "remove "+all+"?"); {
		case err != nil:
			return err
		case !sure:
			return usageError(errors.New("nothing was removed"))
		}
	}
	removed := 0
	var errs []error
	for _, path := range paths {
		if err := history.Remove(path); err != nil {
			errs = append(errs, err)
			continue
		}
		removed++
		_ = os.Remove(env.pageOf(path)) // there may be none
	}
	if removed == len(paths) {
		env.say("removed %s", all)
	} else {
		env.say("removed %d of %s", removed, theme.Plural(len(paths), "run", "runs"))
	}
	return errors.Join(errs...)
}

// openPage makes the page of a run and shows it.
func openPage(_ context.Context, env *Env, _ none, args []string) (*finding, error) {
	path, err := env.runFile(args)
	if err != nil {
		return nil, usageError(err)
	}
	to := env.pageOf(path)
	if to == "" {
		return nil, errors.New("there is no folder for the page: set XDG_CACHE_HOME, or use kt report --output " + html)
	}
	f, err := openRun(path)
	if err != nil {
		return nil, usageError(err)
	}
	defer f.Close()
	if err := env.makePage(f, path, format(html), to); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(env.Stdout, to); err != nil {
		return nil, err
	}
	return nil, env.browse(to)
}

// makePage writes a page. It takes the place of an older one when it is complete.
func (e *Env) makePage(f *merge.File, path string, write report.Format, to string) error {
	res, err := merge.Read(f, f.Size)
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", path, err))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	err = input.Replace(to, 0o600, func(w io.Writer) error { return write(w, res, e.reportOptions(config.Look{}, false)) })
	if err != nil {
		return fmt.Errorf("page %s: %w", to, input.Cause(err))
	}
	return nil
}

// pageOf returns where the page of a run is made: kt/pages in $XDG_CACHE_HOME or ~/.cache; "" without a home folder.
func (e *Env) pageOf(path string) string {
	dir := e.Getenv("XDG_CACHE_HOME")
	switch {
	case filepath.IsAbs(dir):
	case e.HomeDir != "":
		dir = filepath.Join(e.HomeDir, ".cache")
	default:
		return ""
	}
	name := runName(path)
	if at, err := filepath.Abs(filepath.Dir(path)); err == nil && at != e.runsFolder().Dir {
		name += fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(at)))
	}
	return filepath.Join(dir, "kt", "pages", name+"."+html)
}

// browse shows a page in the browser, where a person sits at a desktop.
func (e *Env) browse(path string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if e.Getenv("DISPLAY") == "" && e.Getenv("WAYLAND_DISPLAY") == "" {
		return nil
	}
	if _, err := exec.LookPath(opener); err != nil || !e.StdoutTTY {
		return nil
	}
	c := exec.Command(opener, path)
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s %s: %w; open the page by hand", opener, path, err)
	}
	return c.Process.Release() // some stay until the browser is closed
}
