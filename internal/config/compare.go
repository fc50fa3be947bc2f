package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Compare is the settings of kt compare.
type Compare struct {
	form
	Delta  float64 // differences of at most this share are alike
	FailOn []string

	delta string
}

// NewCompare defines the flags of kt compare on a set.
func NewCompare(flags *pflag.FlagSet) *Compare {
	c := new(Compare)
	group(flags, groupChecks, func() {
		flags.StringVar(&c.delta, "delta", "3%", "differences of at most this `SHARE` do not matter")
		flags.StringArrayVar(&c.FailOn, "fail-on", nil, "exit with code 3 when B shows this `SHIFT`: 'throughput<-3%', 'p99>10%'; may be repeated")
	})
	c.defineForm(flags, "compare", StudyOutputs, nil)
	return c
}

// Load applies environment and configuration file.
func (c *Compare) Load(sys System, nearest Nearest) error {
	errs := []error{c.layers(sys, nearest), c.checkForm(nearest)}
	percent, isPercent := strings.CutSuffix(c.delta, "%")
	var err error
	if c.Delta, err = strconv.ParseFloat(percent, 64); isPercent {
		c.Delta /= 100
	}
	if err != nil || c.Delta <= 0 || c.Delta >= 1 {
		errs = append(errs, fmt.Errorf("--delta %q: write a share above 0 and below 100%% (3%%)", c.delta))
	}
	return errors.Join(errs...)
}
