package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
)

// ReportOutputs are the forms in which a result is written again.
var ReportOutputs = append(slices.Clone(CollectOutputs), "hlog", "html")

// CollectOutputs are those that need the result alone, and no window.
var CollectOutputs = []string{"text", "line", "json", "yaml", "jsonl", "csv", "processes", "perf-test", "markdown", "junit", "hgrm"}

// Report is the settings of kt report.
type Report struct {
	form
	Play    bool    // the run is shown on the screen again
	Speed   float64 // of that; 1: as fast as it was
	Verbose bool
	Limits  []string // the run is judged by them, and not by its own; none: it is not judged
}

// MaxSpeed is the highest speed of a replay.
const MaxSpeed = 1000

// NewReport defines the flags of kt report on a set.
func NewReport(set *pflag.FlagSet) *Report {
	r := new(Report)
	group(set, groupChecks, func() {
		set.StringArrayVar(&r.Limits, "limit", nil, "judge the run anew, and exit with code 3 unless it kept this `LIMIT`: 'p99<20ms', 'errors==0'; may be repeated")
		typed(set, "limit") // a file has those of loads
	})
	r.defineForm(set, "report", ReportOutputs, func() {
		set.BoolVar(&r.Play, "play", false, "show the run on the screen again")
		set.Float64Var(&r.Speed, "speed", 1, "`TIMES` as fast as the run was, with --play")
		defineHTML(set, &r.HTML)
		defineVerbose(set, &r.Verbose)
	})
	return r
}

// Load applies environment and configuration file.
func (r *Report) Load(sys System, nearest Nearest) error {
	if err := r.layers(sys, nearest); err != nil {
		return err
	}
	switch {
	case r.Play && r.OutputTyped():
		return errors.New("--play and --output exclude each other: give one")
	case r.Play && len(r.Limits) > 0:
		return errors.New("--play and --limit exclude each other: give one")
	case r.Play && r.HTML != "":
		return errors.New("--play and --html exclude each other: give one")
	case !r.Play && typedOn(r.set.Lookup("speed")):
		return errors.New("--speed: it goes with --play")
	case !(r.Speed > 0 && r.Speed <= MaxSpeed):
		return fmt.Errorf("--speed %g: give a number above 0, %d at most", r.Speed, MaxSpeed)
	}
	return errors.Join(checkHTML(r.set, r.HTML), r.checkForm(nearest))
}

// OutputTyped reports whether the form of output was typed.
func (r *Report) OutputTyped() bool { return typedOn(r.set.Lookup("output")) }
