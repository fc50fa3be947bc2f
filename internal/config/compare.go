package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kt-bench/kt/internal/plan"
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
		flags.StringArrayVar(&c.FailOn, "fail-on", nil, "exit with code 3 when B shows this `SHIFT`: 'rate<-3%', 'p99>10%', 'errors>0'; may be repeated")
	})
	c.defineForm(flags, "compare", DocumentOutputs, nil)
	return c
}

// Load applies environment and configuration file.
func (c *Compare) Load(sys System, nearest Nearest) error {
	errs := []error{c.form.Load(sys, nearest)}
	var err error
	c.Delta, err = parseDelta(c.delta)
	return errors.Join(append(errs, err)...)
}

// parseDelta reads the value of --delta.
func parseDelta(text string) (float64, error) {
	share, err := parseShare(text)
	if err != nil || share <= 0 || share >= 1 {
		return 0, fmt.Errorf("--delta %q: write a share above 0 and below 100%% (3%%)", text)
	}
	return share, nil
}

// parseShare reads a share: "3%" or "0.03".
func parseShare(text string) (float64, error) {
	percent, isPercent := strings.CutSuffix(text, "%")
	share, err := plan.ParseNumber(percent)
	if isPercent {
		share /= 100
	}
	return share, err
}
