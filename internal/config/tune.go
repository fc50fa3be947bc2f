package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
	"github.com/kt-bench/kt/internal/theme"
)

// Actions of kt tune, each a flag: at most one is given.
const (
	ActionCheck    = "check"
	ActionApply    = "apply"
	ActionDryRun   = "dry-run"
	ActionScript   = "script"
	ActionAnsible  = "ansible"
	ActionRollback = "rollback"
	ActionStatus   = "status"
	ActionHints    = "hints"
	ActionExplain  = "explain"
	ActionList     = "list"
)

var actions = []struct{ name, usage string }{
	{ActionCheck, "check the machine and change nothing (the default)"},
	{ActionApply, "show the safe changes, ask, and make them (needs root)"},
	{ActionDryRun, "show the changes of --apply and the manual steps; change nothing"},
	{ActionScript, "print the changes as a POSIX shell script"},
	{ActionAnsible, "print the changes as an Ansible playbook"},
	{ActionRollback, "undo all changes of kt on this machine (needs root)"},
	{ActionStatus, "show the changes of kt on this machine"},
	{ActionHints, "print heap, GC and broker settings that fit this machine"},
	{ActionList, "list all checks"},
}

// Tune is the settings of kt tune.
type Tune struct {
	Action  string
	Explain string // the ID

	Role, Profile string
	Dirs          []string
	PID           int
	Unit, Root    string
	Interval      time.Duration // for which counters are watched, 0 to 1h; 0: since boot
	Brokers       int

	Only, Skip       []string
	Strict, Probe    bool
	Verbose, All     bool
	Runtime, Persist bool // one alone: only that; none or both: both
	Yes, Force       bool
	form

	interval string
	asked    map[string]*bool
}

// NewTune defines the flags of kt tune on a set.
func NewTune(set *pflag.FlagSet) *Tune {
	t := &Tune{asked: make(map[string]*bool)}
	group(set, groupAction, func() {
		for _, a := range actions {
			t.asked[a.name] = set.Bool(a.name, false, a.usage)
		}
		set.StringVar(&t.Explain, ActionExplain, "", "show the reason and the sources of the check `ID`")
	})
	group(set, groupMachine, func() {
		set.StringVar(&t.Role, "role", "", "`ROLE` of the machine: broker, controller or client (default: taken from the running processes)")
		set.StringVar(&t.Profile, "profile", "throughput", "`NAME` of the wanted values: throughput, latency or minimal, or a file of your own (my.yaml)")
		set.StringSliceVar(&t.Dirs, "dirs", nil, "log `DIRS`, as DIR,DIR (default: those of the running broker's server.properties)")
		set.IntVar(&t.PID, "pid", 0, "`PID` of the broker (default: the first broker that kt finds)")
		set.StringVar(&t.Unit, "unit", "", "systemd `UNIT` of the broker (default: that of its process)")
		set.StringVar(&t.Root, "root", "/", "check the machine whose root file system is mounted at `DIR`, such as /host in a container")
		set.StringVar(&t.interval, "interval", "1s", "watch the kernel's counters for this `TIME`; 0: take their values since boot")
		set.IntVar(&t.Brokers, "brokers", 0, "`N` brokers in the cluster, for --hints")
	})
	group(set, groupChecks, func() {
		set.StringSliceVar(&t.Only, "only", nil, "only these checks: `IDS` as ID,ID; also groups (memory) and first parts of IDs (vm)")
		set.StringSliceVar(&t.Skip, "skip", nil, "all checks but these `IDS`")
		set.BoolVar(&t.Strict, "strict", false, "exit code 3 also on warnings")
		set.BoolVar(&t.All, "all", false, "show every check by group, also those that pass or do not apply")
		set.BoolVarP(&t.Verbose, "verbose", "v", false, "show the whole reason of each check, and each line of kt's files")
		set.BoolVar(&t.Probe, "probe", false, "measure the log directories first, so that vm.dirty_* fit the disks; beside a running broker this measures with hardly any load and finds no rate")
	})
	group(set, groupChange, func() {
		set.BoolVar(&t.Runtime, "runtime", false, "change only the running machine: a reboot undoes it")
		set.BoolVar(&t.Persist, "persist", false, "write only the files that the next start reads")
		set.BoolVarP(&t.Yes, "yes", "y", false, "with --apply: do not ask")
		set.BoolVar(&t.Force, "force", false, "with --rollback: also restore values that others changed since")
	})
	typed(set, append(names(actions), ActionExplain, "probe", "runtime", "persist", "yes", "force")...)
	t.defineForm(set, "tune", DocumentOutputs, func() {
		set.BoolVarP(&t.Quiet, "quiet", "q", false, "only failures and warnings, no progress")
		defineHTML(set, &t.HTML)
	})
	return t
}

