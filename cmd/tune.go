package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/load"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

func newTune(env *Env) *cobra.Command {
	c := command[*config.Tune]{
		flags: config.NewTune, run: runTune, signals: true,
		load: func(env *Env, s *config.Tune, _ []string) error {
			err := s.Load(env.configSystem())
			if s.Action == "" { // a file could not be read, so there are no settings to check
				return err
			}
			_, more := newTuner(env, s)
			return errors.Join(err, more) // every problem is reported at once
		},
		values: map[string][]string{"profile": tune.ProfileNames(profiles.Of("tune"))},
	}.of(env, &cobra.Command{
		Use:   "tune [flags]",
		Short: "Check this machine for Kafka, tune it, and undo that",
	})
	names := func() []string { return tune.Names(tune.Catalogue()) } // reading the checks takes longer than all else of a start
	_ = c.RegisterFlagCompletionFunc("only", among(names))
	_ = c.RegisterFlagCompletionFunc("skip", among(names))
	_ = c.RegisterFlagCompletionFunc(config.ActionExplain, among(tune.IDs))
	return c
}

// tuner is one call of kt tune.
type tuner struct {
	*config.Tune
	env      *Env
	tree     *tune.Tree
	settings []*tune.Setting
	profile  *tune.Profile

	explained *tune.Setting // of --explain
}

// newTuner checks everything that needs no machine.
func newTuner(env *Env, flags *config.Tune) (*tuner, error) {
	t := &tuner{Tune: flags, env: env, tree: tune.NewTree(flags.Root, buildVersion().String())}
	var errs []error
	var err error
	if t.settings, err = tune.Select(tune.Catalogue(), t.Only, t.Skip); err != nil {
		errs = append(errs, err)
	} else if len(t.settings) == 0 {
		errs = append(errs, errors.New("--only and --skip leave no check: remove one of them"))
	}
	if t.profile, err = tune.LoadProfile(t.Profile, profiles.Of("tune"), load.ReadSettings); err != nil {
		errs = append(errs, err)
	}
	if t.Action == config.ActionExplain {
		if t.explained, err = tune.Find(tune.Catalogue(), t.Explain); err != nil {
			errs = append(errs, err)
		}
	}
	if filepath.Clean(t.Root) == "/" { // else they are paths of the other machine
		for i, d := range t.Dirs {
			if t.Dirs[i], err = filepath.Abs(d); err != nil {
				errs = append(errs, fmt.Errorf("--dirs %s: %w", d, err))
			}
		}
	}
	if t.Probe && filepath.Clean(t.Root) != "/" {
		errs = append(errs, errors.New("--probe measures this machine's disks: it does not go with --root of another machine"))
	}
	return t, errors.Join(append(errs, t.checkRoot())...)
}

// checkRoot refuses a root that is no directory, and systems other than Linux.
func (t *tuner) checkRoot() error {
	if t.Action == config.ActionList || t.Action == config.ActionExplain {
		return nil // these need no machine
	}
	if runtime.GOOS != "linux" && filepath.Clean(t.Root) == "/" {
		return fmt.Errorf("kt tune needs Linux, and this is %s; --list, --explain and --root DIR work here too", runtime.GOOS)
	}
	switch info, err := os.Stat(t.Root); {
	case err != nil:
		return fmt.Errorf("--root %s: %w", t.Root, input.Cause(err))
	case !info.IsDir():
		return fmt.Errorf("--root %s: not a directory", t.Root)
	}
	return nil
}

