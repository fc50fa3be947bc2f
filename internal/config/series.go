package config

import (
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Find is the settings of kt find.
type Find struct {
	form      `flag:",squash"`
	SLO       []string      `flag:"slo"`
	Ladder    []float64     `flag:"ladder"`     // records a second; nil: search
	Trial     time.Duration `flag:"trial-time"` // of each trial
	Precision float64       `flag:"precision"`  // 0.01: to 1 %
	Rest      time.Duration `flag:"rest"`       // between two trials
	DryRun    bool          `flag:"dry-run"`
	Tags      []string      `flag:"tag"` // of every run
}

// NewFind defines the flags of kt find on a set.
func NewFind(set *pflag.FlagSet) *Find { return &Find{form: newForm(set, "find")} }

// Load applies environment and configuration file.
func (f *Find) Load(sys System) error { return f.load(sys, f) }

// Trial is the settings of kt trial.
type Trial struct {
	form    `flag:",squash"`
	Repeats int           `flag:"repeats"`  // runs a side; 0: until the answer is clear
	Delta   float64       `flag:"delta"`    // differences of at most this share do not matter
	RunTime time.Duration `flag:"run-time"` // of every run, instead of its own end; 0: as it says
	Rest    time.Duration `flag:"rest"`     // between two runs
	Discard int           `flag:"discard"`  // runs before the others that do not count
	DryRun  bool          `flag:"dry-run"`
	Tags    []string      `flag:"tag"` // of every run
}

// NewTrial defines the flags of kt trial on a set.
func NewTrial(set *pflag.FlagSet) *Trial { return &Trial{form: newForm(set, "trial")} }

// Load applies environment and configuration file.
func (t *Trial) Load(sys System) error { return t.load(sys, t) }

// Compare is the settings of kt compare.
type Compare struct {
	form   `flag:",squash"`
	Delta  float64  `flag:"delta"` // differences of at most this share are alike
	FailOn []string `flag:"fail-on"`
}

// NewCompare defines the flags of kt compare on a set.
func NewCompare(set *pflag.FlagSet) *Compare { return &Compare{form: newForm(set, "compare")} }

// Load applies environment and configuration file.
func (c *Compare) Load(sys System) error { return c.load(sys, c) }

// Calibrate is the settings of kt calibrate.
type Calibrate struct {
	form `flag:",squash"`
	Time time.Duration `flag:"run-time"` // of each run
	Save bool          `flag:"save"`
}

// shortestCalibration leaves a second between the first record read and the last.
const shortestCalibration = 2 * time.Second

// NewCalibrate defines the flags of kt calibrate on a set.
func NewCalibrate(set *pflag.FlagSet) *Calibrate { return &Calibrate{form: newForm(set, "calibrate")} }

// Load applies environment and configuration file.
func (c *Calibrate) Load(sys System) error { return c.load(sys, c) }

// CountsInCalibration reports whether a calibration takes a flag of the load. It takes flags that decide what a record costs,
// and those that choose where settings come from. It leaves out or sets all others itself.
func CountsInCalibration(flag string) bool {
	switch flag {
	case "engine", "producers", "consumers", "no-group", "transaction-duration-ms", "config", "profile", "yes":
		return true
	case "group-protocol", "group-instance-id": // a calibration has no consumer group
		return false
	}
	i := slices.IndexFunc(settings, func(s setting) bool {
		return s.name == flag && slices.ContainsFunc(LoadCommands(), func(c string) bool { return slices.Contains(s.commands, c) })
	})
	return i >= 0 && slices.Contains([]string{groupPayload, groupProducer, groupConsumer, groupClient}, settings[i].group)
}

// Report is the settings of kt report.
type Report struct {
	form    `flag:",squash"`
	Play    bool     `flag:"play"`  // the run is shown on the screen again
	Speed   float64  `flag:"speed"` // of that; 1: as fast as it was
	Verbose bool     `flag:"verbose"`
	Limits  []string `flag:"limit"` // the run is judged by them, and not by its own; none: it is not judged
}

// NewReport defines the flags of kt report on a set.
func NewReport(set *pflag.FlagSet) *Report { return &Report{form: newForm(set, "report")} }

// Load applies environment and configuration file.
func (r *Report) Load(sys System) error {
	return r.load(sys, r, func(p *problems) {
		switch {
		case r.Play && r.OutputTyped():
			p.exclude("play", "output")
		case r.Play && len(r.Limits) > 0:
			p.exclude("play", "limit")
		case r.Play && r.HTML != "":
			p.exclude("play", "html")
		case !r.Play && typedOn(r.flags.Lookup("speed")):
			p.bad("speed", nil, "it goes with --play")
		}
	})
}

// OutputTyped reports whether the form of output was typed.
func (r *Report) OutputTyped() bool { return typedOn(r.flags.Lookup("output")) }

// Watch is the settings of kt watch.
type Watch struct {
	form `flag:",squash"`
}

// NewWatch defines the flags of kt watch on a set.
func NewWatch(set *pflag.FlagSet) *Watch { return &Watch{form: newForm(set, "watch")} }

// Load applies environment and configuration file.
func (w *Watch) Load(sys System) error { return w.load(sys, w) }

// Profiles is the settings of kt profiles.
type Profiles struct {
	form `flag:",squash"`
}

// NewProfiles defines the flags of kt profiles on a set.
func NewProfiles(set *pflag.FlagSet) *Profiles { return &Profiles{form: newForm(set, "profiles")} }

// Load applies environment and configuration file.
func (p *Profiles) Load(sys System) error { return p.load(sys, p) }

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
