package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Runs is the settings of kt runs.
type Runs struct {
	form
	Tags    []string      // a run has to have all of them
	Command string        // "": any
	Topic   string        // "": any
	Since   time.Duration // at most so long ago; 0: at any time
	Valid   bool          // only valid runs
	Rows    int           // of text, the newest; 0: all

	since string
}

// NewRuns defines the flags of kt runs on a set.
func NewRuns(set *pflag.FlagSet) *Runs {
	r := new(Runs)
	group(set, groupChecks, func() {
		defineTags(set, &r.Tags, "only runs with all of these `TAGS`")
		set.StringVar(&r.Command, "command", "", "only runs of this `COMMAND`: produce, consume or roundtrip")
		set.StringVar(&r.Topic, "topic", "", "only runs on the topic of this `NAME`")
		set.StringVar(&r.since, "since", "", "only runs that began in this `TIME` until now (12h, 7d)")
		set.BoolVar(&r.Valid, "valid", false, "only valid runs")
	})
	typed(set, "tag", "command", "topic", "since", "valid") // a variable for loads, as KT_TAG, hides no run
	r.defineForm(set, "runs", DocumentOutputs, func() {
		set.IntVar(&r.Rows, "rows", 30, "write the `N` newest runs as text; 0: all")
	})
	return r
}

// Load applies environment and configuration file.
func (r *Runs) Load(sys System, nearest Nearest) error {
	errs := []error{r.form.Load(sys, nearest), plan.CheckTags(r.Tags)}
	if r.Command != "" {
		errs = append(errs, oneOf("command", r.Command, LoadCommands(), nearest))
	}
	var err error
	if r.Since, err = parseAge("since", r.since); err != nil {
		errs = append(errs, err)
	}
	if r.Rows < 0 {
		errs = append(errs, fmt.Errorf("--rows %d: write a number of runs, or 0", r.Rows))
	}
	return errors.Join(errs...)
}

// Prune is the settings of kt runs prune.
type Prune struct {
	Keep   int           // of the newest runs, whatever their age
	Older  time.Duration // younger runs stay
	Tagged bool          // runs with a tag go too
	DryRun bool
	Yes    bool

	set    *pflag.FlagSet
	config string
	older  string
}

// NewPrune defines the flags of kt runs prune on a set.
func NewPrune(set *pflag.FlagSet) *Prune {
	p := &Prune{set: set}
	set.SortFlags = false
	group(set, groupAction, func() {
		set.IntVar(&p.Keep, "keep", 200, "keep the `N` newest runs, whatever their age")
		set.StringVar(&p.older, "older", "90d", "keep runs that began in this `TIME` until now (12h, 90d)")
		set.BoolVar(&p.Tagged, "tagged", false, "remove runs with a tag too")
		set.BoolVar(&p.DryRun, "dry-run", false, "list what would be removed, and remove nothing")
		defineYesRemove(set, &p.Yes)
	})
	typed(set, "tagged", "dry-run")
	group(set, groupConfig, func() { defineConfigFile(set, &p.config) })
	return p
}

// defineYesRemove defines the flag for removing without a question. Only the command line has it.
func defineYesRemove(set *pflag.FlagSet, yes *bool) {
	set.BoolVarP(yes, "yes", "y", false, "do not ask")
	typed(set, "yes")
}

// DefineRemove defines the flags of kt runs rm on a set.
func DefineRemove(set *pflag.FlagSet, yes *bool) {
	group(set, groupAction, func() { defineYesRemove(set, yes) })
}

// Load applies environment and configuration file.
func (p *Prune) Load(sys System, nearest Nearest) error {
	_, err := loadLayers(p.set, "prune", p.config, "", sys, nearest)
	errs := []error{err}
	if p.Older, err = parseAge("older", p.older); err != nil {
		errs = append(errs, err)
	}
	if p.Keep < 0 {
		errs = append(errs, fmt.Errorf("--keep %d: write a number of runs, or 0", p.Keep))
	}
	return errors.Join(errs...)
}

// parseAge reads a time until now. "" is 0.
func parseAge(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	age, err := plan.ParseDuration(text)
	const most = 100 * 365 * 24 * time.Hour
	if err != nil || age < 0 || age > most {
		return 0, fmt.Errorf("--%s %q: write a time from 0 to a hundred years (12h, 7d)", flag, text)
	}
	return age, nil
}

// defineTags defines the flag for the tags of runs.
func defineTags(set *pflag.FlagSet, tags *[]string, usage string) {
	set.StringSliceVar(tags, "tag", nil, usage+": TAG,TAG; may be repeated")
}

// tagUsage is what --tag does for a load.
const tagUsage = "mark the run with these `TAGS`, to find it again with kt runs --tag"

// tagsUsage is what --tag does for many runs.
const tagsUsage = "mark every run with these `TAGS`"

// tagsOf returns tags without repeated and empty ones. A shell leaves an empty one where a variable is not set.
func tagsOf(given []string) ([]string, error) {
	var tags []string
	for _, tag := range named(given) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags, plan.CheckTags(tags)
}
