package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// Calibrate is the settings of kt calibrate.
type Calibrate struct {
	form
	Time  time.Duration // of each run
	Save  bool
	Quiet bool

	time string
}

// NewCalibrate defines the flags of kt calibrate on a set.
func NewCalibrate(flags *pflag.FlagSet) *Calibrate {
	f := new(Calibrate)
	group(flags, groupLoad, func() {
		flags.StringVar(&f.time, "run-time", "4s", "measure each run for this `TIME`, 2s or more, after a quarter of it as warm-up")
		flags.BoolVar(&f.Save, "save", false, "keep the ceiling, unless others use the CPUs: later loads of this shape are held against it")
	})
	f.defineForm(flags, "calibrate", DocumentOutputs, func() { defineQuiet(flags, &f.Quiet) })
	return f
}

// Load applies environment and configuration file.
func (f *Calibrate) Load(sys System, nearest Nearest) error {
	errs := []error{f.form.Load(sys, nearest)}
	var err error
	if f.Time, err = parseTime(f.time, time.Second); err != nil || f.Time < shortestCalibration {
		errs = append(errs, fmt.Errorf("--run-time %q: write a time from 2s (4s, 1m)", f.time))
	}
	return errors.Join(errs...)
}

// shortestCalibration leaves a second between the first record read and the last.
const shortestCalibration = 2 * time.Second

// calibrated are the groups of the flags that decide what a record costs. In a calibration only they are the load's.
var calibrated = []string{groupPayload, groupProducer, groupConsumer, groupClient}

// alsoCalibrated are such flags of other groups, and flags that choose where settings come from.
var alsoCalibrated = []string{"engine", "producers", "consumers", "no-group", "transaction-duration-ms", "config", "profile", "yes"}

// neverCalibrated are flags of those groups that are about a consumer group, which a calibration has not.
var neverCalibrated = []string{"group-protocol", "group-instance-id"}

// IsSetByCalibrate reports whether a flag of a load does not count in a calibration, because kt calibrate sets it itself or
// leaves it out.
func IsSetByCalibrate(flag string) bool {
	if slices.Contains(alsoCalibrated, flag) {
		return false
	}
	for _, c := range commands {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		newFlags(set, c)
		if f := set.Lookup(flag); f != nil && slices.Contains(calibrated, GroupOf(f)) {
			return slices.Contains(neverCalibrated, flag)
		}
	}
	return true
}
