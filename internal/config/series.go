package config

import (
	"slices"
	"time"

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
	Without   string        `flag:"without"`    // broker: make the search again while one is stopped; "": do not
	Exec      string        `flag:"exec"`       // stops it
	Undo      string        `flag:"undo"`       // brings it back
	DryRun    bool          `flag:"dry-run"`
	Tags      []string      `flag:"tag"` // of every run
}

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

// Optimize is the settings of kt optimize: those of kt trial, without a number of repeats, and more.
type Optimize struct {
	Trial     `flag:",squash"`
	For       string        `flag:"for"`        // a metric
	SLO       []string      `flag:"slo"`        // what the settings have to keep
	Over      []string      `flag:"over"`       // NAME=VALUES; none: those that matter for the load
	Budget    time.Duration `flag:"budget"`     // of all runs; 0: as many as the search wants
	MayChange []string      `flag:"may-change"` // settings that change what is promised
}

func (o *Optimize) check(p *problems) {
	if o.For == "" {
		p.bad("for", nil, "say what is to be best: rate, p99, cpu or bytes, as in kt optimize --for p99 -- produce --rate 50k")
	}
}

// Size is the settings of kt size.
type Size struct {
	form     `flag:",squash"`
	Scale    float64 `flag:"scale"`
	Measured string  `flag:"measured"` // the search: the ID or the folder of a study
	Broker   string  `flag:"broker"`   // what each has, as study.ParseBroker reads it; "": as those of the search
}

// Compare is the settings of kt compare.
type Compare struct {
	form   `flag:",squash"`
	Delta  float64  `flag:"delta"` // differences of at most this share are alike
	FailOn []string `flag:"fail-on"`
}

// Calibrate is the settings of kt calibrate.
type Calibrate struct {
	form `flag:",squash"`
	Time time.Duration `flag:"run-time"` // of each run
	Save bool          `flag:"save"`
}

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
		return s.Name == flag && slices.ContainsFunc(LoadCommands(), func(c string) bool { return slices.Contains(s.Commands, c) })
	})
	return i >= 0 && slices.Contains([]string{"Records", "Producer", "Consumer", "Client"}, settings[i].Group)
}

// Report is the settings of kt report.
type Report struct {
	form    `flag:",squash"`
	Play    bool     `flag:"play"`  // the run is shown on the screen again
	Speed   float64  `flag:"speed"` // of that; 1: as fast as it was
	Verbose bool     `flag:"verbose"`
	Limits  []string `flag:"limit"` // the run is judged by them, and not by its own; none: it is not judged
}

func (r *Report) check(p *problems) {
	switch {
	case r.Play && r.OutputTyped():
		p.exclude("play", "output")
	case r.Play && len(r.Limits) > 0:
		p.exclude("play", "limit")
	case r.Play && r.HTML != "":
		p.exclude("play", "html")
	case !r.Play && r.isTyped("speed"):
		p.bad("speed", nil, "it goes with --play")
	}
}

// OutputTyped reports whether the form of output was typed.
func (r *Report) OutputTyped() bool { return r.isTyped("output") }

// Plain is the settings of a command that only writes a document: kt watch, kt profiles.
type Plain struct {
	form `flag:",squash"`
}

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

func (r *Runs) check(p *problems) { p.add(plan.CheckTags(r.Tags)) }

// Prune is the settings of kt runs prune, and of kt runs rm, which has only Yes.
type Prune struct {
	base
	Keep   int           `flag:"keep"`   // of the newest runs, whatever their age
	Older  time.Duration `flag:"older"`  // younger runs stay
	Tagged bool          `flag:"tagged"` // runs with a tag go too
	DryRun bool          `flag:"dry-run"`
	Yes    bool          `flag:"yes"`
}
