package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/suggest"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

func newTune(env *Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "tune [flags]",
		Short: "Check whether this machine is fit for Kafka, make it so, and put it back",
		Long: `Check whether this machine is fit for Kafka: memory and writeback, limits, CPU, clock,
disks and file systems, network, the JVM and the broker's settings, of the broker that
runs here if one does. Exit code 0: fit, 3: not fit.

Checking changes nothing and needs no root; what only root may read is unknown then,
never passed and never failed. --apply makes the changes that are safe to make: it
shows them, asks, writes the old values down, makes the changes, reads them back, and
keeps them in files of its own, so that they outlast a reboot. --rollback puts back
exactly what was written down, and only where the value is still kt's.

Whatever cannot be changed safely (a mount, the heap, the boot loader) is printed as
the command to run.

Profiles: ` + strings.Join(tune.ProfileNames(profiles.Of("tune")), ", ") + `. A file of your own departs from one of them:

  base: throughput
  settings:
    vm.swappiness: "10"
    cpu.governor:          # empty: left alone`,
		Example: `  # is this broker's machine fit?
  kt tune --check

  # a machine that is to become a broker, for low latency
  kt tune --role broker --dirs /data/1,/data/2 --profile latency

  # make it fit; then look at what was changed, and undo it
  sudo kt tune --apply
  kt tune --status
  sudo kt tune --rollback

  # what is behind a finding?
  kt tune --explain vm.max_map_count

  # for scripts: every finding that failed
  kt tune --output json | jq '.checks[] | select(.verdict == "fail")'

  # heap, garbage collector and threads for this machine
  kt tune --hints --brokers 3`,
		Args: noArgs,
	}
	flags := config.NewTune(c.Flags())
	completeTune(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		err := flags.Load(env.configSystem(), suggest.Nearest)
		t, more := newTuner(env, flags)
		if err = errors.Join(err, more); err != nil { // all that is wrong is told at once
			return usageError(err)
		}
		return env.interruptible(c.Context(), t.run)
	}
	return c
}

// completeTune gives the shell the values of flags that have few.
func completeTune(c *cobra.Command) {
	all := tune.Catalogue()
	completions(c, map[string][]string{
		"role":               {"broker", "controller", "client"},
		"profile":            tune.ProfileNames(profiles.Of("tune")),
		"output":             config.TuneOutputs,
		"only":               tune.Names(all),
		"skip":               tune.Names(all),
		config.ActionExplain: tune.IDs(),
	})
}

// completions gives the shell the values of flags.
func completions(c *cobra.Command, values map[string][]string) {
	for flag, v := range values {
		if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(v, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // it is defined, and has no second one
		}
	}
}

// tuner is one call of kt tune.
type tuner struct {
	*config.Tune
	env      *Env
	th       *theme.Theme
	settings []*tune.Setting
	profile  *tune.Profile

	explained *tune.Setting // of --explain
}

// newTuner checks all that needs no machine.
func newTuner(env *Env, flags *config.Tune) (*tuner, error) {
	t := &tuner{Tune: flags, env: env, th: env.theme(flags.Look)}
	var errs []error
	var err error
	if t.settings, err = tune.Select(tune.Catalogue(), t.Only, t.Skip); err != nil {
		errs = append(errs, err)
	} else if len(t.settings) == 0 {
		errs = append(errs, errors.New("--only and --skip leave no check"))
	}
	if t.profile, err = tune.LoadProfile(t.Profile, profiles.Of("tune"), readSettings); err != nil {
		errs = append(errs, err)
	}
	if t.Action == config.ActionExplain {
		if t.explained, err = tune.Find(tune.Catalogue(), t.Explain); err != nil {
			errs = append(errs, err)
		}
	}
	if filepath.Clean(t.Root) == "/" { // elsewhere they are that machine's
		for i, d := range t.Dirs {
			if t.Dirs[i], err = filepath.Abs(d); err != nil {
				errs = append(errs, fmt.Errorf("--dirs %s: %w", d, err))
			}
		}
	}
	if t.Probe && filepath.Clean(t.Root) != "/" {
		errs = append(errs, errors.New("--probe measures this machine's disks, and --root is another machine"))
	}
	return t, errors.Join(append(errs, t.checkRoot())...)
}

