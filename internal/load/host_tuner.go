package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/config"
	"github.com/kt-bench/kt/internal/host"
	"github.com/kt-bench/kt/internal/input"
	"github.com/kt-bench/kt/internal/result"
	"github.com/kt-bench/kt/internal/study"
	"github.com/kt-bench/kt/internal/tune"
	"github.com/kt-bench/kt/profiles"
)

// HostTuner changes settings of this machine for one study at a time, by kt tune's own catalogue and
// journal. It may not be used twice at a time.
type HostTuner struct {
	maker *Maker
	root  string // its root file system: "/", but in tests
	tree  *tune.Tree
	study string   // that has this machine; "": none
	lock  *os.File // held as long
}

// NewHostTuner is for the machine whose root file system is mounted at root.
func NewHostTuner(m *Maker, root string) *HostTuner {
	return &HostTuner{maker: m, root: root, tree: tune.NewTree(root, m.Version)}
}

// Obey does what an order asks for.
func (h *HostTuner) Obey(ctx context.Context, o *study.HostOrder) error {
	if filepath.Clean(h.root) == "/" && !host.SystemCalls(h.root).Root() {
		return misfit(errors.New("only root can change this machine: sudo kt"))
	}
	if err := h.hold(o.Study); err != nil {
		return err
	}
	var err error
	switch o.Do {
	case study.LookAtHost:
		o.Found, err = h.found(ctx, false)
	case study.TryHost:
		if err = h.untouched(); err == nil {
			o.Found, err = h.found(ctx, true)
		}
	case study.CheckHost:
		if err = h.untouched(); err == nil {
			_, err = h.changes(ctx, o.Set)
		}
	case study.SetHost:
		return h.set(ctx, o)
	case study.RestoreHost:
		err = h.set(ctx, &study.HostOrder{Own: o.Own})
	}
	if o.Do != study.RestoreHost || err == nil {
		h.release()
	}
	return err
}

// untouched returns an error if kt tune has changed this machine: all that is in its journal is put back after each run.
func (h *HostTuner) untouched() error {
	held, err := h.tree.Status()
	if err == nil && len(held) > 0 {
		err = misfit(errors.New("kt tune has changed this machine (kt tune --status), and its journal is needed here; kt tune --rollback first, or compare by hand with kt compare"))
	}
	return err
}

// hostLock is held by whoever changes a machine for a study. The folder is root's.
const hostLock = "run/kt-study.lock"

// hold keeps other studies from this machine.
func (h *HostTuner) hold(study string) error {
	switch {
	case h.study == study:
		return nil
	case h.study != "":
		return fmt.Errorf("study %s changes this machine: wait until it is over; kt study restore %s puts back what it left", h.study, h.study)
	}
	lock, err := os.OpenFile(filepath.Join(h.root, hostLock), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close() // nothing was written
		return errors.New("another study changes this machine: wait until it is over")
	}
	h.study, h.lock = study, lock
	return nil
}

func (h *HostTuner) release() {
	_ = h.lock.Close() // nothing was written
	h.study, h.lock = "", nil
}

