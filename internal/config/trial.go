package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Trial is the settings of kt trial.
type Trial struct {
	form
	Repeats int           // runs a side; 0: until the answer is clear
	Delta   float64       // differences of at most this share do not matter
	RunTime time.Duration // of every run, instead of its own end; 0: as it says
	Rest    time.Duration // between two runs
	Discard int           // runs before the others that do not count
	DryRun  bool
	Tags    []string // of every run

	delta, runTime, rest string
}

// NewTrial defines the flags of kt trial on a set.
func NewTrial(flags *pflag.FlagSet) *Trial {
	t := new(Trial)
	group(flags, groupLoad, func() {
		flags.IntVar(&t.Repeats, "repeats", 0, "make `N` runs a side; 0: 6, 12 or 20, until the answer is clear")
		flags.StringVar(&t.delta, "delta", "3%", "differences of at most this `SHARE` do not matter")
		flags.StringVar(&t.runTime, "run-time", "", "end every run after this `TIME`, instead of its own end")
		flags.StringVar(&t.rest, "rest", "5s", "wait this `TIME` between two runs")
		flags.IntVar(&t.Discard, "discard", 1, "make `N` runs first that do not count: they warm the brokers up")
		flags.BoolVar(&t.DryRun, "dry-run", false, "check the load and the change, show the runs, and make none")
	})
	t.defineForm(flags, "trial", DocumentOutputs, func() {
		defineQuiet(flags, &t.Quiet)
		defineTags(flags, &t.Tags, tagsUsage)
	})
	return t
}

// Load applies environment and configuration file.
func (t *Trial) Load(sys System, nearest Nearest) error {
	errs := []error{t.form.Load(sys, nearest)}
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var err error
	if t.Delta, err = parseDelta(t.delta); err != nil {
		errs = append(errs, err)
	}
	if t.runTime != "" {
		errs = append(errs, timeOf(&t.RunTime, "run-time", t.runTime, shortestTrial, "of 1s or more (30s, 2m)"))
	}
	errs = append(errs, timeOf(&t.Rest, "rest", t.rest, 0, "(5s, 1m), or 0"))
	if t.Repeats < 0 {
		bad("--repeats %d: write a number of runs, or 0", t.Repeats)
	}
	if t.Discard < 0 {
		bad("--discard %d: write a number of runs, or 0", t.Discard)
	}
	return errors.Join(errs...)
}
