package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Find is the settings of kt find.
type Find struct {
	form
	SLO       []string
	Ladder    []float64     // records a second; nil: search
	Trial     time.Duration // of each trial
	Precision float64       // 0.01: to 1 %
	Rest      time.Duration // between two trials
	DryRun    bool
	Tags      []string // of every run

	ladder                 []string
	trial, rest, precision string
}

// NewFind defines the flags of kt find on a set.
func NewFind(flags *pflag.FlagSet) *Find {
	f := new(Find)
	group(flags, groupLoad, func() {
		flags.StringArrayVar(&f.SLO, "slo", nil, "a rate also has to keep this `LIMIT`: 'p99<50ms', 'errors==0'; may be repeated")
		flags.StringSliceVar(&f.ladder, "ladder", nil, "walk up these `RATES` (10k,50k,100k), instead of searching")
		flags.StringVar(&f.trial, "trial-time", "30s", "measure each rate for this `TIME`; longer than the brokers' periodic stalls")
		flags.StringVar(&f.precision, "precision", "1%", "end the search when the peak is known to this `SHARE`")
		flags.StringVar(&f.rest, "rest", "5s", "wait this `TIME` between two trials")
		flags.BoolVar(&f.DryRun, "dry-run", false, "check the load, show the longest way, and make no run")
	})
	f.defineForm(flags, "find", DocumentOutputs, func() {
		defineQuiet(flags, &f.Quiet)
		defineTags(flags, &f.Tags, tagsUsage)
	})
	return f
}

const shortestTrial = time.Second // a run of less says nothing

// Load applies environment and configuration file.
func (f *Find) Load(sys System, nearest Nearest) error {
	errs := []error{f.form.Load(sys, nearest)}
	errs = append(errs, timeOf(&f.Trial, "trial-time", f.trial, shortestTrial, "of 1s or more (30s, 2m)"), timeOf(&f.Rest, "rest", f.rest, 0, "(5s, 1m), or 0"))
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var err error
	if f.Precision, err = parseShare(f.precision); err != nil || f.Precision < 0.001 || f.Precision > 0.5 {
		bad("--precision %q: write a share from 0.1%% to 50%%", f.precision)
	}
	if f.Ladder, err = plan.ParseLadder(f.ladder); err != nil {
		bad("--ladder %w", err)
	}
	return errors.Join(errs...)
}
