package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/history"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/report/page"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/result/merge"
	"github.com/kt-bench/kt/internal/result/metric"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/stats"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
)

func newReport(env *Env) *cobra.Command {
	return command[*config.Report]{flags: config.NewReport, run: reportRuns}.of(env, &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Read a run file or a page and write its result",

		SuggestFor:        []string{"result", "results", "show"},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: env.completeRunFiles,
	})
}

func reportRuns(ctx context.Context, env *Env, flags *config.Report, args []string) (*finding, error) {
	if len(args) > 1 {
		f, err := env.reportSeveral(args, flags)
		return f, usageError(err)
	}
	path, err := env.runFile(args)
	if err != nil {
		return nil, usageError(err)
	}
	f, err := openRun(path)
	if err != nil {
		return nil, usageError(err)
	}
	if flags.Play {
		defer f.Close()
		return nil, env.interruptible(ctx, func(ctx context.Context) error { return playRun(ctx, env, f, path, flags) })
	}
	return reportRun(env, f, path, flags)
}

// oneFile refuses more than one run file.
func oneFile(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError(fmt.Errorf("%s takes one run file (see: %s --help)", c.CommandPath(), c.CommandPath()))
	}
	return nil
}

// reportSeveral writes a page of several runs.
func (e *Env) reportSeveral(paths []string, flags *config.Report) (*finding, error) {
	switch {
	case flags.Output != html && (flags.HTML == "" || flags.OutputTyped()) || flags.Play:
		return nil, fmt.Errorf("%d files: kt report shows several runs as one page only: give --html page.html, or --output html > page.html. "+
			"To tell their differences from noise: kt compare A B; to merge the files of one run: kt collect", len(paths))
	case len(flags.Limits) > 0 || flags.Strict:
		return nil, fmt.Errorf("--limit, --strict: it judges one run, and %d files are named: judge each by itself", len(paths))
	case len(paths) > page.MaxRuns:
		return nil, fmt.Errorf("%d files: a page shows %d runs at most: name fewer, or compare two sets of runs with kt compare", len(paths), page.MaxRuns)
	}
	var runs []result.Result
	var names []string
	var errs []error
	for i, name := range paths {
		path, err := e.runFile(paths[i : i+1])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if path != name { // "last" is another run tomorrow
			name = filepath.Base(path)
		}
		r, err := readRun(path, "")
		if len(r.Loads) > 0 {
			err = fmt.Errorf("%s: %w", path, r.OneLoad())
		}
		runs, names, errs = append(runs, r), append(names, name), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	f := &finding{page: func(w io.Writer) error { return page.Several(w, runs, names) }, runs: paths}
	if flags.Output == html {
		f.write = func(env *Env, _ config.Written) error { return f.page(env.Stdout) }
	}
	return f, nil
}

// readRun returns the result of a file: of one load, or of a workload or a load of it. limits are judged instead of its own.
func readRun(path, load string, limits ...string) (result.Result, error) {
	if err := notADirectory(path); err != nil {
		return result.Result{}, err
	}
	r, err := merge.ReadFile(path, limits...)
	i := slices.IndexFunc(r.Loads, func(l result.LoadResult) bool { return l.Name == load })
	switch bad := r.OneLoad(); {
	case err != nil:
	case i >= 0:
		r = r.Loads[i].Result
	case load != "":
		err = fmt.Errorf("%s: it has no load of the name %q", path, load)
	case bad != nil && len(r.Loads) == 0:
		err = fmt.Errorf("%s: %w", path, bad)
	}
	return r, err
}

func openRun(path string) (*merge.File, error) {
	if err := notADirectory(path); err != nil {
		return nil, err
	}
	return merge.Open(path)
}

// hasSeconds returns an error if a file has no seconds of a run for a flag that needs them.
func hasSeconds(f *merge.File, path, flag string) error {
	if !f.IsPage() {
		return nil
	}
	return usageError(fmt.Errorf("%s: a page has the result of a run, and %s needs its seconds: name its run file (.ktr)", path, flag))
}

// playRun shows a run as it was seen, until the user leaves.
func playRun(ctx context.Context, env *Env, f *merge.File, path string, flags *config.Report) error {
	w, ok := env.screen()
	if !ok {
		return usageError(errors.New("--play: there is no terminal to show the run on; without --play kt writes its result"))
	}
	if err := hasSeconds(f, path, "--play"); err != nil {
		return err
	}
	if f.IsCollection() {
		return usageError(fmt.Errorf("%s: it holds the runs of several processes, and --play shows that of one: name its run file", path))
	}
	frames := tui.Frames{Now: env.Now}
	o := tui.PlayOptions{
		Options: tui.Options{Theme: env.screenTheme(w, flags.Look), Now: env.Now, Save: frames.Save},
		Out:     w, Speed: flags.Speed, Most: config.MaxSpeed,
		Header: func(h result.Header) tui.Header {
			frames.Name = string(h.Plan.Command)
			return screenHeader(&h, nil)
		},
	}
	if flags.Theme == "auto" {
		o.Background = func(bool) {}
	}
	err := tui.Play(ctx, io.NewSectionReader(f, 0, f.Size), o)
	env.sayFrames(&frames)
	if unfit := new(result.MisfitError); errors.As(err, &unfit) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// reportRun returns the result of a run, and judges it by the limits that are given, if any.
func reportRun(env *Env, f *merge.File, path string, flags *config.Report) (_ *finding, err error) {
	if flags.Output == report.HLog {
		if err := hasSeconds(f, path, "--output "+report.HLog); err != nil {
			return nil, err
		}
	}
	res, err := merge.Read(f, f.Size, flags.Limits...)
	if err != nil {
		return nil, usageError(fmt.Errorf("%s: %w", path, err))
	}
	if len(res.Loads) == 0 { // those of loads were checked when they were read
		if err := metric.CheckAll(flags.Limits, nil, &res.Plan, false); err != nil {
			return nil, usageError(err)
		}
	}
	o := env.reportOptions(flags.Look, flags.Verbose)
	if flags.IsTyped("accept") {
		res.Accept(flags.Accept)
	}
	if len(flags.Limits) > 0 {
		err = run.JudgeLimits(&res)
	}
	if flags.Strict {
		err = run.Strict(res.Doubts, err)
	}
	return &finding{
		write: func(env *Env, w config.Written) error {
			if w.Output == report.HLog {
				return report.WriteHLog(env.Stdout, res, func(each func(*stats.Window)) error { return merge.Windows(f, f.Size, each) })
			}
			return format(w.Output)(env.Stdout, res, o)
		},
		page: func(w io.Writer) error { return page.Run(w, res, o) }, runs: []string{path}, close: f.Close,
	}, err
}

// foundRun returns how a new result is written, whose run file is at a path; "": there is none. what is said of that.
func foundRun(res result.Result, path, what string, w config.Written, o report.Options) *finding {
	o.RunFile = path
	f := &finding{
		write: func(env *Env, w config.Written) error { return format(w.Output)(env.Stdout, res, o) },
		page:  func(out io.Writer) error { return page.Run(out, res, o) },
	}
	if path != "" {
		f.runs = []string{path}
		if w.Output != "text" && !w.Quiet {
			f.last = what + " " + path
		}
	}
	return f
}

// notADirectory returns an error where a run file is wanted and a directory is named: it says which
// file may be meant.
func notADirectory(path string) error {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil // what is wrong then is found by reading it
	}
	files, err := history.Folder{Dir: path}.Files()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, input.Cause(err))
	case len(files) == 0:
		return fmt.Errorf("%s: there is no %s file in it: name a run file", path, history.Ext)
	}
	return fmt.Errorf("%s: it is a directory: name a run file, as %s, or merge all of them with: kt collect %s", path, theme.Quoted(files[0]), theme.Quoted(path))
}
