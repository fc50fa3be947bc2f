package config

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

// Calibrate is the settings of kt calibrate.
type Calibrate struct {
	form
	Time time.Duration // of each run
	Save bool

	time string
}

// NewCalibrate defines the flags of kt calibrate on a set.
func NewCalibrate(flags *pflag.FlagSet) *Calibrate {
	f := new(Calibrate)
	group(flags, groupLoad, func() {
		flags.StringVar(&f.time, "run-time", "4s", "measure each run for this `TIME`, 2s or more, after a quarter of it as warm-up")
		flags.BoolVar(&f.Save, "save", false, "keep the ceiling, unless others use the CPUs: later loads of this shape are held against it")
	})
	f.defineForm(flags, "calibrate", DocumentOutputs, func() {
		defineQuiet(flags, &f.Quiet)
		defineHTML(flags, &f.HTML)
	})
	return f
}

// Load applies environment and configuration file.
func (f *Calibrate) Load(sys System, nearest Nearest) error {
	err := f.form.Load(sys, nearest)
	return errors.Join(err, checkHTML(f.set, f.HTML), timeOf(&f.Time, "run-time", f.time, shortestCalibration, "of 2s or more (4s, 1m)"))
}

// shortestCalibration leaves a second between the first record read and the last.
const shortestCalibration = 2 * time.Second

// calibrated are the groups of the flags that decide what a record costs.
var calibrated = []string{groupPayload, groupProducer, groupConsumer, groupClient}

// CountsInCalibration reports whether a calibration takes a flag of the load. It takes flags that decide what a record costs,
// and those that choose where settings come from. It leaves out or sets all others itself.
func CountsInCalibration(flag string) bool {
	switch flag {
	case "engine", "producers", "consumers", "no-group", "transaction-duration-ms", "config", "profile", "yes":
		return true
	case "group-protocol", "group-instance-id": // a calibration has no consumer group
		return false
	}
	for _, c := range commands {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		newFlags(set, c)
		if f := set.Lookup(flag); f != nil {
			return slices.Contains(calibrated, GroupOf(f))
		}
	}
	return false
}
