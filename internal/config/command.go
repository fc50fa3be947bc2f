package config

import (
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Look is how a command writes for people.
type Look struct {
	NoColor bool   `flag:"no-color"`
	ASCII   bool   `flag:"ascii"`
	Theme   string `flag:"theme"` // light, dark; auto: that of the terminal
}

// Forms of output: of loads, of commands that write a document, of a result that is written again, and of results that need no window.
var (
	Outputs         = []string{"tui", "text", "line", "json", "yaml", "jsonl", "csv", "perf-test", "markdown", "junit"}
	DocumentOutputs = []string{"text", "json", "yaml", "csv", "markdown", "html"}
	ReportOutputs   = append(slices.Clone(CollectOutputs), "hlog")
	CollectOutputs  = []string{"text", "line", "json", "yaml", "jsonl", "csv", "processes", "perf-test", "markdown", "junit", "hgrm", "html"}
	WatchOutputs    = []string{"text", "json", "jsonl", "markdown", "html"}
)

// base is the flags of a command, and the layers below the command line.
type base struct{ *layers }

// newBase defines the flags of the rows of a command. section is the part of the files that is for it.
func newBase(set *pflag.FlagSet, rows, section string) base {
	define(set, rows)
	return base{&layers{flags: set, command: section}}
}

// load applies the layers below the command line, sets the fields of the command, and makes its checks. It returns every problem,
// unless a layer cannot be read.
func (b *base) load(sys System, into any, checks ...func(*problems)) (err error) {
	if b.layers, err = loadLayers(b.flags, b.command, sys); err != nil {
		return err
	}
	found := problems{b.decode(into)}
	for _, check := range checks {
		check(&found)
	}
	return b.sourced(found.err())
}

// form is the part that commands that write a document have in common.
type form struct {
	Output string `flag:"output"`
	Quiet  bool   `flag:"quiet"` // no progress
	HTML   string `flag:"html"`  // the file of a page; "": none
	Look   `flag:",squash"`
	base
}

func newForm(set *pflag.FlagSet, command string) form {
	return form{base: newBase(set, command, command)}
}

// load is that of base, and refuses a form that the command does not have. In a file or the environment it is no mistake: the
// command writes text then.
func (f *form) load(sys System, into any, checks ...func(*problems)) error {
	return f.base.load(sys, into, append(checks, func(p *problems) {
		output := f.flags.Lookup("output")
		switch outputs := of(output).choices; {
		case slices.Contains(outputs, f.Output):
		case f.Output != "" && !typedOn(output):
			f.Output = "text"
		default:
			p.bad("output", f.Output, "%w", oneOf(f.Output, outputs))
		}
	})...)
}

// Written is how a command writes its document.
type Written struct {
	Output string
	Look
	HTML  string // the file of a page; "": none
	Quiet bool
}

// Written returns how the command writes its document.
func (f *form) Written() Written { return Written{f.Output, f.Look, f.HTML, f.Quiet} }

// problems gathers what is wrong with values.
type problems []error

func (p *problems) bad(flag string, value any, why string, args ...any) {
	*p = append(*p, plan.Refuse(flag, value, why, args...))
}

// exclude refuses all but one of some flags that are given.
func (p *problems) exclude(one, other string) {
	p.bad("", nil, "--%s and --%s exclude each other: give one", one, other)
}

func (p *problems) err() error { return errors.Join(*p...) }

// loadable is a command with settings of its own, that makes no load.
type loadable interface{ Load(System) error }

func by[T loadable](define func(*pflag.FlagSet) T) func(*pflag.FlagSet) loadable {
	return func(set *pflag.FlagSet) loadable { return define(set) }
}

var others = map[string]func(*pflag.FlagSet) loadable{
	"agent": by(NewAgent), "calibrate": by(NewCalibrate), "collect": by(NewCollect), "compare": by(NewCompare), "doctor": by(NewDoctor), "find": by(NewFind),
	"peers": by(NewPeers), "probe": by(NewProbe), "prune": by(NewPrune), "report": by(NewReport), "runs": by(NewRuns), "study": by(NewStudyRun),
	"trial": by(NewTrial), "tune": by(NewTune), "watch": by(NewWatch),
}

// loadCommand loads the settings of a command of which nothing is typed. Only a command that makes a load has a run.
func loadCommand(command string, sys System) (*Run, error) {
	set := pflag.NewFlagSet(command, pflag.ContinueOnError)
	if define := others[command]; define != nil {
		return nil, define(set).Load(sys)
	}
	r, err := newFlags(set, plan.Command(command)).Load(sys)
	return &r, err
}
