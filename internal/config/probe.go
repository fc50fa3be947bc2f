package config

import (
	"time"

	"github.com/spf13/pflag"
)

// Probe is the settings of kt probe.
type Probe struct {
	form     `flag:",squash"`
	Mode     string        `flag:"mode"`
	Tests    []string      `flag:"tests"`
	Size     int64         `flag:"size"` // bytes of each directory at most; 0: by the mode
	Blocks   []int64       `flag:"blocks"`
	Direct   []bool        `flag:"direct"` // of the rows of dd
	DD       bool          `flag:"dd"`     // the rows of dd, and nothing else
	Compare  string        `flag:"compare"`
	Force    bool          `flag:"force"`
	Duration time.Duration `flag:"duration"` // of each test; 0: by the mode
}

// ProbeModes are the values of --mode.
var ProbeModes = []string{"quick", "standard", "soak", "live"}

// NewProbe defines the flags of kt probe on a set.
func NewProbe(set *pflag.FlagSet) *Probe { return &Probe{form: newForm(set, "probe")} }

// Load applies environment and configuration file, and makes the checks that need no machine.
func (p *Probe) Load(sys System) error {
	return p.load(sys, p, func(found *problems) {
		p.DD = p.DD || len(p.Blocks) > 0 || len(p.Direct) > 0
		if p.DD && (len(p.Tests) > 0 || typedOn(p.flags.Lookup("mode"))) {
			found.bad("", nil, "--dd does not go with --mode or --tests")
		}
	})
}