func runTune(ctx context.Context, env *Env, s *config.Tune, _ []string) (*finding, error) {
	t, err := newTuner(env, s)
	switch {
	case err != nil:
		return nil, usageError(err)
	case t.Action == config.ActionList:
		all, err := tuneProfiles()
		return found(report.SettingsDoc(t.settings), tune.Settings(t.settings, all)), err
	case t.Action == config.ActionExplain:
		return t.explain(ctx)
	case t.Action == config.ActionRollback:
		return t.rollback()
	case t.Action == config.ActionStatus:
		held, err := t.tree.Status()
		if err != nil {
			return nil, err
		}
		return found(report.StatusDoc(held, report.OutcomeOptions{Root: t.root()}), append([]tune.Undone{}, held...)), nil
	case t.Action == config.ActionApply:
		if err := t.mayApply(); err != nil {
			return nil, err
		}
	}
	r, err := t.check(ctx)
	if err != nil {
		return nil, err
	}
	if t.Action != config.ActionCheck {
		r.Limit(t.applyOptions())
	}
	switch t.Action {
	case config.ActionHints:
		hints := tune.Hints(r.Machine, t.Brokers)
		return found(report.HintsDoc(r.Machine, hints), hints), nil
	case config.ActionDryRun:
		return t.dryRun(r), nil
	case config.ActionApply:
		return t.apply(ctx, r)
	case config.ActionScript:
		return nil, tune.Script(env.Stdout, r.Changes(), t.applyOptions())
	case config.ActionAnsible:
		return nil, tune.Ansible(env.Stdout, r.Changes(), t.applyOptions())
	}
	o := report.TuneOptions{Verbose: t.Verbose, All: t.All, Quiet: t.Quiet, Strict: t.Strict, Again: t.again(r.Machine), Root: t.root()}
	if t.Output == "csv" { // of every check, as in JSON
		o.All, o.Quiet = true, false
	}
	fit := r.Fit(t.Strict)
	if !fit {
		err = &exitError{code: exitNotMet}
	}
	return found(report.TuneDoc(r, o), r.Document(fit)), err
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

// explain prints an entry of the catalogue, with the finding of this machine where kt can
// check it.
func (t *tuner) explain(ctx context.Context) (*finding, error) {
	all, err := tuneProfiles()
	if err != nil {
		return nil, err
	}
	var here *tune.Finding
	if t.Output != "json" && (runtime.GOOS == "linux" || filepath.Clean(t.Root) != "/") { // kt can check the machine
		t.settings = []*tune.Setting{t.explained}
		r, err := t.check(ctx)
		if err != nil {
			return nil, err
		}
		if len(r.Findings) > 0 {
			here = &r.Findings[0]
		}
	}
	return found(report.ExplainDoc(t.explained, all, here), t.explained.Document(all)), nil
}

// tuneProfiles returns the profiles that kt ships.
func tuneProfiles() ([]*tune.Profile, error) {
	var all []*tune.Profile
	for _, name := range tune.ProfileNames(profiles.Of("tune")) {
		p, err := tune.LoadProfile(name, profiles.Of("tune"), load.ReadSettings)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (t *tuner) applyOptions() tune.ApplyOptions {
	return tune.ApplyOptions{Runtime: t.Runtime, Persist: t.Persist, Time: t.env.Now()}
}

// root returns the flag that names another root, for commands that kt suggests.
func (t *tuner) root() string {
	if filepath.Clean(t.Root) == "/" {
		return ""
	}
	return " --root " + theme.Quoted(t.Root)
}

// again returns the flags with which a suggested command checks the same broker, also where
// several run and no flag chose one.
func (t *tuner) again(m *tune.Machine) string {
	if m.Brokers > 1 && t.PID == 0 {
		return t.Again(m.Process.PID)
	}
	return t.Again(0)
}

// dryRun shows the changes of an apply, then the manual steps.
func (t *tuner) dryRun(r *tune.Report) *finding {
	if len(r.Changes()) == 0 && t.Output != "json" {
		t.env.say("nothing to change")
	}
	o := report.DiffOptions{Mode: t.applyOptions(), Manual: true, Verbose: t.Verbose}
	return found(report.DiffDoc(r, o), append([]tune.Change{}, r.Changes()...))
}

// mayApply returns an error where an apply cannot succeed, before the machine is checked.
func (t *tuner) mayApply() error {
	if filepath.Clean(t.Root) == "/" && !host.SystemCalls("/").Root() {
		return usageError(errors.New("only root can change this machine: sudo kt tune --apply; or kt tune --script for a person with root"))
	}
	if !t.Yes && !t.env.StdinTTY {
		return usageError(errNobodyToAsk)
	}
	return nil
}

// apply shows the changes, asks, and makes them.
func (t *tuner) apply(ctx context.Context, r *tune.Report) (*finding, error) {
	if n := r.Machine.Brokers; n > 1 && t.PID == 0 {
		return nil, usageError(fmt.Errorf("%d brokers run here, and kt tunes for one of them: sudo kt tune --apply%s is for the first, another --pid for another", n, t.again(r.Machine)))
	}
	changes := r.Changes()
	if len(changes) == 0 {
		t.env.say("nothing to change")
		return nil, nil
	}
	o := report.DiffOptions{Mode: t.applyOptions(), Verbose: t.Verbose}
	if err := t.env.document("text", t.Look, report.DiffDoc(r, o), nil); err != nil {
		return nil, err
	}
	if n := len(r.Manual()); n > 0 {
		t.env.gap()
		t.env.say("manual steps: %d, see kt tune --dry-run%s", n, t.again(r.Machine))
	}
	if !t.Yes {
		yes, err := t.env.confirm(ctx, "Make "+theme.Plural(len(changes), "change", "changes")+"?")
		if err != nil {
			return nil, err
		}
		if !yes {
			t.env.say("nothing was changed")
			return nil, nil
		}
	}
	outcomes, err := t.tree.Apply(changes, t.applyOptions())
	if err != nil {
		return nil, err
	}
	d := report.OutcomesDoc(outcomes, report.OutcomeOptions{Root: t.root(), Files: t.applyOptions().Later()})
	return changed(d, slices.ContainsFunc(outcomes, func(o tune.Outcome) bool { return o.State == tune.Failed }))
}

// rollback restores the values of the journal.
func (t *tuner) rollback() (*finding, error) {
	if filepath.Clean(t.Root) == "/" && !host.SystemCalls("/").Root() {
		return nil, usageError(errors.New("only root can undo the changes: sudo kt tune --rollback"))
	}
	undone, err := t.tree.Rollback(t.Force)
	if err != nil {
		return nil, err
	}
	force := "sudo kt tune --rollback --force" + t.root()
	if t.Force {
		force = ""
	}
	d := report.UndoneDoc(undone, report.OutcomeOptions{Root: t.root(), Force: force, Files: true})
	return changed(d, slices.ContainsFunc(undone, func(u tune.Undone) bool { return u.State == tune.Failed || u.State == tune.Drifted }))
}

// changed returns the outcomes of changes. The exit code is 1 if some of them failed.
func changed(d *doc.Document, failed bool) (*finding, error) {
	if failed {
		return found(d, nil), &exitError{code: exitFailed}
	}
	return found(d, nil), nil
}