func names(list []struct{ name, usage string }) (names []string) {
	for _, a := range list {
		names = append(names, a.name)
	}
	return names
}

// Load applies environment and configuration file, and checks everything that needs no machine.
// It reports every problem, each with its flag.
func (t *Tune) Load(sys System, nearest Nearest) error {
	if err := t.layers(sys, nearest); err != nil {
		return err
	}
	var errs []error
	for _, a := range actions {
		if *t.asked[a.name] {
			errs = append(errs, t.act(a.name))
		}
	}
	if t.set.Changed(ActionExplain) {
		errs = append(errs, t.act(ActionExplain))
	}
	if t.Action == "" {
		t.Action = ActionCheck
	}
	errs = append(errs, t.checkForm(nearest), checkHTML(t.set, t.HTML), t.fits())
	if t.Role != "" {
		errs = append(errs, oneOf("role", t.Role, []string{"broker", "controller", "client"}, nearest))
	}
	return errors.Join(errs...)
}

func (t *Tune) act(name string) error {
	if t.Action == ActionApply && name == ActionDryRun {
		t.Action = name // --apply --dry-run only shows the changes
		return nil
	}
	if t.Action != "" {
		return fmt.Errorf("--%s and --%s: give only one of them", t.Action, name)
	}
	t.Action = name
	return nil
}

// fits refuses flags that the action would ignore.
func (t *Tune) fits() error {
	var errs []error
	changes := []string{ActionApply, ActionDryRun, ActionScript, ActionAnsible}
	for _, f := range []struct {
		flag string
		with []string
	}{
		{"runtime", changes},
		{"persist", changes},
		{"yes", t.applying()},
		{"force", []string{ActionRollback}},
		{"strict", []string{ActionCheck}},
		{"probe", []string{ActionCheck, ActionApply, ActionDryRun, ActionScript, ActionAnsible}},
		{"brokers", []string{ActionHints}},
		{"html", []string{ActionCheck}},
	} {
		if fl := t.set.Lookup(f.flag); fl.Changed && typedOn(fl) && !slices.Contains(f.with, t.Action) {
			errs = append(errs, fmt.Errorf("--%s does not go with --%s: it goes with --%s", f.flag, t.Action, strings.Join(f.with, ", --")))
		}
	}
	if t.Action != ActionCheck {
		t.HTML = "" // likewise
	}
	if allowed := outputsOf(t.Action); !slices.Contains(allowed, t.Output) && typedOn(t.set.Lookup("output")) {
		errs = append(errs, fmt.Errorf("--output %s: --%s supports only %s", t.Output, t.Action, strings.Join(allowed, " and ")))
	} else if !slices.Contains(allowed, t.Output) {
		t.Output = "text" // a file or the environment sets it for every command
	}
	var err error
	if t.Interval, err = plan.ParseDuration(t.interval); err != nil || t.Interval < 0 || t.Interval > time.Hour {
		errs = append(errs, fmt.Errorf("--interval %s: not a time from 0 to 1h; for example 5s", t.interval))
	}
	switch {
	case t.PID < 0:
		errs = append(errs, fmt.Errorf("--pid %d: not the number of a process", t.PID))
	case t.PID > 0 && t.Unit != "":
		errs = append(errs, errors.New("--pid and --unit: give only one of them"))
	case t.Brokers < 0:
		errs = append(errs, fmt.Errorf("--brokers %d: must be 1 or more", t.Brokers))
	}
	return errors.Join(errs...)
}

// applying returns the actions that --yes goes with: also --dry-run, where --apply is given too.
func (t *Tune) applying() []string {
	if *t.asked[ActionApply] {
		return []string{ActionApply, ActionDryRun}
	}
	return []string{ActionApply}
}

// outputsOf returns the forms of output that an action has.
func outputsOf(action string) []string {
	switch action {
	case ActionCheck, ActionDryRun, ActionList, ActionExplain, ActionHints, ActionStatus:
		return DocumentOutputs
	}
	return []string{"text"}
}

// Again returns the typed flags that choose the machine and the checks, for a command that kt
// suggests: an --apply after a --check has to check the same machine in the same way. A pid other
// than 0 replaces --pid and --unit.
func (t *Tune) Again(pid int) string {
	var b strings.Builder
	for _, name := range []string{"role", "profile", "dirs", "pid", "unit", "root", "only", "skip"} {
		f := t.set.Lookup(name)
		if name == "pid" && pid != 0 {
			fmt.Fprintf(&b, " --pid %d", pid)
			continue
		}
		if !typedOn(f) || name == "unit" && pid != 0 {
			continue
		}
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		b.WriteString(" --" + name + " " + theme.Quoted(value))
	}
	if t.Probe {
		b.WriteString(" --probe")
	}
	return b.String()
}
