package config

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
)

// Doctor is the settings of kt doctor.
type Doctor struct {
	Bootstrap []string
	Topic     string
	Duration  time.Duration // of the load to be made
	ReadOnly  bool
	form

	duration string
}

// DoctorOutputs are the forms of output of kt doctor.
var DoctorOutputs = []string{"text", "json"}

// NewDoctor defines the flags of kt doctor on a set.
func NewDoctor(set *pflag.FlagSet) *Doctor {
	d := new(Doctor)
	group(set, groupTarget, func() {
		set.StringSliceVar(&d.Bootstrap, "bootstrap-server", nil, bootstrapUsage)
		set.StringVar(&d.Topic, "topic", defaultTopic, "`NAME` of the topic of the load; it need not exist")
	})
	group(set, groupChecks, func() {
		set.StringVar(&d.duration, "duration", "1h", "`TIME` that the load is to take: retention must be longer")
		set.BoolVar(&d.ReadOnly, "read-only", false, "make no topic: leave out what this client may do, and the clocks")
	})
	d.defineForm(set, "doctor", DoctorOutputs, nil)
	return d
}

// Load applies environment and configuration file, and makes the checks that need no cluster.
func (d *Doctor) Load(sys System, nearest Nearest) error {
	if err := d.layers(sys, nearest); err != nil {
		return err
	}
	errs := []error{d.checkForm(nearest)}
	if err := plan.CheckTopic(d.Topic); err != nil {
		errs = append(errs, fmt.Errorf("--topic %q: %w", d.Topic, err))
	}
	var err error
	if d.Duration, err = parseTime(d.duration, time.Second); err != nil || d.Duration < 0 {
		errs = append(errs, fmt.Errorf("--duration %q: write a time (90s, 5m, 24h)", d.duration))
	}
	return errors.Join(errs...)
}
