package cmd

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/cluster"
	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/run"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tui"
	"github.com/kt-bench/kt/internal/workload"
)

func newRun(env *Env) *cobra.Command {
	return command[*config.Workload]{flags: config.NewWorkload, run: runWorkload}.of(env, &cobra.Command{
		Use:   "run FILE [flags]",
		Short: "Make a workload: several unlike loads at once, from one file",

		SuggestFor:        []string{"workload", "scenario"},
		Args:              workloadFile(env),
		ValidArgsFunction: yamlFiles,
	})
}

// workloadFile takes one file, and says where runs that were made are to be found.
func workloadFile(env *Env) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		const runs = "kt runs lists the runs that were made, and kt report reads one"
		if len(args) != 1 && (len(args) == 0 || !c.Flags().Changed("drivers")) {
			return usageError(fmt.Errorf("kt run makes a workload from one file, as in kt run shop.yaml (kt run --init shop.yaml writes an example); %s", runs))
		}
		name := args[0]
		if _, err := os.Stat(name); filepath.Ext(name) == ".ktr" || errors.Is(err, fs.ErrNotExist) {
			if path, err := env.runPath(name); err == nil && filepath.Ext(path) == ".ktr" {
				return usageError(fmt.Errorf("%s is a run that was made, and kt run makes a workload from a file: %s (kt report %s)", name, runs, name))
			}
		}
		return nil
	}
}

//go:embed shop.yaml
var exampleWorkload []byte

func runWorkload(ctx context.Context, env *Env, flags *config.Workload, args []string) (*finding, error) {
	if flags.Init {
		return nil, initWorkload(env, args[0])
	}
	if len(flags.Drivers) > 0 {
		return runOMB(ctx, env, flags, args)
	}
	l, err := readWorkload(args[0])
	if err != nil {
		return nil, usageError(err)
	}
	do, err := prepareWorkload(ctx, env, flags, l)
	if err != nil {
		return nil, err
	}
	return do()
}

// prepareWorkload checks a workload as the command line changes it, and returns what makes it, or shows it in a dry run.
func prepareWorkload(ctx context.Context, env *Env, flags *config.Workload, l study.Load) (func() (*finding, error), error) {
	give(&l, flags.Assigned())
	made, err := load.NewRunner(env.maker()).Workload(l)
	if err != nil {
		return nil, usageError(err)
	}
	var f *study.Forecast
	if err := env.interruptible(ctx, func(ctx context.Context) (err error) {
		f, err = made.Foretell(ctx, l, flags.DryRun)
		return err
	}); err != nil {
		return nil, err
	}
	if flags.DryRun {
		p := &report.WorkloadPlan{Forecast: f, Loads: made.Plans()}
		return func() (*finding, error) { return found(report.WorkloadDoc(p), p), nil }, nil
	}
	if made.Protected != "" && !flags.Yes {
		ask := func(ctx context.Context) error { return env.permit(ctx, made.Protected, "all loads of "+made.Name) }
		if err := env.interruptible(ctx, ask); err != nil {
			return nil, err
		}
	}
	return func() (*finding, error) { return makeWorkload(ctx, env, flags, made) }, nil
}

// initWorkload writes the example.
func initWorkload(env *Env, path string) error {
	if err := writeNew(path, exampleWorkload, 0o644); err != nil {
		return usageError(fmt.Errorf("--init %w", err))
	}
	env.say("wrote %s; make it with: kt run %s", path, theme.Quoted(path))
	return nil
}

// readWorkload reads the file of a workload as a load.
func readWorkload(path string) (study.Load, error) {
	text, err := input.Read(path, input.Settings)
	if err != nil {
		return study.Load{}, fmt.Errorf("%s: %w", path, err)
	}
	return workload.Parse(path, text, load.CheckFlag)
}

// give gives a load flags of the command line, in place of those of its file: each value that a list has, but of a flag of all loads.
func give(l *study.Load, flags []config.Assignment) {
	l.Flags = slices.DeleteFunc(l.Flags, func(of study.Flag) bool {
		return slices.ContainsFunc(flags, func(f config.Assignment) bool { return f.Name == of.Name })
	})
	for _, f := range flags {
		for _, v := range f.Values {
			one := study.Flag{Name: f.Name, Value: v}
			if l.Flags = append(l.Flags, one); !f.Foreign {
				l.Typed = append(l.Typed, one)
			}
		}
	}
}

// makeWorkload makes the loads, and returns their result.
func makeWorkload(ctx context.Context, env *Env, flags *config.Workload, w *load.Workload) (*finding, error) {
	ctx, stop, end := env.stoppable(ctx, flags.Quiet)
	defer end()
	file, err := env.maker().RunFile(flags.ResultFile, "run-"+w.Name)
	if err != nil {
		return nil, err
	}
	var plans []*plan.Plan
	for _, l := range w.Made {
		plans = append(plans, &l.Plan)
	}
	tuneProcess(env, plans...)
	shown := &config.Run{Output: flags.Output, Quiet: flags.Quiet, Interval: flags.Interval, Verbose: flags.Verbose, Look: flags.Look, FPS: 4}
	if !flags.IsTyped("output") {
		shown.Output = "" // the screen, where there is a terminal
	} else if shown.Output == "jsonl" {
		shown.Output = "json" // its intervals are written at the end, each with its load
	}
	out := newOutput(env, &load.Load{Run: shown}, report.DateFormat{}, stop)
	out.frames.Name, out.oldest = "run", nil
	prepared := out.prepare()
	defer prepared()
	screen := ctx
	if len(w.Made[0].Hosts.On) > 0 {
		screen = stop.elsewhere(ctx)
	}
	o := workload.Options{File: file, Stop: stop.asked, Begin: stop.begin}
	if dir, err := env.studiesDir(); err == nil && !w.Embedded {
		keep, remove, err := w.Keep(dir, env.studyID("run"))
		if err != nil {
			env.say("if this kt is killed, its topics stay: %v", err)
		} else {
			o.Topics = func(h result.Header) error { return keep([]result.Header{h}) }
			defer func() { _ = remove() }() // else there is nothing to restore in it
		}
	}
	opened := func(whole result.Header, headers []result.Header) error {
		prepared()
		for i := range headers {
			p := &headers[i].Plan
			out.hosts = append(out.hosts, tui.HostHeader{Name: headers[i].Part.Load, Processes: 1, Command: string(p.Command), Target: p.RecordsPerSecond()})
		}
		return out.open(screen, whole)
	}
	res, err := w.Run(ctx, o, []run.Observer{out}, opened, out.notify)
	out.close()
	if res.RunID == "" {
		return nil, stop.ended(err)
	}
	env.runsFolder().Add(file.Path(), &res)
	opts := env.reportOptions(flags.Look, flags.Verbose)
	opts.Full = false
	var process *cluster.ProcessError
	if errors.As(err, &process) {
		err = process.Err
	}
	judged := judge(&res, stop.code(), flags.Output, flags.Strict)
	if judged == nil {
		judged = judgeParts(&res, process)
	}
	return foundRun(res, file.Path(), "run file", flags.Written, opts), worse(judged, err)
}