// changes returns the changes that are meant, from what is there now.
func (h *HostTuner) changes(ctx context.Context, wanted []study.Flag) (changes []tune.Change, err error) {
	var errs []error
	var ids []string
	for _, s := range wanted {
		if id, ok := strings.CutPrefix(s.Name, "tune."); ok {
			if _, err := tune.Find(tune.Catalogue(), id); err != nil {
				errs = append(errs, misfit(fmt.Errorf("tune.%s: %w", id, err)))
			}
			ids = append(ids, id)
			continue
		}
		one, err := h.tree.SysctlTo(strings.TrimPrefix(s.Name, "sysctl."), s.Value)
		if err != nil {
			err = misfit(fmt.Errorf("%s=%s: %w", s.Name, s.Value, err))
		}
		changes, errs = append(changes, one), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil || len(ids) == 0 {
		return changes, err
	}
	r, err := h.look(ctx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(r.Findings, func(f tune.Finding) bool { return f.ID == id && len(f.Changes) > 0 }) {
			errs = append(errs, misfit(fmt.Errorf("tune.%s: kt tune proposes no change that takes effect at once here; kt tune --explain %s tells why", id, id)))
		}
	}
	return append(changes, r.Changes()...), errors.Join(errs...)
}

// look returns what kt tune finds of some settings, all without IDs, with the changes that take effect at once.
func (h *HostTuner) look(ctx context.Context, ids []string) (*tune.Report, error) {
	flags := config.NewTune(pflag.NewFlagSet("tune", pflag.ContinueOnError))
	if err := flags.Load(h.maker.Config); err != nil {
		return nil, err
	}
	settings, err := tune.Select(tune.Catalogue(), ids, flags.Skip)
	profile, bad := tune.LoadProfile(flags.Profile, profiles.Of("tune"), ReadSettings)
	if err = errors.Join(err, bad); err != nil {
		return nil, misfit(err)
	}
	m, err := tune.Look(ctx, host.Rooted(h.root), host.SystemCalls(h.root), tune.Options{
		Profile: profile, Role: tune.Role(flags.Role), Dirs: flags.Dirs, PID: flags.PID, Unit: flags.Unit, Interval: flags.Interval,
	})
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if err != nil {
		return nil, misfit(err)
	}
	r := tune.Check(m, settings)
	r.Limit(tune.ApplyOptions{Runtime: true})
	return r, nil
}

// found returns what kt tune finds here, after it has tried each change that it proposes, if it may.
func (h *HostTuner) found(ctx context.Context, try bool) (all []study.HostFinding, err error) {
	r, err := h.look(ctx, nil)
	if err != nil {
		return nil, err
	}
	states := map[tune.Verdict]study.HostState{tune.OK: study.Fine, tune.NotApplicable: study.NotOfHost, tune.Unknown: study.NotOfHost}
	for _, f := range r.Findings {
		one := study.HostFinding{ID: f.ID, Group: string(f.Group), About: f.Title, State: cmp.Or(states[f.Verdict], study.ByHand)}
		if len(f.Changes) > 0 {
			one.State = study.Proposed
		}
		if one.State == study.Proposed && try {
			if err := h.apply(f.Changes); err != nil {
				one.State = study.Refused
			}
			if err := h.undo(); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// set makes the changes of an order by kt tune's journal, and puts back those that were made before.
func (h *HostTuner) set(ctx context.Context, o *study.HostOrder) error {
	held, err := h.tree.Status()
	for _, u := range held { // a rollback would undo what is in the journal beside the changes of the study
		mine := slices.ContainsFunc(o.Own, func(s study.Flag) bool {
			id, ofTune := strings.CutPrefix(s.Name, "tune.")
			return ofTune && u.Setting == id || u.Path == "/"+host.SysctlFile(strings.TrimPrefix(s.Name, "sysctl."))
		})
		if !mine || u.Kind == tune.OwnFile {
			err = errors.Join(err, misfit(fmt.Errorf("kt tune has changed %s since the study began, so the study undoes nothing; kt tune --rollback undoes all", u.Path)))
		}
	}
	if err != nil {
		return err
	}
	if err := h.undo(); err != nil || len(o.Set) == 0 {
		return err
	}
	changes, err := h.changes(ctx, o.Set)
	if err != nil {
		return err
	}
	return h.apply(changes)
}

// undo puts back all that is in kt tune's journal.
func (h *HostTuner) undo() error {
	undone, err := h.tree.Rollback(false)
	for _, u := range undone {
		if u.Err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", u.Path, u.Err))
		}
	}
	return err
}

func (h *HostTuner) apply(changes []tune.Change) error {
	outcomes, err := h.tree.Apply(changes, tune.ApplyOptions{Runtime: true, Time: h.maker.Now()})
	for _, o := range outcomes {
		if o.Err != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", o.Change.Path, o.Err))
		}
	}
	return err
}

const (
	notedProfile  = "throughput" // the one of kt tune without --profile
	notedInterval = time.Second  // for which counters are watched, as kt tune does by default
)

// brokerDirs returns the directories that brokers of this host write to, as far as kt may see them.
func brokerDirs() []string {
	dirs, _ := tune.DirsInUse(host.System(), host.SystemCalls("/"))
	return dirs
}

// noteTune returns the check of this host in the role of a client; nil: kt tune does not know this system.
func noteTune() func(context.Context) *result.TuneCheck {
	if runtime.GOOS != "linux" {
		return nil
	}
	return func(ctx context.Context) *result.TuneCheck {
		profile, err := tune.LoadProfile(notedProfile, profiles.Of("tune"), ReadSettings)
		if err != nil {
			return nil
		}
		m, err := tune.Look(ctx, host.System(), host.SystemCalls("/"), tune.Options{Profile: profile, Role: tune.Client, Interval: notedInterval})
		if err != nil {
			return nil // the run ended before, or nothing can be read: no run fails for it
		}
		r := tune.Check(m, tune.Catalogue())
		check := &result.TuneCheck{Host: r.Machine.Hostname, Profile: r.Machine.Profile.Name, Findings: []result.TuneFinding{}}
		for _, f := range r.ByCost() {
			switch f.Verdict {
			case tune.NotApplicable, tune.Unknown:
				continue
			case tune.Fail, tune.Warn, tune.Info: // did not pass
				check.Findings = append(check.Findings, result.TuneFinding{
					ID: f.ID, Title: f.Title, Verdict: string(f.Verdict), Current: f.Current, Wanted: f.Wanted, Why: f.Why, Note: f.Note,
				})
			case tune.OK:
			}
			check.Checks++
		}
		return check
	}
}

// ReadSettings reads a settings file of kt tune.
func ReadSettings(path string) ([]byte, error) {
	data, err := input.Read(path, input.Settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