// checkRoot refuses a root that is none, and systems that are not Linux.
func (t *tuner) checkRoot() error {
	if t.Action == config.ActionList || t.Action == config.ActionExplain {
		return nil // these need no machine
	}
	if runtime.GOOS != "linux" && filepath.Clean(t.Root) == "/" {
		return fmt.Errorf("kt tune knows Linux, and this is %s; --list, --explain and --root DIR work here too", runtime.GOOS)
	}
	switch info, err := os.Stat(t.Root); {
	case err != nil:
		return fmt.Errorf("--root %s: %w", t.Root, input.Cause(err))
	case !info.IsDir():
		return fmt.Errorf("--root %s: it is no directory", t.Root)
	}
	return nil
}

func (t *tuner) run(ctx context.Context) error {
	switch t.Action {
	case config.ActionList:
		return t.list()
	case config.ActionExplain:
		return t.explain(ctx)
	case config.ActionRollback:
		return t.rollback()
	case config.ActionStatus:
		return t.status()
	case config.ActionApply:
		if err := t.mayApply(); err != nil {
			return err
		}
	}
	r, err := t.check(ctx)
	if err != nil {
		return err
	}
	if t.Action != config.ActionCheck {
		r.Limit(t.applyOptions())
	}
	switch t.Action {
	case config.ActionHints:
		return t.hints(r.Machine)
	case config.ActionDryRun:
		return t.dryRun(r)
	case config.ActionApply:
		return t.apply(ctx, r)
	case config.ActionScript:
		return tune.Script(t.env.Stdout, r.Changes(), t.applyOptions())
	case config.ActionAnsible:
		return tune.Ansible(t.env.Stdout, r.Changes(), t.applyOptions())
	}
	o := report.TuneOptions{
		Theme: t.th, Verbose: t.Verbose, Quiet: t.Quiet, Strict: t.Strict, Width: t.env.width(), Again: t.again(r.Machine), Root: t.root(),
	}
	if err := report.TuneFormats[t.Output](t.env.Stdout, r, o); err != nil {
		return err
	}
	if !r.Fit(t.Strict) {
		return &exitError{exitNotMet, nil}
	}
	return nil
}

// check looks at the machine and makes the checks.
func (t *tuner) check(ctx context.Context) (*tune.Report, error) {
	tree := host.Rooted(t.Root)
	m, err := tune.Look(ctx, tree, host.SystemCalls(t.Root), tune.Options{
		Profile: t.profile, Role: tune.Role(t.Role), Dirs: t.Dirs, PID: t.PID, Unit: t.Unit, Interval: t.Interval,
	})
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, usageError(err)
	}
	if t.Probe {
		if err := t.probe(ctx, m); err != nil {
			return nil, err
		}
	}
	return tune.Check(m, t.settings), nil
}

// list prints the catalogue.
func (t *tuner) list() error {
	if t.Output != "json" {
		return report.TuneList(t.env.Stdout, t.settings, t.th)
	}
	all, err := tuneProfiles()
	if err != nil {
		return err
	}
	return report.Indented(t.env.Stdout, tune.Settings(t.settings, all))
}

// explain prints an entry of the catalogue, with what this machine has if that can
// be looked at.
func (t *tuner) explain(ctx context.Context) error {
	all, err := tuneProfiles()
	if err != nil {
		return err
	}
	if t.Output == "json" {
		return report.Indented(t.env.Stdout, t.explained.Document(all))
	}
	var found *tune.Finding
	if t.checkMachine() {
		t.settings = []*tune.Setting{t.explained}
		r, err := t.check(ctx)
		if err != nil {
			return err
		}
		if len(r.Findings) > 0 {
			found = &r.Findings[0]
		}
	}
	return report.Explain(t.env.Stdout, t.explained, all, found, t.th)
}

// checkMachine reports whether there is a machine that kt tune knows.
func (t *tuner) checkMachine() bool { return runtime.GOOS == "linux" || filepath.Clean(t.Root) != "/" }

// tuneProfiles returns the profiles that kt ships.
func tuneProfiles() ([]*tune.Profile, error) {
	var all []*tune.Profile
	for _, name := range tune.ProfileNames(profiles.Of("tune")) {
		p, err := tune.LoadProfile(name, profiles.Of("tune"), readSettings)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// readSettings reads a file that is written by hand.
func readSettings(path string) ([]byte, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
