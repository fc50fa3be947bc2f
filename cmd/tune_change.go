package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kt-bench/kt/internal/doc"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/report"
	"github.com/kt-bench/kt/internal/theme"
	"github.com/kt-bench/kt/internal/tune"
)

func (t *tuner) tree() *tune.Tree { return tune.NewTree(t.Root, buildVersion().String()) }

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
		yes, err := t.env.confirm(ctx, question(len(changes)))
		if err != nil {
			return nil, err
		}
		if !yes {
			t.env.say("nothing was changed")
			return nil, nil
		}
	}
	outcomes, err := t.tree().Apply(changes, t.applyOptions())
	if err != nil {
		return nil, err
	}
	d := report.OutcomesDoc(outcomes, report.OutcomeOptions{Root: t.root(), Files: t.applyOptions().Later()})
	return changed(d, slices.ContainsFunc(outcomes, func(o tune.Outcome) bool { return o.State == tune.Failed }))
}

func question(changes int) string {
	if changes == 1 {
		return "Make this change?"
	}
	return fmt.Sprintf("Make these %d changes?", changes)
}

// rollback restores the values of the journal.
func (t *tuner) rollback() (*finding, error) {
	if filepath.Clean(t.Root) == "/" && !host.SystemCalls("/").Root() {
		return nil, usageError(errors.New("only root can undo the changes: sudo kt tune --rollback"))
	}
	undone, err := t.tree().Rollback(tune.RollbackOptions{Force: t.Force})
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

// status shows the changes in the journal.
func (t *tuner) status() (*finding, error) {
	held, err := t.tree().Status()
	if err != nil {
		return nil, err
	}
	return found(report.StatusDoc(held, report.OutcomeOptions{Root: t.root()}), append([]tune.Undone{}, held...)), nil
}

// changed returns the outcomes of changes. The exit code is 1 if some of them failed.
func changed(d *doc.Document, failed bool) (*finding, error) {
	if failed {
		return found(d, nil), &exitError{code: exitFailed}
	}
	return found(d, nil), nil
}
