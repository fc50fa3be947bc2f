package config

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Runs is the settings of kt runs.
type Runs struct {
	form    `flag:",squash"`
	Tags    []string      `flag:"tag"`     // a run has to have all of them
	Command string        `flag:"command"` // "": any
	Topic   string        `flag:"topic"`   // "": any
	Since   time.Duration `flag:"since"`   // at most so long ago; 0: at any time
	Valid   bool          `flag:"valid"`   // only valid runs
	Rows    int           `flag:"rows"`    // of text, the newest; 0: all
}

// NewRuns defines the flags of kt runs on a set.
func NewRuns(set *pflag.FlagSet) *Runs { return &Runs{form: newForm(set, "runs")} }

// Load applies environment and configuration file.
func (r *Runs) Load(sys System) error {
	return r.load(sys, r, func(p *problems) { *p = append(*p, plan.CheckTags(r.Tags)) })
}

// Prune is the settings of kt runs prune.
type Prune struct {
	base
	Keep   int           `flag:"keep"`   // of the newest runs, whatever their age
	Older  time.Duration `flag:"older"`  // younger runs stay
	Tagged bool          `flag:"tagged"` // runs with a tag go too
	DryRun bool          `flag:"dry-run"`
	Yes    bool          `flag:"yes"`
}

// NewPrune defines the flags of kt runs prune on a set.
func NewPrune(set *pflag.FlagSet) *Prune { return &Prune{base: newBase(set, "prune", "prune")} }

// Load applies environment and configuration file.
func (p *Prune) Load(sys System) error { return p.load(sys, p) }

// Remove is the settings of kt runs rm.
type Remove struct {
	base
	Yes bool `flag:"yes"`
}

// NewRemove defines the flags of kt runs rm on a set.
func NewRemove(set *pflag.FlagSet) *Remove { return &Remove{base: newBase(set, "remove", "prune")} }

// Load applies environment and configuration file.
func (r *Remove) Load(sys System) error { return r.load(sys, r) }
